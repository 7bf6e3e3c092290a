#ifndef EK_SERVER_DAEMON_FARM_WORKER_GATE_H_
#define EK_SERVER_DAEMON_FARM_WORKER_GATE_H_

// Who is a worker: streams that have not proved yet that they know the secret,
// and the sessions of those that have. No gRPC. Thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "edgekiln/v1/workers.pb.h"

namespace edgekiln::server {

struct WorkerGateOptions {
  std::string secret;
  // Streams without proof at once: beyond that, the oldest gives way, so that
  // silent ones keep nobody out who answers at once.
  int max_strangers = 64;
  absl::Duration patience = absl::Seconds(10);  // With each of them.
  absl::Duration warn_interval = absl::Minutes(1);
};

class WorkerGate {
 public:
  // Arguments must outlive the gate.
  WorkerGate(WorkerGateOptions options, Clock& clock, Logger& log)
      : options_(std::move(options)), clock_(clock), log_(log) {}

  // A stream on its way to being a session. Belongs to one thread.
  class Visitor {
   public:
    ~Visitor();
    Visitor(const Visitor&) = delete;
    Visitor& operator=(const Visitor&) = delete;

    // What the daemon says first.
    const v1::DaemonMessage& challenge() const { return challenge_; }
    // The answer is proved: opens a session, which lasts as long as the
    // visitor. Errors: UNAUTHENTICATED, which tells nothing of the daemon.
    absl::StatusOr<v1::DaemonMessage::Welcome> Enter(
        const v1::WorkerMessage::Hello& hello, absl::string_view peer);

   private:
    friend class WorkerGate;
    explicit Visitor(WorkerGate& gate) : gate_(gate) {}

    WorkerGate& gate_;
    uint64_t id_ = 0;
    v1::DaemonMessage challenge_;
    std::string session_;  // As stored; empty before Enter().
  };

  // `end` ends the stream from another thread; it is not called any more once
  // the visitor has entered or is gone. Errors: UNAVAILABLE (no randomness).
  absl::StatusOr<std::unique_ptr<Visitor>> Admit(std::function<void()> end);

  // Ends the streams that have not answered in time.
  void Tick();

  // Whether that is the session of a connected worker. UNAUTHENTICATED if not.
  absl::Status CheckSession(absl::string_view token) const;

 private:
  struct Stranger {
    absl::Duration since;
    std::function<void()> end;
  };

  void Leave(const Visitor& visitor);
  void Warn(absl::string_view peer);

  const WorkerGateOptions options_;
  Clock& clock_;
  Logger& log_;
  mutable Mutex mutex_;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Stranger> strangers_ ABSL_GUARDED_BY(mutex_);  // By age.
  // SHA-256 of the tokens: how long a look-up takes tells nothing of them.
  std::set<std::string> sessions_ ABSL_GUARDED_BY(mutex_);
  absl::Duration warned_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_WORKER_GATE_H_
