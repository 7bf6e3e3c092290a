#include "ops/rules.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {

absl::Status BadType(std::string what, std::string need, std::string limit) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "OP_TYPE",
                    .what = std::move(what),
                    .limit = std::move(limit),
                    .need = std::move(need)});
}

absl::Status BadShape(std::string what, std::string need) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "OP_SHAPE",
                    .what = std::move(what),
                    .need = std::move(need)});
}

absl::Status NoSuchOp(const v1::OpAttributes& op) {
  if (op.op_case() == v1::OpAttributes::OP_NOT_SET) {
    return BadType("op without attributes", "");
  }
  return absl::UnimplementedError(
      absl::StrCat("no rules for op ", std::string(OpKind(op))));
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

std::string TypeName(v1::ElementType type) {
  return v1::ElementType_Name(type);
}

// Activations that quantized kernels compute with.
bool IsQuantizedType(v1::ElementType type) {
  return type == v1::INT8 || type == v1::UINT8;
}

bool IsFloatType(v1::ElementType type) {
  return type == v1::FLOAT32 || type == v1::FLOAT16 || type == v1::FLOAT64;
}

bool IsIntegerType(v1::ElementType type) {
  switch (type) {
    case v1::INT8:
    case v1::UINT8:
    case v1::INT16:
    case v1::UINT16:
    case v1::INT32:
    case v1::UINT32:
    case v1::INT64:
    case v1::UINT64:
      return true;
    default:
      return false;
  }
}

bool IsNumericType(v1::ElementType type) {
  return IsFloatType(type) || IsIntegerType(type);
}

bool IsIndexType(v1::ElementType type) {
  return type == v1::INT32 || type == v1::INT64;
}

absl::Status WantType(const TensorView& tensor, absl::string_view which,
                      v1::ElementType type) {
  if (tensor.type == type) return absl::OkStatus();
  return BadType(absl::StrCat(which, " is ", TypeName(tensor.type)),
                 TypeName(type));
}

absl::Status WantPerTensor(const TensorView& tensor, absl::string_view which) {
  if (tensor.quantization.scale.size() == 1) return absl::OkStatus();
  return BadType(
      absl::StrCat(which, " has ", tensor.quantization.scale.size(), " scales"),
      "one scale");
}

absl::Status WantCount(Views inputs, size_t at_least, size_t at_most) {
  if (inputs.size() > at_most) {
    return BadType(absl::StrCat(inputs.size(), " inputs"),
                   absl::StrCat("at most ", at_most));
  }
  for (size_t i = 0; i < at_least; ++i) {
    if (i >= inputs.size() || !inputs[i].present()) {
      return BadType(absl::StrCat("input ", i, " is missing"),
                     absl::StrCat(at_least, " inputs"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckClamp(const v1::Clamp& clamp) {
  const float low =
      clamp.has_min() ? clamp.min() : -std::numeric_limits<float>::infinity();
  const float high =
      clamp.has_max() ? clamp.max() : std::numeric_limits<float>::infinity();
  if (low <= high) return absl::OkStatus();  // False for NaN.
  return BadType(absl::StrCat("clamp from ", low, " to ", high), "min <= max");
}

// All of `inputs` and the output are float, or all are one quantized type with
// one scale each.
absl::Status WantUniform(Views inputs, const TensorView& output) {
  const bool is_float = output.type == v1::FLOAT32;
  if (!is_float && !IsQuantizedType(output.type)) {
    return BadType(absl::StrCat("output is ", TypeName(output.type)),
                   "FLOAT32, INT8 or UINT8");
  }
  if (!is_float) EK_RETURN_IF_ERROR(WantPerTensor(output, "output"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string which = absl::StrCat("input ", i);
    EK_RETURN_IF_ERROR(WantType(inputs[i], which, output.type));
    if (!is_float) EK_RETURN_IF_ERROR(WantPerTensor(inputs[i], which));
  }
  return absl::OkStatus();
}

// Ops that copy or compare values: one type, one quantization.
absl::Status WantNotQuantized(const TensorView& tensor,
                              absl::string_view which) {
  if (!tensor.quantization.present()) return absl::OkStatus();
  return BadType(absl::StrCat(std::string(which), " is quantized"),
                 "a tensor without scales");
}

namespace {

// The type of `first`, and as many scales: one or none.
absl::Status WantAlike(const TensorView& first, const TensorView& tensor,
                       absl::string_view which) {
  EK_RETURN_IF_ERROR(WantType(tensor, which, first.type));
  if (!first.quantization.present()) return WantNotQuantized(tensor, which);
  EK_RETURN_IF_ERROR(WantPerTensor(tensor, which));
  const int32_t zero_point = tensor.quantization.zero_point[0];
  if (tensor.type != v1::INT16 || zero_point == 0) return absl::OkStatus();
  return BadType(absl::StrCat(std::string(which), " is INT16 with zero point ",
                              zero_point),
                 "zero point 0");
}

}  // namespace

absl::Status WantArithmetic(Views inputs) {
  const v1::ElementType type = inputs[0].type;
  const bool quantized = inputs[0].quantization.present();
  const bool known = quantized ? IsQuantizedType(type) || type == v1::INT16
                               : IsNumericType(type);
  if (!known) {
    return BadType(
        absl::StrCat("input 0 is ", quantized ? "quantized " : "",
                     TypeName(type)),
        quantized ? "INT8, UINT8 or INT16" : "a float or integer type");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    EK_RETURN_IF_ERROR(
        WantAlike(inputs[0], inputs[i], absl::StrCat("input ", i)));
  }
  return absl::OkStatus();
}

absl::Status WantArithmetic(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantArithmetic(inputs));
  return WantAlike(inputs[0], output, "output");
}

absl::Status WantClampable(const v1::Clamp& clamp, const TensorView& output) {
  EK_RETURN_IF_ERROR(CheckClamp(clamp));
  if ((!clamp.has_min() && !clamp.has_max()) || IsFloatType(output.type) ||
      output.quantization.present()) {
    return absl::OkStatus();
  }
  return BadType(absl::StrCat("clamp of ", TypeName(output.type)),
                 "a minimum and a maximum op, whose bounds are exact");
}

absl::Status CheckMove(const TensorView& input, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantType(output, "output", input.type));
  if (input.quantization == output.quantization) return absl::OkStatus();
  return BadType("input and output have different quantization",
                 "the same scale and zero point");
}

absl::Status WantRank(Views inputs, size_t index, size_t rank) {
  if (inputs[index].shape.size() == rank) return absl::OkStatus();
  return BadShape(absl::StrCat("input ", index, " has shape ",
                               ShapeText(inputs[index].shape)),
                  absl::StrCat("rank ", rank));
}

absl::Status WantInputs(Views inputs, size_t at_least) {
  for (size_t i = 0; i < at_least; ++i) {
    if (i >= inputs.size() || !inputs[i].present()) {
      return BadShape(absl::StrCat("input ", i, " is missing"),
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
    return BadShape("window stride or dilation below 1", "1 or more");
  }
  if (window.pad_top() < 0 || window.pad_bottom() < 0 ||
      window.pad_left() < 0 || window.pad_right() < 0) {
    return BadShape("negative window padding", "0 or more");
  }
  if (kernel_h < 1 || kernel_w < 1)
    return BadShape("empty window", "1x1 or larger");
  const int64_t out_h =
      WindowOutputExtent(x[1], kernel_h, window.stride_h(), window.dilation_h(),
                         window.pad_top(), window.pad_bottom());
  const int64_t out_w =
      WindowOutputExtent(x[2], kernel_w, window.stride_w(), window.dilation_w(),
                         window.pad_left(), window.pad_right());
  if (out_h < 1 || out_w < 1) {
    return BadShape(
        absl::StrCat("window ", kernel_h, "x", kernel_w, " does not fit input ",
                     ShapeText(x)),
        "an input with its padding at least as large as the window");
  }
  return std::make_pair(out_h, out_w);
}

absl::StatusOr<Shape> AxisShape(int32_t axis, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  if (axis < 0 || axis >= std::ssize(inputs[0].shape)) {
    return BadShape(
        absl::StrCat("axis ", axis, " of ", ShapeText(inputs[0].shape)),
        "an axis of the input");
  }
  return Shape(inputs[0].shape.begin(), inputs[0].shape.end());
}

absl::StatusOr<Shape> SameShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  return Shape(inputs[0].shape.begin(), inputs[0].shape.end());
}

absl::StatusOr<std::vector<Shape>> One(absl::StatusOr<Shape> shape) {
  EK_RETURN_IF_ERROR(shape.status());
  return std::vector<Shape>{*std::move(shape)};
}

}  // namespace edgekiln::ops
