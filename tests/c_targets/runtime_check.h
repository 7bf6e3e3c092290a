#ifndef EK_TESTS_C_TARGETS_RUNTIME_CHECK_H_
#define EK_TESTS_C_TARGETS_RUNTIME_CHECK_H_

// Whether a firmware's own arithmetic is that of this machine.

#include <string>

#include "absl/status/statusor.h"

namespace edgekiln::tests {

// C with a function `int ek_runtime_check(void)`: it does arithmetic of 64 bits
// and with floats on thousands of operands, in plain C, and compares hashes of
// what comes out with those that the same code gives when gcc compiles it for
// this machine. 0, or 1 + the group of operations that differs.
absl::StatusOr<std::string> RuntimeCheckText();

}  // namespace edgekiln::tests

#endif  // EK_TESTS_C_TARGETS_RUNTIME_CHECK_H_
