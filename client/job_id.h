#ifndef EK_CLIENT_JOB_ID_H_
#define EK_CLIENT_JOB_ID_H_

// How commands name jobs: by the whole id, by its first characters, or with
// `last`, the newest job.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/command_context.h"

namespace edgekiln::client {

inline constexpr char kLastJob[] = "last";
// Fewer characters name a job only if they are its whole id.
inline constexpr size_t kMinPrefixCharacters = 4;

// Whether a job is only looked at or also changed.
enum class JobUse { kRead, kChange };

// The whole id of the job that `text` names. A whole id of the daemon's usual
// form is returned without asking the daemon. Prefixes are searched for among
// the newest kMaxVisitedJobs jobs.
//
// `last` is the job that the daemon created last. The daemon does not record
// who made a job, so kChange refuses it where others may use the same daemon.
//
// Errors: NOT_FOUND (no job, or none with that name); a usage error if several
// ids begin with `text`, naming them with their states, or for a refused
// `last`; what the daemon answers.
absl::StatusOr<std::string> ResolveJobId(absl::string_view text, JobUse use,
                                         CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_JOB_ID_H_
