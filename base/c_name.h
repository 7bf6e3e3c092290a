#ifndef EK_BASE_C_NAME_H_
#define EK_BASE_C_NAME_H_

#include <string>

#include "absl/strings/string_view.h"

// Names of networks in C. Thread-safe: pure functions.
namespace edgekiln {

// What a name of a network is to be, for messages.
inline constexpr absl::string_view kCNameRule =
    "at most 32 of a to z, 0 to 9 and single underscores between them, a "
    "letter first; not main, a keyword of C or C++, a header of C or a file of "
    "a bundle";

// `text` in [a-z0-9_], at most 32 bytes: every run of other characters becomes
// one underscore, none at the ends. Empty where nothing is left.
std::string CPart(absl::string_view text);

// The name with which files and identifiers of a network begin that is called
// `text`: one of kCNameRule, and "network" where CPart() is empty.
std::string CNameOf(absl::string_view text);

// Whether they can begin with `name` as it is: CNameOf(name) == name.
bool IsCName(absl::string_view name);

}  // namespace edgekiln

#endif  // EK_BASE_C_NAME_H_
