#include "target/expression_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::target {
namespace {

struct Function {
  absl::string_view name;
  int arity;
};

constexpr Function kFunctions[] = {
    {"ceildiv", 2}, {"floordiv", 2}, {"min", 2}, {"max", 2}, {"select", 3}};

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsNamePart(char c) { return absl::ascii_isalnum(c) || c == '_'; }

}  // namespace

absl::Status ExpressionParser::ParseAll() {
  if (text_.size() > kMaxExpressionBytes) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "EXPRESSION_INVALID",
                      .what = "the expression is too long",
                      .limit = absl::StrCat(kMaxExpressionBytes, " bytes"),
                      .need = absl::StrCat(text_.size(), " bytes")});
  }
  if (ParseComparison() == kFailed) return error_;
  SkipSpace();
  if (at_ < text_.size()) Error(column(), "unexpected character");
  return error_;
}

absl::StatusOr<Expression> ExpressionParser::Parse() {
  EK_RETURN_IF_ERROR(ParseAll());
  return Expression({nodes_.begin(), nodes_.end()}, std::string(text_),
                    uses_variables_);
}

absl::StatusOr<std::string> ExpressionParser::ParseAndReplace() {
  EK_RETURN_IF_ERROR(ParseAll());
  absl::StrAppend(&replaced_, text_.substr(copied_));
  return std::move(replaced_);
}

ExpressionParser::Result ExpressionParser::ParseComparison() {
  // "<=" before "<": the longer token wins.
  struct Comparison {
    absl::string_view token;
    Kind kind;
    bool swapped;
  };
  static constexpr Comparison kComparisons[] = {
      {"==", Kind::kEqual, false},     {"!=", Kind::kNotEqual, false},
      {"<=", Kind::kLessEqual, false}, {">=", Kind::kLessEqual, true},
      {"<", Kind::kLess, false},       {">", Kind::kLess, true}};
  const int32_t left = ParseSum();
  if (left == kFailed) return kFailed;
  const char next = Peek();
  if (next != '=' && next != '!' && next != '<' && next != '>') return left;
  const int32_t at = column();
  for (const Comparison& comparison : kComparisons) {
    if (!Accept(comparison.token)) continue;
    const int32_t right = ParseSum();
    if (right == kFailed) return kFailed;
    if (comparison.swapped) {
      return AddNode(comparison.kind, at, 0, {right, left});
    }
    return AddNode(comparison.kind, at, 0, {left, right});
  }
  return left;
}

ExpressionParser::Result ExpressionParser::ParseSum() {
  int32_t left = ParseProduct();
  if (left == kFailed) return kFailed;
  while (true) {
    const char next = Peek();
    if (next != '+' && next != '-') return left;
    const int32_t at = column();
    const bool add = next == '+';
    ++at_;
    const int32_t right = ParseProduct();
    if (right == kFailed) return kFailed;
    left = AddNode(add ? Kind::kAdd : Kind::kSub, at, 0, {left, right});
    if (left == kFailed) return kFailed;
  }
}

ExpressionParser::Result ExpressionParser::ParseProduct() {
  int32_t left = ParseUnary();
  if (left == kFailed) return kFailed;
  while (true) {
    if (Peek() != '*') return left;
    const int32_t at = column();
    ++at_;
    const int32_t right = ParseUnary();
    if (right == kFailed) return kFailed;
    left = AddNode(Kind::kMul, at, 0, {left, right});
    if (left == kFailed) return kFailed;
  }
}

ExpressionParser::Result ExpressionParser::ParseUnary() {
  const char next = Peek();
  const int32_t at = column();
  // Every way to nest passes here.
  if (nesting_ >= kMaxExpressionDepth) return Error(at, "nested too deeply");
  ++nesting_;
  Result result = kFailed;
  if (next == '-') {
    ++at_;
    result = ParseUnary();
    if (result != kFailed) result = AddNode(Kind::kNegate, at, 0, {result});
  } else {
    result = ParsePrimary();
  }
  --nesting_;
  return result;
}

ExpressionParser::Result ExpressionParser::ParsePrimary() {
  if (at_ >= text_.size()) return Error(column(), "unexpected end");
  if (Accept('(')) {
    const int32_t inner = ParseComparison();
    if (inner == kFailed) return kFailed;
    if (!Expect(')')) return kFailed;
    return inner;
  }
  if (absl::ascii_isdigit(text_[at_])) return ParseLiteral();
  if (IsNameStart(text_[at_])) return ParseName();
  return Error(column(), "unexpected character");
}

ExpressionParser::Result ExpressionParser::ParseLiteral() {
  const int32_t at = column();
  const size_t begin = at_;
  while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
  const absl::string_view digits = text_.substr(begin, at_ - begin);
  int64_t value = 0;
  if (!std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(digits, &value)) {
    return Error(at, "not a 64-bit decimal integer");
  }
  return AddNode(Kind::kLiteral, at, value, {});
}

ExpressionParser::Result ExpressionParser::ParseName() {
  const int32_t at = column();
  const absl::string_view name = TakeName();
  SkipSpace();
  if (at_ < text_.size() && text_[at_] == '(') return ParseCall(name, at);
  return LookUp(name, at);
}

