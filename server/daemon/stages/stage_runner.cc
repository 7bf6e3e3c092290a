#include "server/daemon/stages/stage_runner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/daemon/fairness/job_class.h"
#include "server/daemon/stages/stage_flight.h"
#include "server/daemon/stages/stage_key.h"
#include "server/stage_versions.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
v1::WorkerRole RoleOf(v1::StageOptions::OptionsCase stage) {
  switch (stage) {
    case v1::StageOptions::kCountCycles:
    case v1::StageOptions::kSimulate:
    case v1::StageOptions::kInterpret:
    case v1::StageOptions::kScore:
      return v1::SIMULATE_ROLE;
    default:
      return v1::COMPILE_ROLE;
  }
}

class StageRunner::TicketHandle : public StageTicket {
 public:
  TicketHandle(StageRunner& runner, std::shared_ptr<Ticket> ticket)
      : runner_(runner), ticket_(std::move(ticket)) {}
  ~TicketHandle() override {
    Cancel(absl::CancelledError("nobody waits for this stage any more"));
  }

  const absl::StatusOr<v1::StageResult>* Result() override {
    MutexLock lock(ticket_->mutex);
    return ticket_->over.has_value() ? ticket_->over->result.get() : nullptr;
  }

  bool PostOnceOver(Executor::Work& work, Executor& executor) override {
    MutexLock lock(ticket_->mutex);
    if (ticket_->over.has_value()) return false;
    ticket_->waiting.Add(work, executor);
    return true;
  }

  absl::StatusOr<v1::StageResult> Wait() override {
    MutexLock lock(ticket_->mutex);
    while (!ticket_->over.has_value()) ticket_->changed.Wait(lock);
    return *ticket_->over->result;
  }

  v1::Report::Stage Record() override {
    MutexLock lock(ticket_->mutex);
    return ticket_->over.has_value() ? ticket_->over->record
                                     : v1::Report::Stage();
  }

  void Cancel(const absl::Status& why) override {
    {
      MutexLock lock(ticket_->mutex);
      if (ticket_->over.has_value()) return;
    }
    runner_.Abandon(ticket_, why);
  }

 private:
  StageRunner& runner_;
  const std::shared_ptr<Ticket> ticket_;
};

StageRunner::StageRunner(cache::StageResultStore& results,
                         cache::BlobStore& blobs, LeaseSource& leases,
                         Logger& log, StageVersions versions)
    : results_(results),
      blobs_(blobs),
      leases_(leases),
      log_(log),
      versions_(std::move(versions)) {}

StageRunner::~StageRunner() = default;

absl::StatusOr<std::string> StageRunner::KeyOf(const StageCall& call) const {
  return StageKey(versions_.Of(call.options.options_case(), call.parts),
                  call.options, call.inputs);
}

namespace {

// What runs with whichever compiler a worker has is nobody else's result.
bool IsStored(const StageCall& call) {
  return !call.options.has_build_firmware() ||
         !call.options.build_firmware().compiler().digest().empty();
}

}  // namespace

bool StageRunner::Holds(const StageCall& call,
                        const v1::StageResult& result) const {
  return result.read_version() ==
         versions_.Read(call.options.options_case(), result);
}

