#include "ops/converter.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
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

// What all channels of a converter have in common.
struct Codes {
  int32_t gain, min, max, shift;
};

Codes CodesOf(const v1::Converter& converter) {
  return {converter.gain(), converter.min(), converter.max(),
          converter.shift()};
}

// Of scales and offsets, for output channel `c`.
int EntryOf(const v1::Converter& converter, int64_t c) {
  return converter.scale_size() == 1 ? 0 : static_cast<int>(c);
}

inline int32_t ConvertOne(const Codes& codes, int32_t scale, int32_t offset,
                          int32_t sum, QuantizedRange range) {
  const int32_t code =
      std::clamp(FloorDivide(sum, codes.gain), codes.min, codes.max);
  // Below 2^31: both factors are of 16 bits.
  const auto scaled = static_cast<int16_t>(int64_t{code} * scale + offset);
  return std::clamp<int32_t>(scaled >> codes.shift, range.min, range.max);
}

}  // namespace

int32_t Convert(const v1::Converter& converter, int64_t c, int32_t sum,
                QuantizedRange range) {
  const int entry = EntryOf(converter, c);
  return ConvertOne(CodesOf(converter), converter.scale(entry),
                    converter.offset(entry), sum, range);
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

namespace {

// Results of sums [.., channels], as Convert() makes them.
void ConvertSums(const v1::OpAttributes& op, const int32_t* sums,
                 const MutableTensorView& output) {
  const QuantizedRange range =
      ClampRange(ClampOf(op), op.rounding(), output.quantization, output.type);
  const v1::Converter& converter = op.converter();
  const int64_t channels = output.shape.empty() ? 1 : output.shape.back();
  const int64_t rows =
      NumElements(output.shape) / std::max<int64_t>(channels, 1);
  std::vector<int32_t> scales(channels);
  std::vector<int32_t> offsets(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const int entry = EntryOf(converter, c);
    scales[c] = converter.scale(entry);
    offsets[c] = converter.offset(entry);
  }
  const Codes codes = CodesOf(converter);
  auto* results = output.as<int8_t>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      results[c] = static_cast<int8_t>(
          ConvertOne(codes, scales[c], offsets[c], sums[c], range));
    }
    results += channels;
    sums += channels;
  }
}

// An op that sums products, whose weights are packed once.
class Converted : public PreparedOp {
 public:
  explicit Converted(const v1::OpAttributes& op)
      : op_(op), summing_(SumsOf(op)) {}

  absl::Status Init(Inputs inputs, const TensorView& output) {
    const OpFamily family = FamilyOf(summing_);
    const TensorView sums[] = {{v1::INT32, output.shape, nullptr, {}}};
    EK_ASSIGN_OR_RETURN(
        prepared_, family.prepare(summing_, inputs, absl::MakeConstSpan(sums)));
    return absl::OkStatus();
  }

  absl::Status Run(Inputs inputs, Outputs outputs,
                   CpuPath path) const override {
    const MutableTensorView& output = outputs[0];
    std::vector<int32_t> sums(NumElements(output.shape));
    const MutableTensorView to[] = {{v1::INT32, output.shape, sums.data(), {}}};
    EK_RETURN_IF_ERROR(prepared_->Run(inputs, absl::MakeConstSpan(to), path));
    ConvertSums(op_, sums.data(), output);
    return absl::OkStatus();
  }

 private:
  const v1::OpAttributes& op_;
  const v1::OpAttributes summing_;  // What prepared_ points to.
  std::unique_ptr<PreparedOp> prepared_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareConverted(
    const v1::OpAttributes& op, Inputs inputs, Views outputs) {
  if (op.has_requantize()) return nullptr;
  auto converted = std::make_unique<Converted>(op);
  EK_RETURN_IF_ERROR(converted->Init(inputs, outputs[0]));
  return converted;
}

absl::Status ComputeConverted(const v1::OpAttributes& op, Inputs inputs,
                              Outputs outputs, CpuPath path) {
  if (op.has_requantize()) {
    ConvertSums(op, inputs[0].as<int32_t>(), outputs[0]);
    return absl::OkStatus();
  }
  const std::vector<TensorView> types = {outputs[0].type_only()};
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedOp> prepared,
                      PrepareConverted(op, inputs, types));
  return prepared->Run(inputs, outputs, path);
}

}  // namespace edgekiln::ops
