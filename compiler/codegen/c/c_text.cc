#include "compiler/codegen/c/c_text.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_format.h"

namespace edgekiln::compiler {
namespace {

constexpr size_t kLineWidth = 76;

template <typename T>
std::string Literal(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return CFloat(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return CDouble(value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return absl::StrCat(value, "u");
  } else {
    return CInteger(static_cast<int64_t>(value));
  }
}

template <typename T>
std::string Values(absl::string_view bytes) {
  std::string text;
  size_t line_begin = 0;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    const std::string literal = Literal(value);
    if (text.empty() ||
        text.size() - line_begin + literal.size() > kLineWidth) {
      if (!text.empty()) text.push_back('\n');
      line_begin = text.size();
      text.append("  ");
    }
    absl::StrAppend(&text, literal, ",");
  }
  text.push_back('\n');
  return text;
}

}  // namespace

absl::string_view CTypeOf(v1::ElementType type) {
  switch (type) {
    case v1::FLOAT32:
      return "float";
    case v1::FLOAT64:
      return "double";
    case v1::INT8:
      return "int8_t";
    case v1::INT16:
      return "int16_t";
    case v1::UINT16:
    case v1::FLOAT16:
      return "uint16_t";
    case v1::INT32:
      return "int32_t";
    case v1::UINT32:
      return "uint32_t";
    case v1::INT64:
      return "int64_t";
    case v1::UINT64:
      return "uint64_t";
    default:
      return "uint8_t";
  }
}

std::string CFloat(float value) {
  if (std::isnan(value)) return "(0.0f / 0.0f)";
  if (std::isinf(value)) return value > 0 ? "(1.0f / 0.0f)" : "(-1.0f / 0.0f)";
  if (value == std::trunc(value) && std::fabs(value) < 1e6f) {
    if (value == 0) return std::signbit(value) ? "-0.0f" : "0.0f";
    return absl::StrFormat("%.1ff", value);
  }
  return absl::StrFormat("%af", value);
}

std::string CDouble(double value) {
  if (std::isnan(value)) return "(0.0 / 0.0)";
  if (std::isinf(value)) return value > 0 ? "(1.0 / 0.0)" : "(-1.0 / 0.0)";
  if (value == std::trunc(value) && std::fabs(value) < 1e6) {
    if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
    return absl::StrFormat("%.1f", value);
  }
  return absl::StrFormat("%a", value);
}

std::string CInteger(int64_t value) {
  // The lowest value is no literal: its magnitude is not of the type.
  if (value == std::numeric_limits<int64_t>::min()) {
    return "(-9223372036854775807 - 1)";
  }
  if (value == std::numeric_limits<int32_t>::min()) return "(-2147483647 - 1)";
  return absl::StrCat(value);
}

std::string CInitialiser(v1::ElementType type, absl::string_view bytes) {
  switch (type) {
    case v1::FLOAT32:
      return Values<float>(bytes);
    case v1::FLOAT64:
      return Values<double>(bytes);
    case v1::INT8:
      return Values<int8_t>(bytes);
    case v1::INT16:
      return Values<int16_t>(bytes);
    case v1::UINT16:
    case v1::FLOAT16:
      return Values<uint16_t>(bytes);
    case v1::INT32:
      return Values<int32_t>(bytes);
    case v1::UINT32:
      return Values<uint32_t>(bytes);
    case v1::INT64:
      return Values<int64_t>(bytes);
    case v1::UINT64:
      return Values<uint64_t>(bytes);
    default:
      return Values<uint8_t>(bytes);
  }
}

}  // namespace edgekiln::compiler
