// Any records and register writes are refused or run without leaving memory.
// Half of the inputs are words as they come; the other half changes registers
// of a job that can run, so that kernels are reached.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "simfarm/simulators/register_job/device.h"
#include "target/register_jobs.h"
#include "target/resolve.h"
#include "tests/support/record_chip.h"

namespace {

using namespace edgekiln;           // NOLINT: a program of its own.
using namespace edgekiln::simfarm;  // NOLINT
using V = target::JobVariable;

constexpr int64_t kMemoryBytes = 4096;
// Longer inputs only cost time.
constexpr int64_t kMaxCycles = 20'000;

// A chip, and where operands of its jobs lie.
struct Chip {
  explicit Chip(const std::string& text)
      : machine(target::ResolveTarget(text)->machine()),
        view(*target::RegisterJobsView::Create(machine, 0)) {}

  int64_t BaseOf(int32_t memory) const {
    return memory < 0
               ? 0
               : static_cast<int64_t>(machine.memories(memory).base_address());
  }

  v1::Machine machine;
  target::RegisterJobsView view;
};

const Chip& ChipOf(bool has_record) {
  static const auto* toy = new Chip("extends: \"toy-array\"");
  static const auto* record = new Chip(tests::RecordChipText());
  return has_record ? *record : *toy;
}

// What the host does: it stores a record, or writes a register.
struct Action {
  v1::Location location;
  std::vector<uint32_t> words;  // None: a write.
  uint32_t offset = 0;
  uint32_t value = 0;
};
using Actions = std::vector<Action>;

// Each job with three of its registers or words changed by a byte or two.
Actions Change(const Chip& chip, const uint8_t* data, size_t size) {
  Actions actions;
  for (size_t i = 0; i + 7 <= size; i += 7) {
    target::JobVariables job;
    for (int v = 0; v < target::kNumJobVariables; ++v) {
      job[static_cast<V>(v)] = 1;
    }
    const v1::RegisterJobs& jobs = chip.view.jobs();
    job[V::kKernel] = jobs.jobs(data[i] % jobs.jobs_size()).code();
    job[V::kOutInt32] = data[i] / 64 % 2;
    const int64_t own = chip.BaseOf(chip.view.own_memory());
    const int64_t host = chip.BaseOf(chip.view.record_memory());
    job[V::kInAddr] = own;
    job[V::kIn2Addr] = own + 512;
    job[V::kTableAddr] = own + 1024;
    job[V::kOutAddr] = own + 2048;
    job[V::kWeightsAddr] = (host == 0 ? own : host) + 1;
    job[V::kRecordAddr] = host + 2048;
    const auto encoded = chip.view.Encode(job);
    if (!encoded.ok()) return actions;
    const auto changed = [&](size_t index, uint32_t value) {
      for (size_t change = 1; change < 7; change += 2) {
        if (data[i + change] % 32 != index) continue;
        const uint32_t to = data[i + change + 1];
        value = data[i + change] & 0x80 ? to << 16 | to : to;
      }
      return value;
    };
    if (!encoded->record.empty()) {
      Action& store = actions.emplace_back();
      store.location.set_memory(chip.view.record_memory());
      store.location.set_address(static_cast<uint64_t>(job[V::kRecordAddr]));
      for (size_t w = 0; w < encoded->record.size(); ++w) {
        store.words.push_back(changed(w, encoded->record[w]));
      }
    }
    for (const auto& write : encoded->writes) {
      Action& action = actions.emplace_back();
      action.offset = write.offset;
      action.value = changed(write.offset / 4, write.value);
    }
  }
  return actions;
}

Actions AsTheyCome(const uint8_t* data, size_t size) {
  Actions actions;
  for (size_t i = 0; i + 5 <= size; i += 5) {
    Action& action = actions.emplace_back();
    action.offset = data[i];
    std::memcpy(&action.value, data + i + 1, 4);
    if (data[i] != 0xff) continue;
    // A record: where, and its words.
    action.location.set_memory(static_cast<int32_t>(action.value % 5) - 1);
    action.location.set_address(action.value >> 3);
    action.words.resize(std::min<size_t>(16, (size - i - 5) / 4));
    std::memcpy(action.words.data(), data + i + 5, 4 * action.words.size());
    i += 4 * action.words.size();
  }
  return actions;
}

// False if a job takes too long to fuzz.
bool Run(const Chip& chip, const Actions& actions, RunMode mode) {
  std::vector<std::vector<uint8_t>> bytes;
  ChipMemory memory;
  for (const v1::ResolvedMemory& each : chip.machine.memories()) {
    using Kind = ChipMemory::Kind;
    bytes.emplace_back(kMemoryBytes);
    memory.Add({each.name(),
                each.host_reaches() ? Kind::kReadWrite : Kind::kShared,
                each.base_address(),
                mode == RunMode::kCheckOnly ? nullptr : bytes.back().data(),
                kMemoryBytes});
  }
  AccessFault fault;
  if (mode == RunMode::kChecked) {
    memory.Track({"array"}, true);
    for (int32_t m = 0; m < chip.machine.memories_size(); ++m) {
      (void)memory.WriteIn(kHost, m, chip.machine.memories(m).base_address(),
                           kMemoryBytes, &fault);
    }
  }
  const auto device = *register_job::NewSimulator()->NewDevice(
      chip.machine, memory, {.engine = 0});
  device->Reset(mode);
  for (const Action& action : actions) {
    memory.Launch(0);
    if (!action.words.empty()) {
      if (!device->StoreRecord(action.location, action.words).ok()) return true;
      continue;
    }
    const auto cycles = device->Write(action.offset, action.value);
    if (!cycles.ok()) return true;
    if (!cycles->has_value()) continue;
    if (**cycles > kMaxCycles) return false;
    device->Complete();
    memory.Wait(0);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Chip& chip = ChipOf(data[0] / 2 % 2 != 0);
  const Actions actions = data[0] % 2 == 0 ? AsTheyCome(data + 1, size - 1)
                                           : Change(chip, data + 1, size - 1);
  if (!Run(chip, actions, RunMode::kCheckOnly)) return 0;
  Run(chip, actions, RunMode::kChecked);
  Run(chip, actions, RunMode::kFast);
  return 0;
}
