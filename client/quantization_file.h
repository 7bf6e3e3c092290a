#ifndef EK_CLIENT_QUANTIZATION_FILE_H_
#define EK_CLIENT_QUANTIZATION_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "edgekiln/v1/quantization.pb.h"

namespace edgekiln::client {

// Reads the file of `option`: a QuantizationConfig in text form, as
// ParseTextMessage() takes it. A usage error also if there is no such file.
absl::StatusOr<v1::QuantizationConfig> ReadQuantizationFile(
    FileSystem& files, const std::string& path, const std::string& option);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_QUANTIZATION_FILE_H_
