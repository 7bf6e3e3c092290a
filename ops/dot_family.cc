#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/prepared.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"
#include "ops/window_rules.h"

// Sums of products: convolutions, fully connected, matmul. Their element types
// are dot_types.cc's.
namespace edgekiln::ops {
namespace {

// Weights [O,...,C/G] on x [N,...,C].
absl::Status CheckGroups(int32_t groups, absl::Span<const int64_t> x,
                         absl::Span<const int64_t> w) {
  const int64_t g = std::max(groups, 1);
  if (groups >= 0 && w.back() >= 1 && CheckedMul(w.back(), g) == x.back() &&
      w[0] % g == 0) {
    return absl::OkStatus();
  }
  return BadShape(
      absl::StrCat("weights ", ShapeText(w), " in ", g, " groups on input ",
                   ShapeText(x)),
      "input channels / groups weight channels, and output channels that "
      "divide into the groups");
}

absl::StatusOr<Shape> ConvShape(const v1::Conv2d& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, 4));
  EK_RETURN_IF_ERROR(WantRank(inputs, 1, 4));
  const auto x = inputs[0].shape;
  const auto w = inputs[1].shape;
  EK_RETURN_IF_ERROR(CheckGroups(op.groups(), x, w));
  EK_ASSIGN_OR_RETURN(const auto out,
                      WindowExtents(op.window(), x, w[1], w[2]));
  return Shape{x[0], out.first, out.second, w[0]};
}

absl::StatusOr<Shape> Conv3dShape(const v1::Conv3d& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, 5));
  EK_RETURN_IF_ERROR(WantRank(inputs, 1, 5));
  const auto x = inputs[0].shape;
  const auto w = inputs[1].shape;
  EK_RETURN_IF_ERROR(CheckGroups(op.groups(), x, w));
  return WindowShape(op.window(), x, w.subspan(1, 3), w[0]);
}

absl::StatusOr<Shape> TransposedShape(const v1::TransposedConv& op,
                                      Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  const auto x = inputs[0].shape;
  const auto w = inputs[1].shape;
  const v1::Window& window = op.window();
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size()) {
    return BadShape(
        absl::StrCat("weights ", ShapeText(w), " on input ", ShapeText(x)),
        "both of one rank from 3 to 5");
  }
  EK_RETURN_IF_ERROR(CheckGroups(op.groups(), x, w));
  EK_RETURN_IF_ERROR(CheckWindow(window, x.size() - 2));
  if (op.output_pad_size() != 0 &&
      op.output_pad_size() != window.stride_size()) {
    return BadShape("output_pad of another rank", "one entry per dimension");
  }
  Shape out{x[0]};
  for (int d = 0; d < window.stride_size(); ++d) {
    const int64_t extra = op.output_pad_size() > d ? op.output_pad(d) : 0;
    if (w[1 + d] < 1 || extra < 0 || x[1 + d] < 1) {
      return BadShape(absl::StrCat("transposed convolution of ", ShapeText(x),
                                   " with ", ShapeText(w)),
                      "extents of 1 or more");
    }
    // Every factor is below 2^31, so that nothing here leaves int64.
    const int64_t extent = (x[1 + d] - 1) * window.stride(d) +
                           (w[1 + d] - 1) * window.dilation(d) + 1 + extra -
                           window.pad_before(d) - window.pad_after(d);
    if (extent < 1) return BadShape("the padding cuts off the whole output");
    out.push_back(extent);
  }
  out.push_back(w[0]);
  return out;
}

absl::StatusOr<Shape> DepthwiseShape(const v1::DepthwiseConv2d& op,
                                     Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, 4));
  EK_RETURN_IF_ERROR(WantRank(inputs, 1, 4));
  const auto x = inputs[0].shape;
  const auto w = inputs[1].shape;
  if (op.depth_multiplier() < 1 || w[0] != 1 ||
      CheckedMul(x[3], op.depth_multiplier()) != w[3]) {
    return BadShape(
        absl::StrCat("weights ", ShapeText(w), " with depth multiplier ",
                     op.depth_multiplier(), " on input ", ShapeText(x)),
        "weights [1,KH,KW,channels*multiplier]");
  }
  EK_ASSIGN_OR_RETURN(const auto out,
                      WindowExtents(op.window(), x, w[1], w[2]));
  return Shape{x[0], out.first, out.second, w[3]};
}

