#include "simfarm/conformance/register_job/simulated.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "simfarm/simulators/chip_memory.h"
#include "simfarm/simulators/mmio_device.h"
#include "simfarm/simulators/register_job/device.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

// The memories of the machine; bytes only of those that the engine reaches, and
// none without values.
ChipMemory ChipOf(const v1::Machine& machine,
                  std::vector<std::string>& memories, bool values) {
  ChipMemory chip;
  for (int32_t i = 0; i < machine.memories_size(); ++i) {
    const v1::ResolvedMemory& each = machine.memories(i);
    std::string& bytes = memories[i];
    auto* const data = reinterpret_cast<uint8_t*>(bytes.data());
    using Kind = ChipMemory::Kind;
    if (bytes.empty()) {
      chip.Add(
          {each.name(), Kind::kReadOnly, each.base_address(), nullptr, 64});
    } else {
      chip.Add({each.name(),
                each.host_reaches() ? Kind::kReadWrite : Kind::kShared,
                each.base_address(), values ? data : nullptr,
                static_cast<int64_t>(bytes.size())});
    }
  }
  return chip;
}

// The host wrote all bytes.
void Define(const v1::Machine& machine,
            const std::vector<std::string>& memories, ChipMemory& chip) {
  std::vector<std::string> names;
  for (const auto& each : machine.engines()) names.push_back(each.name());
  chip.Track(std::move(names), /*concurrent=*/true);
  AccessFault fault;
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    if (memories[m].empty()) continue;
    EXPECT_TRUE(chip.WriteIn(kHost, m, machine.memories(m).base_address(),
                             static_cast<int64_t>(memories[m].size()), &fault));
  }
}

JobOutcome Run(const v1::Machine& machine, int32_t engine,
               const JobProgram& program, RunMode mode) {
  JobOutcome outcome;
  std::vector<std::string> memories = program.memories;
  ChipMemory chip = ChipOf(machine, memories, mode != RunMode::kCheckOnly);
  if (mode == RunMode::kChecked) Define(machine, memories, chip);
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
  auto record = program.records.begin();
  for (size_t w = 0; w < program.writes.size(); ++w) {
    const RegisterWrite& write = program.writes[w];
    chip.BeginStep(static_cast<int32_t>(w));
    chip.Launch(engine);
    for (; record != program.records.end() && record->before == w; ++record) {
      v1::Location location;
      location.set_memory(record->memory);
      location.set_address(record->address);
      const absl::Status stored = device.StoreRecord(location, record->words);
      if (!stored.ok()) return refused(stored);
    }
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
  if (mode != RunMode::kCheckOnly) outcome.memories = std::move(memories);
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
