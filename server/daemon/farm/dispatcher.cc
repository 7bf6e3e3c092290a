#include "server/daemon/farm/dispatcher.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/fairness/job_class.h"
#include "server/daemon/farm/lease_check.h"
#include "server/daemon/shutting_down.h"

namespace edgekiln::server {

Dispatcher::Dispatcher(DispatcherOptions options, Clock& clock, Logger& log)
    : options_(std::move(options)),
      clock_(clock),
      log_(log),
      // Tokens of an earlier life of this daemon stay behind.
      next_token_(static_cast<uint64_t>(
          std::max<int64_t>(1, absl::ToUnixMicros(clock.Now())))),
      callbacks_(options_.callback_threads) {}

void Dispatcher::Flush(Actions& actions) {
  Actions left;
  for (Action& action : actions) {
    if (!callbacks_.Post(action.lease_id, std::move(action.run),
                         action.background)) {
      left.push_back(std::move(action));
    }
  }
  actions = std::move(left);
}

void Dispatcher::RunAll(Actions& actions) {
  for (const Action& action : actions) action.run();
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
    if (absl::Status status = CheckLease(lease.request, options_.quarantine);
        stopped_ || !status.ok()) {
      Complete(id, stopped_ ? ShuttingDown() : std::move(status), actions);
    } else {
      LeaveOutQuarantined(options_.quarantine, lease.request);
      queue_.Push(id, lease.request.owner, lease.request.role, lease.queued);
      Assign(actions);
    }
    Flush(actions);
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
    if (ConnectedWorker* const worker = workers_.Find(it->second.worker)) {
      // The slot is free once the worker has answered, or the grace is over.
      worker->leases.erase(lease_id);
      worker->holds.Forget(lease_id);
      worker->draining[lease_id] = clock_.Monotonic();
      v1::DaemonMessage message;
      message.mutable_cancel()->set_lease_id(lease_id);
      worker->link->Send(message);
    }
    Complete(lease_id, absl::CancelledError("the job was cancelled"), actions);
    Flush(actions);
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
    Flush(actions);
  }
  RunAll(actions);
}

absl::StatusOr<uint64_t> Dispatcher::Connect(
    const v1::WorkerMessage::Hello& hello, WorkerLink* link,
    v1::DaemonMessage::Welcome welcome) {
  if (absl::Status status = CheckHello(hello, options_.build_digest);
      !status.ok()) {
    MutexLock lock(mutex_);
    shortage_.Refused(hello);
    return status;
  }
  const int slots = std::min(hello.slots(), options_.max_worker_slots);
  Actions actions;
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    if (stopped_) return ShuttingDown();
    EK_RETURN_IF_ERROR(CheckWorkerCount(static_cast<int>(workers_.all().size()),
                                        options_.max_workers));
    id = next_id_++;
    shortage_.Taken(hello);
    const ConnectedWorker& worker =
        workers_.Add(id, hello, slots, link, clock_.Monotonic());
    RememberCompilers(worker);
    log_.Info("worker ", worker.name, " connected with ", hello.slots(),
              hello.slots() == 1 ? " slot" : " slots",
              slots < hello.slots() ? ", of which it gets " : "",
              slots < hello.slots() ? absl::StrCat(slots) : "",
              MissingConfinement(hello));
    v1::DaemonMessage message;
    welcome.set_heartbeat_ms(absl::ToInt64Milliseconds(options_.heartbeat));
    *message.mutable_welcome() = std::move(welcome);
    link->Send(message);
    Assign(actions);
    Flush(actions);
  }
  RunAll(actions);
  return id;
}

void Dispatcher::Complete(uint64_t lease_id,
                          absl::StatusOr<LeaseOutcome> outcome,
                          Actions& actions) {
  const auto it = leases_.find(lease_id);
  queue_.Remove(lease_id);
  if (outcome.ok()) {
    recent_.Add(StageKind(it->second.request.stage), outcome->elapsed);
    for (size_t i = 0; i < outcome->next.size(); ++i) {
      recent_.Add(StageKind(it->second.request.next[i].stage),
                  outcome->next[i].elapsed);
    }
  }
  resting_.erase(lease_id);
  workers_.LetGo(lease_id);
  actions.push_back(
      {lease_id, IsBackground(it->second),
       [done = std::move(it->second.callbacks.done),
        outcome = std::move(outcome)]() mutable { done(std::move(outcome)); }});
  leases_.erase(it);
}

