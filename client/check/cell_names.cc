#include "client/check/cell_names.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"

namespace edgekiln::client {
namespace {

constexpr char kDefaultRecipe[] = "default";
// Of a file's name; what is longer is cut.
constexpr size_t kMaxStemBytes = 120;
constexpr size_t kHashDigits = 8;

bool IsPlain(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
         c == '_' || c == '.';
}

// Stands between the parts of a name, which cannot hold it themselves.
bool IsSeparator(char c) { return c == '@' || c == '+' || c == '='; }

std::string Plain(absl::string_view part) {
  std::string out;
  for (const char c : part) out += IsPlain(c) ? c : '_';
  return out.empty() ? "_" : out;
}

// A name is written three times: for people, as the letters of a file, and as
// what tells it from all others.
struct Spelling {
  std::string shown;
  std::string stem;
  std::string whole;
};

Spelling Spell(const v1::SweepRow& row, const std::string& group) {
  Spelling out;
  const auto add = [&](absl::string_view before_shown,
                       absl::string_view before_stem, absl::string_view part) {
    absl::StrAppend(&out.shown, before_shown, part);
    absl::StrAppend(&out.stem, before_stem, Plain(part));
    absl::StrAppend(&out.whole, before_stem, part);
  };
  if (!group.empty()) {
    add("", "", group);
    add(": ", "+", row.model());
  } else {
    add("", "", row.model());
  }
  add(" on ", "@", row.target());
  if (!row.recipe().empty() && row.recipe() != kDefaultRecipe) {
    add(", recipe ", "+", row.recipe());
  }
  for (const v1::SweepRow::Value& value : row.values()) {
    add(", ", "+", value.key());
    add("=", "=", value.dropped() ? "-" : value.value());
  }
  return out;
}

}  // namespace

std::vector<CellNames> NameCells(const std::vector<v1::SweepRow>& rows,
                                 const v1::Project& project) {
  std::vector<Spelling> spellings;
  std::map<std::string, int> met;  // By what tells names apart.
  for (const v1::SweepRow& row : rows) {
    const bool known = row.group() >= 0 && row.group() < project.groups_size();
    Spelling spelling =
        Spell(row, known ? project.groups(row.group()).name() : "");
    if (const int before = met[spelling.whole]++; before > 0) {
      const std::string more = absl::StrCat("group ", row.group() + 1);
      absl::StrAppend(&spelling.shown, ", ", more);
      absl::StrAppend(&spelling.whole, " ", more);
      // The same cell twice in one group.
      if (met[spelling.whole]++ > 0) {
        absl::StrAppend(&spelling.shown, ", again ", before);
        absl::StrAppend(&spelling.whole, " again ", before);
      }
    }
    spellings.push_back(std::move(spelling));
  }
  std::map<std::string, int> stems;  // As file systems without case see them.
  for (const Spelling& one : spellings) {
    ++stems[absl::AsciiStrToLower(one.stem)];
  }
  std::vector<CellNames> names;
  for (const Spelling& one : spellings) {
    CellNames& out = names.emplace_back();
    out.name = one.shown;
    out.file = one.stem.substr(0, kMaxStemBytes);
    const bool whole = out.file == one.whole && out.file[0] != '.' &&
                       stems[absl::AsciiStrToLower(one.stem)] == 1;
    if (!whole) {
      if (out.file[0] == '.') out.file[0] = '_';
      absl::StrAppend(&out.file, "-",
                      DigestOf(one.whole).hash.substr(0, kHashDigits));
    }
    out.file += kBaselineSuffix;
  }
  return names;
}

bool IsBaselineName(const std::string& name) {
  return absl::EndsWith(name, kBaselineSuffix) && name[0] != '.' &&
         name.size() >= sizeof kBaselineSuffix &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsPlain(c) || IsSeparator(c); });
}

}  // namespace edgekiln::client
