#include "compiler/codegen/rooms.h"

#include <algorithm>
#include <map>

#include "compiler/planning/offset_allocator.h"

namespace edgekiln::compiler {

std::vector<std::vector<int32_t>> TurnsOfSteps(const std::vector<Work>& works,
                                               const TurnPlan& turns) {
  std::vector<std::vector<int32_t>> turn_of;
  for (const Work& work : works) turn_of.emplace_back(work.steps.size(), -1);
  for (int32_t t = 0; t < std::ssize(turns.turns); ++t) {
    turn_of[turns.turns[t].work][turns.turns[t].step] = t;
  }
  return turn_of;
}

TurnSpan SpanOf(const TurnPlan& turns, int32_t work, int32_t step,
                const std::vector<std::vector<int32_t>>& turn_of) {
  return {.begin = turn_of[work][step], .end = turns.seen[work][step] - 1};
}

std::optional<RoomPlan> PlanRooms(const Views& views,
                                  const std::vector<Work>& works,
                                  const TurnPlan& turns,
                                  const v1::RegionPlans& plans,
                                  const v1::Machine& machine) {
  const auto turn_of = TurnsOfSteps(works, turns);
  struct Room {
    BufferLife life;
    std::vector<uint64_t*> users;
  };
  RoomPlan plan;
  plan.bytes.assign(machine.memories_size(), 0);
  for (const v1::RegionPlan& region : plans.regions()) {
    plan.address.emplace_back(region.buffers_size(), 0);
  }
  std::vector<std::vector<Room>> rooms(machine.memories_size());
  std::map<TensorId, size_t> room_of;  // By place, in its memory.
  for (int32_t w = 0; w < std::ssize(works); ++w) {
    if (works[w].region < 0) continue;
    const v1::RegionPlan& region = plans.regions(works[w].region);
    for (int32_t b = 0; b < region.buffers_size(); ++b) {
      const v1::RegionPlan::Buffer& buffer = region.buffers(b);
      BufferLife life;
      life.size_bytes = std::max<int64_t>(buffer.bytes(), 1);
      life.alignment_bytes =
          machine.memories(buffer.memory()).alignment_bytes();
      life.begin = static_cast<int64_t>(turns.turns.size());
      for (int32_t s = buffer.first_step(); s <= buffer.last_step(); ++s) {
        const TurnSpan span = SpanOf(turns, w, s, turn_of);
        life.begin = std::min(life.begin, span.begin);
        life.end = std::max(life.end, span.end);
      }
      std::vector<Room>& all = rooms[buffer.memory()];
      size_t index = all.size();
      if (buffer.has_tensor()) {
        if (buffer.has_over()) {
          const auto under = room_of.find(views.places()[buffer.over()]);
          if (under != room_of.end()) index = under->second;
        }
        index = room_of.try_emplace(views.places()[buffer.tensor()], index)
                    .first->second;
      }
      if (index == all.size()) all.push_back({life, {}});
      BufferLife& whole = all[index].life;
      whole.begin = std::min(whole.begin, life.begin);
      whole.end = std::max(whole.end, life.end);
      whole.size_bytes = std::max(whole.size_bytes, life.size_bytes);
      all[index].users.push_back(&plan.address[works[w].region][b]);
    }
  }
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    std::vector<BufferLife> lives;
    for (const Room& room : rooms[m]) lives.push_back(room.life);
    const OffsetPlan offsets = AllocateOffsets(lives);
    if (offsets.peak_bytes > machine.memories(m).capacity_bytes()) {
      return std::nullopt;
    }
    plan.bytes[m] = offsets.peak_bytes;
    for (size_t r = 0; r < rooms[m].size(); ++r) {
      for (uint64_t* address : rooms[m][r].users) {
        *address = machine.memories(m).base_address() +
                   static_cast<uint64_t>(offsets.offsets[r]);
      }
    }
  }
  return plan;
}

}  // namespace edgekiln::compiler
