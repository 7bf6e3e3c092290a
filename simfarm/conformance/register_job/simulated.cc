#include "simfarm/conformance/register_job/simulated.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "simfarm/simulators/chip_memory.h"
#include "simfarm/simulators/mmio_device.h"
#include "simfarm/simulators/register_job/device.h"
#include "target/memories.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

// The memories of the machine; bytes only of the one that the engine reaches.
ChipMemory ChipOf(const v1::Machine& machine, int32_t memory, int64_t size,
                  uint8_t* bytes) {
  ChipMemory chip;
  for (int32_t i = 0; i < machine.memories_size(); ++i) {
    const v1::ResolvedMemory& each = machine.memories(i);
    if (i == memory) {
      chip.Add({each.name(), ChipMemory::Kind::kShared, each.base_address(),
                bytes, size});
    } else {
      chip.Add({each.name(), ChipMemory::Kind::kReadOnly, each.base_address(),
                nullptr, 64});
    }
  }
  return chip;
}

JobOutcome Run(const v1::Machine& machine, int32_t engine,
               const JobProgram& program, RunMode mode) {
  JobOutcome outcome;
  const int32_t memory = target::LocalMemoryOf(machine, engine);
  const auto size = static_cast<int64_t>(program.memory.size());
  std::vector<uint8_t> bytes(program.memory.begin(), program.memory.end());
  ChipMemory chip =
      ChipOf(machine, memory, size,
             mode == RunMode::kCheckOnly ? nullptr : bytes.data());
  if (mode == RunMode::kChecked) {
    std::vector<std::string> names;
    for (const auto& each : machine.engines()) names.push_back(each.name());
    chip.Track(std::move(names), /*concurrent=*/true);
    AccessFault fault;
    EXPECT_TRUE(chip.WriteIn(
        kHost, memory, machine.memories(memory).base_address(), size, &fault));
  }
  const auto refused = [&](const absl::Status& status) {
    outcome = {};
    outcome.error = std::string(status.message());
    return outcome;
  };
  const auto simulator = simfarm::register_job::NewSimulator();
  auto made = simulator->NewDevice(machine, chip, {.engine = engine});
  if (!made.ok()) return refused(made.status());
  MmioDevice& device = **made;
  device.Reset(mode);
  const v1::RegisterJobs& jobs = machine.engines(engine).jobs();
  const auto status = [&] {
    return device.Read(jobs.status_offset()).value_or(~0u) & jobs.status_mask();
  };
  int32_t step = 0;
  for (const RegisterWrite& write : program.writes) {
    chip.BeginStep(step++);
    chip.Launch(engine);
    const auto cycles = device.Write(write.offset, write.value);
    if (!cycles.ok()) return refused(cycles.status());
    EXPECT_EQ(status() != jobs.status_done(), cycles->has_value());
    if (!cycles->has_value()) continue;
    outcome.cycles.push_back(**cycles);
    if (**cycles > kMaxJobCycles) outcome.too_long = true;
    device.Complete();
    EXPECT_EQ(status(), jobs.status_done());
    chip.Wait(engine);
  }
  if (mode != RunMode::kCheckOnly) {
    outcome.memory.assign(bytes.begin(), bytes.end());
  }
  return outcome;
}

}  // namespace

JobOutcome RunSimulator(const v1::Machine& machine, int32_t engine,
                        const JobProgram& program) {
  JobOutcome planned = Run(machine, engine, program, RunMode::kCheckOnly);
  if (!planned.error.empty() || planned.too_long) return planned;
  JobOutcome checked = Run(machine, engine, program, RunMode::kChecked);
  const JobOutcome fast = Run(machine, engine, program, RunMode::kFast);
  EXPECT_EQ(FirstDifference(checked, fast), "");
  if (checked.error.empty()) {
    EXPECT_EQ(planned.cycles, checked.cycles);
  }
  return checked;
}

}  // namespace edgekiln::simfarm::conformance::register_job
