#include "compiler/frontend/unsupported_operators.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::compiler {
namespace {

constexpr size_t kMaxNamed = 20;
constexpr int kMaxNameBytes = 64;
// Room for the words around a list, within kMaxErrorFieldBytes.
constexpr size_t kMaxListBytes = kMaxErrorFieldBytes - 96;
// Enough to be counted.
constexpr size_t kMaxKinds = 1000;

std::string Counted(int64_t count, absl::string_view unit) {
  return absl::StrCat(count, " ", unit, count == 1 ? "" : "s");
}

}  // namespace

absl::string_view FindAdvice(absl::Span<const Replacement> rows,
                             absl::string_view name) {
  for (const Replacement& row : rows) {
    absl::string_view wanted = row.name;
    const bool prefix = absl::EndsWith(wanted, "*");
    if (prefix) wanted.remove_suffix(1);
    if (prefix ? absl::StartsWith(name, wanted) : name == wanted) {
      return row.advice;
    }
  }
  return "";
}

void UnsupportedOperators::Add(const std::string& name,
                               absl::FunctionRef<std::string()> place,
                               absl::FunctionRef<std::string()> advice) {
  if (count_++ == 0) first_place_ = place();
  const std::string shown = SanitizeText(name, kMaxNameBytes);
  const auto known = index_.find(shown);
  if (known != index_.end()) {
    ++kinds_[known->second].count;
  } else if (kinds_.size() < kMaxKinds) {
    index_.emplace(shown, kinds_.size());
    kinds_.push_back(
        {shown, kinds_.size() < kMaxNamed ? advice() : std::string(), 1});
  }
}

std::string UnsupportedOperators::What(absl::string_view unit) const {
  if (kinds_.size() == 1) {
    return absl::StrCat(kinds_[0].name, ": operator is not supported");
  }
  std::string list;
  size_t named = 0;
  for (; named < kinds_.size() && named < kMaxNamed; ++named) {
    const Kind& kind = kinds_[named];
    const std::string item = absl::StrCat(
        named > 0 ? ", " : "", kind.name,
        kind.count > 1 ? absl::StrCat(" (", Counted(kind.count, unit), ")")
                       : "");
    if (list.size() + item.size() > kMaxListBytes) break;
    list += item;
  }
  const size_t rest = kinds_.size() - named;
  return absl::StrCat(kinds_.size(),
                      kinds_.size() == kMaxKinds ? " or more" : "",
                      " operators are not supported: ", list,
                      rest > 0 ? absl::StrCat(", and ", rest, " more") : "");
}

std::string UnsupportedOperators::Where(absl::string_view unit) const {
  if (count_ == 1) return first_place_;
  return absl::StrCat(first_place_, ", the first of ", Counted(count_, unit));
}

std::string UnsupportedOperators::Fix(absl::string_view otherwise) const {
  std::string fix;
  for (const Kind& kind : kinds_) {
    if (kind.advice.empty()) continue;
    // Operators that share their advice share the sentence.
    if (absl::StrContains(fix, kind.advice)) continue;
    const std::string item =
        absl::StrCat(fix.empty() ? "" : "; ", kind.name, ": ", kind.advice);
    if (fix.size() + item.size() > kMaxListBytes) break;
    fix += item;
  }
  return fix.empty() ? std::string(otherwise) : fix;
}

}  // namespace edgekiln::compiler
