#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/quantized_parameters.h"
#include "ops/rules.h"

// Element types and quantization of sums of products (dot_family.cc).
namespace edgekiln::ops {
namespace {

absl::Status CheckBias(Views inputs, const TensorView& output,
                       int64_t channels) {
  if (inputs.size() < 3 || !inputs[2].present()) return absl::OkStatus();
  v1::ElementType want = output.type;  // INT32 of sums.
  if (IsQuantizedType(output.type)) want = v1::INT32;
  if (output.type == v1::INT16) {
    want = inputs[2].type == v1::INT32 ? v1::INT32 : v1::INT64;
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

absl::Status WantNoClamp(const v1::Clamp& clamp, absl::string_view what) {
  if (!clamp.has_min() && !clamp.has_max()) return absl::OkStatus();
  return BadType(absl::StrCat("a clamp of ", what), "none");
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
      w.type == v1::INT8 &&
      std::all_of(zero.begin(), zero.end(), [](int32_t z) { return z == 0; });
  const int64_t limit =
      std::numeric_limits<int32_t>::max() / (255 * (centred ? 128 : 255));
  if (terms <= limit) return absl::OkStatus();
  return BadType(absl::StrCat(terms, " products per output"), "",
                 absl::StrCat(limit, " products in an int32 accumulator"));
}

// An output of the sums themselves: int32 in steps of the product of both
// scales.
absl::Status CheckAccumulator(const v1::Clamp& clamp, Views inputs,
                              const TensorView& output) {
  EK_RETURN_IF_ERROR(WantNoClamp(clamp, "an int32 accumulator"));
  const bool narrow = inputs.size() > 2 && inputs[2].type == v1::INT32;
  if (inputs[0].type == v1::INT16 && !narrow) {
    return BadType("an int32 accumulator of INT16 without an INT32 bias",
                   "a 64-bit one, which is requantized at once");
  }
  const QuantizationView& q = output.quantization;
  const QuantizationView& w = inputs[1].quantization;
  const std::vector<float> scales =
      AccumulatorScales(inputs[0].quantization, w);
  if (q.scale != absl::MakeConstSpan(scales) ||
      (q.per_channel() && q.axis != std::ssize(output.shape) - 1)) {
    return BadType("the scales of an int32 accumulator",
                   "input.scale * weight.scale, along the last axis");
  }
  if (std::all_of(q.zero_point.begin(), q.zero_point.end(),
                  [](int32_t zero) { return zero == 0; })) {
    return absl::OkStatus();
  }
  return BadType("an int32 accumulator with a zero point", "zero point 0");
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
      EK_RETURN_IF_ERROR(WantNoClamp(clamp, "plain integers"));
      return WantType(output, "output", x.type);
    case v1::INT8:
    case v1::UINT8:
      if (!IsQuantizedType(output.type) && output.type != v1::INT32) {
        return BadType(absl::StrCat("output is ", TypeName(output.type)),
                       "INT8, UINT8 or INT32");
      }
      EK_RETURN_IF_ERROR(CheckWeights(w, false, axis));
      EK_RETURN_IF_ERROR(CheckTerms(w, terms));
      break;
    case v1::INT16:
      if (output.type != v1::INT32) {
        EK_RETURN_IF_ERROR(WantType(output, "output", v1::INT16));
      }
      if (w.type == v1::UINT8) return WantType(w, "input 1", v1::INT8);
      EK_RETURN_IF_ERROR(CheckWeights(w, true, axis));
      break;
    default:
      return BadType(absl::StrCat("input 0 is ", TypeName(x.type)),
                     "a float, INT8, UINT8, INT16 or INT32");
  }
  EK_RETURN_IF_ERROR(WantPerTensor(x, "input 0"));
  if (output.type == v1::INT32) return CheckAccumulator(clamp, inputs, output);
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

}  // namespace

absl::Status CheckDot(const v1::OpAttributes& op, Views inputs, Views outputs) {
  if (op.rounding() != v1::HALF_UP && outputs[0].type == v1::INT32) {
    return BadType(absl::StrCat(v1::Rounding_Name(op.rounding()),
                                " of an int32 accumulator, which is not "
                                "rounded"),
                   "HALF_UP");
  }
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

}  // namespace edgekiln::ops
