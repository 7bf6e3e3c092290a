#include "simfarm/simulators/chip_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace edgekiln::simfarm {
namespace {

int UnitOf(int32_t who) { return who + 1; }

}  // namespace

void ChipMemory::Add(Memory memory) {
  memories_.push_back({std::move(memory), std::nullopt, nullptr});
}

int ChipMemory::FindMemory(uint64_t address, int64_t size) const {
  for (size_t i = 0; i < memories_.size(); ++i) {
    const Memory& memory = memories_[i].memory;
    if (memory.kind == Kind::kScratchpad || address < memory.base) continue;
    const uint64_t offset = address - memory.base;
    if (offset < static_cast<uint64_t>(memory.size) &&
        static_cast<uint64_t>(size) <= memory.size - offset) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

uint8_t* ChipMemory::Find(uint64_t address, int64_t size) const {
  const int found = FindMemory(address, size);
  if (found < 0) return nullptr;
  const Memory& memory = memories_[found].memory;
  return memory.bytes + (address - memory.base);
}

bool ChipMemory::IsWritable(uint64_t address) const {
  const int found = FindMemory(address, 1);
  return found >= 0 && memories_[found].memory.kind == Kind::kReadWrite;
}

std::string ChipMemory::Name(uint64_t address) const {
  const int found = FindMemory(address, 1);
  return absl::StrFormat(
      "%s 0x%x", found < 0 ? "system memory" : memories_[found].memory.name,
      address);
}

void ChipMemory::Track(std::vector<std::string> engines, bool concurrent) {
  StopTracking();
  order_ = std::make_unique<AccessOrder>(static_cast<int>(engines.size()) + 1);
  engines_ = std::move(engines);
  concurrent_ = concurrent;
  for (Tracked& each : memories_) {
    if (each.memory.kind == Kind::kScratchpad) continue;
    each.system.emplace(each.memory.size, *order_,
                        concurrent && each.memory.kind == Kind::kReadWrite);
  }
}

void ChipMemory::StopTracking() {
  for (Tracked& each : memories_) {
    each.system.reset();
    each.scratchpad.reset();
  }
  order_.reset();
}

void ChipMemory::BeginStep(int32_t step) {
  if (order_) order_->Begin(UnitOf(kHost), static_cast<uint32_t>(step) + 1);
}

void ChipMemory::Launch(int32_t engine) {
  if (!order_) return;
  order_->Begin(UnitOf(engine), order_->time(UnitOf(kHost)));
  order_->Join(UnitOf(engine), UnitOf(kHost));
}

void ChipMemory::Wait(int32_t engine) {
  if (order_) order_->Join(UnitOf(kHost), UnitOf(engine));
}

bool ChipMemory::Read(int32_t who, uint64_t address, int64_t size,
                      AccessFault* fault) {
  const int found = order_ ? FindMemory(address, size) : -1;
  if (found < 0) return true;
  const auto begin =
      static_cast<int64_t>(address - memories_[found].memory.base);
  if (memories_[found].system->Read(UnitOf(who), begin, begin + size,
                                    /*record=*/true, fault)) {
    return true;
  }
  fault->at -= begin;
  return false;
}

bool ChipMemory::Write(int32_t who, uint64_t address, int64_t size,
                       AccessFault* fault) {
  const int found = order_ ? FindMemory(address, size) : -1;
  if (found < 0) return true;
  const auto begin =
      static_cast<int64_t>(address - memories_[found].memory.base);
  if (memories_[found].system->Write(UnitOf(who), begin, begin + size, fault)) {
    return true;
  }
  fault->at -= begin;
  return false;
}

bool ChipMemory::ReadRows(int32_t who, uint64_t address, int64_t pitch,
                          int64_t rows, int64_t row_bytes, AccessFault* fault) {
  // As long as no read is recorded, rows need no look of theirs where the gaps
  // between them could be read, too.
  if (!concurrent_ &&
      Read(who, address, (rows - 1) * pitch + row_bytes, fault)) {
    return true;
  }
  for (int64_t row = 0; row < rows; ++row) {
    if (Read(who, address + row * pitch, row_bytes, fault)) continue;
    fault->at += row * pitch;
    return false;
  }
  return true;
}

void ChipMemory::Define(uint64_t address, int64_t size) {
  const int found = order_ ? FindMemory(address, size) : -1;
  if (found < 0) return;
  const auto begin =
      static_cast<int64_t>(address - memories_[found].memory.base);
  memories_[found].system->Define(begin, begin + size);
}

std::string ChipMemory::What(const AccessFault& fault) const {
  if (!fault.race()) return fault.What("");
  // A launched engine is ordered after all that the host did before: whoever
  // is still at work is an engine.
  return fault.What(absl::StrCat("engine ", engines_[fault.unit - 1],
                                 ", launched by step ", fault.time - 1, ","));
}

ScratchpadAccesses& ChipMemory::TrackScratchpad(int32_t memory, int units) {
  Tracked& tracked = memories_[memory];
  tracked.scratchpad =
      std::make_unique<ScratchpadAccesses>(tracked.memory.size, units);
  return *tracked.scratchpad;
}

int64_t ChipMemory::FindUndefined(int32_t scratchpad, int64_t begin,
                                  int64_t end) const {
  const Tracked& tracked = memories_[scratchpad];
  return tracked.scratchpad ? tracked.scratchpad->map.FindUndefined(begin, end)
                            : -1;
}

}  // namespace edgekiln::simfarm
