#ifndef EK_TARGET_EXTEND_H_
#define EK_TARGET_EXTEND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

inline constexpr int kMaxTargetNameBytes = 200;

// The descriptor that `file` extends, if it does, with the settings and the
// name of `file`; otherwise `file`. Its settings are merged. Adds the files of
// data/ that it extends (BuiltinTarget.file). INVALID_ARGUMENT.
absl::StatusOr<v1::TargetDescriptor> WithExtended(
    v1::TargetDescriptor file, std::vector<std::string>& files);

}  // namespace edgekiln::target

#endif  // EK_TARGET_EXTEND_H_
