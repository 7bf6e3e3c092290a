#include "server/daemon/farm/dispatcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/fairness/job_class.h"
#include "server/daemon/shutting_down.h"
#include "server/proto_convert.h"

namespace edgekiln::server {
namespace {

constexpr uint64_t kNoWorker = 0;
void RunAll(std::vector<std::function<void()>>& actions) {
  for (const auto& action : actions) action();
}

// The last failure, with how often there was one.
absl::Status StageGivenUp(const std::string& stage, int attempts,
                          const absl::Status& last) {
  ErrorDetail detail = GetErrorDetail(last).value_or(ErrorDetail{
      .reason = "STAGE_FAILED", .what = std::string(last.message())});
  detail.fault = Fault::kInfra;
  detail.what = absl::StrCat("stage ", stage, " failed on our side ", attempts,
                             " times; the last time: ", detail.what);
  if (detail.reason.empty()) detail.reason = "STAGE_FAILED";
  if (detail.where.empty()) detail.where = absl::StrCat("stage ", stage);
  if (detail.fix.empty()) {
    detail.fix =
        "look at the worker's log; if it crashed, report this with the model";
  }
  return MakeError(absl::StatusCode::kInternal, std::move(detail));
}

}  // namespace

Dispatcher::Dispatcher(DispatcherOptions options, Clock& clock, Logger& log)
    : options_(std::move(options)),
      clock_(clock),
      log_(log),
      // Tokens of an earlier life of this daemon stay behind.
      next_token_(static_cast<uint64_t>(
          std::max<int64_t>(1, absl::ToUnixMicros(clock.Now())))) {}

bool Dispatcher::HasRole(v1::WorkerRole role) const {
  for (const auto& [id, worker] : workers_) {
    if (std::count(worker.roles.begin(), worker.roles.end(), role) > 0) {
      return true;
    }
  }
  return false;
}

uint64_t Dispatcher::Submit(LeaseRequest request, LeaseCallbacks callbacks) {
  Actions actions;
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    id = next_id_++;
    Lease& lease = leases_[id];
    lease.request = std::move(request);
    lease.callbacks = std::move(callbacks);
    lease.queued = clock_.Monotonic();
    if (stopped_) {
      Complete(id, ShuttingDown(), actions);
    } else {
      queue_.Push(id, lease.request.owner, lease.request.role, lease.queued);
      Assign(actions);
    }
  }
  RunAll(actions);
  return id;
}

void Dispatcher::Cancel(uint64_t lease_id) {
  Actions actions;
  {
    MutexLock lock(mutex_);
    const auto it = leases_.find(lease_id);
    if (it == leases_.end()) return;
    if (const auto worker = workers_.find(it->second.worker);
        worker != workers_.end()) {
      // The slot is free once the worker has answered, or the grace is over.
      worker->second.leases.erase(lease_id);
      worker->second.draining[lease_id] = clock_.Monotonic();
      v1::DaemonMessage message;
      message.mutable_cancel()->set_lease_id(lease_id);
      worker->second.link->Send(message);
    }
    Complete(lease_id, absl::CancelledError("the job was cancelled"), actions);
  }
  RunAll(actions);
}

void Dispatcher::Promote(uint64_t lease_id, v1::JobClass job_class) {
  Actions actions;
  {
    MutexLock lock(mutex_);
    const auto it = leases_.find(lease_id);
    if (it == leases_.end()) return;
    LeaseOwner& owner = it->second.request.owner;
    if (!GoesBefore(job_class, owner.job_class)) return;
    owner.job_class = job_class;
    queue_.Promote(lease_id, job_class, clock_.Monotonic());
    Assign(actions);
  }
  RunAll(actions);
}

