#include "compiler/codegen/c/helpers.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/helper_table.h"

namespace edgekiln::compiler {
namespace {

std::vector<HelperText> MakeTable() {
  std::vector<HelperText> table;
  for (const auto* part :
       {&IntegerHelpers(), &FloatHelpers(), &MathHelpers(),
        &TrigonometryHelpers(), &SharedHelpers(), &TableHelpers()}) {
    table.insert(table.end(), part->begin(), part->end());
  }
  return table;
}

const std::vector<HelperText>& Table() {
  static const auto& table = *new std::vector<HelperText>(MakeTable());
  return table;
}

size_t IndexOf(absl::string_view name) {
  for (size_t i = 0; i < Table().size(); ++i) {
    if (Table()[i].name == name) return i;
  }
  std::abort();  // A generator names what the table lacks: our mistake.
}

// Calls fn(text before, name) for each `$name`; returns what is left behind.
template <typename Fn>
absl::string_view ForEachName(absl::string_view text, const Fn& fn) {
  while (true) {
    const size_t at = text.find('$');
    if (at == absl::string_view::npos) return text;
    size_t end = at + 1;
    while (end < text.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(text[end])) ||
            text[end] == '_')) {
      ++end;
    }
    fn(text.substr(0, at), text.substr(at + 1, end - at - 1));
    text.remove_prefix(end);
  }
}

}  // namespace

bool IsHelper(absl::string_view name) {
  return std::any_of(
      Table().begin(), Table().end(),
      [name](const HelperText& text) { return text.name == name; });
}

std::string WithPrefix(absl::string_view text, absl::string_view prefix) {
  std::string result;
  const absl::string_view rest =
      ForEachName(text, [&](absl::string_view before, absl::string_view name) {
        absl::StrAppend(&result, before, prefix, "_", name);
      });
  absl::StrAppend(&result, rest);
  return result;
}

std::string HelperSet::CName(absl::string_view name) const {
  return absl::StrCat(prefix_, "_", name);
}

std::string HelperSet::Use(absl::string_view name) {
  const size_t index = IndexOf(name);
  if (used_.insert(index).second) {
    ForEachName(Table()[index].text,
                [this, name](absl::string_view, absl::string_view callee) {
                  if (callee != name) Use(callee);
                });
  }
  return CName(name);
}

int64_t HelperSet::CodeBytes() const {
  int64_t characters = 0;
  for (const size_t index : used_) {
    const absl::string_view text = Table()[index].text;
    // Comments come before the function.
    const size_t begin = text.find("static ");
    if (begin == absl::string_view::npos ||
        absl::StartsWith(text.substr(begin), "static inline ")) {
      continue;
    }
    characters += static_cast<int64_t>(text.size() - begin);
  }
  // Measured with gcc -O2 on RV32IMC: 0.3 to 0.5 bytes per character.
  return characters * 2 / 5;
}

std::string HelperSet::Text() const {
  std::string text;
  for (const size_t index : used_) {
    absl::StrAppend(&text, WithPrefix(Table()[index].text, prefix_), "\n");
  }
  return text;
}

}  // namespace edgekiln::compiler
