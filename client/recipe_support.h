#ifndef EK_CLIENT_RECIPE_SUPPORT_H_
#define EK_CLIENT_RECIPE_SUPPORT_H_

#include <string>

#include "absl/status/status.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::client {

// A daemon that knows no recipes ignores the name it is given. `told` is what
// it says was used, or has: empty from such a daemon. An error if a recipe was
// asked for and none is told.
absl::Status CheckKnowsRecipes(const std::string& asked,
                               const std::string& told);

// The same of --offload; `told` is as in reports.
absl::Status CheckKnowsOffload(v1::Offload asked, const std::string& told);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RECIPE_SUPPORT_H_
