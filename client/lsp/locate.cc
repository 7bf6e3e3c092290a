#include "client/lsp/locate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace edgekiln::client::lsp {
namespace {

// One part of a path: `memory "sram"` is {memory, sram}, `holds` {holds, ""}.
struct Part {
  std::string key;
  std::string name{};
};

constexpr char kColumn[] = "column ";
constexpr char kLine[] = "line ";

// At colons and commas, but not within quotes.
std::vector<std::string> SplitPath(absl::string_view path) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '"') quoted = !quoted;
    const bool ends = (path[i] == ':' || path[i] == ',') &&
                      i + 1 < path.size() && path[i + 1] == ' ';
    if (!quoted && ends) {
      parts.emplace_back();
      ++i;
      continue;
    }
    parts.back() += path[i];
  }
  return parts;
}

Part PartOf(absl::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  Part part{.key = std::string(text.substr(0, space))};
  absl::string_view rest = absl::StripAsciiWhitespace(text.substr(space));
  if (absl::StartsWith(rest, "= ")) rest = "";  // `pes = 3`.
  if (absl::ConsumePrefix(&rest, "\"")) absl::ConsumeSuffix(&rest, "\"");
  part.name = std::string(rest);
  return part;
}

// Whether what errors call `word` is the key `key`: "memory" is an entry of
// "memories".
bool Means(absl::string_view word, absl::string_view key) {
  if (word == key) return true;
  if (absl::StrCat(word, "s") == key) return true;
  return absl::EndsWith(word, "y") &&
         absl::StrCat(word.substr(0, word.size() - 1), "ies") == key;
}

// Keys whose values errors call entries by.
constexpr absl::string_view kNameKeys[] = {
    "name",   "mnemonic", "op",    "instruction_class",
    "kernel", "variable", "engine"};

class Locator {
 public:
  Locator(absl::string_view text, const Syntax& syntax)
      : text_(text), syntax_(syntax) {}

  Span Locate(const v1::ErrorDetail& error) {
    fields_ = &syntax_.fields;
    const std::vector<std::string> quotes = absl::StrSplit(error.what(), '"');
    if (quotes.size() > 2) quoted_ = quotes[1];
    absl::string_view message = error.message();
    const size_t what = error.what().empty() ? absl::string_view::npos
                                             : message.find(error.what());
    std::vector<std::string> parts;
    if (what != absl::string_view::npos)
      parts = SplitPath(message.substr(0, what));
    for (std::string& part : SplitPath(error.where())) {
      parts.push_back(std::move(part));
    }
    for (const std::string& part : parts) Follow(part);
    if (!span_.empty()) return span_;
    if (syntax_.fields.empty()) return {};
    return syntax_.fields[0].whole();
  }

