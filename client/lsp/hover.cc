#include "client/lsp/hover.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/lsp/cursor.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::client::lsp {
namespace {

using google::protobuf::FieldDescriptor;

void AppendParagraph(const std::string& text, std::string& markdown) {
  if (!text.empty()) absl::StrAppend(&markdown, "\n\n", text);
}

std::string KeyText(const FieldDescriptor& field, const Schema& schema) {
  std::string markdown =
      absl::StrCat("**", field.name(), "**: ", TypeText(field));
  AppendParagraph(schema.Of(field.full_name()), markdown);
  if (const auto* type = field.message_type()) {
    AppendParagraph(schema.Of(type->full_name()), markdown);
  }
  const auto* const type = field.enum_type();
  if (type == nullptr) return markdown;
  AppendParagraph(schema.Of(type->full_name()), markdown);
  for (int i = 0; i < type->value_count(); ++i) {
    const auto& value = *type->value(i);
    if (absl::EndsWith(value.name(), "_UNSPECIFIED")) continue;
    const std::string& doc = schema.Of(value.full_name());
    absl::StrAppend(&markdown, i == 1 ? "\n\n" : "\n", "- `", value.name(), "`",
                    doc.empty() ? "" : ": ", doc);
  }
  return markdown;
}

class Hoverer {
 public:
  Hoverer(absl::string_view text, const Syntax& syntax, const Schema& schema,
          const KnownTargets& known)
      : text_(text), syntax_(syntax), schema_(schema), known_(known) {}

  std::optional<HoverText> OfValue(const Cursor& cursor, size_t offset) {
    const FieldDescriptor& field = *cursor.field;
    const std::string value = StringValue(text_, *cursor.node);
    if (field.enum_type() != nullptr) {
      const auto* const known = field.enum_type()->FindValueByName(value);
      if (known == nullptr) return std::nullopt;
      std::string markdown =
          absl::StrCat("**", value, "**: ", field.enum_type()->name());
      AppendParagraph(schema_.Of(known->full_name()), markdown);
      return HoverText{cursor.word, std::move(markdown)};
    }
    const std::string& key = field.name();
    if (key == "extends") return OfTarget(cursor.word, value);
    if (cursor.type->full_name() == "edgekiln.v1.SweepTarget" &&
        key == "name") {
      return OfTarget(cursor.word, value);
    }
    if (cursor.type->full_name() == v1::Setting::descriptor()->full_name()) {
      return OfParameter(cursor.node->value,
                         StringField(text_, *cursor.fields, "name"));
    }
    if (absl::EndsWith(key, "_expr") || key == "expr") {
      const Span name = NameAround(text_, offset, cursor.word);
      return OfParameter(name, std::string(name.In(text_)));
    }
    return std::nullopt;
  }

 private:
  std::optional<HoverText> OfTarget(Span span, const std::string& name) {
    for (const auto& [target, doc] : known_.list) {
      if (target != name) continue;
      return HoverText{span, absl::StrCat("**", target, "**\n\n", doc)};
    }
    return std::nullopt;
  }

  std::optional<HoverText> OfParameter(Span span, const std::string& name) {
    const ParameterFacts facts = ParametersFor(text_, syntax_, known_);
    const ParameterFact* const fact = FindParameter(facts, name);
    if (fact == nullptr || name.empty()) return std::nullopt;
    return HoverText{span, ParameterText(*fact)};
  }

  const absl::string_view text_;
  const Syntax& syntax_;
  const Schema& schema_;
  const KnownTargets& known_;
};

std::vector<Symbol> SymbolsIn(absl::string_view text,
                              const std::vector<Node>& fields) {
  std::vector<Symbol> symbols;
  for (const Node& node : fields) {
    if (!node.is_message) continue;
    Symbol symbol{.name = std::string(node.name.In(text)),
                  .whole = node.whole(),
                  .name_span = node.name,
                  .children = SymbolsIn(text, node.fields)};
    for (const absl::string_view key :
         {"name", "mnemonic", "op", "ops", "kernel", "expr"}) {
      const std::string name = StringField(text, node.fields, key);
      if (name.empty()) continue;
      symbol.detail = std::exchange(symbol.name, name);
      break;
    }
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

}  // namespace

std::optional<HoverText> HoverAt(absl::string_view text, const Syntax& syntax,
                                 size_t offset, const FileKind& kind,
                                 const Schema& schema,
                                 const KnownTargets& known) {
  const Cursor cursor = CursorAt(text, syntax, offset, *kind.root);
  if (cursor.field == nullptr || cursor.node == nullptr) return std::nullopt;
  if (cursor.at == At::kKey) {
    return HoverText{cursor.word, KeyText(*cursor.field, schema)};
  }
  return Hoverer(text, syntax, schema, known).OfValue(cursor, offset);
}

std::vector<Symbol> SymbolsOf(absl::string_view text, const Syntax& syntax) {
  return SymbolsIn(text, syntax.fields);
}

}  // namespace edgekiln::client::lsp