// What is left alone for INTERACTIVE leases. As of one moment.
class Dispatcher::Reserves {
 public:
  // By role: slots that others may still get.
  explicit Reserves(std::map<v1::WorkerRole, int> left)
      : left_(std::move(left)) {}

  // One more lease that is not INTERACTIVE must leave enough, for any role of
  // the worker.
  bool Admit(v1::JobClass job_class, const ConnectedWorker& worker) const {
    if (job_class == v1::INTERACTIVE) return true;
    return std::none_of(worker.roles.begin(), worker.roles.end(),
                        [&](v1::WorkerRole role) {
                          const auto left = left_.find(role);
                          return left != left_.end() && left->second < 1;
                        });
  }

 private:
  const std::map<v1::WorkerRole, int> left_;
};

Dispatcher::Reserves Dispatcher::ReservesAt(absl::Duration now) const {
  std::map<v1::WorkerRole, int> left;
  if (!queue_.Reserves(now)) return Reserves(left);
  for (const v1::WorkerRole role : {v1::COMPILE_ROLE, v1::SIMULATE_ROLE}) {
    int slots = 0;
    int lent = 0;
    int others = 0;
    for (const auto& [id, worker] : workers_.all()) {
      if (!worker.HasRole(role)) continue;
      slots += std::max(worker.window, worker.used_slots());
      lent += worker.lent_slots(options_.long_lease, now);
      for (const auto& [lease_id, given] : worker.leases) {
        others +=
            leases_.at(lease_id).request.owner.job_class != v1::INTERACTIVE;
      }
    }
    left[role] = slots + lent - queue_.Reserve(slots, now) - others;
  }
  return Reserves(left);
}

void Dispatcher::GiveKept(Actions& actions) {
  const uint64_t id = workers_.kept_for();
  if (id == 0 || !queue_.Contains(id)) return;
  Lease& lease = leases_.at(id);
  const uint64_t worker =
      workers_.Choose(WishOf(id, lease), clock_.Monotonic());
  if (worker == kNoWorker) return;
  queue_.Take(id);
  Give(id, lease, worker, actions);
}

void Dispatcher::Assign(Actions& actions) {
  if (draining_) return;
  const absl::Duration now = clock_.Monotonic();
  while (!queue_.empty()) {
    GiveKept(actions);
    const Reserves reserves = ReservesAt(now);
    const auto find =
        [&](const WorkerWish& wish) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return workers_.Choose(wish, now, [&](const ConnectedWorker& worker) {
            return reserves.Admit(wish.job_class, worker);
          });
        };
    // Of those that want a worker to themselves while none is idle, the first:
    // the others keep their turns, and so does it.
    uint64_t choosy = 0;
    const auto fits = [&](uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      const WorkerWish wish = WishOf(id, leases_.at(id));
      if (!wish.alone && wish.compiler == nullptr) return true;
      if (find(wish) != kNoWorker) return true;
      if (wish.alone && choosy == 0) choosy = id;
      return false;
    };
    const auto next = queue_.Next(
        now,
        [&](v1::JobClass job_class, v1::WorkerRole role)
            ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
              return find({.role = role, .job_class = job_class}) != kNoWorker;
            },
        fits);
    // That changes which slots are free.
    if (choosy != 0 &&
        workers_.KeepFree(WishOf(choosy, leases_.at(choosy)), now)) {
      continue;
    }
    if (!next.has_value()) return;
    Lease& lease = leases_.at(next->id);
    queue_.Take(*next);
    Give(next->id, lease, find(WishOf(next->id, lease)), actions);
  }
}