absl::StatusOr<uint64_t> Dispatcher::Connect(
    const v1::WorkerMessage::Hello& hello, WorkerLink* link) {
  if (absl::Status status = CheckHello(hello, options_.build_digest);
      !status.ok()) {
    MutexLock lock(mutex_);
    shortage_.Refused(hello);
    return status;
  }
  Actions actions;
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    if (stopped_) return ShuttingDown();
    id = next_id_++;
    shortage_.Taken(hello);
    Worker& worker = workers_[id];
    worker.link = link;
    worker.name = SanitizeText(hello.name(), 256);
    for (const int role : hello.roles()) {
      worker.roles.push_back(static_cast<v1::WorkerRole>(role));
    }
    worker.free_slots = hello.slots();
    worker.last_heard = clock_.Monotonic();
    log_.Info("worker ", worker.name, " connected with ", hello.slots(),
              " slots");
    v1::DaemonMessage message;
    message.mutable_welcome()->set_heartbeat_ms(
        absl::ToInt64Milliseconds(options_.heartbeat));
    link->Send(message);
    Assign(actions);
  }
  RunAll(actions);
  return id;
}

void Dispatcher::Receive(uint64_t worker_id, const v1::WorkerMessage& message) {
  Actions actions;
  {
    MutexLock lock(mutex_);
    const auto it = workers_.find(worker_id);
    if (it == workers_.end()) {
      // It was given up; what it still sends is late by definition.
      if (message.has_result()) ++refused_;
      return;
    }
    Worker& worker = it->second;
    worker.last_heard = clock_.Monotonic();
    if (message.has_progress()) {
      const v1::WorkerMessage::Progress& progress = message.progress();
      const auto held = worker.leases.find(progress.lease_id());
      if (held != worker.leases.end() &&
          held->second == progress.fencing_token()) {
        actions.push_back(
            [callback = leases_.at(progress.lease_id()).callbacks.progress,
             value = progress.progress()] {
              if (callback) callback(value);
            });
      }
    } else if (message.has_result()) {
      OnResult(worker_id, worker, message.result(), actions);
      Assign(actions);
    }
    ++storing_;
  }
  RunAll(actions);
  MutexLock lock(mutex_);
  --storing_;
}

void Dispatcher::OnResult(uint64_t worker_id, Worker& worker,
                          const v1::WorkerMessage::Result& result,
                          Actions& actions) {
  if (worker.draining.erase(result.lease_id()) > 0) {
    ++worker.free_slots;
    ++refused_;
    return;
  }
  const auto held = worker.leases.find(result.lease_id());
  if (held == worker.leases.end() || held->second != result.fencing_token()) {
    ++refused_;
    log_.Warning("refused a late result of lease ", result.lease_id(),
                 " from worker ", worker.name, " (", worker_id, ")");
    return;
  }
  worker.leases.erase(held);
  ++worker.free_slots;
  worker.ended_class = leases_.at(result.lease_id()).request.owner.job_class;
  worker.ended_at = clock_.Monotonic();
  worker.holds = queue_.HasAfter(worker.ended_class) ? worker.holds + 1 : 0;
  if (result.has_infra_error()) {
    Retry(result.lease_id(), StatusFromProto(result.infra_error()),
          /*lost=*/false, actions);
    return;
  }
  Complete(result.lease_id(),
           LeaseOutcome{.result = result.result(),
                        .elapsed = clock_.Monotonic() -
                                   leases_.at(result.lease_id()).leased,
                        .cpu_seconds = result.cpu_seconds()},
           actions);
}

// Back into the queue as the next of its job, or to its end.
void Dispatcher::Retry(uint64_t lease_id, const absl::Status& why, bool lost,
                       Actions& actions) {
  Lease& lease = leases_.at(lease_id);
  lease.worker = 0;
  int& count = lost ? lease.losses : lease.infra_errors;
  ++count;
  log_.Warning("stage ", lease.request.stage, " (lease ", lease_id,
               ") failed: ", why.message());
  const int limit = lost ? options_.max_losses : options_.max_infra_errors;
  if (count >= limit) {
    Complete(lease_id, StageGivenUp(lease.request.stage, count, why), actions);
    return;
  }
  lease.queued = clock_.Monotonic();
  queue_.Push(lease_id, lease.request.owner, lease.request.role, lease.queued);
}

