#ifndef EK_TESTS_CHIPS_DIANA_CASE_H_
#define EK_TESTS_CHIPS_DIANA_CASE_H_

#include "tests/chips/chip_cases.h"

namespace edgekiln::tests {

// The row of DIANA.
ChipCase Diana();

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_DIANA_CASE_H_
