#ifndef EK_COMPILER_FRONTEND_ONNX_WINDOW_H_
#define EK_COMPILER_FRONTEND_ONNX_WINDOW_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/node.h"
#include "edgekiln/v1/graph.pb.h"

// What convolutions and pools have in common: a window that slides over the
// dimensions behind batch and channels. The IR's are channels-last, so each op
// stands between transposes; one spatial dimension becomes two, the first of
// extent 1.
namespace edgekiln::compiler::onnx_import {

// No published network is near it; keeps all arithmetic far from overflow.
inline constexpr int64_t kMaxWindowValue = 1 << 16;

// One entry per spatial dimension of the IR op.
struct WindowLists {
  std::vector<int64_t> kernel, stride, dilation, before, after;
};

// The node's input 0 as [N, C, H, W] or [N, C, D, H, W].
struct SpatialInput {
  TensorId x = kNoTensor;
  int given_rank = 0;            // Spatial dimensions in the model: 1 to 3.
  std::vector<int64_t> extents;  // Spatial ones: 2 or 3.
  int64_t channels = 0;
};
absl::StatusOr<SpatialInput> ReadSpatial(const Node& node, Builder& builder,
                                         TensorId x);

// A list attribute with one value per spatial dimension, 1 where absent, with
// a leading value for the height of 1.
absl::StatusOr<std::vector<int64_t>> SpatialList(const Node& node,
                                                 absl::string_view attribute,
                                                 int given_rank, int64_t min);

// strides, dilations, and pads or auto_pad. `kernel` as in WindowLists.
absl::StatusOr<WindowLists> ReadWindow(const Node& node,
                                       const SpatialInput& input,
                                       std::vector<int64_t> kernel);

// {before, after}: explicit pads, zeros if there are none.
absl::StatusOr<std::vector<int64_t>> ExplicitPads(const Node& node,
                                                  int given_rank);

v1::Window2d Window2dOf(const WindowLists& lists);
v1::Window WindowOf(const WindowLists& lists);

// [N, C, D...] to [N, D..., C] and back.
absl::StatusOr<TensorId> ToChannelsLast(const Node& node, Builder& builder,
                                        absl::string_view role, TensorId x);
absl::StatusOr<TensorId> ToChannelsFirst(const Node& node, Builder& builder,
                                         absl::string_view role, TensorId x,
                                         int given_rank);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_WINDOW_H_
