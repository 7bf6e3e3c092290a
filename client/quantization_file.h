#ifndef EK_CLIENT_QUANTIZATION_FILE_H_
#define EK_CLIENT_QUANTIZATION_FILE_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "edgekiln/v1/quantization.pb.h"

namespace edgekiln::client {

// Reads the file of `option`: a QuantizationConfig in text form, as
// ParseTextMessage() takes it. A usage error also if there is no such file.
absl::StatusOr<v1::QuantizationConfig> ReadQuantizationFile(
    FileSystem& files, const std::string& path, const std::string& option);

// What --accuracy-budget says, if it is given, in percentage points: over what
// the file says. `options` of a job or a sweep.
template <typename Options>
void SetAccuracyBudget(std::optional<double> points, Options& options) {
  constexpr double kMillionthsPerPoint = 10'000;
  if (!points.has_value()) return;
  options.mutable_quantization()->set_accuracy_budget_ppm(
      static_cast<int32_t>(std::llround(*points * kMillionthsPerPoint)));
}

}  // namespace edgekiln::client

#endif  // EK_CLIENT_QUANTIZATION_FILE_H_
