#ifndef EK_TARGET_MODELS_DLA_CONDITIONS_H_
#define EK_TARGET_MODELS_DLA_CONDITIONS_H_

// Limits of the engine model COARSE_DLA that hold for every descriptor.

#include <vector>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// Conditions of an op that the engine has commands for: limits of
// docs/targets/dla.md, and of the widths of the registers that these commands
// read. Whole layers must fit the registers, since a tile may be the whole
// layer.
std::vector<v1::OpPattern::Condition> DlaConditions(const v1::Isa& isa,
                                                    absl::string_view op,
                                                    bool sums);

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_DLA_CONDITIONS_H_
