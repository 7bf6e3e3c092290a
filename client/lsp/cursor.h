#ifndef EK_CLIENT_LSP_CURSOR_H_
#define EK_CLIENT_LSP_CURSOR_H_

// What stands at a place of a file, by its schema.

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/schema.h"
#include "client/lsp/syntax.h"

namespace edgekiln::client::lsp {

enum class At {
  kNothing,  // A comment, or what has no schema.
  kKey,      // In a key, or where one may stand.
  kValue,    // In a value, or where one may stand.
};

struct Cursor {
  At at = At::kNothing;
  // The message around; null: unknown.
  const google::protobuf::Descriptor* type = nullptr;
  // Its fields, and the entry that they are of (null: the file).
  const std::vector<Node>* fields = nullptr;
  const Node* entry = nullptr;
  // The one at the place; null: between fields.
  const Node* node = nullptr;
  const google::protobuf::FieldDescriptor* field = nullptr;
  // The word around the place: what a completion replaces. Empty, at the place,
  // between words. Of strings, without quotes; of keys, the key.
  Span word;
  bool in_string = false;  // Between quotes.
};

// `offset` is at most the size of the text; `syntax` must outlive the result.
Cursor CursorAt(absl::string_view text, const Syntax& syntax, size_t offset,
                const google::protobuf::Descriptor& root);

// The name of letters, digits and "_" around `offset` within `bounds`.
Span NameAround(absl::string_view text, size_t offset, Span bounds);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_CURSOR_H_
