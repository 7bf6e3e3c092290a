#include "client/lsp/syntax.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::client::lsp {
namespace {

enum class Kind { kWord, kNumber, kString, kSymbol, kEnd };

struct Token {
  Kind kind = Kind::kEnd;
  Span span;
  int line = 0;
  bool terminated = true;  // Of strings.
};

bool IsWordCharacter(char c) { return absl::ascii_isalnum(c) || c == '_'; }

class Lexer {
 public:
  Lexer(absl::string_view text, std::vector<Span>& comments)
      : text_(text), comments_(comments) {
    if (absl::StartsWith(text, kByteOrderMark))
      at_ = sizeof(kByteOrderMark) - 1;
  }

  Token Next() {
    SkipSpace();
    Token token{.span = {at_, at_}, .line = line_};
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      token.kind = Kind::kString;
      token.terminated = TakeString(c);
    } else if (absl::ascii_isdigit(c) || c == '.') {
      token.kind = Kind::kNumber;
      TakeWhile([](char d) { return IsWordCharacter(d) || d == '.'; });
    } else if (IsWordCharacter(c)) {
      token.kind = Kind::kWord;
      TakeWhile(IsWordCharacter);
    } else {
      token.kind = Kind::kSymbol;
      at_ += CharacterBytes(text_, at_);
    }
    token.span.end = at_;
    return token;
  }

 private:
  template <typename Predicate>
  void TakeWhile(Predicate predicate) {
    while (at_ < text_.size() && predicate(text_[at_])) ++at_;
  }

  void SkipSpace() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '#') {
        const size_t end =
            std::min(text_.find_first_of("\r\n", at_), text_.size());
        comments_.push_back({at_, end});
        at_ = end - 1;
        continue;
      }
      if (!absl::ascii_isspace(c) && c != '\0') return;
    }
  }

  // Ends with the line if its quote is not there: people are typing it.
  bool TakeString(char quote) {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n' || c == '\r') return false;
      if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        ++at_;
      } else if (c == quote) {
        ++at_;
        return true;
      }
    }
    return false;
  }

  const absl::string_view text_;
  std::vector<Span>& comments_;
  size_t at_ = 0;
  int line_ = 0;
};

class Parser {
 public:
  explicit Parser(absl::string_view text)
      : text_(text), lexer_(text, syntax_.comments) {
    Advance();
    Advance();
  }

  Syntax Run() {
    while (token_.kind != Kind::kEnd) {
      ParseFields(syntax_.fields, 0);
      if (token_.kind == Kind::kEnd) break;
      Error(token_.span, "a closing brace without an opening one");
      Advance();
    }
    return std::move(syntax_);
  }

 private:
  void Advance() {
    previous_ = token_;
    token_ = next_;
    next_ = lexer_.Next();
  }
  bool Is(char c) const { return IsSymbol(token_, c); }
  bool IsSymbol(const Token& token, char c) const {
    return token.kind == Kind::kSymbol && text_[token.span.begin] == c;
  }
  void Error(Span span, std::string what) {
    if (syntax_.errors.size() < kMaxSyntaxErrors) {
      syntax_.errors.push_back({span, std::move(what)});
    }
  }

  // Up to a closing brace, which stays, or to the end.
  void ParseFields(std::vector<Node>& fields, int depth) {
    while (token_.kind != Kind::kEnd && !Is('}') && !Is('>')) {
      if (token_.kind == Kind::kWord || Is('[')) {
        ParseField(fields, depth);
        continue;
      }
      const bool separator = Is(',') || Is(';');
      if (!separator || fields.empty()) {
        Error(token_.span, absl::StrCat("\"", token_.span.In(text_),
                                        "\" stands where a key is expected"));
      }
      Advance();
    }
  }

  Span ParseName() {
    Span name = token_.span;
    const bool bracketed = Is('[');
    const int line = token_.line;
    Advance();
    if (!bracketed) return name;
    while (token_.kind != Kind::kEnd && token_.line == line && !Is('{')) {
      name.end = token_.span.end;
      const bool last = Is(']');
      Advance();
      if (last) return name;
    }
    Error(name, "\"]\" is missing");
    return name;
  }

  void ParseField(std::vector<Node>& fields, int depth) {
    Node node;
    node.name = ParseName();
    const int line = previous_.line;
    const bool colon = Is(':');
    if (colon) Advance();
    node.value = {previous_.span.end, previous_.span.end};
    if (Is('{') || Is('<')) {
      ParseMessage(node, depth);
    } else if (Is('[') &&
               (colon || IsSymbol(next_, '{') || IsSymbol(next_, '<'))) {
      ParseList(node, fields, depth);
      return;
    } else if (colon && HasValue(line)) {
      ParseScalar(node);
    } else if (!colon && IsValue() && token_.line == line) {
      Error(node.name, "\":\" is missing behind the key");
      ParseScalar(node);
    } else {
      Error(node.name,
            absl::StrCat("the key \"", node.name.In(text_), "\" has no value"));
    }
    fields.push_back(std::move(node));
  }

