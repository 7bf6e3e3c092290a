#ifndef EK_TESTS_CHAOS_AFTERMATH_H_
#define EK_TESTS_CHAOS_AFTERMATH_H_

// What an administrator does after an attack.

#include <string>

#include "absl/status/status.h"

namespace edgekiln::chaos {

// Cancels every unfinished job and waits until they are over. Errors: those of
// the daemon, which cannot list or cancel its jobs; DEADLINE_EXCEEDED.
absl::Status CancelEverything(const std::string& address);

// Whether a client that comes new is served, and health says so.
absl::Status AcceptsClients(const std::string& address);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_AFTERMATH_H_
