#include "compiler/dataset/element_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/little_endian.h"
#include "ops/float16.h"

namespace edgekiln::compiler {
namespace {

absl::Status Unsupported(const v1::TensorType& type, absl::string_view what) {
  return MakeError(absl::StatusCode::kUnimplemented,
                   {.reason = "INPUT_UNSUPPORTED",
                    .what = std::string(what),
                    .where = type.name(),
                    .need = "a float, integer or bool type, or a quantized "
                            "type with one scale",
                    .fix = "export the model with such an input"});
}

absl::Status BadValue(double real, absl::string_view need,
                      const std::string& input) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "DATA_VALUE",
                    .what = absl::StrCat("value ", real),
                    .where = input,
                    .need = std::string(need),
                    .fix = "remove the sample, or correct scale and offset"});
}

}  // namespace

absl::StatusOr<ElementWriter> ElementWriter::Create(
    const v1::TensorType& type) {
  const std::optional<NpyType> element = NpyTypeOf(type.element_type());
  if (!element) {
    return Unsupported(type,
                       "input of an element type that data cannot be "
                       "converted to");
  }
  ElementWriter writer;
  writer.input_ = type.name();
  writer.type_ = *element;
  writer.lowest_ = IntegerRangeOf(*element).lowest;
  writer.highest_ = IntegerRangeOf(*element).highest;
  const v1::Quantization& quantization = type.quantization();
  if (IsFloat(*element) || quantization.scale_size() == 0) return writer;
  if (quantization.scale_size() != 1 || quantization.zero_point_size() != 1) {
    return Unsupported(type, "input quantized per channel");
  }
  writer.quantized_ = true;
  writer.scale_ = quantization.scale(0);
  writer.zero_point_ = quantization.zero_point(0);
  if (!std::isfinite(writer.scale_) || writer.scale_ <= 0) {
    return Unsupported(type, "input with a scale that is not positive");
  }
  return writer;
}

absl::Status ElementWriter::Write(double real, char* out) {
  if (!std::isfinite(real)) return BadValue(real, "a finite number", input_);
  if (type_ == NpyType::kFloat64) {
    StoreAs(real, out);
    return absl::OkStatus();
  }
  if (type_ == NpyType::kFloat32) {
    if (std::fabs(real) > std::numeric_limits<float>::max()) {
      return BadValue(real, "a number that float32 holds", input_);
    }
    StoreAs(static_cast<float>(real), out);
    return absl::OkStatus();
  }
  if (type_ == NpyType::kFloat16) {
    const uint16_t half = ops::HalfFromDouble(real);
    if ((half & 0x7fff) == 0x7c00) {
      return BadValue(real, "a number that float16 holds", input_);
    }
    StoreAs(half, out);
    return absl::OkStatus();
  }
  double value = real;
  if (quantized_) {
    value = std::round(real / scale_) + static_cast<double>(zero_point_);
    value = std::clamp(value, static_cast<double>(lowest_),
                       static_cast<double>(highest_));
  } else if (value != std::round(value) ||
             value < static_cast<double>(lowest_) ||
             value > static_cast<double>(highest_)) {
    return BadValue(real,
                    absl::StrCat("a whole number in ", lowest_, " .. ",
                                 highest_, ": this input is ",
                                 NpyTypeName(type_), " without quantization"),
                    input_);
  }
  StoreInteger(type_, static_cast<int64_t>(value), out);
  return absl::OkStatus();
}

void StoreInteger(NpyType type, int64_t value, char* out) {
  switch (NpyTypeBytes(type)) {
    case 1:
      StoreAs(static_cast<uint8_t>(value), out);
      break;
    case 2:
      StoreAs(static_cast<uint16_t>(value), out);
      break;
    case 4:
      StoreAs(static_cast<uint32_t>(value), out);
      break;
    default:
      StoreAs(value, out);
      break;
  }
}

}  // namespace edgekiln::compiler
