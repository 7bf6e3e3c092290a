#ifndef EK_CLIENT_RUN_JOB_H_
#define EK_CLIENT_RUN_JOB_H_

// A job from its creation to its end, with the user watching.

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/command_context.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::client {

// Creates the job and waits for its end. A job that failed is a Job in state
// FAILED, not an error. Ctrl-C and --timeout cancel the job. Errors: those of
// the daemon; INTERRUPTED; TIMEOUT, or NO_WORKER if the time passed waiting for
// somebody to do the work.
// `tell` gets every event once, in order; null: nobody does.
using TellEvent = std::function<void(const v1::JobEvent&)>;
absl::StatusOr<v1::Job> RunJob(const v1::CreateJobRequest& request,
                               CommandContext& context,
                               const TellEvent& tell = nullptr);

// Creates the job and leaves it to the daemon.
absl::StatusOr<v1::Job> StartJob(const v1::CreateJobRequest& request,
                                 CommandContext& context);

// Waits for the end of a job that is not ours: Ctrl-C and --timeout leave it
// alone.
absl::StatusOr<v1::Job> FollowJob(const std::string& id,
                                  CommandContext& context,
                                  const TellEvent& tell = nullptr);

// Hands `tell` the events of the job from its first one on: up to the last one
// that `job` knows of or, with --follow, to the end of the job.
absl::Status ReadLog(const v1::Job& job,
                     const std::function<void(const v1::JobEvent&)>& tell,
                     CommandContext& context);

// OK if the job succeeded, else its error.
absl::Status JobError(const v1::Job& job);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RUN_JOB_H_
