#include "ops/shape_inference.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::ops {
namespace {

using Shape = std::vector<int64_t>;
using Views = absl::Span<const TensorView>;

std::string Text(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

absl::Status Bad(std::string what, std::string need = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "OP_SHAPE",
                    .what = std::move(what),
                    .need = std::move(need)});
}

absl::Status WantRank(Views inputs, size_t index, size_t rank) {
  if (inputs[index].shape.size() == rank) return absl::OkStatus();
  return Bad(
      absl::StrCat("input ", index, " has shape ", Text(inputs[index].shape)),
      absl::StrCat("rank ", rank));
}

absl::Status WantInputs(Views inputs, size_t at_least) {
  for (size_t i = 0; i < at_least; ++i) {
    if (i >= inputs.size() || !inputs[i].present()) {
      return Bad(absl::StrCat("input ", i, " is missing"),
                 absl::StrCat(at_least, " inputs"));
    }
  }
  return absl::OkStatus();
}

// Output extents over H and W of a window on an NHWC input.
absl::StatusOr<std::pair<int64_t, int64_t>> WindowExtents(
    const v1::Window2d& window, absl::Span<const int64_t> x, int64_t kernel_h,
    int64_t kernel_w) {
  if (window.stride_h() < 1 || window.stride_w() < 1 ||
      window.dilation_h() < 1 || window.dilation_w() < 1) {
    return Bad("window stride or dilation below 1", "1 or more");
  }
  if (window.pad_top() < 0 || window.pad_bottom() < 0 ||
      window.pad_left() < 0 || window.pad_right() < 0) {
    return Bad("negative window padding", "0 or more");
  }
  if (kernel_h < 1 || kernel_w < 1) return Bad("empty window", "1x1 or larger");
  const int64_t out_h =
      WindowOutputExtent(x[1], kernel_h, window.stride_h(), window.dilation_h(),
                         window.pad_top(), window.pad_bottom());
  const int64_t out_w =
      WindowOutputExtent(x[2], kernel_w, window.stride_w(), window.dilation_w(),
                         window.pad_left(), window.pad_right());
  if (out_h < 1 || out_w < 1) {
    return Bad(absl::StrCat("window ", kernel_h, "x", kernel_w,
                            " does not fit input ", Text(x)),
               "an input with its padding at least as large as the window");
  }
  return std::make_pair(out_h, out_w);
}

absl::StatusOr<Shape> ConvShape(const v1::Conv2d& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, 4));
  EK_RETURN_IF_ERROR(WantRank(inputs, 1, 4));
  const auto x = inputs[0].shape;
  const auto w = inputs[1].shape;
  if (w[3] != x[3]) {
    return Bad(absl::StrCat("weights ", Text(w), " on input ", Text(x)),
               "as many weight channels as input channels");
  }
  EK_ASSIGN_OR_RETURN(const auto out,
                      WindowExtents(op.window(), x, w[1], w[2]));
  return Shape{x[0], out.first, out.second, w[0]};
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
    return Bad(absl::StrCat("weights ", Text(w), " with depth multiplier ",
                            op.depth_multiplier(), " on input ", Text(x)),
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
    return Bad(absl::StrCat("weights ", Text(w), " on input ", Text(x)),
               "an input that divides into rows of the weights' second extent");
  }
  if (!x.empty() && x.back() == w[1]) {
    Shape out(x.begin(), x.end());
    out.back() = w[0];
    return out;
  }
  return Shape{elements / w[1], w[0]};
}

template <typename Pool>
absl::StatusOr<Shape> PoolShape(const Pool& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, 4));
  const auto x = inputs[0].shape;
  EK_ASSIGN_OR_RETURN(
      const auto out,
      WindowExtents(op.window(), x, op.kernel_h(), op.kernel_w()));
  return Shape{x[0], out.first, out.second, x[3]};
}

