#include "server/daemon/stages/stage_runner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/daemon/fairness/job_class.h"
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

// What a caller waits on. News reach it in two steps: Put() under the runner's
// mutex, which decides their order, and Deliver() without it. Whoever finds the
// ticket busy leaves what it has put to the thread that delivers.
struct StageRunner::Ticket {
  struct Started {};
  struct Over {
    absl::StatusOr<v1::StageResult> result;
    v1::Report::Stage record;  // No name: not told as finished.
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
  Over End(absl::StatusOr<LeaseOutcome> outcome, bool hit) const {
    if (!outcome.ok()) return {Annotate(outcome.status(), name), {}};
    v1::Report::Stage how;
    how.set_name(name);
    how.set_cache(hit      ? v1::Report::Stage::HIT
                  : merged ? v1::Report::Stage::MERGED
                           : v1::Report::Stage::MISS);
    if (!hit) how.set_seconds(absl::ToDoubleSeconds(outcome->elapsed));
    if (!hit && !merged) how.set_cpu_seconds(outcome->cpu_seconds);
    if (!outcome->result.has_error()) {
      return {std::move(outcome->result), std::move(how)};
    }
    const absl::Status error = StatusFromProto(outcome->result.error());
    return {Annotate(error, name), std::move(how)};
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
    if (events.warned && end.result.ok()) {
      for (const std::string& text : end.result->warnings()) {
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
};

class StageRunner::TicketHandle : public StageTicket {
 public:
  TicketHandle(StageRunner& runner, std::shared_ptr<Ticket> ticket)
      : runner_(runner), ticket_(std::move(ticket)) {}
  ~TicketHandle() override {
    Cancel(absl::CancelledError("nobody waits for this stage any more"));
  }

  const absl::StatusOr<v1::StageResult>* Result() override {
    MutexLock lock(ticket_->mutex);
    return ticket_->over.has_value() ? &ticket_->over->result : nullptr;
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
    return ticket_->over->result;
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
    ticket->Put(Ticket::Over{Annotate(key.status(), call.name), {}});
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
      if (GoesBefore(owner.job_class, flight->owner.job_class)) {
        flight->owner.job_class = owner.job_class;
        promoted = flight->lease_id;
      }
      ticket->merged = true;
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
  absl::StatusOr<v1::StageResult> stored = absl::NotFoundError("");
  if (IsStored(flight->call)) stored = results_.Get(flight->key);
  if (stored.ok() && !Holds(flight->call, *stored)) {
    stored = absl::NotFoundError("of other sources");
  }
  if (stored.ok() || !absl::IsNotFound(stored.status())) {
    absl::StatusOr<LeaseOutcome> outcome = LeaseOutcome();
    if (stored.ok()) {
      outcome->result = *std::move(stored);
    } else {
      outcome = stored.status();
    }
    Land(flight, std::move(outcome), /*hit=*/true);
    return;
  }
  v1::JobClass asked = v1::JOB_CLASS_UNSPECIFIED;
  {
    MutexLock lock(mutex_);
    if (flight->tickets.empty()) return;  // Given up during the look-up.
    asked = flight->owner.job_class;
  }
  const uint64_t id = Submit(flight);
  bool abandoned = false;
  v1::JobClass job_class = asked;
  {
    MutexLock lock(mutex_);
    flight->lease_id = id;
    abandoned = flight->tickets.empty();
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
    for (const auto& ticket : tickets) ticket->Put(why);
  }
  DeliverAll(tickets);
}

uint64_t StageRunner::Submit(const std::shared_ptr<Flight>& flight) {
  LeaseRequest request;
  request.key = flight->key;
  request.stage = flight->call.name;
  request.role = RoleOf(flight->call.options.options_case());
  request.options = flight->call.options;
  request.inputs = flight->call.inputs;
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

absl::Status StageRunner::CheckOutcome(const Flight& flight,
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
         .where = absl::StrCat("stage ", flight.call.name),
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
    if (absl::Status status = CheckOutcome(*flight, *outcome); !status.ok()) {
      outcome = std::move(status);
    }
  }
  if (outcome.ok()) {
    if (IsOverWorkerLimit(outcome->result.error())) {
      Land(flight, std::move(outcome), /*hit=*/false);
      return;
    }
    outcome->result.set_read_version(
        versions_.Read(flight->call.options.options_case(), outcome->result));
    const absl::Status stored = IsStored(flight->call)
                                    ? results_.Put(flight->key, outcome->result)
                                    : absl::OkStatus();
    // The result is right all the same; it will be computed again some day.
    if (!stored.ok()) log_.Error("storing a result: ", stored.message());
  } else if (!absl::IsCancelled(outcome.status())) {
    if (absl::Status lost = FindLostInput(*flight); !lost.ok()) {
      outcome = std::move(lost);
    }
  }
  Land(flight, std::move(outcome), /*hit=*/false);
}

void StageRunner::Land(const std::shared_ptr<Flight>& flight,
                       absl::StatusOr<LeaseOutcome> outcome, bool hit) {
  std::vector<std::shared_ptr<Ticket>> tickets;
  {
    MutexLock lock(mutex_);
    tickets.swap(flight->tickets);
    const auto it = flights_.find(flight->key);
    if (it != flights_.end() && it->second == flight) flights_.erase(it);
  }
  CountLanding(flight->call.name, outcome, hit,
               static_cast<int64_t>(tickets.size()));
  // Nobody else has any news for them now.
  for (size_t i = 0; i < tickets.size(); ++i) {
    const bool last = i + 1 == tickets.size();
    Ticket& ticket = *tickets[i];
    ticket.Put(ticket.End(last ? std::move(outcome) : outcome, hit));
    ticket.Deliver();
  }
}

void StageRunner::CountLanding(const std::string& name,
                               const absl::StatusOr<LeaseOutcome>& outcome,
                               bool hit, int64_t askers) {
  v1::DaemonStatus::Stage more;
  if (!outcome.ok()) {
    more.set_failed(askers);
  } else if (hit) {
    more.set_hit(askers);
  } else {
    more.set_executed(1);
    more.set_joined(std::max<int64_t>(askers - 1, 0));
    more.set_cpu_seconds(outcome->cpu_seconds);
    more.set_wall_seconds(absl::ToDoubleSeconds(outcome->elapsed));
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
    ticket->Put(Ticket::Over{why, {}});
    if (flight.tickets.empty()) {
      lease_id = flight.lease_id;
      const auto found = flights_.find(flight.key);
      if (found != flights_.end() && found->second.get() == &flight) {
        flights_.erase(found);
      }
    }
  }
  v1::DaemonStatus::Stage cancelled;
  cancelled.set_failed(1);
  counts_.Add(ticket->name, cancelled);
  ticket->Deliver();
  if (lease_id != 0) leases_.Cancel(lease_id);
}

}  // namespace edgekiln::server