void Dispatcher::Disconnect(uint64_t worker_id) {
  Actions actions;
  {
    MutexLock lock(mutex_);
    Lose(worker_id, absl::UnavailableError("its worker was lost"),
         /*close=*/false, actions);
    Assign(actions);
  }
  RunAll(actions);
}

void Dispatcher::Lose(uint64_t worker_id, const absl::Status& why, bool close,
                      Actions& actions) {
  const auto it = workers_.find(worker_id);
  if (it == workers_.end()) return;
  Worker worker = std::move(it->second);
  workers_.erase(it);
  if (worker.leases.empty()) {
    log_.Info("worker ", worker.name, " is gone");
  } else {
    log_.Warning("worker ", worker.name, " is gone, with ",
                 worker.leases.size(), " leases: ", why.message());
  }
  // The link lives until Disconnect() returns, which waits for our lock.
  if (close) worker.link->Close(why);
  for (const auto& [lease_id, token] : worker.leases) {
    Retry(lease_id, why, /*lost=*/true, actions);
  }
}

void Dispatcher::Complete(uint64_t lease_id,
                          absl::StatusOr<LeaseOutcome> outcome,
                          Actions& actions) {
  const auto it = leases_.find(lease_id);
  queue_.Remove(lease_id);
  if (outcome.ok()) {
    recent_.Add(StageKind(it->second.request.stage), outcome->elapsed);
  }
  actions.push_back([done = std::move(it->second.callbacks.done),
                     outcome = std::move(outcome)] { done(outcome); });
  leases_.erase(it);
}

void Dispatcher::Assign(Actions& actions) {
  if (draining_) return;
  const absl::Duration now = clock_.Monotonic();
  while (!queue_.empty()) {
    const Slot compile = FindSlot(v1::COMPILE_ROLE, now);
    const Slot simulate = FindSlot(v1::SIMULATE_ROLE, now);
    const std::optional<uint64_t> id =
        queue_.Pop(now, [&](v1::JobClass job_class, v1::WorkerRole role) {
          const Slot& slot = role == v1::COMPILE_ROLE ? compile : simulate;
          return slot.worker != kNoWorker &&
                 !GoesBefore(slot.lowest, job_class);
        });
    if (!id.has_value()) return;
    Lease& lease = leases_.at(*id);
    const Slot& slot =
        lease.request.role == v1::COMPILE_ROLE ? compile : simulate;
    Give(*id, lease, slot.worker, workers_.at(slot.worker), actions);
  }
}

// The slot is for INTERACTIVE leases alone if with one more lease that is not
// INTERACTIVE too few would be left, for any role of the worker.
Dispatcher::Slot Dispatcher::FindSlot(v1::WorkerRole role,
                                      absl::Duration now) const {
  const uint64_t found = FindWorker(role);
  if (found == kNoWorker) return {};
  const Worker& candidate = workers_.at(found);
  const bool held = now - candidate.ended_at < options_.hold &&
                    candidate.holds <= options_.max_holds;
  const Slot slot = {.worker = found,
                     .lowest = held ? candidate.ended_class : v1::BATCH};
  if (!queue_.Reserves(now)) return slot;
  for (const v1::WorkerRole each : candidate.roles) {
    int slots = 0;
    int others = 0;
    for (const auto& [id, worker] : workers_) {
      if (!worker.Does(each)) continue;
      slots += worker.free_slots +
               static_cast<int>(worker.leases.size() + worker.draining.size());
      for (const auto& [lease_id, token] : worker.leases) {
        others +=
            leases_.at(lease_id).request.owner.job_class != v1::INTERACTIVE;
      }
    }
    if (others + 1 > slots - queue_.Reserve(slots, now)) {
      return {.worker = found, .lowest = v1::INTERACTIVE};
    }
  }
  return slot;
}