absl::StatusOr<Shape> TransposeShape(const v1::Transpose& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  std::vector<bool> seen(x.size(), false);
  Shape out;
  for (const int32_t from : op.permutation()) {
    if (from < 0 || from >= std::ssize(x) || seen[from]) {
      return Bad("permutation is not one",
                 absl::StrCat("each of 0..", x.size(), " exactly once"));
    }
    seen[from] = true;
    out.push_back(x[from]);
  }
  if (out.size() != x.size()) {
    return Bad(
        absl::StrCat("permutation of ", out.size(), " on input ", Text(x)),
        "one entry per dimension");
  }
  return out;
}

absl::StatusOr<Shape> PadShape(const v1::Pad& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  if (op.before_size() != std::ssize(x) || op.after_size() != std::ssize(x)) {
    return Bad(absl::StrCat("padding of ", op.before_size(), " and ",
                            op.after_size(), " dimensions on ", Text(x)),
               "one entry per dimension");
  }
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto head = CheckedAdd(x[i], op.before(i));
    const auto sum = head ? CheckedAdd(*head, op.after(i)) : std::nullopt;
    if (op.before(i) < 0 || op.after(i) < 0 || !sum) {
      return Bad("padding is negative or too large", "0 or more");
    }
    out.push_back(*sum);
  }
  return out;
}

absl::StatusOr<Shape> ConcatShape(const v1::Concat& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, std::max<size_t>(inputs.size(), 1)));
  const auto first = inputs[0].shape;
  if (op.axis() < 0 || op.axis() >= std::ssize(first)) {
    return Bad(absl::StrCat("axis ", op.axis(), " of ", Text(first)),
               "an axis of the input");
  }
  Shape out(first.begin(), first.end());
  for (size_t i = 1; i < inputs.size(); ++i) {
    const auto next = inputs[i].shape;
    bool fits = next.size() == first.size();
    for (size_t d = 0; fits && d < next.size(); ++d) {
      fits = static_cast<int32_t>(d) == op.axis() || next[d] == first[d];
    }
    const auto sum =
        fits ? CheckedAdd(out[op.axis()], next[op.axis()]) : std::nullopt;
    if (!sum) {
      return Bad(absl::StrCat("input ", i, " of shape ", Text(next),
                              " joined to ", Text(first)),
                 "equal extents but for the axis");
    }
    out[op.axis()] = *sum;
  }
  return out;
}

absl::StatusOr<Shape> MeanShape(const v1::ReduceMean& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  Shape out(x.begin(), x.end());
  int32_t last = -1;
  for (const int32_t axis : op.axes()) {
    if (axis <= last || axis >= std::ssize(x) || x[axis] < 1) {
      return Bad(absl::StrCat("mean over axis ", axis, " of ", Text(x)),
                 "ascending axes of the input that are not empty");
    }
    last = axis;
    out[axis] = op.keep_dims() ? 1 : -1;
  }
  std::erase(out, -1);
  return out;
}

absl::StatusOr<Shape> MatMulShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  const auto a = inputs[0].shape;
  const auto b = inputs[1].shape;
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) {
    return Bad(absl::StrCat("product of ", Text(a), " and ", Text(b)),
               "[..., M, K] and [..., K, N]");
  }
  EK_ASSIGN_OR_RETURN(
      Shape out, BroadcastShape(a.first(a.size() - 2), b.first(b.size() - 2)));
  out.push_back(a[a.size() - 2]);
  out.push_back(b.back());
  return out;
}

absl::StatusOr<Shape> AxisShape(int32_t axis, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  if (axis < 0 || axis >= std::ssize(inputs[0].shape)) {
    return Bad(absl::StrCat("axis ", axis, " of ", Text(inputs[0].shape)),
               "an axis of the input");
  }
  return Shape(inputs[0].shape.begin(), inputs[0].shape.end());
}

absl::StatusOr<Shape> SameShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  return Shape(inputs[0].shape.begin(), inputs[0].shape.end());
}

absl::StatusOr<Shape> BinaryShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  return BroadcastShape(inputs[0].shape, inputs[1].shape);
}

