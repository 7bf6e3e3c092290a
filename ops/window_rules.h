#ifndef EK_OPS_WINDOW_RULES_H_
#define EK_OPS_WINDOW_RULES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/rules.h"

// What windows over one to three spatial dimensions accept and give.
//
// Thread-safe: pure functions.
namespace edgekiln::ops {

// Strides, dilations and paddings of `dims` dimensions, in their bounds.
absl::Status CheckWindow(const v1::Window& window, size_t dims);

// Shape [N,OD...,channels] of a window of extents `kernel` sliding over `x`
// [N,D...,C].
absl::StatusOr<Shape> WindowShape(const v1::Window& window,
                                  absl::Span<const int64_t> x,
                                  absl::Span<const int64_t> kernel,
                                  int64_t channels);

// The same window in the form for any number of dimensions.
v1::Window WindowOf(const v1::Window2d& window);

}  // namespace edgekiln::ops

#endif  // EK_OPS_WINDOW_RULES_H_
