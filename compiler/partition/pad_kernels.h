#ifndef EK_COMPILER_PARTITION_PAD_KERNELS_H_
#define EK_COMPILER_PARTITION_PAD_KERNELS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Gives convolutions that no engine takes rows and columns of zeros (the zero
// point of the weights) behind their kernel, or in front of it, and as much
// padding on that side of the image, where an engine takes them so: as many as
// the pattern allows by which it takes them (OpPattern.most_kernel_padding),
// the fewest that serve. The first engine that takes the padded op, which is
// where it is placed, decides. Padded kernels have up to 64 MiB in all; ops for
// which none is left stay as they are. Every value stays, and every other
// tensor keeps its id. Returns for each op what was done, as reports say it
// behind "the engine runs conv2d"; "" if nothing was. INVALID_ARGUMENT if the
// capabilities are not what targets are resolved to.
absl::StatusOr<std::vector<std::string>> PadKernels(
    Graph& graph, const v1::Capabilities& capabilities);

// The op without the rows and columns of zeros that its kernel begins or ends
// with, as far as the image has padding there: it computes the same. Nothing if
// there are none. `graph` has been verified.
struct UnpaddedOp {
  v1::OpAttributes attributes;
  Tensor kernel;
};
std::optional<UnpaddedOp> WithoutPadding(const Graph& graph, const Op& op);

// What PadKernels() added to the reason of an op; "" if nothing.
absl::string_view PaddingIn(absl::string_view reason);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_PAD_KERNELS_H_
