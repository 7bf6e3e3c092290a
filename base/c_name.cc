#include "base/c_name.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace edgekiln {
namespace {

constexpr size_t kMaxBytes = 32;

// Files of a bundle and of what is built with it. TensorFlow Lite calls its
// networks "main", which firmware has a file of.
constexpr absl::string_view kFiles[] = {
    "check",          "check_data",   "desk", "edgekiln", "edgekiln_driver",
    "edgekiln_model", "edgekiln_run", "main", "runtime"};

// Of C up to C23, and those that the headers of glibc, newlib and picolibc
// include: a file of that name beside the sources would hide them.
constexpr absl::string_view kHeaders[] = {
    "alloca",      "assert",    "complex",  "ctype",  "elf",       "endian",
    "errno",       "features",  "fenv",     "float",  "inttypes",  "iso646",
    "limits",      "locale",    "math",     "newlib", "picolibc",  "reent",
    "setjmp",      "signal",    "stdalign", "stdarg", "stdatomic", "stdbit",
    "stdbool",     "stdckdint", "stddef",   "stdint", "stdio",     "stdlib",
    "stdnoreturn", "string",    "strings",  "tgmath", "threads",   "time",
    "uchar",       "unistd",    "wchar",    "wctype", "xlocale"};

// Of C and C++, in lower case; "float" is a header, too.
constexpr absl::string_view kKeywords[] = {"alignas",     "alignof",
                                           "and",         "and_eq",
                                           "asm",         "auto",
                                           "bitand",      "bitor",
                                           "bool",        "break",
                                           "case",        "catch",
                                           "char",        "char16_t",
                                           "char32_t",    "char8_t",
                                           "class",       "co_await",
                                           "co_return",   "co_yield",
                                           "compl",       "concept",
                                           "const",       "const_cast",
                                           "consteval",   "constexpr",
                                           "constinit",   "continue",
                                           "decltype",    "default",
                                           "delete",      "do",
                                           "double",      "dynamic_cast",
                                           "else",        "enum",
                                           "explicit",    "export",
                                           "extern",      "false",
                                           "for",         "friend",
                                           "goto",        "if",
                                           "inline",      "int",
                                           "long",        "mutable",
                                           "namespace",   "new",
                                           "noexcept",    "not",
                                           "not_eq",      "nullptr",
                                           "operator",    "or",
                                           "or_eq",       "private",
                                           "protected",   "public",
                                           "register",    "reinterpret_cast",
                                           "requires",    "restrict",
                                           "return",      "short",
                                           "signed",      "sizeof",
                                           "static",      "static_assert",
                                           "static_cast", "struct",
                                           "switch",      "template",
                                           "this",        "thread_local",
                                           "throw",       "true",
                                           "try",         "typedef",
                                           "typeid",      "typename",
                                           "typeof",      "typeof_unqual",
                                           "union",       "unsigned",
                                           "using",       "virtual",
                                           "void",        "volatile",
                                           "wchar_t",     "while",
                                           "xor",         "xor_eq"};

template <size_t kCount>
bool Has(const absl::string_view (&names)[kCount], absl::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsTaken(absl::string_view name) {
  return Has(kFiles, name) || Has(kHeaders, name) || Has(kKeywords, name);
}

}  // namespace

std::string CPart(absl::string_view text) {
  std::string result;
  for (const char c : text) {
    if (result.size() == kMaxBytes) break;
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      result.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != '_') {
      result.push_back('_');
    }
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result;
}

std::string CNameOf(absl::string_view text) {
  const std::string name = CPart(text);
  if (name.empty()) return "network";
  if (absl::ascii_isdigit(static_cast<unsigned char>(name[0])) ||
      IsTaken(name)) {
    return CPart(absl::StrCat("net_", name));
  }
  return name;
}

bool IsCName(absl::string_view name) { return CNameOf(name) == name; }

}  // namespace edgekiln
