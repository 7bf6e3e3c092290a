#include "compiler/ir/text_scanner.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace edgekiln::compiler {
namespace {

bool IsWordChar(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
}

bool IsNameChar(char c) {
  return IsWordChar(c) || c == '/' || c == ':' || c == ';';
}

template <typename T>
std::string Shortest(T value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

}  // namespace

void TextScanner::Skip() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (absl::ascii_isspace(text_[at_])) {
      ++at_;
    } else {
      break;
    }
  }
  token_ = at_;
}

bool TextScanner::AtEnd() {
  Skip();
  return at_ == text_.size();
}

bool TextScanner::NextIs(char c) {
  Skip();
  return at_ < text_.size() && text_[at_] == c;
}

bool TextScanner::Take(char c) {
  if (!NextIs(c)) return false;
  ++at_;
  return true;
}

bool TextScanner::TakeWord(absl::string_view word) {
  Skip();
  const size_t end = at_ + word.size();
  if (text_.substr(at_, word.size()) != word) return false;
  if (end < text_.size() && IsWordChar(text_[end])) return false;
  at_ = end;
  return true;
}

absl::Status TextScanner::Expect(char c) {
  if (Take(c)) return absl::OkStatus();
  return Error(absl::StrCat("'", std::string(1, c), "' expected"));
}

absl::StatusOr<absl::string_view> TextScanner::Word() {
  Skip();
  while (at_ < text_.size() && IsWordChar(text_[at_])) ++at_;
  if (at_ == token_) return Error("word expected");
  return text_.substr(token_, at_ - token_);
}

absl::StatusOr<std::string> TextScanner::String() {
  Skip();
  if (at_ == text_.size() || text_[at_] != '"') return Error("'\"' expected");
  const size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"') {
    at_ += text_[at_] == '\\' ? 2 : 1;
  }
  if (at_ >= text_.size()) {
    at_ = text_.size();
    return Error("string without an end");
  }
  std::string value;
  const absl::string_view quoted = text_.substr(begin, at_ - begin);
  ++at_;
  if (!absl::CUnescape(quoted, &value)) return Error("malformed escape");
  return value;
}

absl::StatusOr<std::string> TextScanner::Name() {
  EK_RETURN_IF_ERROR(Expect('%'));
  if (at_ < text_.size() && text_[at_] == '"') return String();
  const size_t begin = at_;
  while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
  if (at_ == begin) return Error("name expected");
  return std::string(text_.substr(begin, at_ - begin));
}

absl::StatusOr<int64_t> TextScanner::Int(int64_t min, int64_t max) {
  EK_ASSIGN_OR_RETURN(const absl::string_view word, Word());
  int64_t value = 0;
  if (!absl::SimpleAtoi(word, &value) || value < min || value > max) {
    return Error(absl::StrCat("integer from ", min, " to ", max, " expected"));
  }
  return value;
}

template <typename T>
absl::StatusOr<T> TextScanner::Real() {
  Skip();
  while (at_ < text_.size() && (IsWordChar(text_[at_]) || text_[at_] == '+')) {
    ++at_;
  }
  T value = 0;
  const char* end = text_.data() + at_;
  const auto result = std::from_chars(text_.data() + token_, end, value);
  if (result.ec != std::errc() || result.ptr != end) {
    return Error("number expected");
  }
  return value;
}

absl::StatusOr<float> TextScanner::Float() { return Real<float>(); }
absl::StatusOr<double> TextScanner::Double() { return Real<double>(); }

absl::StatusOr<std::string> TextScanner::HexBytes() {
  const size_t begin = at_;
  while (at_ < text_.size() && absl::ascii_isxdigit(text_[at_])) ++at_;
  if ((at_ - begin) % 2 != 0) return Error("odd number of hex digits");
  return absl::HexStringToBytes(text_.substr(begin, at_ - begin));
}

absl::Status TextScanner::Error(absl::string_view message) const {
  const absl::string_view before = text_.substr(0, token_);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n');  // npos + 1 == 0.
  return absl::InvalidArgumentError(absl::StrCat(
      lines + 1, ":", token_ - (line_start + 1) + 1, ": ", message));
}

std::string RealText(float value) { return Shortest(value); }
std::string RealText(double value) { return Shortest(value); }

std::string QuotedText(absl::string_view text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

std::string NameText(absl::string_view name) {
  const bool plain =
      !name.empty() && std::all_of(name.begin(), name.end(), IsNameChar);
  return absl::StrCat("%", plain ? std::string(name) : QuotedText(name));
}

}  // namespace edgekiln::compiler
