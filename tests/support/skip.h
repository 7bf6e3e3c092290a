#ifndef EK_TESTS_SUPPORT_SKIP_H_
#define EK_TESTS_SUPPORT_SKIP_H_

// Tests that need something of the machine which it may lack.

#include <string>

#include "gtest/gtest.h"

namespace edgekiln::tests {

// Whether what is absent is a failure: the environment says CI=true.
bool SkippingFails();

// For GTEST_SKIP() where a processor lacks instructions, CI's as well as any:
// which, by their names in /proc/cpuinfo, and what is shown all the same.
std::string NoInstructionsText(const std::string& instructions);

}  // namespace edgekiln::tests

// In the body of a test (or SetUp): leaves it because of what `absent` says,
// visibly, and as a failure where CI=true. What a build cannot show wherever it
// runs, as with sanitizers, is for GTEST_SKIP().
#define EK_SKIP(absent)                       \
  do {                                        \
    if (::edgekiln::tests::SkippingFails()) { \
      FAIL() << "CI=true, and " << (absent);  \
    }                                         \
    GTEST_SKIP() << (absent);                 \
  } while (false)

#endif  // EK_TESTS_SUPPORT_SKIP_H_
