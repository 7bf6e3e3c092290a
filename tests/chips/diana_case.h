#ifndef EK_TESTS_CHIPS_DIANA_CASE_H_
#define EK_TESTS_CHIPS_DIANA_CASE_H_

#include "tests/chips/chip_cases.h"

namespace edgekiln::tests {

// The rows of DIANA: layers of the digital array, and those of both.
ChipCase Diana();
ChipCase AnalogDiana();

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_DIANA_CASE_H_
