#ifndef EK_TARGET_HOST_COST_H_
#define EK_TARGET_HOST_COST_H_

// What host code costs, by the cost classes of a machine: an estimate.

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// Host cycles of one call on `elements` >= 0 elements: the class named `op`
// (attribute name in OpAttributes, or "copy"), else "default".
// OUT_OF_RANGE on overflow.
absl::StatusOr<int64_t> HostCycles(const v1::Machine& machine,
                                   absl::string_view op, int64_t elements);

// Elements that the cost of an op counts: multiply-accumulates (macs.h), at
// least the elements of its largest operand. `inputs` and `outputs` may hold
// null for absent ones. INVALID_ARGUMENT if shapes are unusable or their
// product overflows.
absl::StatusOr<int64_t> HostElements(
    const v1::OpAttributes& attributes,
    absl::Span<const v1::TensorType* const> inputs,
    absl::Span<const v1::TensorType* const> outputs);

// "conv2d", "softmax", ...: the field name that is set; "" if none is.
absl::string_view OpAttributesName(const v1::OpAttributes& attributes);

}  // namespace edgekiln::target

#endif  // EK_TARGET_HOST_COST_H_
