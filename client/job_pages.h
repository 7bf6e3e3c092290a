#ifndef EK_CLIENT_JOB_PAGES_H_
#define EK_CLIENT_JOB_PAGES_H_

// A look through the daemon's jobs, newest first, page by page.

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "client/connection.h"

namespace edgekiln::client {

// Jobs that a look goes through at most.
inline constexpr int64_t kMaxVisitedJobs = 10'000;

enum class Visit { kNext, kStop };
enum class Visited {
  kAll,     // Or as many as the visitor wanted.
  kCutOff,  // There are older ones, beyond kMaxVisitedJobs.
};

// Hands jobs to `visit` until it says kStop. Errors: what the daemon answers.
absl::StatusOr<Visited> VisitJobs(
    Connection& connection, const std::function<Visit(const v1::Job&)>& visit);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_JOB_PAGES_H_
