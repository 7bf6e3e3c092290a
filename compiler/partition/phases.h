#ifndef EK_COMPILER_PARTITION_PHASES_H_
#define EK_COMPILER_PARTITION_PHASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// How UsePhases() changed a graph.
struct Phases {
  // By op: its index before; -1 of ops that rearrange the image of a
  // convolution behind them.
  std::vector<int32_t> origin;
  // By op: what reports add to the reason of its place; "" if nothing.
  std::vector<std::string> notes;
  std::vector<TensorId> rearranged;  // What those ops make; rising.
};

// A convolution with strides S x T is one with stride 1 over the S * T phases
// of its image: pixel (y, x) of phase (s, t) is pixel (S * y + s, T * x + t) of
// the image, and phases lie side by side as channels. Its kernel has 1 / S of
// the rows and 1 / T of the columns, rounded up; taps that are added are the
// zero point.
//
//   %y = conv2d(%x, %w) {window {stride_h 2 stride_w 2 ..}} id y
//
//   %p = pad(%x) {..} id y.phases.pad     (to whole phases; where needed)
//   %s = reshape(%p) id y.phases.split    [n, h, 2, w, 2, c]
//   %t = transpose(%s) {permutation 0 1 3 2 4 5} id y.phases.order
//   %q = reshape(%t) id y.phases.join     [n, h, w, 4 * c]
//   %y = conv2d(%q, %w.phases) {window {stride_h 1 stride_w 1 ..}} id y
//
// Does so to constant kernels of a byte that no engine takes as they are, nor
// padded (pad_kernels.h), where the pattern that then takes them allows it
// (OpPattern.phases_expr). Convolutions that leave whole rows or columns of
// phases unread stay, as those in groups or with dilations. New kernels have up
// to 64 MiB in all. Every value stays, and every other tensor keeps its id.
// INVALID_ARGUMENT if the capabilities are not what targets are resolved to.
absl::StatusOr<Phases> UsePhases(Graph& graph,
                                 const v1::Capabilities& capabilities);

// What UsePhases() added to the reason of an op; "" if nothing.
absl::string_view PhasesIn(absl::string_view reason);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_PHASES_H_
