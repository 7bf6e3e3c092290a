#ifndef EK_CLIENT_WATCH_H_
#define EK_CLIENT_WATCH_H_

// Follows a job through broken connections: every event once, in order.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "edgekiln/v1/jobs.pb.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace edgekiln::client {

// Called from the thread that called WatchJob().
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  virtual void OnEvent(const v1::JobEvent& event) = 0;
  // The connection broke (true) or is there again (false).
  virtual void OnReconnecting(bool reconnecting) = 0;
  // At least every `tick`. An error stops the watch and is what it returns.
  virtual absl::Status OnTick() = 0;
};

struct WatchOptions {
  absl::Duration tick = absl::Milliseconds(50);
  absl::Duration first_backoff = absl::Milliseconds(100);  // Doubles.
  absl::Duration max_backoff = absl::Seconds(3);
  // Without any event for this long after a break, the watch gives up.
  absl::Duration give_up_after = absl::Seconds(30);
  // Called before connecting again; may start a daemon. Its error ends the
  // watch. May be empty.
  std::function<absl::Status()> revive;
};

// OK once the job's last event was delivered. Errors: NOT_FOUND (no such job),
// the last failure when giving up, what OnTick() returned.
absl::Status WatchJob(const std::shared_ptr<grpc::Channel>& channel,
                      Clock& clock, const std::string& job_id,
                      int64_t after_sequence, const WatchOptions& options,
                      WatchSink& sink);

// Whether no event follows a change to `state`.
bool IsFinal(v1::JobState state);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_WATCH_H_