 private:
  void Follow(absl::string_view part) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty() || FollowLine(part) || FollowColumn(part)) return;
    const Part wanted = PartOf(part);
    if (const Node* found = Find(*fields_, wanted)) {
      // Of several values of one key, the one that `what` quotes.
      for (const Node& node : *fields_) {
        if (!quoted_.empty() && wanted.name.empty() &&
            node.name.In(text_) == found->name.In(text_) &&
            StringValue(text_, node) == quoted_) {
          found = &node;
        }
      }
      Enter(*found, wanted);
      return;
    }
    // `pes = 3`: the line that sets it, or the parameter.
    if (const Node* named = FindNamed(syntax_.fields, wanted.key)) {
      if (span_.empty()) span_ = PlaceOf(*named);
    }
  }

  void Enter(const Node& node, const Part& wanted) {
    node_ = &node;
    if (node.is_message) fields_ = &node.fields;
    span_ = wanted.name.empty() ? ValueOrKey(node) : PlaceOf(node);
  }

  bool FollowLine(absl::string_view part) {
    int line = 0;
    if (!absl::ConsumePrefix(&part, kLine) || !absl::SimpleAtoi(part, &line)) {
      return false;
    }
    const Span whole = LineIndex(text_).Line(text_, line - 1);
    span_ = whole;
    while (!span_.empty() && absl::ascii_isspace(text_[span_.begin])) {
      ++span_.begin;
    }
    if (span_.empty()) span_ = whole;
    return true;
  }

  // `column 5 of "expression"`: in the string of the field before.
  bool FollowColumn(absl::string_view part) {
    if (!absl::ConsumePrefix(&part, kColumn)) return false;
    size_t column = 0;
    const size_t space = std::min(part.find(' '), part.size());
    if (!absl::SimpleAtoi(part.substr(0, space), &column)) return true;
    absl::string_view expression = part.substr(space);
    if (absl::ConsumePrefix(&expression, " of \"")) {
      absl::ConsumeSuffix(&expression, "\"");
    }
    if (node_ == nullptr || node_->is_message ||
        !absl::StartsWith(StringValue(text_, *node_), expression)) {
      node_ = FindString(*fields_, expression);
    }
    if (node_ == nullptr) return true;
    const Span inner = InnerSpan(text_, *node_);
    span_ = inner;
    span_.begin = std::min(inner.begin + column - 1, inner.end);
    if (span_.begin >= inner.end) {
      // Behind the last character: the whole.
      span_ = node_->value;
      return true;
    }
    size_t end = span_.begin + 1;
    while (end < inner.end && IsWord(text_[end]) && IsWord(text_[end - 1])) {
      ++end;
    }
    span_.end = end;
    return true;
  }

  static bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_'; }

  // The value of a scalar; of a message, its key.
  static Span ValueOrKey(const Node& node) {
    return node.is_message || node.value.empty() ? node.name : node.value;
  }

  // Of an entry that is called by a name: where the name stands, as a rule the
  // first line, or its value (`set`), which is what errors are about.
  Span PlaceOf(const Node& node) const {
    for (const absl::string_view key : {"value", "name"}) {
      const Node* const named = FindField(text_, node.fields, key);
      if (named != nullptr && !named->value.empty()) return named->value;
    }
    for (const absl::string_view key : kNameKeys) {
      const Node* const named = FindField(text_, node.fields, key);
      if (named != nullptr && !named->value.empty()) return named->value;
    }
    return node.is_message ? node.name : node.whole();
  }

  bool HasName(const Node& node, absl::string_view name) const {
    if (!node.is_message) return StringValue(text_, node) == name;
    for (const absl::string_view key : kNameKeys) {
      if (StringField(text_, node.fields, key) == name) return true;
    }
    // Patterns are called by their ops: "conv2d+add".
    std::string ops;
    for (const Node& field : node.fields) {
      if (field.name.In(text_) != "ops") continue;
      absl::StrAppend(&ops, ops.empty() ? "" : "+", StringValue(text_, field));
    }
    return !ops.empty() && ops == name;
  }

  // Here, otherwise anywhere below.
  const Node* Find(const std::vector<Node>& fields, const Part& wanted) const {
    int64_t number = 0;
    const bool counted = absl::SimpleAtoi(wanted.name, &number);
    for (const Node& node : fields) {
      if (!Means(wanted.key, node.name.In(text_))) continue;
      if (counted && --number == 0) return &node;
      if (!counted && (wanted.name.empty() || HasName(node, wanted.name))) {
        return &node;
      }
    }
    for (const Node& node : fields) {
      const Node* const found = Find(node.fields, wanted);
      if (found != nullptr) return found;
    }
    return nullptr;
  }

  const Node* FindNamed(const std::vector<Node>& fields,
                        absl::string_view name) const {
    for (const Node& node : fields) {
      if (node.is_message && StringField(text_, node.fields, "name") == name) {
        return &node;
      }
    }
    return nullptr;
  }

  const Node* FindString(const std::vector<Node>& fields,
                         absl::string_view beginning) const {
    for (const Node& node : fields) {
      if (node.is_string && !beginning.empty() &&
          absl::StartsWith(StringValue(text_, node), beginning)) {
        return &node;
      }
      const Node* const found = FindString(node.fields, beginning);
      if (found != nullptr) return found;
    }
    return nullptr;
  }

  const absl::string_view text_;
  const Syntax& syntax_;
  const std::vector<Node>* fields_ = nullptr;  // Of where the path has led.
  const Node* node_ = nullptr;                 // The last one found.
  Span span_;
  std::string quoted_;  // The first word in quotes of `what`.
};

// The word that a fix "did you mean "X"?" puts in.
std::string Meant(absl::string_view fix) {
  const std::vector<absl::string_view> parts = absl::StrSplit(fix, '"');
  if (parts.size() != 3 || !absl::StartsWith(fix, "did you mean ")) return "";
  return std::string(parts[1]);
}

