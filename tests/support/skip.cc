#include "tests/support/skip.h"

#include <cstdlib>
#include <string>

namespace edgekiln::tests {

bool SkippingFails() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

std::string NoInstructionsText(const std::string& instructions) {
  return "this CPU lacks " + instructions +
         " (flags in /proc/cpuinfo): run it on one that has it; the portable "
         "path, whose results every other must give, is compared on every "
         "machine";
}

}  // namespace edgekiln::tests
