#ifndef EK_TESTS_SUPPORT_USER_ERROR_H_
#define EK_TESTS_SUPPORT_USER_ERROR_H_

#include "absl/status/status.h"

// What every error says that a user can cause.
namespace edgekiln::tests {

// Fails unless the user is at fault and is told what, where, and what to do.
void ExpectUserError(const absl::Status& status);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_USER_ERROR_H_
