#ifndef EK_SERVER_DAEMON_STAGES_STAGE_RUNNER_H_
#define EK_SERVER_DAEMON_STAGES_STAGE_RUNNER_H_

// Gets the result of a stage: from the store, from a lease that another job
// already waits for, or by a lease of its own. Successes and user errors are
// stored; failures of ours are not, and neither are errors that tell of the
// limits of one worker (worker_limits.h): no key knows those, and a worker with
// higher ones must get its chance. Thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/blob_store.h"
#include "cache/stage_result_store.h"
#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/daemon/stages/lease_source.h"
#include "server/daemon/stages/stage_chains.h"
#include "server/daemon/stages/stage_counts.h"
#include "server/job_context.h"
#include "server/stage_versions.h"

namespace edgekiln::server {

// Which workers execute a stage.
v1::WorkerRole RoleOf(v1::StageOptions::OptionsCase stage);

// Reason of the failure of a stage one of whose inputs has vanished from the
// store: whoever can make it again should.
inline constexpr char kInputLost[] = "INPUT_LOST";

// Called from any thread, without locks held, but one at a time and in the
// order in which things happened; `finished` last. Any may be empty.
struct StageEvents {
  // A worker has it; again after one was lost. Not for what was in the store.
  std::function<void()> started;
  std::function<void(const v1::StageProgress&)> progress;
  std::function<void(const v1::JobEvent::Waiting&)> waiting;
  // Each of the result's warnings; may be left out.
  std::function<void(const std::string&)> warned = nullptr;
  std::function<void(const v1::Report::Stage& record)> finished;
};

// One caller's interest in a stage.
class StageTicket : public PendingStage {
 public:
  // Makes `why` the result unless the stage is over. The lease ends if nobody
  // else waits for it.
  virtual void Cancel(const absl::Status& why) = 0;
  // Blocks until the stage is over: for those who have a thread to spare.
  virtual absl::StatusOr<v1::StageResult> Wait() = 0;
};

class StageRunner {
  struct Flight;

 public:
  // A lease for stages that nobody has started yet.
  using Prefetched = std::weak_ptr<Flight>;

  // All must outlive the runner and its tickets.
  StageRunner(cache::StageResultStore& results, cache::BlobStore& blobs,
              LeaseSource& leases, Logger& log,
              StageVersions versions = StageVersions::OfThisBuild());
  ~StageRunner();

  // `owner`: whose turn a lease takes. Who joins a lease of others brings it
  // forward if its own class goes before theirs.
  std::shared_ptr<StageTicket> Start(StageCall call, StageEvents events,
                                     const LeaseOwner& owner = {});

  // Has those executed that are neither stored nor on their way, in one lease
  // as far as they are short. The first who starts one of them is told that it
  // was executed for it. Null: there are none.
  Prefetched Prefetch(const std::vector<StageCall>& calls,
                      const LeaseOwner& owner);
  // They need not be executed any more, unless somebody has started one.
  void Drop(const Prefetched& prefetched);

  // As LeaseSource::FindCompiler().
  std::optional<v1::Compiler> FindCompiler(v1::CompilerFamily family,
                                           const std::string& program) {
    return leases_.FindCompiler(family, program);
  }

  // The result of a stage if it is at hand (see StageResultStore::Recall());
  // else null, and it must be started.
  cache::SharedStageResult Recall(const StageCall& call);

  // Of all stages that were started. Those that were only recalled are to be
  // added by the job that is made of them.
  StageCounts& counts() { return counts_; }

 private:
  struct Landed;
  struct Ticket;
  class TicketHandle;
  // How a result was come by. CLAIMED: executed before anybody asked for it.
  enum class How { kExecuted, kClaimed, kHit };

  absl::StatusOr<std::string> KeyOf(const StageCall& call) const;
  // Whether a stored result is still what the stage would compute.
  bool Holds(const StageCall& call, const v1::StageResult& result) const;
  void Launch(const std::shared_ptr<Flight>& flight);
  cache::SharedStageResult Stored(const StageCall& call,
                                  const std::string& key);
  bool IsAtHand(const StageCall& call, const std::string& key);
  void FindNext(const std::shared_ptr<Flight>& flight, LeaseRequest& request);
  // Whether who waits for `head` hardly waits longer for the sake of this work
  // (StageCall::work).
  bool IsShortBehind(const Flight& head, const std::string& work);
  void NoteWork(const StageCall& call, const Landed& landed);
  uint64_t Submit(const std::shared_ptr<Flight>& flight);
  void OnLeased(const std::shared_ptr<Flight>& flight);
  void OnProgress(const std::shared_ptr<Flight>& flight,
                  const v1::StageProgress& progress);
  void OnWaiting(const std::shared_ptr<Flight>& flight,
                 const v1::JobEvent::Waiting& why);
  void OnDone(const std::shared_ptr<Flight>& flight,
              absl::StatusOr<LeaseOutcome> outcome);
  absl::Status CheckOutcome(const std::string& stage,
                            const LeaseOutcome& outcome);
  void SetReadVersion(const StageCall& call, v1::StageResult& result) const;
  void Store(const StageCall& call, const std::string& key,
             const Landed& landed);
  // Deals with those that `head` was leased with.
  void OnNextDone(Flight& head, const Landed& landed,
                  std::vector<LeaseOutcome> outcomes);
  bool OnOneDone(StageCall call, const std::shared_ptr<Flight>& flight,
                 LeaseOutcome outcome, std::vector<Landed>& all);
  void Release(const std::shared_ptr<Flight>& flight);
  // Whether anybody waits for a stage of this lease.
  static bool IsWanted(const Flight& head);
  // Nobody joins it any more.
  void Forget(const Flight& flight) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status FindLostInput(const Flight& flight);
  void Land(const std::shared_ptr<Flight>& flight, const Landed& landed,
            How how);
  void CountLanding(const std::string& name, const Landed& landed, How how,
                    int64_t askers);
  void Abandon(const std::shared_ptr<Ticket>& ticket, const absl::Status& why);
  static void DeliverAll(const std::vector<std::shared_ptr<Ticket>>& tickets);

  cache::StageResultStore& results_;
  cache::BlobStore& blobs_;
  LeaseSource& leases_;
  Logger& log_;
  const StageVersions versions_;
  StageCounts counts_;
  Mutex mutex_;
  // By stage key. mutex_ guards what changes in a flight as well.
  std::map<std::string, std::shared_ptr<Flight>> flights_
      ABSL_GUARDED_BY(mutex_);
  static constexpr size_t kMaxUnclaimed = 1024;
  UnclaimedStages unclaimed_ ABSL_GUARDED_BY(mutex_){kMaxUnclaimed};
  static constexpr size_t kMaxChained = 4096;
  ChainedOnce chained_ ABSL_GUARDED_BY(mutex_){kMaxChained};
  static constexpr int64_t kMaxKnownWork = 4096;
  KnownWork known_work_ ABSL_GUARDED_BY(mutex_){kMaxKnownWork};
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_STAGE_RUNNER_H_
