#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Sums of products: convolutions, fully connected, matmul.
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
  if (op.output_pad_size() != 0 && op.output_pad_size() != window.stride_size()) {
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

absl::Status CheckBias(Views inputs, const TensorView& output,
                       int64_t channels) {
  if (inputs.size() < 3 || !inputs[2].present()) return absl::OkStatus();
  v1::ElementType want = output.type;
  if (IsQuantizedType(output.type)) want = v1::INT32;
  if (output.type == v1::INT16 && inputs[2].type != v1::INT32) {
    want = v1::INT64;
  }
  EK_RETURN_IF_ERROR(WantType(inputs[2], "bias", want));
  if (inputs[2].shape.size() == 1 && inputs[2].shape[0] == channels) {
    return absl::OkStatus();
  }
  return BadType(
      absl::StrCat("bias of shape [", absl::StrJoin(inputs[2].shape, ","), "]"),
      absl::StrCat("[", channels, "]"));
}

// What the kernels rearrange of weights has to stay in memory.
absl::Status CheckPackedSize(int64_t terms, int64_t columns) {
  const int64_t padded =
      (columns + kGemmColumns - 1) / kGemmColumns * kGemmColumns;
  const auto elements = CheckedMul(terms, padded);
  if (elements && *elements <= kMaxPackedElements) return absl::OkStatus();
  return BadType(
      absl::StrCat("weights of ", terms, " x ", columns, " elements"), "",
      absl::StrCat(kMaxPackedElements, " elements"));
}

absl::Status WantNoClamp(const v1::Clamp& clamp) {
  if (!clamp.has_min() && !clamp.has_max()) return absl::OkStatus();
  return BadType("a clamp of plain integers", "none");
}

absl::Status WantPlain(const TensorView& tensor, absl::string_view which) {
  if (!tensor.quantization.present()) return absl::OkStatus();
  return BadType(absl::StrCat(which, " is a quantized INT32"),
                 "INT8, UINT8 or INT16, or no scale");
}

// Weights of INT8 or UINT8 (INT16 for a matmul of INT16) with one scale or one
// per extent of `axis`.
absl::Status CheckWeights(const TensorView& w, bool wide, int32_t axis) {
  if (!IsQuantizedType(w.type) && !(wide && w.type == v1::INT16)) {
    return BadType(absl::StrCat("weights are ", TypeName(w.type)),
                   wide ? "INT8 or INT16" : "INT8 or UINT8");
  }
  const QuantizationView& q = w.quantization;
  if (q.present() && (!q.per_channel() || q.axis == axis)) {
    return absl::OkStatus();
  }
  return BadType("weights without scales or with scales along another axis",
                 absl::StrCat("one scale, or one per extent of axis ", axis));
}

// So that the sum of `terms` products never leaves int32. Zero points are
// within the range of their type.
absl::Status CheckTerms(const TensorView& w, int64_t terms) {
  const auto zero = w.quantization.zero_point;
  const bool centred =
      w.type == v1::INT8 && std::all_of(zero.begin(), zero.end(),
                                        [](int32_t z) { return z == 0; });
  const int64_t limit =
      std::numeric_limits<int32_t>::max() / (255 * (centred ? 128 : 255));
  if (terms <= limit) return absl::OkStatus();
  return BadType(absl::StrCat(terms, " products per output"), "",
                 absl::StrCat(limit, " products in an int32 accumulator"));
}

// Element types and quantization of x * w -> output; `axis` is the channel
// dimension of the weights.
absl::Status CheckArithmetic(const v1::Clamp& clamp, Views inputs,
                             const TensorView& output, int64_t terms,
                             int32_t axis) {
  const TensorView& x = inputs[0];
  const TensorView& w = inputs[1];
  switch (x.type) {
    case v1::FLOAT16:
    case v1::FLOAT32:
    case v1::FLOAT64:
      EK_RETURN_IF_ERROR(WantType(w, "input 1", x.type));
      return WantType(output, "output", x.type);
    case v1::INT32:
      EK_RETURN_IF_ERROR(WantType(w, "input 1", x.type));
      EK_RETURN_IF_ERROR(WantPlain(x, "input 0"));
      EK_RETURN_IF_ERROR(WantPlain(w, "input 1"));
      EK_RETURN_IF_ERROR(WantPlain(output, "output"));
      EK_RETURN_IF_ERROR(WantNoClamp(clamp));
      return WantType(output, "output", x.type);
    case v1::INT8:
    case v1::UINT8:
      if (!IsQuantizedType(output.type)) {
        return BadType(absl::StrCat("output is ", TypeName(output.type)),
                       "INT8 or UINT8");
      }
      EK_RETURN_IF_ERROR(CheckWeights(w, false, axis));
      EK_RETURN_IF_ERROR(CheckTerms(w, terms));
      break;
    case v1::INT16:
      EK_RETURN_IF_ERROR(WantType(output, "output", v1::INT16));
      if (w.type == v1::UINT8) return WantType(w, "input 1", v1::INT8);
      EK_RETURN_IF_ERROR(CheckWeights(w, true, axis));
      break;
    default:
      return BadType(absl::StrCat("input 0 is ", TypeName(x.type)),
                     "a float, INT8, UINT8, INT16 or INT32");
  }
  EK_RETURN_IF_ERROR(WantPerTensor(x, "input 0"));
  return WantPerTensor(output, "output");
}

// `terms` products enter each output; `axis` is the channel dimension of the
// weights.
absl::Status CheckLayer(const v1::Clamp& clamp, Views inputs,
                        const TensorView& output, int64_t terms, int32_t axis) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 2, 3));
  EK_RETURN_IF_ERROR(CheckClamp(clamp));
  EK_RETURN_IF_ERROR(CheckArithmetic(clamp, inputs, output, terms, axis));
  if (inputs[1].type == v1::INT16) {
    return BadType("weights are INT16", "INT8");
  }
  EK_RETURN_IF_ERROR(CheckBias(inputs, output, inputs[1].shape[axis]));
  return CheckPackedSize(terms, inputs[1].shape[axis]);
}

