#include "client/lsp/completion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/lsp/cursor.h"
#include "edgekiln/v1/sweep.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::client::lsp {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// Of target/expression.h.
constexpr struct {
  const char* name;
  const char* doc;
} kFunctions[] = {
    {"ceildiv", "ceildiv(a,b): a / b, rounded up."},
    {"floordiv", "floordiv(a,b): a / b, rounded down."},
    {"min", "min(a,b): the smaller one."},
    {"max", "max(a,b): the larger one."},
    {"select", "select(c,a,b): a if c is not 0, else b."},
    {"sum", "sum(i,lo,hi,e): e added up for i = lo .. hi-1."},
};

constexpr char kExpression[] = "_expr";

class Completer {
 public:
  Completer(absl::string_view text, const Syntax& syntax, const FileKind& kind,
            const Schema& schema, const KnownTargets& known, bool snippets)
      : text_(text),
        syntax_(syntax),
        kind_(kind),
        schema_(schema),
        known_(known),
        snippets_(snippets) {}

  std::vector<CompletionItem> Run(size_t offset) {
    const Cursor cursor = CursorAt(text_, syntax_, offset, *kind_.root);
    word_ = cursor.word;
    if (cursor.at == At::kKey) AddKeys(cursor);
    if (cursor.at == At::kValue && cursor.field != nullptr) {
      AddValues(cursor, offset);
    }
    return std::move(items_);
  }

 private:
  CompletionItem& Add(std::string label, ItemKind kind, std::string text) {
    items_.push_back({.label = std::move(label),
                      .kind = kind,
                      .span = word_,
                      .text = std::move(text)});
    return items_.back();
  }

  void AddKeys(const Cursor& cursor) {
    // A key that has its value is renamed alone.
    const bool bare = cursor.node == nullptr ||
                      (cursor.node->value.empty() && !cursor.node->is_message);
    const bool colon = cursor.node != nullptr && bare &&
                       cursor.node->value.end > cursor.node->name.end;
    for (int i = 0; i < cursor.type->field_count(); ++i) {
      const FieldDescriptor& field = *cursor.type->field(i);
      const Node* const there = FindField(text_, *cursor.fields, field.name());
      if (there != nullptr && there != cursor.node && !field.is_repeated()) {
        continue;
      }
      CompletionItem& item = Add(field.name(), ItemKind::kField, field.name());
      item.detail = TypeText(field);
      item.doc = schema_.Of(field.full_name());
      if (bare && !colon) SetKeyText(field, item);
    }
  }

  void SetKeyText(const FieldDescriptor& field, CompletionItem& item) const {
    item.snippet = snippets_;
    const char* const here = snippets_ ? "$0" : "";
    if (field.message_type() != nullptr) {
      // One line for small messages: set { name: ".." value: .. }.
      const bool is_set = field.message_type()->full_name() ==
                          v1::Setting::descriptor()->full_name();
      if (is_set && snippets_) {
        item.text = absl::StrCat(field.name(), " { name: \"$1\" value: $0 }");
      } else if (snippets_) {
        item.text = absl::StrCat(field.name(), " {\n  $0\n}");
      } else {
        item.text = absl::StrCat(field.name(), " { ");
      }
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      item.text =
          absl::StrCat(field.name(), ": \"", here, snippets_ ? "\"" : "");
    } else {
      item.text = absl::StrCat(field.name(), ": ", here);
    }
  }

  void AddValues(const Cursor& cursor, size_t offset) {
    const FieldDescriptor& field = *cursor.field;
    if (field.enum_type() != nullptr) {
      AddEnum(*field.enum_type());
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      Add("true", ItemKind::kValue, "true");
      Add("false", ItemKind::kValue, "false");
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      AddStrings(cursor, offset);
    } else if (IsSetting(cursor) && field.name() == "value") {
      AddParameterValues(cursor);
    }
  }

  void AddEnum(const EnumDescriptor& type) {
    for (int i = 0; i < type.value_count(); ++i) {
      const auto& value = *type.value(i);
      if (absl::EndsWith(value.name(), "_UNSPECIFIED")) continue;
      Add(value.name(), ItemKind::kEnumMember, value.name()).doc =
          schema_.Of(value.full_name());
    }
  }

  static bool IsSetting(const Cursor& cursor) {
    return cursor.type->full_name() == v1::Setting::descriptor()->full_name();
  }

  // A string, with quotes where the place has none yet.
  CompletionItem& AddString(const Cursor& cursor, const std::string& value,
                            ItemKind kind) {
    return Add(value, kind,
               cursor.in_string ? value : absl::StrCat("\"", value, "\""));
  }

