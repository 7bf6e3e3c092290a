#include <utility>

#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"

namespace edgekiln::compiler::onnx_import {

absl::Status ConvertGridSample(const Node& node, Builder& builder) {
  using G = v1::GridSample;
  // Op set 20 renamed them.
  EK_ASSIGN_OR_RETURN(
      const int mode,
      WordAttribute(node, "mode", node.opset() < 20 ? "bilinear" : "linear",
                    {"bilinear", "linear", "nearest", "bicubic", "cubic"}));
  EK_ASSIGN_OR_RETURN(const int padding,
                      WordAttribute(node, "padding_mode", "zeros",
                                    {"zeros", "border", "reflection"}));
  EK_ASSIGN_OR_RETURN(const bool align, node.Flag("align_corners", false));
  constexpr G::Mode kModes[] = {G::LINEAR, G::LINEAR, G::NEAREST, G::CUBIC,
                                G::CUBIC};
  constexpr G::Padding kPaddings[] = {G::ZEROS, G::BORDER, G::REFLECTION};
  v1::OpAttributes attributes;
  attributes.mutable_grid_sample()->set_mode(kModes[mode]);
  attributes.mutable_grid_sample()->set_padding(kPaddings[padding]);
  attributes.mutable_grid_sample()->set_align_corners(align);
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(TensorId grid, builder.FloatInput(node, 1));
  if (builder.rank(x) != 4) {
    return node.Unsupported("an input that is not an image",
                            "4 dimensions: batch, channels, height, width",
                            "sample slices of the volume");
  }
  EK_ASSIGN_OR_RETURN(grid,
                      builder.Cast(node, "grid", grid, builder.tensor(x).type));
  EK_ASSIGN_OR_RETURN(x, builder.Transpose(node, "to-nhwc", x, {0, 2, 3, 1}));
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x, grid}));
  EK_ASSIGN_OR_RETURN(y, builder.Transpose(node, "to-nchw", y, {0, 3, 1, 2}));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
