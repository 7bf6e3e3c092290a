#include "compiler/engines/dla/hazards.h"

#include <array>

#include "absl/container/inlined_vector.h"

namespace edgekiln::compiler::dla {
namespace {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  bool writes = false;
};

using Ranges = absl::InlinedVector<Range, 4>;

Ranges Resolve(const ScheduledCommand& command,
               absl::Span<const int64_t> offsets) {
  Ranges ranges;
  for (const BufferAccess& access : command.accesses) {
    const int64_t base = offsets[access.buffer];
    ranges.push_back({base + access.begin, base + access.end, access.writes});
  }
  return ranges;
}

bool Conflict(const Ranges& a, const Ranges& b) {
  for (const Range& x : a) {
    for (const Range& y : b) {
      if ((x.writes || y.writes) && x.begin < y.end && y.begin < x.end) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::vector<int64_t> WaitCounts(const Schedule& schedule,
                                absl::Span<const int64_t> offsets) {
  std::vector<int64_t> waits;
  waits.reserve(schedule.commands.size());
  std::array<std::vector<Ranges>, 2> issued;  // Per unit, in order.
  std::array<int64_t, 2> waited = {0, 0};     // Per unit: its highest count.
  for (const ScheduledCommand& command : schedule.commands) {
    const size_t unit = command.is_dma() ? 1 : 0;
    const std::vector<Ranges>& others = issued[1 - unit];
    Ranges ranges = Resolve(command, offsets);
    // The latest conflicting command of the other unit orders all before it;
    // what an earlier command of this unit waited for is complete anyway.
    auto count = static_cast<int64_t>(others.size());
    while (count > waited[unit] && !Conflict(ranges, others[count - 1])) {
      --count;
    }
    waited[unit] = count;
    waits.push_back(count);
    issued[unit].push_back(std::move(ranges));
  }
  return waits;
}

}  // namespace edgekiln::compiler::dla
