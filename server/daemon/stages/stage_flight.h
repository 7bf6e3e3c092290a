#ifndef EK_SERVER_DAEMON_STAGES_STAGE_FLIGHT_H_
#define EK_SERVER_DAEMON_STAGES_STAGE_FLIGHT_H_

// What a StageRunner has on its way. Of its own sources only.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "base/mutex.h"
#include "proto/convert.h"
#include "server/daemon/stages/stage_runner.h"

namespace edgekiln::server {

inline cache::SharedStageResult FailedStage(absl::Status why) {
  return std::make_shared<const absl::StatusOr<v1::StageResult>>(
      std::move(why));
}

// A result for all who wait for it, and what it cost.
struct StageRunner::Landed {
  Landed() = default;
  explicit Landed(absl::StatusOr<LeaseOutcome> outcome) {
    if (!outcome.ok()) {
      result = FailedStage(outcome.status());
      return;
    }
    elapsed = outcome->elapsed;
    cpu_seconds = outcome->cpu_seconds;
    result = std::make_shared<const absl::StatusOr<v1::StageResult>>(
        std::move(outcome->result));
  }

  bool ok() const { return result->ok(); }
  const v1::StageResult* operator->() const { return &**result; }

  cache::SharedStageResult result;
  absl::Duration elapsed = absl::ZeroDuration();
  double cpu_seconds = 0;
};

// What a caller waits on. News reach it in two steps: Put() under the runner's
// mutex, which decides their order, and Deliver() without it. Whoever finds the
// ticket busy leaves what it has put to the thread that delivers.
struct StageRunner::Ticket {
  struct Started {};
  struct Over {
    cache::SharedStageResult result;  // Not null.
    v1::Report::Stage record;         // No name: not told as finished.
  };
  using News =
      std::variant<Started, v1::StageProgress, v1::JobEvent::Waiting, Over>;

  // Set by Start() before anybody else has the ticket.
  std::string name;
  StageEvents events;
  std::shared_ptr<Flight> flight;
  bool merged = false;

  Mutex mutex;
  CondVar changed;
  // Set once, and left alone from then on.
  std::optional<Over> over ABSL_GUARDED_BY(mutex);
  WaitList waiting ABSL_GUARDED_BY(mutex);
  std::vector<News> news ABSL_GUARDED_BY(mutex);
  bool delivering ABSL_GUARDED_BY(mutex) = false;

  // How the end of a flight looks to this one of those that waited for it.
  Over End(const Landed& landed, How how_it_came) const {
    if (!landed.ok()) {
      return {FailedStage(Annotate(landed.result->status(), name)), {}};
    }
    const bool hit = how_it_came == How::kHit;
    v1::Report::Stage how;
    how.set_name(name);
    how.set_cache(hit      ? v1::Report::Stage::HIT
                  : merged ? v1::Report::Stage::MERGED
                           : v1::Report::Stage::MISS);
    if (!hit) how.set_seconds(absl::ToDoubleSeconds(landed.elapsed));
    if (!hit && !merged) how.set_cpu_seconds(landed.cpu_seconds);
    if (!landed->has_error()) return {landed.result, std::move(how)};
    const absl::Status error = StatusFromProto(landed->error());
    return {FailedStage(Annotate(error, name)), std::move(how)};
  }

  // One Over at most, the last of all.
  void Put(News one) {
    MutexLock lock(mutex);
    news.push_back(std::move(one));
  }

  void Deliver() {
    MutexLock lock(mutex);
    if (delivering) return;
    delivering = true;
    while (!news.empty()) {
      std::vector<News> batch;
      batch.swap(news);
      lock.Unlock();
      for (News& one : batch) {
        std::visit([this](auto& of_kind) { Tell(of_kind); }, one);
      }
      lock.Lock();
    }
    delivering = false;
  }

  void Tell(const Started&) {
    if (events.started) events.started();
  }
  void Tell(const v1::StageProgress& progress) {
    if (events.progress) events.progress(progress);
  }
  void Tell(const v1::JobEvent::Waiting& why) {
    if (events.waiting) events.waiting(why);
  }
  void Tell(Over& end) {
    if (events.warned && end.result->ok()) {
      for (const std::string& text : (*end.result)->warnings()) {
        events.warned(text);
      }
    }
    // First, so that whoever waits finds the event written.
    if (events.finished && !end.record.name().empty()) {
      events.finished(end.record);
    }
    MutexLock lock(mutex);
    over = std::move(end);
    WaitList waiters = std::move(waiting);
    lock.Unlock();
    changed.NotifyAll();
    waiters.PostAll();
  }
};

// One look-up or lease on its way, for everyone who wants its result.
struct StageRunner::Flight {
  std::string key;
  StageCall call;
  std::vector<std::shared_ptr<Ticket>> tickets;  // Guarded by runner's mutex.
  bool leased = false;                           // As well: to a worker.
  v1::JobEvent::Waiting waiting;                 // As well: since then.
  uint64_t lease_id = 0;                         // As well.
  LeaseOwner owner;                              // As well: its class.
  // As well: whose lease executes it; null: its own.
  std::shared_ptr<Flight> head;
  bool prefetched = false;  // Before anybody waited for it.
  // Guarded by the runner's mutex: it is executed even if nobody waits for it.
  bool kept = false;
  // What this one's lease executes next; a flight for each with a key. Set
  // before the lease begins, and left alone until it has ended.
  std::vector<std::pair<StageCall, std::shared_ptr<Flight>>> next;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_STAGE_FLIGHT_H_