std::shared_ptr<StageTicket> StageRunner::Start(StageCall call,
                                                StageEvents events,
                                                const LeaseOwner& owner) {
  auto ticket = std::make_shared<Ticket>();
  ticket->name = call.name;
  ticket->events = std::move(events);
  auto handle = std::make_shared<TicketHandle>(*this, ticket);
  const absl::StatusOr<std::string> key = KeyOf(call);
  if (!key.ok()) {
    ticket->Put(
        Ticket::Over{FailedStage(Annotate(key.status(), call.name)), {}});
    ticket->Deliver();
    return handle;
  }
  std::shared_ptr<Flight> mine;
  uint64_t promoted = 0;
  {
    MutexLock lock(mutex_);
    std::shared_ptr<Flight>& flight = flights_[*key];
    if (flight == nullptr) {
      flight = std::make_shared<Flight>();
      flight->key = *key;
      flight->call = std::move(call);
      flight->owner = owner;
      mine = flight;
    } else {
      Flight& leased = flight->head != nullptr ? *flight->head : *flight;
      if (GoesBefore(owner.job_class, leased.owner.job_class)) {
        leased.owner.job_class = owner.job_class;
        promoted = leased.lease_id;
      }
      // The first is the one that it is executed for.
      ticket->merged = !flight->tickets.empty();
      // What the others know already.
      if (flight->leased) ticket->Put(Ticket::Started());
      if (!flight->waiting.reason().empty()) ticket->Put(flight->waiting);
    }
    ticket->flight = flight;
    flight->tickets.push_back(ticket);
  }
  if (mine != nullptr) {
    Launch(mine);
    return handle;
  }
  if (promoted != 0) leases_.Promote(promoted, owner.job_class);
  ticket->Deliver();
  return handle;
}

cache::SharedStageResult StageRunner::Recall(const StageCall& call) {
  const absl::StatusOr<std::string> key = KeyOf(call);
  if (!key.ok() || !IsStored(call)) return nullptr;
  cache::SharedStageResult result = results_.Recall(*key);
  return result != nullptr && Holds(call, **result) ? result : nullptr;
}

void StageRunner::Launch(const std::shared_ptr<Flight>& flight) {
  Landed landed;
  if (IsStored(flight->call)) landed.result = Stored(flight->call, flight->key);
  if (landed.result != nullptr) {
    How how = How::kHit;
    if (landed.ok()) {
      MutexLock lock(mutex_);
      if (const auto cost = unclaimed_.Take(flight->key)) {
        how = How::kClaimed;
        landed.elapsed = cost->elapsed;
        landed.cpu_seconds = cost->cpu_seconds;
      }
    }
    Land(flight, landed, how);
    return;
  }
  v1::JobClass asked = v1::JOB_CLASS_UNSPECIFIED;
  {
    MutexLock lock(mutex_);
    // Given up during the look-up.
    if (flight->tickets.empty() && !flight->kept) return;
    asked = flight->owner.job_class;
  }
  const uint64_t id = Submit(flight);
  bool abandoned = false;
  v1::JobClass job_class = asked;
  {
    MutexLock lock(mutex_);
    flight->lease_id = id;
    abandoned = flight->tickets.empty() && !flight->kept;
    job_class = flight->owner.job_class;
  }
  if (abandoned) return leases_.Cancel(id);
  // Somebody joined meanwhile.
  if (GoesBefore(job_class, asked)) leases_.Promote(id, job_class);
}

void StageRunner::DeliverAll(
    const std::vector<std::shared_ptr<Ticket>>& tickets) {
  for (const auto& ticket : tickets) ticket->Deliver();
}

void StageRunner::OnLeased(const std::shared_ptr<Flight>& flight) {
  std::vector<std::shared_ptr<Ticket>> tickets;
  {
    MutexLock lock(mutex_);
    flight->leased = true;
    flight->waiting.Clear();
    for (const auto& [call, next] : flight->next) {
      if (next != nullptr) next->waiting.Clear();
    }
    tickets = flight->tickets;
    for (const auto& ticket : tickets) ticket->Put(Ticket::Started());
  }
  DeliverAll(tickets);
}

void StageRunner::OnProgress(const std::shared_ptr<Flight>& flight,
                             const v1::StageProgress& progress) {
  std::vector<std::shared_ptr<Ticket>> tickets;
  {
    MutexLock lock(mutex_);
    tickets = flight->tickets;
    for (const auto& ticket : tickets) ticket->Put(progress);
  }
  DeliverAll(tickets);
}

void StageRunner::OnWaiting(const std::shared_ptr<Flight>& flight,
                            const v1::JobEvent::Waiting& why) {
  std::vector<std::shared_ptr<Ticket>> tickets;
  {
    MutexLock lock(mutex_);
    flight->waiting = why;
    tickets = flight->tickets;
    for (const auto& [call, next] : flight->next) {
      if (next == nullptr) continue;
      next->waiting = why;
      tickets.insert(tickets.end(), next->tickets.begin(), next->tickets.end());
    }
    for (const auto& ticket : tickets) ticket->Put(why);
  }
  DeliverAll(tickets);
}

