#ifndef EK_CLIENT_LSP_HOVER_H_
#define EK_CLIENT_LSP_HOVER_H_

// What is known of a place of a file, and what a file consists of.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/schema.h"
#include "client/lsp/syntax.h"
#include "client/lsp/target_facts.h"

namespace edgekiln::client::lsp {

struct HoverText {
  Span span;
  std::string markdown;
};

// Of a key: its type and comment; of a value: that of the enumeration, or the
// parameter or target that it names. Nothing where there is nothing to say.
std::optional<HoverText> HoverAt(absl::string_view text, const Syntax& syntax,
                                 size_t offset, const FileKind& kind,
                                 const Schema& schema,
                                 const KnownTargets& known);

// An entry of the outline.
struct Symbol {
  std::string name;      // "sram"; of entries without a name, their key.
  std::string detail{};  // The key: "memories".
  Span whole{};
  Span name_span{};
  std::vector<Symbol> children{};
};

// The messages of a file.
std::vector<Symbol> SymbolsOf(absl::string_view text, const Syntax& syntax);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_HOVER_H_
