#ifndef EK_CLIENT_LSP_COMPLETION_H_
#define EK_CLIENT_LSP_COMPLETION_H_

// What may be typed at a place of a file.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/schema.h"
#include "client/lsp/syntax.h"
#include "client/lsp/target_facts.h"

namespace edgekiln::client::lsp {

// Numbers of the protocol's CompletionItemKind.
enum class ItemKind {
  kFunction = 3,
  kField = 5,
  kVariable = 6,
  kModule = 9,
  kProperty = 10,
  kValue = 12,
  kEnumMember = 20,
};

struct CompletionItem {
  std::string label;
  ItemKind kind = ItemKind::kField;
  std::string detail{};  // Type, or limits: one short line.
  std::string doc{};     // Markdown; may be empty.
  Span span{};           // What it replaces.
  std::string text{};  // By what. With `snippet`, "$0" is where typing goes on.
  bool snippet = false;
};

// In the order to show. `snippets`: whether the editor knows them.
std::vector<CompletionItem> CompleteAt(absl::string_view text,
                                       const Syntax& syntax, size_t offset,
                                       const FileKind& kind,
                                       const Schema& schema,
                                       const KnownTargets& known,
                                       bool snippets);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_COMPLETION_H_