  bool IsValue() const {
    return token_.kind == Kind::kWord || token_.kind == Kind::kNumber ||
           token_.kind == Kind::kString || Is('-');
  }
  // A word on a later line that looks like a key is the next key.
  bool HasValue(int line) const {
    if (!IsValue()) return false;
    const bool key = token_.kind == Kind::kWord &&
                     (IsSymbol(next_, ':') || IsSymbol(next_, '{'));
    return !key || token_.line == line;
  }

  void ParseScalar(Node& node) {
    node.value.begin = token_.span.begin;
    if (token_.kind == Kind::kString) {
      node.is_string = true;
      while (token_.kind == Kind::kString) {
        if (!token_.terminated) {
          Error(token_.span, "the string does not end on its line");
        }
        node.value.end = token_.span.end;
        const bool terminated = token_.terminated;
        Advance();
        if (!terminated) return;
      }
      return;
    }
    if (Is('-')) Advance();
    node.value.end = token_.span.end;
    if (token_.kind == Kind::kWord || token_.kind == Kind::kNumber) Advance();
  }

  void ParseMessage(Node& node, int depth) {
    node.is_message = true;
    node.value.begin = token_.span.begin;
    node.body.begin = token_.span.end;
    const Span opening = token_.span;
    Advance();
    if (depth + 1 < kMaxSyntaxDepth) {
      ParseFields(node.fields, depth + 1);
    } else {
      SkipMessage();
    }
    node.closed = token_.kind != Kind::kEnd;
    node.body.end = node.closed ? token_.span.begin : text_.size();
    node.value.end = node.closed ? token_.span.end : text_.size();
    if (node.closed) {
      Advance();
    } else {
      Error(opening, absl::StrCat("\"", opening.In(text_),
                                  "\" is not closed before the end of the "
                                  "file"));
    }
  }

  // Too deep to be read: up to the closing brace of this message.
  void SkipMessage() {
    for (int open = 0; token_.kind != Kind::kEnd; Advance()) {
      if (Is('{') || Is('<')) ++open;
      if ((Is('}') || Is('>')) && open-- == 0) return;
    }
  }

  void ParseList(const Node& prototype, std::vector<Node>& fields, int depth) {
    const Span opening = token_.span;
    Advance();
    while (token_.kind != Kind::kEnd && !Is(']') && !Is('}')) {
      Node node = prototype;
      if (Is('{') || Is('<')) {
        ParseMessage(node, depth);
        fields.push_back(std::move(node));
      } else if (IsValue()) {
        ParseScalar(node);
        fields.push_back(std::move(node));
      } else {
        if (!Is(',')) {
          Error(token_.span, absl::StrCat("\"", token_.span.In(text_),
                                          "\" stands where a value is "
                                          "expected"));
        }
        Advance();
      }
    }
    if (Is(']')) {
      Advance();
    } else {
      Error(opening, "\"[\" is not closed");
    }
  }

  const absl::string_view text_;
  Syntax syntax_;
  Lexer lexer_;
  Token previous_;
  Token token_;
  Token next_;
};

}  // namespace

Syntax ParseSyntax(absl::string_view text) { return Parser(text).Run(); }

const Node* FindField(absl::string_view text, const std::vector<Node>& fields,
                      absl::string_view name) {
  for (const Node& node : fields) {
    if (node.name.In(text) == name) return &node;
  }
  return nullptr;
}

Span InnerSpan(absl::string_view text, const Node& node) {
  Span span = node.value;
  if (!node.is_string || span.empty()) return span;
  const char quote = text[span.begin];
  ++span.begin;
  if (span.end > span.begin && text[span.end - 1] == quote) --span.end;
  return span;
}

std::string StringValue(absl::string_view text, const Node& node) {
  return std::string(InnerSpan(text, node).In(text));
}

std::string DecodedString(absl::string_view text, const Node& node) {
  if (!node.is_string) return StringValue(text, node);
  std::vector<Span> comments;
  const absl::string_view value = node.value.In(text);
  Lexer lexer(value, comments);
  std::string decoded;
  for (Token token = lexer.Next(); token.kind == Kind::kString;
       token = lexer.Next()) {
    absl::string_view piece = token.span.In(value).substr(1);
    if (token.terminated) piece.remove_suffix(1);
    std::string plain;
    absl::StrAppend(
        &decoded, absl::CUnescape(piece, &plain) ? plain : std::string(piece));
  }
  return decoded;
}

std::string StringField(absl::string_view text, const std::vector<Node>& fields,
                        absl::string_view name) {
  const Node* const node = FindField(text, fields, name);
  return node == nullptr ? "" : StringValue(text, *node);
}

}  // namespace edgekiln::client::lsp
