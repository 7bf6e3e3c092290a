#include "compiler/codegen/c/c_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_format.h"

namespace edgekiln::compiler {
namespace {

constexpr size_t kLineWidth = 76;

constexpr size_t kMostLiteral = 32;  // Characters.

template <typename T>
absl::string_view Literal(T value, char (&buffer)[kMostLiteral]) {
  if constexpr (std::is_floating_point_v<T>) {
    const std::string text = std::is_same_v<T, float>
                                 ? CFloat(static_cast<float>(value))
                                 : CDouble(static_cast<double>(value));
    const size_t size = std::min(text.size(), kMostLiteral);
    std::memcpy(buffer, text.data(), size);
    return {buffer, size};
  } else {
    // The lowest values are no literals: see CInteger().
    if (std::is_signed_v<T> && sizeof(T) >= 4 &&
        (value == std::numeric_limits<T>::min() ||
         value == static_cast<T>(std::numeric_limits<int32_t>::min()))) {
      const std::string text = CInteger(static_cast<int64_t>(value));
      std::memcpy(buffer, text.data(), text.size());
      return {buffer, text.size()};
    }
    char* end = std::to_chars(buffer, buffer + kMostLiteral - 1, value).ptr;
    if (std::is_same_v<T, uint64_t>) *end++ = 'u';
    return {buffer, static_cast<size_t>(end - buffer)};
  }
}

// Lines of up to kLineWidth characters, a comma behind each value.
class ValueLines {
 public:
  explicit ValueLines(std::string& text) : text_(text) {}

  void Add(absl::string_view literal) {
    if (column_ + literal.size() > kLineWidth) {
      if (column_ != kNoLine) text_.push_back('\n');
      text_.append("  ");
      column_ = 2;
    }
    text_.append(literal.data(), literal.size());
    text_.push_back(',');
    column_ += literal.size() + 1;
  }
  void End() { text_.push_back('\n'); }

 private:
  static constexpr size_t kNoLine = 1 << 20;
  std::string& text_;
  size_t column_ = kNoLine;
};

template <typename T>
void AppendValues(absl::string_view bytes, std::string& text) {
  ValueLines lines(text);
  char buffer[kMostLiteral];
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    lines.Add(Literal(value, buffer));
  }
  lines.End();
}

// As ValueLines does it, with text for each of the 256 values: most constants
// are bytes.
template <typename T>
void AppendByteValues(absl::string_view bytes, std::string& text) {
  struct Value {
    char text[8] = {};  // The literal and its comma, of which `size` count.
    size_t size = 0;
  };
  constexpr size_t kMostSize = 5;  // "-128,"
  constexpr absl::string_view kNewLine = "\n  ";
  Value values[256];
  for (int i = 0; i < 256; ++i) {
    char buffer[kMostLiteral];
    const absl::string_view literal =
        Literal(static_cast<T>(static_cast<uint8_t>(i)), buffer);
    std::memcpy(values[i].text, literal.data(), literal.size());
    values[i].text[literal.size()] = ',';
    values[i].size = literal.size() + 1;
  }
  // A line holds more values than a line break has characters.
  const size_t begin = text.size();
  text.resize(begin + (kMostSize + 1) * bytes.size() + kNewLine.size() +
              sizeof(Value::text));
  char* at = text.data() + begin;
  size_t column = kLineWidth;
  for (const char byte : bytes) {
    const Value& value = values[static_cast<uint8_t>(byte)];
    if (column + value.size - 1 > kLineWidth) {
      const size_t skipped = at == text.data() + begin ? 1 : 0;
      std::memcpy(at, kNewLine.data() + skipped, kNewLine.size() - skipped);
      at += kNewLine.size() - skipped;
      column = 2;
    }
    std::memcpy(at, value.text, sizeof(value.text));
    at += value.size;
    column += value.size;
  }
  *at++ = '\n';
  text.resize(static_cast<size_t>(at - text.data()));
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

void AppendInitialiser(v1::ElementType type, absl::string_view bytes,
                       std::string& text) {
  // Five characters for a byte are about what most constants take.
  text.reserve(text.size() + 5 * bytes.size());
  switch (type) {
    case v1::FLOAT32:
      return AppendValues<float>(bytes, text);
    case v1::FLOAT64:
      return AppendValues<double>(bytes, text);
    case v1::INT8:
      return AppendByteValues<int8_t>(bytes, text);
    case v1::INT16:
      return AppendValues<int16_t>(bytes, text);
    case v1::UINT16:
    case v1::FLOAT16:
      return AppendValues<uint16_t>(bytes, text);
    case v1::INT32:
      return AppendValues<int32_t>(bytes, text);
    case v1::UINT32:
      return AppendValues<uint32_t>(bytes, text);
    case v1::INT64:
      return AppendValues<int64_t>(bytes, text);
    case v1::UINT64:
      return AppendValues<uint64_t>(bytes, text);
    default:
      return AppendByteValues<uint8_t>(bytes, text);
  }
}

}  // namespace edgekiln::compiler
