#include "ops/converter.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {
namespace {

constexpr int32_t kMin = std::numeric_limits<int16_t>::min();
constexpr int32_t kMax = std::numeric_limits<int16_t>::max();
constexpr int32_t kMaxShift = 15;

// b > 0.
int32_t FloorDivide(int32_t a, int32_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

bool IsInt16(int32_t value) { return value >= kMin && value <= kMax; }

absl::Status CheckNumbers(const v1::Converter& converter, int64_t channels) {
  if (converter.gain() < 1) {
    return BadType(absl::StrCat("a converter of gain ", converter.gain()),
                   "1 or more");
  }
  if (!IsInt16(converter.min()) || !IsInt16(converter.max()) ||
      converter.min() > converter.max()) {
    return BadType(absl::StrCat("a converter of codes ", converter.min(),
                                " to ", converter.max()),
                   "min <= max, both of 16 bits");
  }
  if (converter.shift() < 0 || converter.shift() > kMaxShift) {
    return BadType(absl::StrCat("a converter of shift ", converter.shift()),
                   absl::StrCat("0 to ", kMaxShift));
  }
  const int scales = converter.scale_size();
  if (converter.offset_size() != scales ||
      (scales != 1 && scales != channels)) {
    return BadType(absl::StrCat("a converter of ", scales, " scales and ",
                                converter.offset_size(), " offsets"),
                   absl::StrCat("one of each, or ", channels));
  }
  if (std::all_of(converter.scale().begin(), converter.scale().end(),
                  IsInt16) &&
      std::all_of(converter.offset().begin(), converter.offset().end(),
                  IsInt16)) {
    return absl::OkStatus();
  }
  return BadType("a converter with a scale or an offset of more than 16 bits",
                 absl::StrCat(kMin, " to ", kMax));
}

const v1::Clamp& ClampOf(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return op.conv2d().clamp();
    case v1::OpAttributes::kDepthwiseConv2D:
      return op.depthwise_conv2d().clamp();
    case v1::OpAttributes::kFullyConnected:
      return op.fully_connected().clamp();
    default:
      return op.requantize().clamp();
  }
}

// The op without what follows its sums.
v1::OpAttributes SumsOf(v1::OpAttributes op) {
  op.clear_rounding();
  op.clear_converter();
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      op.mutable_conv2d()->clear_clamp();
      break;
    case v1::OpAttributes::kDepthwiseConv2D:
      op.mutable_depthwise_conv2d()->clear_clamp();
      break;
    default:
      op.mutable_fully_connected()->clear_clamp();
      break;
  }
  return op;
}

}  // namespace

int32_t Convert(const v1::Converter& converter, int64_t c, int32_t sum,
                QuantizedRange range) {
  const int entry = converter.scale_size() == 1 ? 0 : static_cast<int>(c);
  const int32_t code = std::clamp(FloorDivide(sum, converter.gain()),
                                  converter.min(), converter.max());
  // Below 2^31: both factors are of 16 bits.
  const auto scaled = static_cast<int16_t>(
      int64_t{code} * converter.scale(entry) + converter.offset(entry));
  return std::clamp<int32_t>(scaled >> converter.shift(), range.min, range.max);
}

absl::Status CheckConverter(const v1::OpAttributes& op, Views inputs,
                            Views outputs) {
  if (!op.has_converter()) return absl::OkStatus();
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      if (op.conv2d().groups() <= 1) break;
      return BadType("a converter of a convolution in groups", "groups of 1");
    case v1::OpAttributes::kDepthwiseConv2D:
    case v1::OpAttributes::kFullyConnected:
    case v1::OpAttributes::kRequantize:
      break;
    default:
      return BadType(absl::StrCat("a converter of ", std::string(OpKind(op))),
                     "none");
  }
  if (op.rounding() != v1::FLOOR) {
    return BadType(absl::StrCat("a converter that rounds ",
                                v1::Rounding_Name(op.rounding())),
                   "FLOOR");
  }
  if (!op.has_requantize() && !IsQuantizedType(inputs[0].type)) {
    return BadType(
        absl::StrCat("a converter of sums of ", TypeName(inputs[0].type)),
        "INT8 or UINT8");
  }
  EK_RETURN_IF_ERROR(WantType(outputs[0], "output", v1::INT8));
  EK_RETURN_IF_ERROR(WantPerTensor(outputs[0], "output"));
  if (outputs[0].quantization.zero_point[0] != 0) {
    return BadType("a converter's result with a zero point", "zero point 0");
  }
  return CheckNumbers(op.converter(),
                      outputs[0].shape.empty() ? 1 : outputs[0].shape.back());
}

absl::Status ComputeConverted(const v1::OpAttributes& op, Inputs inputs,
                              Outputs outputs, CpuPath path) {
  const MutableTensorView& output = outputs[0];
  std::vector<int32_t> sums;
  const int32_t* from = nullptr;
  if (op.has_requantize()) {
    from = inputs[0].as<int32_t>();
  } else {
    sums.resize(NumElements(output.shape));
    const MutableTensorView to[] = {{v1::INT32, output.shape, sums.data(), {}}};
    const v1::OpAttributes summing = SumsOf(op);
    EK_RETURN_IF_ERROR(FamilyOf(summing).compute(
        summing, inputs, absl::MakeConstSpan(to), path));
    from = sums.data();
  }
  const QuantizedRange range =
      ClampRange(ClampOf(op), op.rounding(), output.quantization, output.type);
  const int64_t elements = NumElements(output.shape);
  const int64_t channels = output.shape.empty() ? 1 : output.shape.back();
  for (int64_t i = 0; i < elements; ++i) {
    output.as<int8_t>()[i] = static_cast<int8_t>(
        Convert(op.converter(), i % channels, from[i], range));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
