#include <map>
#include <optional>

#include "server/daemon/farm/dispatcher.h"

// What leases that wait are told.

namespace edgekiln::server {
namespace {

// Between looks at the whole queue for its order.
constexpr absl::Duration kComplainInterval = absl::Seconds(1);

}  // namespace

bool Dispatcher::HasComplaint(const Lease& lease, absl::Duration now) const {
  if (lease.worker != 0) return false;
  if (now - lease.queued < options_.waiting_grace) return false;
  return lease.told.reason().empty() ||
         now - lease.told_at >= options_.position_interval ||
         // Another cause is told at once.
         (lease.told.cause() == v1::JobEvent::Waiting::ALL_BUSY) !=
             (workers_.Count(lease.request.role) > 0);
}

WaitEstimate Dispatcher::BusyUntil(v1::WorkerRole role,
                                   absl::Duration now) const {
  int slots = 0;
  for (const auto& [id, worker] : workers_.all()) {
    if (worker.HasRole(role)) slots += worker.window;
  }
  WaitEstimate busy(recent_, slots);
  for (const auto& [id, worker] : workers_.all()) {
    if (!worker.HasRole(role)) continue;
    for (const auto& [lease_id, given] : worker.leases) {
      const Lease& lease = leases_.at(lease_id);
      busy.Add(StageKind(lease.request.stage), now - lease.leased);
    }
  }
  return busy;
}

void Dispatcher::Complain(Actions& actions) {
  const absl::Duration now = clock_.Monotonic();
  if (now - complained_at_ < kComplainInterval) return;
  complained_at_ = now;
  bool any = false;
  for (const auto& [id, lease] : leases_) any = any || HasComplaint(lease, now);
  if (!any) return;
  std::map<v1::WorkerRole, int64_t> positions;
  std::map<v1::WorkerRole, WaitEstimate> waits;
  for (const v1::WorkerRole role : {v1::COMPILE_ROLE, v1::SIMULATE_ROLE}) {
    waits.emplace(role, BusyUntil(role, now));
  }
  bool shared = false;  // The same slots serve both roles.
  for (const auto& [id, worker] : workers_.all()) {
    shared = shared || worker.roles.size() > 1;
  }
  for (const uint64_t lease_id : queue_.Order(now)) {
    Lease& lease = leases_.at(lease_id);
    const v1::WorkerRole role = lease.request.role;
    const int64_t position = ++positions[role];
    const std::optional<absl::Duration> wait = waits.at(role).Get();
    for (auto& [each, estimate] : waits) {
      if (shared || each == role) estimate.Add(StageKind(lease.request.stage));
    }
    if (!HasComplaint(lease, now)) continue;
    const bool has_worker = workers_.Count(role) > 0;
    v1::JobEvent::Waiting why =
        has_worker ? AllBusy(role, position)
                   : shortage_.NoWorker(role, options_.build_digest,
                                        options_.workers_address);
    if (has_worker && wait.has_value()) {
      *why.mutable_eta() = DurationToProto(*wait);
    }
    if (lease.told.reason() == why.reason() &&
        lease.told.position() == why.position() &&
        lease.told.has_eta() == why.has_eta()) {
      continue;
    }
    lease.told = why;
    lease.told_at = now;
    actions.push_back({lease_id, IsBackground(lease),
                       [waiting = lease.callbacks.waiting, why] {
                         if (waiting) waiting(why);
                       }});
  }
}

}  // namespace edgekiln::server
