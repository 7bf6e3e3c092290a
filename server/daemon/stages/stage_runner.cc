#include "server/daemon/stages/stage_runner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "server/daemon/stages/stage_key.h"
#include "server/proto_convert.h"
#include "server/stage_versions.h"
#include "server/worker_limits.h"

namespace edgekiln::server {

v1::WorkerRole RoleOf(v1::StageOptions::OptionsCase stage) {
  switch (stage) {
    case v1::StageOptions::kCountCycles:
    case v1::StageOptions::kSimulate:
    case v1::StageOptions::kInterpret:
      return v1::SIMULATE_ROLE;
    default:
      return v1::COMPILE_ROLE;
  }
}

// What a caller waits on.
struct StageRunner::Ticket {
  // Set by Start() before anybody else has the ticket.
  std::string name;
  StageEvents events;
  std::shared_ptr<Flight> flight;
  bool merged = false;

  Mutex mutex;
  CondVar changed;
  std::optional<absl::StatusOr<v1::StageResult>> outcome ABSL_GUARDED_BY(mutex);
  v1::Report::Stage record ABSL_GUARDED_BY(mutex);

  // False if it was over already.
  bool Complete(absl::StatusOr<v1::StageResult> result,
                const v1::Report::Stage& how) {
    {
      MutexLock lock(mutex);
      if (outcome.has_value()) return false;
      outcome = std::move(result);
      record = how;
    }
    changed.NotifyAll();
    return true;
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
};

class StageRunner::TicketHandle : public StageTicket {
 public:
  TicketHandle(StageRunner& runner, std::shared_ptr<Ticket> ticket)
      : runner_(runner), ticket_(std::move(ticket)) {}
  ~TicketHandle() override {
    Cancel(absl::CancelledError("nobody waits for this stage any more"));
  }

  absl::StatusOr<v1::StageResult> Wait() override {
    MutexLock lock(ticket_->mutex);
    while (!ticket_->outcome.has_value()) ticket_->changed.Wait(lock);
    return *ticket_->outcome;
  }

  v1::Report::Stage Record() override {
    MutexLock lock(ticket_->mutex);
    return ticket_->record;
  }

  void Cancel(const absl::Status& why) override {
    {
      MutexLock lock(ticket_->mutex);
      if (ticket_->outcome.has_value()) return;
    }
    runner_.Abandon(ticket_, why);
  }