absl::StatusOr<Shape> FullyConnectedShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  EK_RETURN_IF_ERROR(WantRank(inputs, 1, 2));
  const auto x = inputs[0].shape;
  const auto w = inputs[1].shape;
  const int64_t elements = NumElements(x);
  if (w[1] < 1 || elements % w[1] != 0) {
    return BadShape(
        absl::StrCat("weights ", ShapeText(w), " on input ", ShapeText(x)),
        "an input that divides into rows of the weights' second extent");
  }
  if (!x.empty() && x.back() == w[1]) {
    Shape out(x.begin(), x.end());
    out.back() = w[0];
    return out;
  }
  return Shape{elements / w[1], w[0]};
}

absl::StatusOr<Shape> MatMulShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  const auto a = inputs[0].shape;
  const auto b = inputs[1].shape;
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) {
    return BadShape(
        absl::StrCat("product of ", ShapeText(a), " and ", ShapeText(b)),
        "[..., M, K] and [..., K, N]");
  }
  EK_ASSIGN_OR_RETURN(
      Shape out, BroadcastShape(a.first(a.size() - 2), b.first(b.size() - 2)));
  out.push_back(a[a.size() - 2]);
  out.push_back(b.back());
  return out;
}

absl::StatusOr<std::unique_ptr<PreparedOp>> Prepare(const v1::OpAttributes& op,
                                                    Inputs inputs,
                                                    const TensorView& output) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return PrepareConv2d(op.conv2d(), op.rounding(), inputs, output);
    case v1::OpAttributes::kConv3D:
      return PrepareConv3d(op.conv3d(), op.rounding(), inputs, output);
    case v1::OpAttributes::kTransposedConv:
      return PrepareTransposedConv(op.transposed_conv(), op.rounding(), inputs,
                                   output);
    case v1::OpAttributes::kDepthwiseConv2D:
      return PrepareDepthwiseConv2d(op.depthwise_conv2d(), op.rounding(),
                                    inputs, output);
    case v1::OpAttributes::kFullyConnected:
      return PrepareFullyConnected(op.fully_connected(), op.rounding(), inputs,
                                   output);
    case v1::OpAttributes::kMatMul:
      return PrepareMatMul(op.rounding(), inputs, output);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferDot(const v1::OpAttributes& op,
                                            Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return One(ConvShape(op.conv2d(), inputs));
    case v1::OpAttributes::kConv3D:
      return One(Conv3dShape(op.conv3d(), inputs));
    case v1::OpAttributes::kTransposedConv:
      return One(TransposedShape(op.transposed_conv(), inputs));
    case v1::OpAttributes::kDepthwiseConv2D:
      return One(DepthwiseShape(op.depthwise_conv2d(), inputs));
    case v1::OpAttributes::kFullyConnected:
      return One(FullyConnectedShape(inputs));
    case v1::OpAttributes::kMatMul:
      return One(MatMulShape(inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareDot(
    const v1::OpAttributes& op, Inputs inputs, Views outputs) {
  if (inputs[0].type == v1::FLOAT16) return nullptr;
  return Prepare(op, inputs, outputs[0]);
}

absl::Status ComputeDot(const v1::OpAttributes& op, Inputs inputs,
                        Outputs outputs, CpuPath path) {
  if (inputs[0].type == v1::FLOAT16) {
    return ComputeInFloat(inputs, outputs, [&](Inputs from, Outputs to) {
      return ComputeDot(op, from, to, path);
    });
  }
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedOp> prepared,
                      Prepare(op, inputs, outputs[0].type_only()));
  return prepared->Run(inputs, outputs, path);
}

}  // namespace edgekiln::ops
