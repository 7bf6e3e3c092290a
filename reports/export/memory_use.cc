#include "reports/export/memory_use.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace edgekiln {
namespace {

struct Interval {
  uint64_t begin;
  uint64_t end;
};

// Bytes that at least one interval covers.
int64_t Covered(std::vector<Interval> intervals) {
  std::sort(
      intervals.begin(), intervals.end(),
      [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  uint64_t covered = 0;
  uint64_t end = 0;
  for (const Interval& interval : intervals) {
    const uint64_t begin = std::max(interval.begin, end);
    if (interval.end <= begin) continue;
    covered += interval.end - begin;
    end = interval.end;
  }
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(covered, kMost));
}

bool IsPossible(const v1::TensorUse& tensor) {
  return tensor.bytes() > 0 &&
         static_cast<uint64_t>(tensor.bytes()) <=
             std::numeric_limits<uint64_t>::max() - tensor.address();
}

int64_t BytesAt(const v1::Report& report, const std::string& memory,
                int layer) {
  std::vector<Interval> intervals;
  for (const v1::TensorUse& tensor : report.tensors()) {
    if (tensor.memory() != memory || !IsPossible(tensor)) continue;
    if (layer < tensor.first_layer() || layer > tensor.last_layer()) continue;
    intervals.push_back(
        {tensor.address(),
         tensor.address() + static_cast<uint64_t>(tensor.bytes())});
  }
  return Covered(std::move(intervals));
}

}  // namespace

std::vector<MemoryOverTime> MemoriesOverTime(const v1::Report& report) {
  std::vector<MemoryOverTime> memories;
  if (report.layers_size() == 0) return memories;
  for (const v1::TensorUse& tensor : report.tensors()) {
    const bool known = std::any_of(memories.begin(), memories.end(),
                                   [&](const MemoryOverTime& memory) {
                                     return memory.name == tensor.memory();
                                   });
    if (!known) memories.emplace_back().name = tensor.memory();
  }
  for (MemoryOverTime& memory : memories) {
    for (int layer = 0; layer < report.layers_size(); ++layer) {
      memory.bytes_by_layer.push_back(BytesAt(report, memory.name, layer));
    }
  }
  return memories;
}

}  // namespace edgekiln
