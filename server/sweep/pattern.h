#ifndef EK_SERVER_SWEEP_PATTERN_H_
#define EK_SERVER_SWEEP_PATTERN_H_

#include "absl/strings/string_view.h"

namespace edgekiln::server {

// Whether `text` is `pattern`, in which `*` stands for any characters, none
// included. Takes time proportional to the product of their lengths at most.
bool MatchesPattern(absl::string_view text, absl::string_view pattern);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_PATTERN_H_
