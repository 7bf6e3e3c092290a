#ifndef EK_TESTS_CHIPS_TOY_CASES_H_
#define EK_TESTS_CHIPS_TOY_CASES_H_

#include <vector>

#include "tests/chips/chip_cases.h"

namespace edgekiln::tests {

// The rows of the teaching chips whose engines the host drives.
std::vector<ChipCase> ToyCases();

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_TOY_CASES_H_