WorkerWish Dispatcher::WishOf(uint64_t lease_id, const Lease& lease) const {
  return {.role = lease.request.role,
          .job_class = lease.request.owner.job_class,
          .lease_id = lease_id,
          .not_again = lease.failed_on,
          .alone = lease.retries.WantsToBeAlone(options_.retries),
          .compiler = CompilerOf(lease.request.options)};
}

void Dispatcher::Give(uint64_t lease_id, Lease& lease, uint64_t worker_id,
                      Actions& actions) {
  lease.worker = worker_id;
  lease.token = next_token_++;
  lease.leased = clock_.Monotonic();
  workers_.Give(worker_id, lease_id, lease.token, WishOf(lease_id, lease),
                lease.leased);
  v1::DaemonMessage message;
  v1::DaemonMessage::Lease& out = *message.mutable_lease();
  out.set_lease_id(lease_id);
  out.set_fencing_token(lease.token);
  *out.mutable_options() = lease.request.options;
  for (const v1::BlobRef& input : lease.request.inputs) {
    *out.add_inputs() = input;
  }
  out.set_timeout_ms(absl::ToInt64Milliseconds(options_.lease_timeout));
  out.set_background(lease.request.owner.job_class == v1::BATCH);
  const ConnectedWorker& worker = *workers_.Find(worker_id);
  if (!lease.with_next) lease.request.next.clear();
  for (const LeaseRequest::Next& next : lease.request.next) {
    if (!worker.HasRole(next.role)) break;
    if (next.goes_along && !next.goes_along()) break;
    v1::DaemonMessage::Lease::Next& follows = *out.add_next();
    *follows.mutable_options() = next.options;
    follows.mutable_inputs()->Assign(next.inputs.begin(), next.inputs.end());
  }
  // What was not sent has no time of its own.
  lease.request.next.resize(static_cast<size_t>(out.next_size()));
  worker.link->Send(message);
  lease.told.Clear();
  if (lease.callbacks.leased) {
    actions.push_back({lease_id, IsBackground(lease), lease.callbacks.leased});
  }
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
    const auto overdue = [&](const Lease& lease) {
      const auto stages = static_cast<double>(1 + lease.request.next.size());
      return options_.lease_timeout * stages + silence;
    };
    std::map<uint64_t, uint64_t> lost;  // Worker to the lease to blame.
    for (auto& [id, worker] : workers_.all()) {
      for (auto it = worker.draining.begin(); it != worker.draining.end();) {
        const bool expired = now - it->second > options_.cancel_grace;
        it = expired ? worker.draining.erase(it) : std::next(it);
      }
      if (!worker.leases.empty() && now - worker.last_heard > silence) {
        lost[id] = 0;
        continue;
      }
      for (const auto& [lease_id, given] : worker.leases) {
        const Lease& lease = leases_.at(lease_id);
        if (now - lease.leased > overdue(lease)) lost[id] = lease_id;
      }
    }
    for (const auto& [id, culprit] : lost) {
      Lose(id, absl::UnavailableError("its worker went silent"),
           /*close=*/true, culprit, actions);
    }
    EndRests();
    Assign(actions);
    FailWithoutCompiler(actions);
    Complain(actions);
    Flush(actions);
  }
  RunAll(actions);
}

void Dispatcher::Drain() {
  MutexLock lock(mutex_);
  draining_ = true;
}

int Dispatcher::LeasesOut() {
  MutexLock lock(mutex_);
  int out = callbacks_.Pending();
  for (const auto& [id, worker] : workers_.all()) {
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
    for (auto& [id, worker] : workers_.all()) worker.link->Close(why);
    workers_ = WorkerTable(options_.long_lease);
    while (!leases_.empty()) Complete(leases_.begin()->first, why, actions);
    Flush(actions);
  }
  RunAll(actions);
  callbacks_.Stop();
}

void Dispatcher::SetWorkersAddress(const std::string& address) {
  MutexLock lock(mutex_);
  options_.workers_address = address;
}

int Dispatcher::WorkerCount(v1::WorkerRole role) {
  MutexLock lock(mutex_);
  return workers_.Count(role);
}

int64_t Dispatcher::refused_results() {
  MutexLock lock(mutex_);
  return refused_;
}

}  // namespace edgekiln::server
