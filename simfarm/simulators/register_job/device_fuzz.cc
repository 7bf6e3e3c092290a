// Any register writes are refused or run without leaving memory. Half of the
// inputs are words as they come; the other half changes registers of a job that
// can run, so that kernels are reached.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "simfarm/simulators/register_job/device.h"
#include "target/register_jobs.h"
#include "target/resolve.h"

namespace {

using namespace edgekiln;           // NOLINT: a program of its own.
using namespace edgekiln::simfarm;  // NOLINT
using V = target::JobVariable;

constexpr int64_t kMemoryBytes = 4096;
// Longer inputs only cost time.
constexpr int64_t kMaxCycles = 20'000;

const v1::Machine& Machine() {
  static const auto* machine = new v1::Machine(
      target::ResolveTarget("extends: \"toy-array\"")->machine());
  return *machine;
}

const target::RegisterJobsView& View() {
  static const auto* view = new target::RegisterJobsView(
      *target::RegisterJobsView::Create(Machine(), 0));
  return *view;
}

using Writes = std::vector<std::pair<uint32_t, uint32_t>>;

// Each job of the table with three of its registers changed by a byte or two.
Writes Change(const uint8_t* data, size_t size) {
  Writes writes;
  for (size_t i = 0; i + 7 <= size; i += 7) {
    target::JobVariables job;
    for (int v = 0; v < target::kNumJobVariables; ++v) {
      job[static_cast<V>(v)] = 1;
    }
    job[V::kKernel] = View().jobs().jobs(data[i] % 6).code();
    job[V::kOutInt32] = data[i] / 64 % 2;
    job[V::kTableAddr] = 1024;
    job[V::kOutAddr] = 2048;
    job[V::kInAddr] = 0;
    const auto encoded = View().Encode(job);
    if (!encoded.ok()) return writes;
    for (const auto& write : *encoded) {
      uint32_t value = write.value;
      for (size_t change = 1; change < 7; change += 2) {
        if (data[i + change] % 32 != write.offset / 4) continue;
        const uint32_t to = data[i + change + 1];
        value = data[i + change] & 0x80 ? to << 16 | to : to;
      }
      writes.push_back({write.offset, value});
    }
  }
  return writes;
}

Writes AsTheyCome(const uint8_t* data, size_t size) {
  Writes writes;
  for (size_t i = 0; i + 5 <= size; i += 5) {
    uint32_t value = 0;
    std::memcpy(&value, data + i + 1, 4);
    writes.push_back({uint32_t{data[i]}, value});
  }
  return writes;
}

// False if a job takes too long to fuzz.
bool Run(const Writes& writes, RunMode mode) {
  std::vector<uint8_t> bytes(kMemoryBytes);
  using Kind = ChipMemory::Kind;
  ChipMemory chip;
  chip.Add({"flash", Kind::kReadOnly, 0, nullptr, 64});
  chip.Add({"ram", Kind::kReadWrite, 0x80000000, nullptr, 64});
  chip.Add({"tile_mem", Kind::kShared, 0,
            mode == RunMode::kCheckOnly ? nullptr : bytes.data(),
            kMemoryBytes});
  AccessFault fault;
  if (mode == RunMode::kChecked) {
    chip.Track({"array"}, true);
    (void)chip.WriteIn(kHost, 2, 0, kMemoryBytes, &fault);
  }
  const auto device =
      *register_job::NewSimulator()->NewDevice(Machine(), chip, {.engine = 0});
  device->Reset(mode);
  for (const auto& [offset, value] : writes) {
    chip.Launch(0);
    const auto cycles = device->Write(offset, value);
    if (!cycles.ok()) return true;
    if (!cycles->has_value()) continue;
    if (**cycles > kMaxCycles) return false;
    device->Complete();
    chip.Wait(0);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Writes writes = data[0] % 2 == 0 ? AsTheyCome(data + 1, size - 1)
                                         : Change(data + 1, size - 1);
  if (!Run(writes, RunMode::kCheckOnly)) return 0;
  Run(writes, RunMode::kChecked);
  Run(writes, RunMode::kFast);
  return 0;
}