absl::Status CheckMatMul(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
  const int64_t depth = inputs[0].shape.back();
  EK_RETURN_IF_ERROR(
      CheckArithmetic({}, inputs, output, depth,
                      static_cast<int32_t>(inputs[1].shape.size()) - 1));
  return CheckPackedSize(depth, inputs[1].shape.back());
}

int64_t WindowTerms(const TensorView& w) {
  return NumElements(w.shape.subspan(1));
}

absl::StatusOr<std::unique_ptr<PreparedOp>> Prepare(
    const v1::OpAttributes& op, Inputs inputs, const TensorView& output) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return PrepareConv2d(op.conv2d(), inputs, output);
    case v1::OpAttributes::kConv3D:
      return PrepareConv3d(op.conv3d(), inputs, output);
    case v1::OpAttributes::kTransposedConv:
      return PrepareTransposedConv(op.transposed_conv(), inputs, output);
    case v1::OpAttributes::kDepthwiseConv2D:
      return PrepareDepthwiseConv2d(op.depthwise_conv2d(), inputs, output);
    case v1::OpAttributes::kFullyConnected:
      return PrepareFullyConnected(op.fully_connected(), inputs, output);
    case v1::OpAttributes::kMatMul:
      return PrepareMatMul(inputs, output);
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

absl::Status CheckDot(const v1::OpAttributes& op, Views inputs, Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return CheckLayer(op.conv2d().clamp(), inputs, outputs[0],
                        WindowTerms(inputs[1]), 0);
    case v1::OpAttributes::kConv3D:
      return CheckLayer(op.conv3d().clamp(), inputs, outputs[0],
                        WindowTerms(inputs[1]), 0);
    case v1::OpAttributes::kTransposedConv:
      return CheckLayer(op.transposed_conv().clamp(), inputs, outputs[0],
                        WindowTerms(inputs[1]), 0);
    case v1::OpAttributes::kDepthwiseConv2D:
      return CheckLayer(op.depthwise_conv2d().clamp(), inputs, outputs[0],
                        inputs[1].shape[1] * inputs[1].shape[2], 3);
    case v1::OpAttributes::kFullyConnected:
      return CheckLayer(op.fully_connected().clamp(), inputs, outputs[0],
                        inputs[1].shape[1], 0);
    case v1::OpAttributes::kMatMul:
      return CheckMatMul(inputs, outputs[0]);
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
