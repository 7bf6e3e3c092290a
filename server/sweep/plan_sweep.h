#ifndef EK_SERVER_SWEEP_PLAN_SWEEP_H_
#define EK_SERVER_SWEEP_PLAN_SWEEP_H_

// From what a sweep asks for to its cells. Pure; opens nothing.

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/sweep.pb.h"

namespace edgekiln::server {

// The cells of `request`, which is hostile, in their order: group, model,
// target, recipe, combination of varied values. `files`: the descriptors of its
// targets that have a digest, in their order; hostile as well. Nothing is
// resolved: a variant's ranges and constraints are checked, no more.
// `quantized`: has those of the request's models that are known to have come
// quantized; `kept`: on which variants of targets they keep their integers, as
// far as it was asked: cells with group, model and variant, of which the name
// counts. A varied key that the target lacks, or that changes nothing for
// such a model, is dropped from the cell; cells that compute the same are
// merged into the first one.
//
// INVALID_ARGUMENT where nothing can be meant by it: a group without models or
// targets, two models of one name, a key that no target and no option has, a
// value that no target of the group takes, a recipe that none has, a pattern
// that matches no target, more than `max_cells` cells (looked at before any is
// made). What only some targets refuse is a REFUSED cell.
absl::StatusOr<v1::SweepPlan> PlanSweep(
    const v1::SweepRequest& request, absl::Span<const absl::string_view> files,
    int64_t max_cells, const v1::SweepGroup& quantized = v1::SweepGroup(),
    const v1::SweepPlan& kept = v1::SweepPlan());

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_PLAN_SWEEP_H_
