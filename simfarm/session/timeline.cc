#include "simfarm/session/timeline.h"

#include <algorithm>

#include "simfarm/simulators/cycle_limit.h"

namespace edgekiln::simfarm {

namespace {

int64_t& CyclesOf(Timeline::Spent spent, Timeline::Owned& owned) {
  switch (spent) {
    case Timeline::Spent::kComputing:
      return owned.compute_cycles;
    case Timeline::Spent::kTransfer:
      return owned.transfer_cycles;
    case Timeline::Spent::kContention:
      return owned.contention_cycles;
    case Timeline::Spent::kControl:
      break;
  }
  return owned.control_cycles;
}

}  // namespace

absl::StatusOr<int64_t> ConvertCycles(int64_t cycles, int64_t from_hz,
                                      int64_t to_hz) {
  if (from_hz == to_hz && cycles <= kMaxCycles) return cycles;
  const auto product = static_cast<__int128>(cycles) * to_hz;
  const auto converted = (product + from_hz - 1) / from_hz;
  if (converted > kMaxCycles) return TooManyCycles();
  return static_cast<int64_t>(converted);
}

void Timeline::Add(int64_t begin, int64_t end, int32_t layer, Spent spent) {
  if (begin >= end) return;
  int64_t free_cycles = end - begin;
  // The first covered span that can reach beyond `begin`.
  auto it = covered_.upper_bound(begin);
  if (it != covered_.begin() && std::prev(it)->second >= begin) --it;
  int64_t merged_begin = begin;
  int64_t merged_end = end;
  while (it != covered_.end() && it->first <= end) {
    free_cycles -= std::max<int64_t>(
        0, std::min(end, it->second) - std::max(begin, it->first));
    merged_begin = std::min(merged_begin, it->first);
    merged_end = std::max(merged_end, it->second);
    it = covered_.erase(it);
  }
  covered_[merged_begin] = merged_end;
  CyclesOf(spent, owned_[layer]) += free_cycles;
}

}  // namespace edgekiln::simfarm