// What the store has; null if nothing that is still what the stage would make.
cache::SharedStageResult StageRunner::Stored(const StageCall& call,
                                             const std::string& key) {
  cache::SharedStageResult stored = results_.Recall(key);
  if (stored == nullptr) {
    absl::StatusOr<v1::StageResult> read = results_.Get(key);
    if (absl::IsNotFound(read.status())) return nullptr;
    stored = std::make_shared<const absl::StatusOr<v1::StageResult>>(
        std::move(read));
  }
  return stored->ok() && !Holds(call, **stored) ? nullptr : stored;
}

bool StageRunner::IsAtHand(const StageCall& call, const std::string& key) {
  const cache::SharedStageResult stored = Stored(call, key);
  return stored != nullptr && stored->ok();
}

uint64_t StageRunner::Submit(const std::shared_ptr<Flight>& flight) {
  LeaseRequest request;
  request.key = flight->key;
  request.stage = flight->call.name;
  request.role = RoleOf(flight->call.options.options_case());
  request.options = flight->call.options;
  request.inputs = flight->call.inputs;
  FindNext(flight, request);
  {
    MutexLock lock(mutex_);
    request.owner = flight->owner;
  }
  // Callbacks reach whoever waits at that moment.
  return leases_.Submit(
      std::move(request),
      {.done =
           [this, flight](absl::StatusOr<LeaseOutcome> outcome) {
             OnDone(flight, std::move(outcome));
           },
       .leased = [this, flight] { OnLeased(flight); },
       .progress =
           [this, flight](const v1::StageProgress& progress) {
             OnProgress(flight, progress);
           },
       .waiting =
           [this, flight](const v1::JobEvent::Waiting& why) {
             OnWaiting(flight, why);
           }});
}

absl::Status StageRunner::CheckOutcome(const std::string& stage,
                                       const LeaseOutcome& outcome) {
  if (outcome.result.has_error() &&
      outcome.result.error().fault() != v1::ErrorDetail::USER) {
    return StatusFromProto(outcome.result.error());
  }
  for (const v1::BlobRef& output : outcome.result.outputs()) {
    EK_ASSIGN_OR_RETURN(const Digest digest, FromProto(output.digest()));
    EK_ASSIGN_OR_RETURN(const bool present, blobs_.Contains(digest));
    if (present) continue;
    return MakeError(
        absl::StatusCode::kInternal,
        {.fault = Fault::kInfra,
         .reason = "STAGE_OUTPUT",
         .what = absl::StrCat(
             "the worker's result names an output that was not stored: '",
             output.role(), "'"),
         .where = absl::StrCat("stage ", stage),
         .need = digest.ToString()});
  }
  return absl::OkStatus();
}

// An infrastructure failure may come from an input that turned out corrupt and
// was removed.
absl::Status StageRunner::FindLostInput(const Flight& flight) {
  for (const v1::BlobRef& input : flight.call.inputs) {
    const absl::StatusOr<bool> present =
        blobs_.Contains({input.digest().hash(), input.digest().size_bytes()});
    if (!present.ok() || *present) continue;
    return MakeError(absl::StatusCode::kDataLoss,
                     {.fault = Fault::kInfra,
                      .reason = kInputLost,
                      .what = absl::StrCat("input '", input.role(),
                                           "' is no longer in the store"),
                      .where = absl::StrCat("stage ", flight.call.name),
                      .need = input.digest().hash(),
                      .fix = "run the job again"});
  }
  return absl::OkStatus();
}

