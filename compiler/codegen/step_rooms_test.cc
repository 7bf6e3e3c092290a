#include "compiler/codegen/step_rooms.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kRam = 1;
constexpr uint64_t kBase = 0x1000;

v1::Machine MachineOf(int engines, int64_t ram_bytes) {
  v1::Machine machine;
  machine.add_memories();
  v1::ResolvedMemory& ram = *machine.add_memories();
  ram.set_base_address(kBase);
  ram.set_capacity_bytes(ram_bytes);
  for (int i = 0; i < engines; ++i) machine.add_engines();
  return machine;
}

struct Need {
  int32_t engine;
  int32_t memory;
  int64_t bytes;
};

v1::RegionPlans PlansOf(const std::vector<Need>& needs) {
  v1::RegionPlans plans;
  for (const Need& need : needs) {
    v1::RegionPlan& plan = *plans.add_regions();
    plan.set_engine(need.engine);
    plan.add_needs()->set_memory(need.memory);
    plan.mutable_needs(0)->set_bytes(need.bytes);
  }
  return plans;
}

TEST(StepRoomsTest, EnginesHaveTheMostThatAnyOfTheirRegionsNeeds) {
  const struct {
    const char* name;
    std::vector<Need> needs;
    int64_t bytes;   // Each in 16s, and as many for the first.
    int64_t behind;  // Tensors.
    std::vector<uint64_t> addresses;
    int64_t end;
  } kCases[] = {
      {"nothing", {}, 0, 50, {0, 0}, 50},
      {"other memory and the host",
       {{0, 0, 99}, {-1, kRam, 99}},
       0,
       50,
       {0, 0},
       50},
      {"the most of both",
       {{0, kRam, 320}, {0, kRam, 336}, {0, kRam, 1}},
       352,
       50,
       {kBase + 64, 0},
       64 + 336},
      {"two engines",
       {{1, kRam, 20}, {0, kRam, 5}},
       16 + 32 + 16,
       1,
       {kBase + 16, kBase + 32},
       32 + 20},
      {"of the second alone",
       {{1, kRam, 20}},
       32 + 16,
       16,
       {0, kBase + 16},
       16 + 20},
      {"one that is none", {{7, kRam, 20}}, 0, 0, {0, 0}, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const v1::Machine machine = MachineOf(2, 1000);
    StepRooms rooms(PlansOf(c.needs), machine, kRam);
    EXPECT_EQ(rooms.bytes(), c.bytes);
    RamPlan plan;
    plan.bytes = {7, c.behind};
    rooms.AddTo(plan);
    EXPECT_EQ(plan.bytes, (std::vector<int64_t>{7, c.end}));
    // What tensors leave suffices.
    EXPECT_LE(c.end, c.behind + c.bytes);
    for (int32_t engine = 0; engine < 2; ++engine) {
      EXPECT_EQ(rooms.AddressOf(engine), c.addresses[engine]);
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