// How many letters are wrong, missing, too many or swapped.
size_t TypingErrors(absl::string_view a, absl::string_view b) {
  constexpr size_t kLooked = 64;
  a = a.substr(0, kLooked);
  b = b.substr(0, kLooked);
  std::vector<std::vector<size_t>> rows(a.size() + 1,
                                        std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1,
                             rows[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

// The words of a fix "parameters are: a, b": those that are most like `word`
// first, kMostOffered of them.
std::vector<std::string> Offered(absl::string_view fix,
                                 absl::string_view word) {
  constexpr size_t kMostOffered = 5;
  constexpr absl::string_view kAre = "s are: ";
  const size_t are = fix.find(kAre.data());
  if (are == absl::string_view::npos) return {};
  std::vector<std::string> words =
      absl::StrSplit(fix.substr(are + kAre.size()), ", ");
  // A long fix is cut.
  if (absl::EndsWith(words.back(), "...")) words.pop_back();
  std::stable_sort(words.begin(), words.end(),
                   [&](const std::string& a, const std::string& b) {
                     return TypingErrors(a, word) < TypingErrors(b, word);
                   });
  words.resize(std::min(words.size(), kMostOffered));
  return words;
}

// What a meant word replaces: the name of an entry, not its value.
Span NameSpan(absl::string_view text, const Syntax& syntax,
              const v1::ErrorDetail& error, Span span) {
  const Part part = PartOf(error.where());
  for (const Node& node : syntax.fields) {
    if (!Means(part.key, node.name.In(text))) continue;
    const Node* const name = FindField(text, node.fields, "name");
    if (name == nullptr || StringValue(text, *name) != part.name) continue;
    return InnerSpan(text, *name);
  }
  // A string is replaced between its quotes.
  const absl::string_view value = span.In(text);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    return {span.begin + 1, span.end - 1};
  }
  return span;
}

void AddFixes(absl::string_view text, const Syntax& syntax,
              const v1::ErrorDetail& error, Problem& problem) {
  if (absl::StartsWith(error.where(), kLine)) return;
  const std::string meant = Meant(error.fix());
  const Span name = NameSpan(text, syntax, error, problem.span);
  std::vector<std::string> words = {meant};
  if (meant.empty()) words = Offered(error.fix(), name.In(text));
  for (const std::string& word : words) {
    problem.span = name;
    problem.fixes.push_back(
        {absl::StrCat("Change to \"", word, "\""), name, word});
  }
  if (!words.empty()) return;
  // "1 to 1024 elements": the nearest of the two.
  const std::vector<std::string> bounds =
      absl::StrSplit(error.limit(), absl::ByChar(' '));
  int64_t value = 0;
  int64_t low = 0;
  int64_t high = 0;
  if (bounds.size() < 3 || bounds[1] != "to" ||
      !absl::SimpleAtoi(bounds[0], &low) ||
      !absl::SimpleAtoi(bounds[2], &high) ||
      !absl::SimpleAtoi(problem.span.In(text), &value) ||
      (value >= low && value <= high)) {
    return;
  }
  const std::string nearest = absl::StrCat(value < low ? low : high);
  problem.fixes.push_back(
      {absl::StrCat("Set to ", nearest, ", the ",
                    value < low ? "least" : "most", " that is allowed"),
       problem.span, nearest});
}

}  // namespace

Span LocateError(absl::string_view text, const Syntax& syntax,
                 const v1::ErrorDetail& error) {
  return Locator(text, syntax).Locate(error);
}

std::string ErrorText(const v1::ErrorDetail& error) {
  std::string text = error.what();
  if (!error.where().empty()) absl::StrAppend(&text, ": ", error.where());
  if (!error.limit().empty())
    absl::StrAppend(&text, "; limit: ", error.limit());
  if (!error.need().empty()) absl::StrAppend(&text, "; need: ", error.need());
  if (!error.fix().empty()) absl::StrAppend(&text, "; ", error.fix());
  return text;
}

Problem ProblemOf(absl::string_view text, const Syntax& syntax,
                  const v1::ErrorDetail& error) {
  Problem problem{.span = LocateError(text, syntax, error),
                  .reason = error.reason(),
                  .message = ErrorText(error)};
  AddFixes(text, syntax, error, problem);
  return problem;
}

}  // namespace edgekiln::client::lsp