ExpressionParser::Result ExpressionParser::ParseCall(absl::string_view function,
                                                     int32_t column) {
  if (function == "sum") return ParseSumCall(column);
  static constexpr Kind kKinds[] = {Kind::kCeilDiv, Kind::kFloorDiv, Kind::kMin,
                                    Kind::kMax, Kind::kSelect};
  for (size_t f = 0; f < std::size(kFunctions); ++f) {
    if (kFunctions[f].name != function) continue;
    int32_t operands[3] = {-1, -1, -1};
    if (!Expect('(')) return kFailed;
    for (int i = 0; i < kFunctions[f].arity; ++i) {
      if (i > 0 && !Expect(',')) return kFailed;
      operands[i] = ParseComparison();
      if (operands[i] == kFailed) return kFailed;
    }
    if (!Expect(')')) return kFailed;
    return AddNode(kKinds[f], column, 0,
                   absl::MakeConstSpan(operands, kFunctions[f].arity));
  }
  return Error(column, absl::StrCat("unknown function \"", function, "\""));
}

ExpressionParser::Result ExpressionParser::ParseSumCall(int32_t column) {
  if (!Expect('(')) return kFailed;
  SkipSpace();
  const int32_t name_column = this->column();
  const absl::string_view name = TakeName();
  if (name.empty()) return Error(name_column, "sum() needs a variable name");
  if (!Expect(',')) return kFailed;
  const int32_t low = ParseComparison();
  if (low == kFailed) return kFailed;
  if (!Expect(',')) return kFailed;
  const int32_t high = ParseComparison();
  if (high == kFailed) return kFailed;
  if (!Expect(',')) return kFailed;
  const int64_t slot = static_cast<int64_t>(sum_variables_.size());
  sum_variables_.push_back(name);
  const int32_t body = ParseComparison();
  if (body == kFailed) return kFailed;
  sum_variables_.pop_back();
  if (!Expect(')')) return kFailed;
  return AddNode(Kind::kSum, column, slot, {low, high, body});
}

ExpressionParser::Result ExpressionParser::LookUp(absl::string_view name,
                                                  int32_t column) {
  for (size_t i = sum_variables_.size(); i > 0; --i) {
    if (sum_variables_[i - 1] == name) {
      return AddNode(Kind::kSumVariable, column, static_cast<int64_t>(i - 1),
                     {});
    }
  }
  if (replacement_) {
    if (const auto replacement = (*replacement_)(name)) {
      const auto begin = static_cast<size_t>(name.data() - text_.data());
      absl::StrAppend(&replaced_, text_.substr(copied_, begin - copied_),
                      *replacement);
      copied_ = begin + name.size();
      return AddNode(Kind::kLiteral, column, 0, {});
    }
  }
  for (const Constant& constant : constants_) {
    if (constant.name == name) {
      return AddNode(Kind::kLiteral, column, constant.value, {});
    }
  }
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i] == name) {
      uses_variables_ = true;
      return AddNode(Kind::kVariable, column, static_cast<int64_t>(i), {});
    }
  }
  return Error(column, absl::StrCat("unknown name \"", name, "\""),
               "declare it as a parameter, or use a name that this expression "
               "may contain");
}

ExpressionParser::Result ExpressionParser::AddNode(
    Kind kind, int32_t column, int64_t value,
    absl::Span<const int32_t> operands) {
  Node node{.kind = kind, .column = column, .value = value};
  int depth = 1;
  for (size_t i = 0; i < operands.size(); ++i) {
    node.operand[i] = operands[i];
    depth = std::max(depth, depth_[operands[i]] + 1);
  }
  // Evaluation recurses as deep as the tree; a long chain of + is a deep tree.
  if (depth > kMaxExpressionDepth) return Error(column, "nested too deeply");
  nodes_.push_back(node);
  depth_.push_back(depth);
  return static_cast<int32_t>(nodes_.size()) - 1;
}

ExpressionParser::Result ExpressionParser::Error(int32_t column,
                                                 absl::string_view what,
                                                 std::string fix) {
  error_ = MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "EXPRESSION_INVALID",
                      .what = std::string(what),
                      .where = absl::StrCat("column ", column, " of \"",
                                            text_.substr(0, 200), "\""),
                      .fix = std::move(fix)});
  return kFailed;
}

bool ExpressionParser::Expect(char token) {
  SkipSpace();
  const int32_t at = column();
  if (Accept(token)) return true;
  Error(at, absl::StrCat("expected \"", absl::string_view(&token, 1), "\""));
  return false;
}

void ExpressionParser::SkipSpace() {
  while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
}

char ExpressionParser::Peek() {
  SkipSpace();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool ExpressionParser::Accept(absl::string_view token) {
  SkipSpace();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

bool ExpressionParser::Accept(char token) {
  if (Peek() != token) return false;
  ++at_;
  return true;
}

absl::string_view ExpressionParser::TakeName() {
  const size_t begin = at_;
  if (at_ < text_.size() && IsNameStart(text_[at_])) {
    while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

}  // namespace edgekiln::target
