#include "target/need_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::target {
namespace {

constexpr size_t kMaxNeedBytes = 200;

absl::Status Invalid(std::string what, const std::string& where,
                     std::string limit, std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = std::move(what),
                    .where = where,
                    .limit = std::move(limit),
                    .fix = std::move(fix)});
}

}  // namespace

absl::StatusOr<std::string> NeedText(
    absl::string_view need,
    absl::FunctionRef<absl::StatusOr<int64_t>(absl::string_view)> value_of,
    const std::string& where) {
  std::string text;
  size_t at = 0;
  for (size_t open; (open = need.find_first_of("{}", at)) != need.npos;) {
    const size_t close = need.find_first_of("{}", open + 1);
    if (need[open] == '}' || close == need.npos || need[close] == '{') {
      return Invalid("braces that do not pair off", where, "",
                     "need: \"kernels up to {max_kernel}\"");
    }
    EK_ASSIGN_OR_RETURN(const int64_t value,
                        value_of(need.substr(open + 1, close - open - 1)));
    absl::StrAppend(&text, need.substr(at, open - at), value);
    at = close + 1;
  }
  absl::StrAppend(&text, need.substr(at));
  if (text.empty()) {
    return Invalid("need is missing", where, "",
                   "half a sentence behind \"the engine needs\": "
                   "\"kernels up to {max_kernel}\"");
  }
  const auto most = static_cast<int>(kMaxNeedBytes);
  if (text.size() > kMaxNeedBytes || SanitizeText(text, most) != text ||
      text.find_first_of("()") != text.npos) {
    return Invalid("need is too long, or more than half a sentence", where,
                   absl::StrCat("1 to ", kMaxNeedBytes,
                                " bytes on one line, no parentheses"),
                   "");
  }
  return text;
}

}  // namespace edgekiln::target
