#include "client/lsp/target_facts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::client::lsp {
namespace {

// Of one descriptor; the daemon takes 256.
constexpr size_t kMaxParameters = 1000;

std::optional<int64_t> NumberField(absl::string_view text,
                                   const std::vector<Node>& fields,
                                   absl::string_view name) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(StringField(text, fields, name), &value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

ParameterFacts DeclaredParameters(absl::string_view text,
                                  const Syntax& syntax) {
  ParameterFacts facts;
  std::map<std::string, std::optional<int64_t>> set;
  for (const Node& node : syntax.fields) {
    if (node.name.In(text) != "set") continue;
    set[StringField(text, node.fields, "name")] =
        NumberField(text, node.fields, "value");
  }
  for (const Node& node : syntax.fields) {
    if (node.name.In(text) != "parameters") continue;
    if (facts.size() == kMaxParameters) break;
    const auto prose = [&](absl::string_view key) {
      const Node* const field = FindField(text, node.fields, key);
      return field == nullptr ? "" : DecodedString(text, *field);
    };
    ParameterFact fact{.name = StringField(text, node.fields, "name"),
                       .doc = prose("doc"),
                       .unit = prose("unit"),
                       .provenance = prose("provenance"),
                       .source = prose("source")};
    fact.default_value = NumberField(text, node.fields, "default_value");
    fact.min = NumberField(text, node.fields, "min");
    fact.max = NumberField(text, node.fields, "max");
    const auto found = set.find(fact.name);
    if (found != set.end()) fact.set_value = found->second;
    facts.push_back(std::move(fact));
  }
  return facts;
}

ParameterFacts ParametersOf(const std::string& descriptor_text) {
  return DeclaredParameters(descriptor_text, ParseSyntax(descriptor_text));
}

ParameterFacts ParametersFor(absl::string_view text, const Syntax& syntax,
                             const KnownTargets& known) {
  ParameterFacts facts = DeclaredParameters(text, syntax);
  const auto base =
      known.parameters.find(StringField(text, syntax.fields, "extends"));
  if (base != known.parameters.end()) {
    facts.insert(facts.end(), base->second.begin(), base->second.end());
  }
  return facts;
}

const ParameterFact* FindParameter(const ParameterFacts& facts,
                                   absl::string_view name) {
  const auto found =
      std::find_if(facts.begin(), facts.end(),
                   [&](const ParameterFact& f) { return f.name == name; });
  return found == facts.end() ? nullptr : &*found;
}

std::string LimitsText(const ParameterFact& fact) {
  std::string text;
  if (fact.min.has_value() && fact.max.has_value()) {
    absl::StrAppend(&text, *fact.min, " to ", *fact.max);
  }
  if (!fact.unit.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", fact.unit);
  }
  if (fact.default_value.has_value()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "default ",
                    *fact.default_value);
  }
  if (fact.set_value.has_value()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "here ", *fact.set_value);
  }
  return text;
}

std::string ParameterText(const ParameterFact& fact) {
  std::string text = absl::StrCat("**", fact.name, "** (parameter)");
  const std::string limits = LimitsText(fact);
  if (!fact.doc.empty()) absl::StrAppend(&text, "\n\n", fact.doc);
  if (!limits.empty()) absl::StrAppend(&text, "\n\n", limits);
  if (!fact.provenance.empty()) {
    absl::StrAppend(&text, "\n\n", fact.provenance,
                    fact.source.empty() ? "" : ": ", fact.source);
  }
  return text;
}

}  // namespace edgekiln::client::lsp