absl::StatusOr<Shape> InferShape(const v1::OpAttributes& op, Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return ConvShape(op.conv2d(), inputs);
    case v1::OpAttributes::kDepthwiseConv2D:
      return DepthwiseShape(op.depthwise_conv2d(), inputs);
    case v1::OpAttributes::kFullyConnected:
      return FullyConnectedShape(inputs);
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
      return BinaryShape(inputs);
    case v1::OpAttributes::kAveragePool2D:
      return PoolShape(op.average_pool2d(), inputs);
    case v1::OpAttributes::kMaxPool2D:
      return PoolShape(op.max_pool2d(), inputs);
    case v1::OpAttributes::kSoftmax:
      return AxisShape(op.softmax().axis(), inputs);
    case v1::OpAttributes::kBatchNormalization:
      return AxisShape(op.batch_normalization().axis(), inputs);
    case v1::OpAttributes::kReshape:
      return Bad("the shape of a reshape is that of its output tensor");
    case v1::OpAttributes::kTranspose:
      return TransposeShape(op.transpose(), inputs);
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kDequantize:
      return SameShape(inputs);
    case v1::OpAttributes::kPad:
      return PadShape(op.pad(), inputs);
    case v1::OpAttributes::kConcat:
      return ConcatShape(op.concat(), inputs);
    case v1::OpAttributes::kReduceMean:
      return MeanShape(op.reduce_mean(), inputs);
    case v1::OpAttributes::kMatMul:
      return MatMulShape(inputs);
    case v1::OpAttributes::OP_NOT_SET:
      break;
  }
  return Bad("op without attributes");
}

}  // namespace

absl::string_view OpKind(const v1::OpAttributes& attributes) {
  if (attributes.op_case() == v1::OpAttributes::OP_NOT_SET) return "";
  return v1::OpAttributes::descriptor()
      ->FindFieldByNumber(attributes.op_case())
      ->name();
}

int64_t WindowOutputExtent(int64_t in, int64_t kernel, int64_t stride,
                           int64_t dilation, int64_t pad_before,
                           int64_t pad_after) {
  const int64_t reach = (kernel - 1) * dilation + 1;
  const int64_t room = in + pad_before + pad_after - reach;
  return room < 0 ? 0 : room / stride + 1;
}

std::pair<int32_t, int32_t> SamePadding(int64_t in, int64_t kernel,
                                        int64_t stride, int64_t dilation) {
  const int64_t out = (in + stride - 1) / stride;
  const int64_t reach = (kernel - 1) * dilation + 1;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + reach - in);
  return {static_cast<int32_t>(total / 2),
          static_cast<int32_t>(total - total / 2)};
}

absl::StatusOr<Shape> BroadcastShape(absl::Span<const int64_t> a,
                                     absl::Span<const int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t from_a = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t from_b = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return Bad(absl::StrCat("shapes ", Text(a), " and ", Text(b)),
                 "extents that are equal or 1");
    }
    out[i] = from_a == 1 ? from_b : from_a;
  }
  return out;
}

absl::StatusOr<std::vector<Shape>> InferShapes(
    const v1::OpAttributes& attributes, Views inputs) {
  for (const TensorView& input : inputs) {
    if (input.present()) EK_RETURN_IF_ERROR(CheckTensorType(input));
  }
  EK_ASSIGN_OR_RETURN(Shape shape, InferShape(attributes, inputs));
  if (!CheckedProduct(shape).has_value() ||
      *CheckedProduct(shape) > kMaxTensorBytes) {
    // Not a mistake in the model that a checker would find.
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "OP_SHAPE",
         .what = absl::StrCat("output of shape ", Text(shape)),
         .need = absl::StrCat("at most ", kMaxTensorBytes, " elements"),
         .fix = "export with a smaller input"});
  }
  std::vector<Shape> shapes;
  shapes.push_back(std::move(shape));
  return shapes;
}

}  // namespace edgekiln::ops
