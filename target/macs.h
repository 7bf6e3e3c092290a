#ifndef EK_TARGET_MACS_H_
#define EK_TARGET_MACS_H_

// How many multiply-accumulates an op is, by the shapes of its tensors.

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::target {

using ShapeSpan = absl::Span<const int64_t>;

// For one inference: convolutions, fully connected, matmul and the matrices of
// recurrent cells; 0 for every other op. An absent input is an empty shape;
// shapes that do not fit the op give any number. Nothing on overflow.
// Thread-safe.
std::optional<int64_t> MultiplyAccumulates(const v1::OpAttributes& attributes,
                                           absl::Span<const ShapeSpan> inputs,
                                           absl::Span<const ShapeSpan> outputs);

}  // namespace edgekiln::target

#endif  // EK_TARGET_MACS_H_
