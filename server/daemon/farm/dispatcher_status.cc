#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "server/daemon/farm/dispatcher.h"

// What people who operate a farm are shown of it.

namespace edgekiln::server {
namespace {

// As many as a person reads; a worker may have 256 slots.
constexpr size_t kMaxShownLeases = 16;

constexpr int kMaxShownCompilers = 8;  // Of one worker.
constexpr int kMaxShownWorkers = 256;
constexpr size_t kMaxNameBytes = 64;

std::string NameOf(const v1::Compiler& compiler) {
  return SanitizeText(absl::StrCat(compiler.program(), " ", compiler.version()),
                      kMaxNameBytes);
}

}  // namespace

void Dispatcher::Describe(v1::DaemonStatus& status) {
  MutexLock lock(mutex_);
  const absl::Duration now = clock_.Monotonic();
  status.set_waiting_leases(static_cast<int>(queue_.size() + resting_.size()));
  status.set_workers_total(static_cast<int>(workers_.all().size()));
  status.set_compile_workers(workers_.Count(v1::COMPILE_ROLE));
  status.set_simulate_workers(workers_.Count(v1::SIMULATE_ROLE));
  for (const auto& [id, worker] : workers_.all()) {
    status.set_slots(status.slots() + worker.slots);
    status.set_used_slots(status.used_slots() + worker.used_slots());
    if (status.workers_size() == kMaxShownWorkers) continue;
    v1::DaemonStatus::Worker& shown = *status.add_workers();
    shown.set_name(worker.name);
    for (const v1::WorkerRole role : worker.roles) shown.add_roles(role);
    shown.set_slots(worker.slots);
    shown.set_used_slots(worker.used_slots());
    shown.set_silent_seconds(absl::ToDoubleSeconds(now - worker.last_heard));
    shown.set_connected_seconds(absl::ToDoubleSeconds(now - worker.connected));
    shown.set_succeeded(worker.succeeded);
    shown.set_failed(worker.failures);
    for (const v1::Compiler& compiler : worker.compilers) {
      if (shown.compilers_size() == kMaxShownCompilers) break;
      shown.add_compilers(NameOf(compiler));
    }
    std::vector<std::pair<absl::Duration, uint64_t>> oldest;
    for (const auto& [lease_id, given] : worker.leases) {
      oldest.emplace_back(leases_.at(lease_id).leased, lease_id);
    }
    std::sort(oldest.begin(), oldest.end());
    if (oldest.size() > kMaxShownLeases) oldest.resize(kMaxShownLeases);
    for (const auto& [since, lease_id] : oldest) {
      v1::DaemonStatus::Lease& lease = *shown.add_leases();
      lease.set_stage(leases_.at(lease_id).request.stage);
      lease.set_seconds(absl::ToDoubleSeconds(now - since));
    }
  }
}

}  // namespace edgekiln::server
