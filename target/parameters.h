#ifndef EK_TARGET_PARAMETERS_H_
#define EK_TARGET_PARAMETERS_H_

// The parameters of a target descriptor: their definitions, and the values that
// a chip sets.

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/error.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"

namespace edgekiln::target {

using Settings = google::protobuf::RepeatedPtrField<v1::Setting>;

// INVALID_ARGUMENT with `detail` and the reason of all errors in target files.
absl::Status InvalidTarget(ErrorDetail detail);

// Later settings win over earlier ones of the same name; two in one file are a
// mistake.
absl::Status MergeSettings(const Settings& from, Settings* into);

// Names, ranges and defaults of all parameters.
absl::Status CheckParameters(const v1::TargetDescriptor& descriptor);

// Every preset gives values that the descriptor allows.
absl::Status CheckPresets(const v1::TargetDescriptor& descriptor);

// Values of all parameters, sorted by name, with `set` applied and the
// constraints met.
absl::StatusOr<std::vector<Constant>> ParameterValues(
    const v1::TargetDescriptor& descriptor, const Settings& set);

}  // namespace edgekiln::target

#endif  // EK_TARGET_PARAMETERS_H_
