#include "tests/support/skip.h"

#include <cstdlib>
#include <string>

namespace edgekiln::tests {

bool SkippingFails() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

}  // namespace edgekiln::tests
