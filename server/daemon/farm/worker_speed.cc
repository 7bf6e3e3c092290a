#include "server/daemon/farm/worker_speed.h"

#include <algorithm>
#include <cmath>

namespace edgekiln::server {
namespace {

constexpr double kNewest = 0.25;  // Weight of the newest time in an average.
// Shorter stages measure the network.
constexpr double kMinSeconds = 1e-3;
constexpr double kMaxSlowness = 8;

}  // namespace

void WorkerSpeeds::Record(uint64_t worker, int kind, absl::Duration took) {
  const double log =
      std::log(std::max(absl::ToDoubleSeconds(took), kMinSeconds));
  Kind& all = kinds_[kind];
  const auto [average, added] = averages_[worker].try_emplace(kind, log);
  if (added) {
    ++all.workers;
    all.sum += log;
    return;
  }
  const double change = kNewest * (log - average->second);
  average->second += change;
  all.sum += change;
}

void WorkerSpeeds::Forget(uint64_t worker) {
  const auto own = averages_.find(worker);
  if (own == averages_.end()) return;
  for (const auto& [kind, average] : own->second) {
    Kind& all = kinds_[kind];
    all.sum -= average;
    // Starts from zero again, so that rounding does not collect.
    if (--all.workers == 0) kinds_.erase(kind);
  }
  averages_.erase(own);
}

double WorkerSpeeds::SlownessOf(uint64_t worker) const {
  const auto own = averages_.find(worker);
  if (own == averages_.end()) return 1;
  double sum = 0;
  int compared = 0;
  for (const auto& [kind, average] : own->second) {
    const Kind& all = kinds_.at(kind);
    if (all.workers < 2) continue;
    sum += average - (all.sum - average) / (all.workers - 1);
    ++compared;
  }
  if (compared == 0) return 1;
  return std::clamp(std::exp(sum / compared), 1 / kMaxSlowness, kMaxSlowness);
}

}  // namespace edgekiln::server
