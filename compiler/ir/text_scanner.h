#ifndef EK_COMPILER_IR_TEXT_SCANNER_H_
#define EK_COMPILER_IR_TEXT_SCANNER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// Reads the tokens of the graph text form from left to right. White space and
// comments ("#" to the end of the line) separate tokens and are skipped before
// each. Errors are INVALID_ARGUMENT "line:column: ...", both from 1.
//
// Not thread-safe. `text` must outlive the scanner.
class TextScanner {
 public:
  explicit TextScanner(absl::string_view text) : text_(text) {}

  bool AtEnd();
  // Whether the next token starts with `c`; reads nothing.
  bool NextIs(char c);
  // Reads `c` if it comes next.
  bool Take(char c);
  // Reads `word` if it comes next as a whole word.
  bool TakeWord(absl::string_view word);

  absl::Status Expect(char c);
  // [A-Za-z0-9_.-]+, at least one.
  absl::StatusOr<absl::string_view> Word();
  // A quoted string with C escapes.
  absl::StatusOr<std::string> String();
  // %plain or %"quoted".
  absl::StatusOr<std::string> Name();
  absl::StatusOr<int64_t> Int(int64_t min, int64_t max);
  // Decimal, or inf, -inf.
  absl::StatusOr<float> Float();
  absl::StatusOr<double> Double();
  // Hex digits up to the next other character, as bytes.
  absl::StatusOr<std::string> HexBytes();

  // An error at the token read last.
  absl::Status Error(absl::string_view message) const;

 private:
  void Skip();
  template <typename T>
  absl::StatusOr<T> Real();

  absl::string_view text_;
  size_t at_ = 0;
  size_t token_ = 0;  // Where the current token starts, for errors.
};

// The text of a value, for printing: shortest form that reads back the same.
std::string RealText(float value);
std::string RealText(double value);
// "plain" or "\"quoted\"" after "%".
std::string NameText(absl::string_view name);
std::string QuotedText(absl::string_view text);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_TEXT_SCANNER_H_
