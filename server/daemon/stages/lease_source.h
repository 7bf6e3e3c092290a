#ifndef EK_SERVER_DAEMON_STAGES_LEASE_SOURCE_H_
#define EK_SERVER_DAEMON_STAGES_LEASE_SOURCE_H_

// Where stages are executed, as those who need one executed see it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "edgekiln/v1/workers.pb.h"

namespace edgekiln::server {

// For whom a stage is executed: what its turn depends on.
struct LeaseOwner {
  // Also of questions that no job asks: somebody waits on the line.
  v1::JobClass job_class = v1::INTERACTIVE;
  std::string client;  // As ActiveJob::client().
  std::string job;     // Its id.
};

struct LeaseRequest {
  // A short stage that the same worker may execute afterwards.
  struct Next {
    std::string key;  // Empty: not known before the stages before it are over.
    std::string stage;
    v1::WorkerRole role = v1::COMPILE_ROLE;
    v1::StageOptions options;
    std::vector<v1::BlobRef> inputs;  // As v1::DaemonMessage::Lease::Next's.
    // Asked when a worker takes the lease, with locks held: must not call the
    // LeaseSource. False leaves it out, with what follows. Absent: it goes
    // along.
    std::function<bool()> goes_along;
  };

  LeaseOwner owner;   // The first who wanted it; the best class of all.
  std::string key;    // Of the stage; empty: it is never quarantined.
  std::string stage;  // For people: "tile".
  v1::WorkerRole role = v1::COMPILE_ROLE;
  v1::StageOptions options;
  std::vector<v1::BlobRef> inputs;
  std::vector<Next> next;
};

struct LeaseOutcome {
  v1::StageResult result;  // A success, or a user error.
  absl::Duration elapsed;  // From lease to result.
  double cpu_seconds = 0;
  // Of LeaseRequest::next, from the first one on: as many as were executed.
  std::vector<LeaseOutcome> next = {};
};

// Called from any thread, without locks held.
struct LeaseCallbacks {
  // Exactly once. Non-OK: CANCELLED, or an infrastructure failure.
  std::function<void(absl::StatusOr<LeaseOutcome>)> done;
  // A worker has taken it; again after one was lost.
  std::function<void()> leased;
  std::function<void(const v1::StageProgress&)> progress;
  // Why no worker takes it; again when that changes.
  std::function<void(const v1::JobEvent::Waiting&)> waiting;
};

// Thread-safe.
class LeaseSource {
 public:
  virtual ~LeaseSource() = default;
  // Queues; `done` may be called before this returns. The id is > 0.
  virtual uint64_t Submit(LeaseRequest request, LeaseCallbacks callbacks) = 0;
  // Ends the lease with CANCELLED unless it is over.
  virtual void Cancel(uint64_t lease_id) = 0;
  // Somebody of a class that goes before the lease's own wants it as well.
  virtual void Promote(uint64_t /*lease_id*/, v1::JobClass /*job_class*/) {}
  // The compiler of that family and program which stages would run with: that
  // of a connected worker, else one that was connected before. Absent: no
  // worker has shown one yet.
  virtual std::optional<v1::Compiler> FindCompiler(
      v1::CompilerFamily /*family*/, const std::string& /*program*/) {
    return std::nullopt;
  }
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_LEASE_SOURCE_H_
