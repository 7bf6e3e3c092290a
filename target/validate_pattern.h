#ifndef EK_TARGET_VALIDATE_PATTERN_H_
#define EK_TARGET_VALIDATE_PATTERN_H_

// Checks of patterns that hold for every engine model.

#include "absl/status/status.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// Checks that the ops exist, are not too many, and that the numerics fit them.
// INVALID_ARGUMENT names the pattern and the key.
absl::Status ValidatePatternOps(const v1::OpPattern& pattern);

// The same for a resolved pattern, and that its conditions compile.
absl::Status ValidateResolvedPattern(const v1::OpPattern& pattern);

}  // namespace edgekiln::target

#endif  // EK_TARGET_VALIDATE_PATTERN_H_
