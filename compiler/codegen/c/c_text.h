#ifndef EK_COMPILER_CODEGEN_C_C_TEXT_H_
#define EK_COMPILER_CODEGEN_C_C_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/data.pb.h"

// C as text: indented lines, literals, types.
namespace edgekiln::compiler {

// Lines of C, indented by the blocks they are in. Not thread-safe.
class CodeWriter {
 public:
  explicit CodeWriter(int depth = 0) : depth_(depth) {}

  template <typename... Parts>
  void Line(const Parts&... parts) {
    text_.append(static_cast<size_t>(2 * depth_), ' ');
    absl::StrAppend(&text_, parts...);
    text_.push_back('\n');
  }
  // `parts {`, then lines one deeper.
  template <typename... Parts>
  void Open(const Parts&... parts) {
    Line(parts..., " {");
    ++depth_;
  }
  void OpenBlock() {
    Line("{");
    ++depth_;
  }
  void Close(absl::string_view behind = "") {
    --depth_;
    Line("}", behind);
  }
  // for (int32_t i = 0; i < count; ++i) {
  void OpenLoop(absl::string_view i, int64_t count) {
    Open("for (int32_t ", i, " = 0; ", i, " < ", count, "; ++", i, ")");
  }
  // Text of several lines as it is.
  void Raw(absl::string_view text) { text_.append(text.data(), text.size()); }

  const std::string& text() const { return text_; }
  int depth() const { return depth_; }

 private:
  std::string text_;
  int depth_;
};

// The C type of a tensor's values; bool is uint8_t, float16 its bits in
// uint16_t.
absl::string_view CTypeOf(v1::ElementType type);

// Exact: hexadecimal floats. Not finite: an expression without libc.
std::string CFloat(float value);
std::string CDouble(double value);
// Of the width of the type, including the lowest value.
std::string CInteger(int64_t value);

// Appends the elements of little-endian `bytes` as the inside of an
// initialiser, in lines.
void AppendInitialiser(v1::ElementType type, absl::string_view bytes,
                       std::string& text);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_C_TEXT_H_