  void AddStrings(const Cursor& cursor, size_t offset) {
    const std::string& name = cursor.field->name();
    const bool sweep_target =
        cursor.type->full_name() == v1::SweepTarget::descriptor()->full_name();
    if (absl::EndsWith(name, kExpression) || name == "expr") {
      if (cursor.in_string) AddExpressionNames(cursor, offset);
    } else if (name == "extends" || (sweep_target && name == "name")) {
      for (const auto& [target, doc] : known_.list) {
        AddString(cursor, target, ItemKind::kModule).doc = doc;
      }
    } else if (IsSetting(cursor) && name == "name") {
      AddParameters(cursor);
    } else if (cursor.type->full_name() == "edgekiln.v1.SweepVary" &&
               name == "key") {
      for (const char* key : {"calibration-method", "io", "limit", "offload",
                              "quantization", "seed"}) {
        AddString(cursor, key, ItemKind::kProperty);
      }
    } else {
      AddNamesOfFile(cursor, name);
    }
  }

  // Names of memories and engines, where the schema asks for one.
  void AddNamesOfFile(const Cursor& cursor, const std::string& name) {
    const bool engines = name == "reached_by" || name == "owner" ||
                         name == "window" || name == "engine" ||
                         name == "separate_requantization";
    const bool memories = name == "from" || name == "to" || name == "memory" ||
                          name == "staged_in";
    if (!engines && !memories) return;
    const absl::string_view list = engines ? "engines" : "memories";
    for (const Node& node : syntax_.fields) {
      if (node.name.In(text_) != list) continue;
      const std::string entry = StringField(text_, node.fields, "name");
      if (entry.empty()) continue;
      CompletionItem& item = AddString(cursor, entry, ItemKind::kVariable);
      item.detail = engines ? "engine" : "memory";
    }
    if (name == "reached_by" || name == "owner") {
      AddString(cursor, "host", ItemKind::kVariable).detail = "the host";
    }
  }

  void AddParameters(const Cursor& cursor) {
    std::vector<std::string> used;
    for (const Node& node : syntax_.fields) {
      if (&node == cursor.entry || node.name.In(text_) != "set") continue;
      used.push_back(StringField(text_, node.fields, "name"));
    }
    for (const ParameterFact& fact : Parameters()) {
      if (std::find(used.begin(), used.end(), fact.name) != used.end()) {
        continue;
      }
      CompletionItem& item = AddString(cursor, fact.name, ItemKind::kProperty);
      item.detail = LimitsText(fact);
      item.doc = ParameterText(fact);
    }
  }

  void AddParameterValues(const Cursor& cursor) {
    const ParameterFacts facts = Parameters();
    const ParameterFact* const fact =
        FindParameter(facts, StringField(text_, *cursor.fields, "name"));
    if (fact == nullptr) return;
    const auto add = [&](const std::optional<int64_t>& value,
                         const char* what) {
      if (!value.has_value()) return;
      const std::string text = absl::StrCat(*value);
      for (const CompletionItem& item : items_) {
        if (item.label == text) return;
      }
      CompletionItem& item = Add(text, ItemKind::kValue, text);
      item.detail = absl::StrCat(what, " of ", fact->name);
      item.doc = ParameterText(*fact);
    };
    add(fact->set_value, "value in the base");
    add(fact->default_value, "default");
    add(fact->min, "least");
    add(fact->max, "most");
  }

  void AddExpressionNames(const Cursor& cursor, size_t offset) {
    word_ = NameAround(text_, offset, cursor.word);
    for (const ParameterFact& fact : Parameters()) {
      CompletionItem& item = Add(fact.name, ItemKind::kVariable, fact.name);
      item.detail = LimitsText(fact);
      item.doc = ParameterText(fact);
    }
    for (const auto& function : kFunctions) {
      CompletionItem& item =
          Add(function.name, ItemKind::kFunction,
              absl::StrCat(function.name, "(", snippets_ ? "$0)" : ""));
      item.doc = function.doc;
      item.snippet = snippets_;
    }
  }

  ParameterFacts Parameters() const {
    return ParametersFor(text_, syntax_, known_);
  }

  const absl::string_view text_;
  const Syntax& syntax_;
  const FileKind& kind_;
  const Schema& schema_;
  const KnownTargets& known_;
  const bool snippets_;
  Span word_;
  std::vector<CompletionItem> items_;
};

}  // namespace

std::vector<CompletionItem> CompleteAt(absl::string_view text,
                                       const Syntax& syntax, size_t offset,
                                       const FileKind& kind,
                                       const Schema& schema,
                                       const KnownTargets& known,
                                       bool snippets) {
  return Completer(text, syntax, kind, schema, known, snippets).Run(offset);
}

}  // namespace edgekiln::client::lsp
