#ifndef EK_CLIENT_LSP_SYNTAX_H_
#define EK_CLIENT_LSP_SYNTAX_H_

// The text form of messages as a tree with positions, also of a text that is
// half-typed. Knows no schema. Whether a text is valid is protobuf's word, see
// check.h.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/positions.h"

namespace edgekiln::client::lsp {

// Messages within messages that are read; deeper ones have no fields here.
inline constexpr int kMaxSyntaxDepth = 32;
inline constexpr size_t kMaxSyntaxErrors = 50;

// At the beginning of a text, an error, but not one of what follows.
inline constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";

// A field. An element of a list `key: [a, b]` is a field of that key.
struct Node {
  Span name;   // As written: "set", "[type.googleapis.com/x.Y]".
  Span value;  // Braces included; empty, behind the key, if it is missing.
  Span body;   // Of a message: between the braces.
  bool is_message = false;
  bool closed = true;  // Of a message: its closing brace is there.
  bool is_string = false;
  std::vector<Node> fields;

  Span whole() const { return {name.begin, value.end}; }
};

struct SyntaxError {
  Span span;
  std::string what;
};

struct Syntax {
  std::vector<Node> fields;
  std::vector<SyntaxError> errors;
  std::vector<Span> comments;  // With their "#", without the line end.
};

Syntax ParseSyntax(absl::string_view text);

// The first field of that key; null if there is none.
const Node* FindField(absl::string_view text, const std::vector<Node>& fields,
                      absl::string_view name);

// The characters of a string value, without quotes; escapes as written. Of
// other values, as they are.
std::string StringValue(absl::string_view text, const Node& node);
// The text that a string value stands for: pieces behind each other are one,
// escapes are decoded. Of other values, as they are.
std::string DecodedString(absl::string_view text, const Node& node);
// StringValue() of the first such field; empty if there is none.
std::string StringField(absl::string_view text, const std::vector<Node>& fields,
                        absl::string_view name);

// Of a string in one piece the part between its quotes; of other values, all.
Span InnerSpan(absl::string_view text, const Node& node);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_SYNTAX_H_