 private:
  StageRunner& runner_;
  const std::shared_ptr<Ticket> ticket_;
};

StageRunner::StageRunner(cache::StageResultStore& results,
                         cache::BlobStore& blobs, LeaseSource& leases,
                         Logger& log)
    : results_(results), blobs_(blobs), leases_(leases), log_(log) {}

StageRunner::~StageRunner() = default;

std::shared_ptr<StageTicket> StageRunner::Start(StageCall call,
                                                StageEvents events) {
  auto ticket = std::make_shared<Ticket>();
  ticket->name = call.name;
  ticket->events = std::move(events);
  auto handle = std::make_shared<TicketHandle>(*this, ticket);
  const absl::StatusOr<std::string> key = StageKey(
      StageVersion(call.options.options_case()), call.options, call.inputs);
  if (!key.ok()) {
    ticket->Complete(Annotate(key.status(), call.name), {});
    return handle;
  }
  std::shared_ptr<Flight> mine;
  bool leased = false;
  v1::JobEvent::Waiting waiting;
  {
    MutexLock lock(mutex_);
    std::shared_ptr<Flight>& flight = flights_[*key];
    if (flight == nullptr) {
      flight = std::make_shared<Flight>();
      flight->key = *key;
      flight->call = std::move(call);
      mine = flight;
    } else {
      ticket->merged = true;
      leased = flight->leased;
      waiting = flight->waiting;
    }
    ticket->flight = flight;
    flight->tickets.push_back(ticket);
  }
  if (mine != nullptr) {
    Launch(mine);
    return handle;
  }
  // What the others know already.
  if (leased && ticket->events.started) ticket->events.started();
  if (!waiting.reason().empty() && ticket->events.waiting) {
    ticket->events.waiting(waiting);
  }
  return handle;
}

void StageRunner::Launch(const std::shared_ptr<Flight>& flight) {
  absl::StatusOr<v1::StageResult> stored = results_.Get(flight->key);
  if (stored.ok() || !absl::IsNotFound(stored.status())) {
    absl::StatusOr<LeaseOutcome> outcome = LeaseOutcome();
    if (stored.ok()) {
      outcome->result = *std::move(stored);
    } else {
      outcome = stored.status();
    }
    Land(flight, outcome, /*hit=*/true);
    return;
  }
  {
    MutexLock lock(mutex_);
    if (flight->tickets.empty()) return;  // Given up during the look-up.
  }
  const uint64_t id = Submit(flight);
  bool abandoned = false;
  {
    MutexLock lock(mutex_);
    flight->lease_id = id;
    abandoned = flight->tickets.empty();
  }
  if (abandoned) leases_.Cancel(id);
}

void StageRunner::OnLeased(const std::shared_ptr<Flight>& flight) {
  std::vector<std::shared_ptr<Ticket>> tickets;
  {
    MutexLock lock(mutex_);
    flight->leased = true;
    flight->waiting.Clear();
    tickets = flight->tickets;
  }
  for (const auto& ticket : tickets) {
    if (ticket->events.started) ticket->events.started();
  }
}

uint64_t StageRunner::Submit(const std::shared_ptr<Flight>& flight) {
  // Callbacks reach whoever waits at that moment.
  const auto each = [this, flight](auto call) {
    std::vector<std::shared_ptr<Ticket>> waiting;
    {
      MutexLock lock(mutex_);
      waiting = flight->tickets;
    }
    for (const auto& ticket : waiting) call(ticket->events);
  };
  LeaseRequest request;
  request.key = flight->key;
  request.stage = flight->call.name;
  request.role = RoleOf(flight->call.options.options_case());
  request.options = flight->call.options;
  request.inputs = flight->call.inputs;
  return leases_.Submit(
      std::move(request),
      {.done =
           [this, flight](absl::StatusOr<LeaseOutcome> outcome) {
             OnDone(flight, std::move(outcome));
           },
       .leased = [this, flight] { OnLeased(flight); },
       .progress =
           [each](const v1::StageProgress& progress) {
             each([&](const StageEvents& events) {
               if (events.progress) events.progress(progress);
             });
           },
       .waiting =
           [this, flight, each](const v1::JobEvent::Waiting& why) {
             {
               MutexLock lock(mutex_);
               flight->waiting = why;
             }
             each([&](const StageEvents& events) {
               if (events.waiting) events.waiting(why);
             });
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
    return MakeError(absl::StatusCode::kInternal,
                     {.fault = Fault::kInfra,
                      .reason = "STAGE_OUTPUT",
                      .what = absl::StrCat("the worker did not upload output '",
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
      Land(flight, outcome, /*hit=*/false);
      return;
    }
    const absl::Status stored = results_.Put(flight->key, outcome->result);
    // The result is right all the same; it will be computed again some day.
    if (!stored.ok()) log_.Error("storing a result: ", stored.message());
  } else if (!absl::IsCancelled(outcome.status())) {
    if (absl::Status lost = FindLostInput(*flight); !lost.ok()) {
      outcome = std::move(lost);
    }
  }
  Land(flight, outcome, /*hit=*/false);
}

void StageRunner::Land(const std::shared_ptr<Flight>& flight,
                       const absl::StatusOr<LeaseOutcome>& outcome, bool hit) {
  std::vector<std::shared_ptr<Ticket>> tickets;
  {
    MutexLock lock(mutex_);
    tickets.swap(flight->tickets);
    const auto it = flights_.find(flight->key);
    if (it != flights_.end() && it->second == flight) flights_.erase(it);
  }
  for (const auto& ticket : tickets) {
    v1::Report::Stage record;
    absl::StatusOr<v1::StageResult> result = v1::StageResult();
    if (!outcome.ok()) result = outcome.status();
    if (outcome.ok()) {
      record.set_name(ticket->name);
      record.set_cache(hit              ? v1::Report::Stage::HIT
                       : ticket->merged ? v1::Report::Stage::MERGED
                                        : v1::Report::Stage::MISS);
      if (!hit) record.set_seconds(absl::ToDoubleSeconds(outcome->elapsed));
      if (!hit && !ticket->merged) {
        record.set_cpu_seconds(outcome->cpu_seconds);
      }
      result = outcome->result;
      if (outcome->result.has_error()) {
        result = StatusFromProto(outcome->result.error());
      }
    }
    if (!result.ok()) result = Annotate(result.status(), ticket->name);
    // First, so that whoever waits finds the event written.
    if (ticket->events.finished && outcome.ok()) {
      ticket->events.finished(record);
    }
    ticket->Complete(std::move(result), record);
  }
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
    if (flight.tickets.empty()) {
      lease_id = flight.lease_id;
      const auto found = flights_.find(flight.key);
      if (found != flights_.end() && found->second.get() == &flight) {
        flights_.erase(found);
      }
    }
  }
  ticket->Complete(why, {});
  if (lease_id != 0) leases_.Cancel(lease_id);
}

}  // namespace edgekiln::server
