#include "compiler/codegen/c/identifiers.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {
namespace {

constexpr size_t kMaxLength = 32;

// Every run of other characters becomes one underscore; none at the ends.
std::string Reduced(absl::string_view text) {
  std::string result;
  for (const char c : text) {
    if (result.size() == kMaxLength) break;
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      result.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != '_') {
      result.push_back('_');
    }
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result;
}

// Headers of C, which a file of that name beside the sources would hide, the
// files of a bundle, and the file that firmware has by that name: TensorFlow
// Lite calls its networks "main".
bool IsTaken(absl::string_view stem) {
  static constexpr absl::string_view kNames[] = {
      "check",   "check_data", "edgekiln", "edgekiln_driver", "runtime",
      "main",    "assert",     "complex",  "ctype",           "errno",
      "fenv",    "float",      "inttypes", "iso646",          "limits",
      "locale",  "math",       "setjmp",   "signal",          "stdarg",
      "stdbool", "stddef",     "stdint",   "stdio",           "stdlib",
      "string",  "tgmath",     "time",     "wchar",           "wctype"};
  return std::find(std::begin(kNames), std::end(kNames), stem) !=
         std::end(kNames);
}

}  // namespace

std::string CPrefix(absl::string_view name) {
  std::string prefix = Reduced(name);
  if (prefix.empty()) return "network";
  if (absl::ascii_isdigit(static_cast<unsigned char>(prefix[0])) ||
      IsTaken(prefix)) {
    prefix = absl::StrCat("net_", prefix);
  }
  return prefix;
}

std::string CLayerFunction(absl::string_view prefix, int64_t index,
                           absl::string_view id) {
  const std::string readable = Reduced(id);
  return absl::StrCat(prefix, "_layer_", index, readable.empty() ? "" : "_",
                      readable);
}

std::string CMacroPrefix(absl::string_view prefix) {
  return absl::AsciiStrToUpper(prefix);
}

}  // namespace edgekiln::compiler
