#ifndef EK_CLIENT_LSP_TARGET_FACTS_H_
#define EK_CLIENT_LSP_TARGET_FACTS_H_

// The parameters of a chip as an editor shows them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/syntax.h"

namespace edgekiln::client::lsp {

struct ParameterFact {
  std::string name;
  std::string doc{};
  std::string unit{};
  std::string provenance{};  // "PUBLISHED"; empty: not said.
  std::string source{};
  std::optional<int64_t> default_value{};
  std::optional<int64_t> min{};
  std::optional<int64_t> max{};
  std::optional<int64_t> set_value{};  // By `set` of the same text.
};

using ParameterFacts = std::vector<ParameterFact>;

// What is known of the targets of the daemon: filled in as answers arrive.
struct KnownTargets {
  // Names and docs, in the order of the list; empty as long as it is unknown.
  std::vector<std::pair<std::string, std::string>> list;
  // By name of target: the parameters of its descriptor. Without any: it has
  // been asked for.
  std::map<std::string, ParameterFacts> parameters;
};

// Of the text of a target as the daemon gives it.
ParameterFacts ParametersOf(const std::string& descriptor_text);
// Those that an open file, perhaps half-typed, declares itself.
ParameterFacts DeclaredParameters(absl::string_view text, const Syntax& syntax);

// Those that a file has: its own, or those of the target that it extends.
ParameterFacts ParametersFor(absl::string_view text, const Syntax& syntax,
                             const KnownTargets& known);

const ParameterFact* FindParameter(const ParameterFacts& facts,
                                   absl::string_view name);

// In Markdown: doc, default, limits, unit and where the number comes from.
std::string ParameterText(const ParameterFact& fact);
// "1 to 1024 elements, default 64, here 32"; what is unknown is left out.
std::string LimitsText(const ParameterFact& fact);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_TARGET_FACTS_H_