uint64_t Dispatcher::FindWorker(v1::WorkerRole role) const {
  uint64_t best = kNoWorker;
  int best_slots = 0;
  for (const auto& [id, worker] : workers_) {
    if (worker.free_slots > best_slots &&
        std::count(worker.roles.begin(), worker.roles.end(), role) > 0) {
      best = id;
      best_slots = worker.free_slots;
    }
  }
  return best;
}

void Dispatcher::Give(uint64_t lease_id, Lease& lease, uint64_t worker_id,
                      Worker& worker, Actions& actions) {
  lease.worker = worker_id;
  lease.token = next_token_++;
  lease.leased = clock_.Monotonic();
  // Silence counts from here: an idle worker need not have spoken for long.
  if (worker.leases.empty()) worker.last_heard = lease.leased;
  --worker.free_slots;
  if (GoesBefore(worker.ended_class, lease.request.owner.job_class)) {
    worker.holds = 0;
  }
  worker.leases[lease_id] = lease.token;
  v1::DaemonMessage message;
  v1::DaemonMessage::Lease& out = *message.mutable_lease();
  out.set_lease_id(lease_id);
  out.set_fencing_token(lease.token);
  *out.mutable_options() = lease.request.options;
  for (const v1::BlobRef& input : lease.request.inputs) {
    *out.add_inputs() = input;
  }
  out.set_timeout_ms(absl::ToInt64Milliseconds(options_.lease_timeout));
  worker.link->Send(message);
  lease.told.Clear();
  if (lease.callbacks.leased) actions.push_back(lease.callbacks.leased);
}

void Dispatcher::Tick() {
  Actions actions;
  {
    MutexLock lock(mutex_);
    const absl::Duration now = clock_.Monotonic();
    const absl::Duration silence =
        options_.heartbeat * options_.missed_heartbeats;
    // A worker that neither answers nor ends an overdue lease is as good as
    // lost: its slot would stay occupied.
    const absl::Duration overdue = options_.lease_timeout + silence;
    std::vector<uint64_t> lost;
    for (auto& [id, worker] : workers_) {
      for (auto it = worker.draining.begin(); it != worker.draining.end();) {
        const bool expired = now - it->second > options_.cancel_grace;
        if (expired) ++worker.free_slots;
        it = expired ? worker.draining.erase(it) : std::next(it);
      }
      bool late = false;
      for (const auto& [lease_id, token] : worker.leases) {
        late = late || now - leases_.at(lease_id).leased > overdue;
      }
      if (late ||
          (!worker.leases.empty() && now - worker.last_heard > silence)) {
        lost.push_back(id);
      }
    }
    for (const uint64_t id : lost) {
      Lose(id, absl::UnavailableError("its worker went silent"),
           /*close=*/true, actions);
    }
    Assign(actions);
    Complain(actions);
  }
  RunAll(actions);
}

void Dispatcher::Drain() {
  MutexLock lock(mutex_);
  draining_ = true;
}

int Dispatcher::LeasesOut() {
  MutexLock lock(mutex_);
  int out = storing_;
  for (const auto& [id, worker] : workers_) {
    out += static_cast<int>(worker.leases.size());
  }
  return out;
}

void Dispatcher::Shutdown() {
  Actions actions;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    const absl::Status why = ShuttingDown();
    for (auto& [id, worker] : workers_) worker.link->Close(why);
    workers_.clear();
    while (!leases_.empty()) Complete(leases_.begin()->first, why, actions);
  }
  RunAll(actions);
}

void Dispatcher::SetWorkersAddress(const std::string& address) {
  MutexLock lock(mutex_);
  options_.workers_address = address;
}

int Dispatcher::WorkerCount(v1::WorkerRole role) {
  MutexLock lock(mutex_);
  int count = 0;
  for (const auto& [id, worker] : workers_) {
    count += static_cast<int>(
        std::count(worker.roles.begin(), worker.roles.end(), role));
  }
  return count;
}

int64_t Dispatcher::refused_results() {
  MutexLock lock(mutex_);
  return refused_;
}

}  // namespace edgekiln::server
