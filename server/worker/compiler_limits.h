#ifndef EK_SERVER_WORKER_COMPILER_LIMITS_H_
#define EK_SERVER_WORKER_COMPILER_LIMITS_H_

#include "absl/time/time.h"

namespace edgekiln::server {

// What each process of a compiler may use: several times what the largest
// constants take.
inline constexpr absl::Duration kCompilerCpuTime = absl::Minutes(2);
// For one run of it; more than that, as machines are busy, and less than a
// lease has.
inline constexpr absl::Duration kCompilerTime = absl::Minutes(4);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_COMPILER_LIMITS_H_