void StageRunner::OnDone(const std::shared_ptr<Flight>& flight,
                         absl::StatusOr<LeaseOutcome> outcome) {
  if (outcome.ok()) {
    absl::Status status = CheckOutcome(flight->call.name, *outcome);
    if (!status.ok()) outcome = std::move(status);
  }
  std::vector<LeaseOutcome> next;
  bool is_final = false;
  if (outcome.ok()) {
    next = std::exchange(outcome->next, {});
    is_final = !IsOverWorkerLimit(outcome->result.error());
    if (is_final) SetReadVersion(flight->call, outcome->result);
  } else if (!absl::IsCancelled(outcome.status())) {
    if (absl::Status lost = FindLostInput(*flight); !lost.ok()) {
      outcome = std::move(lost);
    }
  }
  const Landed landed(std::move(outcome));
  if (is_final) {
    Store(flight->call, flight->key, landed);
    NoteWork(flight->call, landed);
  }
  // Whoever goes on with the result finds what was executed with it.
  OnNextDone(*flight, landed, std::move(next));
  Land(flight, landed, How::kExecuted);
}

void StageRunner::SetReadVersion(const StageCall& call,
                                 v1::StageResult& result) const {
  result.set_read_version(versions_.Read(call.options.options_case(), result));
}

void StageRunner::Store(const StageCall& call, const std::string& key,
                        const Landed& landed) {
  if (!IsStored(call)) return;
  const absl::Status stored = results_.Put(key, landed.result);
  // The result is right all the same; it will be computed again some day.
  if (!stored.ok()) log_.Error("storing a result: ", stored.message());
}

void StageRunner::Land(const std::shared_ptr<Flight>& flight,
                       const Landed& landed, How how) {
  std::vector<std::shared_ptr<Ticket>> tickets;
  bool untold = false;
  {
    MutexLock lock(mutex_);
    tickets.swap(flight->tickets);
    untold = landed.ok() && how != How::kHit && !flight->leased;
    if (tickets.empty() && landed.ok() && how == How::kExecuted &&
        (flight->prefetched || flight->head != nullptr)) {
      unclaimed_.Add(flight->key, {landed.elapsed, landed.cpu_seconds});
    }
    Forget(*flight);
  }
  CountLanding(flight->call.name, landed, how,
               static_cast<int64_t>(tickets.size()));
  // Nobody else has any news for them now.
  for (const std::shared_ptr<Ticket>& ticket : tickets) {
    if (untold) ticket->Put(Ticket::Started());
    ticket->Put(ticket->End(landed, how));
    ticket->Deliver();
  }
}

void StageRunner::CountLanding(const std::string& name, const Landed& landed,
                               How how, int64_t askers) {
  v1::DaemonStatus::Stage more;
  if (!landed.ok()) {
    more.set_failed(askers);
  } else if (how == How::kHit) {
    more.set_hit(askers);
  } else if (how == How::kClaimed) {  // It was counted when it was executed.
    more.set_joined(std::max<int64_t>(askers - 1, 0));
  } else {
    more.set_executed(1);
    more.set_joined(std::max<int64_t>(askers - 1, 0));
    more.set_cpu_seconds(landed.cpu_seconds);
    more.set_wall_seconds(absl::ToDoubleSeconds(landed.elapsed));
  }
  counts_.Add(name, more);
}

void StageRunner::Abandon(const std::shared_ptr<Ticket>& ticket,
                          const absl::Status& why) {
  uint64_t lease_id = 0;
  {
    MutexLock lock(mutex_);
    Flight& flight = *ticket->flight;
    const auto it =
        std::find(flight.tickets.begin(), flight.tickets.end(), ticket);
    if (it == flight.tickets.end()) return;  // It is landing just now.
    flight.tickets.erase(it);
    ticket->Put(Ticket::Over{FailedStage(why), {}});
    // What goes with another's lease is executed all the same, as long as
    // anybody wants that.
    Flight& leased = flight.head != nullptr ? *flight.head : flight;
    const bool ends =
        flight.head != nullptr ? !IsWanted(leased) : flight.tickets.empty();
    if (ends && !leased.kept) {
      lease_id = leased.lease_id;
      Forget(leased);
    }
  }
  v1::DaemonStatus::Stage cancelled;
  cancelled.set_failed(1);
  counts_.Add(ticket->name, cancelled);
  ticket->Deliver();
  if (lease_id != 0) leases_.Cancel(lease_id);
}

}  // namespace edgekiln::server
