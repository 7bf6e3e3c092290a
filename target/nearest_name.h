#ifndef EK_TARGET_NEAREST_NAME_H_
#define EK_TARGET_NEAREST_NAME_H_

// "Did you mean": the closest of the names that would have been right.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace edgekiln::target {

// The candidate with the smallest edit distance to `name`, the first of equals;
// empty without candidates. Meant for names: looks at the first 64 bytes.
std::string NearestName(absl::string_view name,
                        const std::vector<std::string>& candidates);

// For the fix of an error: `did you mean "x"?`, or `otherwise` where no
// candidate is near: more than a third of the letters would have to change, and
// more than one.
std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& candidates,
                       absl::string_view otherwise);

}  // namespace edgekiln::target

#endif  // EK_TARGET_NEAREST_NAME_H_
