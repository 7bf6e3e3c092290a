#include "server/daemon/farm/worker_table.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "server/long_lease.h"

namespace edgekiln::server {
namespace {

constexpr int kFirstWindow = 8;
constexpr int kMaxCompilers = 64;
constexpr size_t kMaxCompilerBytes = 1024;
constexpr absl::Duration kFailedLately = absl::Minutes(1);
// Larger than any product of slowness and share of slots.
constexpr double kFailedCost = 100;
constexpr double kNotAgainCost = 1000;

}  // namespace

bool ConnectedWorker::HasRole(v1::WorkerRole role) const {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

int ConnectedWorker::free_slots(v1::JobClass job_class,
                                absl::Duration long_lease,
                                absl::Duration now) const {
  const int lent = job_class == v1::BATCH ? 0 : lent_slots(long_lease, now);
  return std::max(0, window + lent - used_slots());
}

int ConnectedWorker::lent_slots(absl::Duration long_lease,
                                absl::Duration now) const {
  if (spare_slots == 0 || long_lease == absl::InfiniteDuration()) return 0;
  const auto is_long = [&](const auto& lease) {
    return lease.second.background || now - lease.second.since >= long_lease;
  };
  const auto num_long = std::count_if(leases.begin(), leases.end(), is_long);
  return std::min(
      {static_cast<int>(num_long), spare_slots, SpareSlots(window)});
}

const v1::Compiler* ConnectedWorker::Find(const v1::Compiler& wanted) const {
  for (const v1::Compiler& compiler : compilers) {
    if (compiler.family() != wanted.family() ||
        compiler.program() != wanted.program()) {
      continue;
    }
    if (wanted.digest().empty() || compiler.digest() == wanted.digest()) {
      return &compiler;
    }
  }
  return nullptr;
}

void ConnectedWorker::SetCompilers(const v1::WorkerMessage::Hello& hello) {
  compilers.clear();
  for (const v1::Compiler& compiler : hello.compilers()) {
    if (static_cast<int>(compilers.size()) == kMaxCompilers) break;
    if (compiler.ByteSizeLong() > kMaxCompilerBytes) continue;
    compilers.push_back(compiler);
  }
}

const v1::Compiler* WorkerTable::FindCompiler(
    const v1::Compiler& wanted) const {
  for (const auto& [id, worker] : workers_) {
    if (const v1::Compiler* const found = worker.Find(wanted)) return found;
  }
  return nullptr;
}

bool WorkerTable::CanServe(const ConnectedWorker& worker,
                           const WorkerWish& wish) {
  return worker.HasRole(wish.role) &&
         (wish.compiler == nullptr || worker.Find(*wish.compiler) != nullptr);
}

double WorkerTable::CostOf(uint64_t id, const ConnectedWorker& worker,
                           const WorkerWish& wish, absl::Duration now) const {
  double cost =
      speeds_.SlownessOf(id) * (worker.used_slots() + 1) / worker.window;
  if (now - worker.failed < kFailedLately) cost += kFailedCost;
  if (id == wish.not_again) cost += kNotAgainCost;
  return cost;
}

uint64_t WorkerTable::Choose(const WorkerWish& wish, absl::Duration now,
                             const Admits& admits) const {
  uint64_t best = kNoWorker;
  double best_cost = 0;
  for (const auto& [id, worker] : workers_) {
    if (!CanServe(worker, wish)) continue;
    if (worker.alone_with != 0 && worker.alone_with != wish.lease_id) continue;
    const int held = worker.holds.Against(wish.job_class, now);
    if (wish.alone
            ? worker.used_slots() + held > 0
            : worker.free_slots(wish.job_class, long_lease_, now) <= held) {
      continue;
    }
    if (admits && !admits(worker)) continue;
    const double cost = CostOf(id, worker, wish, now);
    if (best == kNoWorker || cost < best_cost) {
      best = id;
      best_cost = cost;
    }
  }
  return best;
}

bool WorkerTable::KeepFree(const WorkerWish& wish, absl::Duration now) {
  if (kept_for_ != 0) return false;
  uint64_t chosen = kNoWorker;
  std::tuple<bool, bool, int, double> least;
  for (auto& [id, worker] : workers_) {
    if (worker.alone_with != 0 || !CanServe(worker, wish)) continue;
    const std::tuple<bool, bool, int, double> unfit = {
        id == wish.not_again, now - worker.failed < kFailedLately,
        worker.used_slots(), speeds_.SlownessOf(id)};
    if (chosen == kNoWorker || unfit < least) {
      chosen = id;
      least = unfit;
    }
  }
  if (chosen == kNoWorker) return false;
  workers_.at(chosen).alone_with = wish.lease_id;
  apart_[wish.lease_id] = chosen;
  kept_for_ = wish.lease_id;
  return true;
}

void WorkerTable::Give(uint64_t id, uint64_t lease_id, uint64_t token,
                       const WorkerWish& wish, absl::Duration now) {
  LetGo(lease_id);  // Another worker may have been kept free.
  ConnectedWorker& worker = workers_.at(id);
  worker.holds.Given(lease_id, wish.job_class,
                     worker.free_slots(wish.job_class, long_lease_, now), now);
  // Silence counts from here: an idle worker need not have spoken for long.
  if (worker.leases.empty()) worker.last_heard = now;
  worker.leases[lease_id] = {token, now, wish.job_class == v1::BATCH};
  if (!wish.alone) return;
  worker.alone_with = lease_id;
  apart_[lease_id] = id;
}

void WorkerTable::LetGo(uint64_t lease_id) {
  const auto apart = apart_.find(lease_id);
  if (apart == apart_.end()) return;
  workers_.at(apart->second).alone_with = 0;
  apart_.erase(apart);
  if (kept_for_ == lease_id) kept_for_ = 0;
}

void WorkerTable::Succeeded(uint64_t id, int kind, absl::Duration took) {
  speeds_.Record(id, kind, took);
  ConnectedWorker& worker = workers_.at(id);
  ++worker.succeeded;
  worker.window = std::min(worker.window + 1, worker.slots);
}

void WorkerTable::Failed(uint64_t id, absl::Duration now) {
  ConnectedWorker& worker = workers_.at(id);
  ++worker.failures;
  worker.failed = now;
  worker.window = std::max(1, worker.window / 2);
}

ConnectedWorker& WorkerTable::Add(uint64_t id,
                                  const v1::WorkerMessage::Hello& hello,
                                  int slots, WorkerLink* link,
                                  absl::Duration now) {
  ConnectedWorker& worker = workers_[id];
  worker.link = link;
  worker.name = SanitizeText(hello.name(), 256);
  for (const v1::WorkerRole role : {v1::COMPILE_ROLE, v1::SIMULATE_ROLE}) {
    const bool has = std::find(hello.roles().begin(), hello.roles().end(),
                               role) != hello.roles().end();
    if (has) worker.roles.push_back(role);
  }
  worker.SetCompilers(hello);
  worker.slots = slots;
  worker.spare_slots =
      SpareSlots(slots, hello.confinement().memory_limit_bytes(),
                 hello.confinement().memory_budget_bytes());
  worker.window = std::min(slots, kFirstWindow);
  worker.connected = now;
  worker.last_heard = now;
  return worker;
}

void WorkerTable::Remove(uint64_t id) {
  const auto worker = workers_.find(id);
  if (worker == workers_.end()) return;
  LetGo(worker->second.alone_with);
  workers_.erase(worker);
  speeds_.Forget(id);
}

ConnectedWorker* WorkerTable::Find(uint64_t id) {
  const auto worker = workers_.find(id);
  return worker == workers_.end() ? nullptr : &worker->second;
}

int WorkerTable::Count(v1::WorkerRole role) const {
  return static_cast<int>(std::count_if(
      workers_.begin(), workers_.end(),
      [&](const auto& entry) { return entry.second.HasRole(role); }));
}

}  // namespace edgekiln::server
