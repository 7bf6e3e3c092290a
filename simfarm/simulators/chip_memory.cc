#include "simfarm/simulators/chip_memory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace edgekiln::simfarm {
namespace {

int UnitOf(int32_t who) { return who + 1; }

bool IsSystem(ChipMemory::Kind kind) {
  return kind == ChipMemory::Kind::kReadOnly ||
         kind == ChipMemory::Kind::kReadWrite;
}

bool IsReadOnly(ChipMemory::Kind kind) {
  return kind == ChipMemory::Kind::kReadOnly ||
         kind == ChipMemory::Kind::kSharedReadOnly;
}

}  // namespace

void ChipMemory::Add(Memory memory) {
  memories_.push_back({std::move(memory), std::nullopt, nullptr});
}

bool ChipMemory::Covers(const Memory& memory, uint64_t address, int64_t size) {
  if (address < memory.base) return false;
  const uint64_t offset = address - memory.base;
  return offset < static_cast<uint64_t>(memory.size) &&
         static_cast<uint64_t>(size) <= memory.size - offset;
}

int ChipMemory::FindMemory(uint64_t address, int64_t size) const {
  for (size_t i = 0; i < memories_.size(); ++i) {
    const Memory& memory = memories_[i].memory;
    if (IsSystem(memory.kind) && Covers(memory, address, size)) {
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

bool ChipMemory::Contains(int32_t memory, uint64_t address,
                          int64_t size) const {
  if (memory < 0 || memory >= static_cast<int32_t>(memories_.size())) {
    return false;
  }
  const Memory& found = memories_[memory].memory;
  return found.kind != Kind::kScratchpad && size >= 1 &&
         Covers(found, address, size);
}

uint8_t* ChipMemory::FindIn(int32_t memory, uint64_t address,
                            int64_t size) const {
  if (!Contains(memory, address, size)) return nullptr;
  const Memory& found = memories_[memory].memory;
  return found.bytes == nullptr ? nullptr
                                : found.bytes + (address - found.base);
}

std::string ChipMemory::NameIn(int32_t memory, uint64_t address) const {
  return absl::StrFormat("%s 0x%x", memories_[memory].memory.name, address);
}

bool ChipMemory::Reserve(int32_t memory, uint64_t address, int64_t size) {
  if (!Contains(memory, address, size)) return false;
  Tracked& found = memories_[memory];
  const auto begin = static_cast<int64_t>(address - found.memory.base);
  found.reached_bytes = std::max(found.reached_bytes, begin + size);
  return true;
}

void ChipMemory::Track(std::vector<std::string> engines, bool concurrent) {
  StopTracking();
  order_ = std::make_unique<AccessOrder>(static_cast<int>(engines.size()) + 1);
  engines_ = std::move(engines);
  concurrent_ = concurrent;
  for (Tracked& each : memories_) {
    if (each.memory.kind == Kind::kScratchpad) continue;
    each.accesses.emplace(each.memory.size, *order_,
                          concurrent && !IsReadOnly(each.memory.kind));
  }
}

void ChipMemory::StopTracking() {
  for (Tracked& each : memories_) {
    each.accesses.reset();
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
  if (memories_[found].accesses->Read(UnitOf(who), begin, begin + size,
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
  if (memories_[found].accesses->Write(UnitOf(who), begin, begin + size,
                                       fault)) {
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

bool ChipMemory::Reach(int32_t memory, uint64_t address, int64_t size,
                       AccessFault* fault) {
  if (Reserve(memory, address, size)) return true;
  *fault = {.kind = AccessFault::Kind::kOutside};
  return false;
}

bool ChipMemory::ReadIn(int32_t who, int32_t memory, uint64_t address,
                        int64_t size, AccessFault* fault) {
  if (!Reach(memory, address, size, fault)) return false;
  Tracked& found = memories_[memory];
  if (!found.accesses) return true;
  const auto begin = static_cast<int64_t>(address - found.memory.base);
  if (found.accesses->Read(UnitOf(who), begin, begin + size, /*record=*/true,
                           fault)) {
    return true;
  }
  fault->at -= begin;
  return false;
}

bool ChipMemory::WriteIn(int32_t who, int32_t memory, uint64_t address,
                         int64_t size, AccessFault* fault) {
  if (!Reach(memory, address, size, fault)) return false;
  Tracked& found = memories_[memory];
  if (IsReadOnly(found.memory.kind)) {
    *fault = {.kind = AccessFault::Kind::kReadOnly};
    return false;
  }
  if (!found.accesses) return true;
  const auto begin = static_cast<int64_t>(address - found.memory.base);
  if (found.accesses->Write(UnitOf(who), begin, begin + size, fault)) {
    return true;
  }
  fault->at -= begin;
  return false;
}

void ChipMemory::Define(uint64_t address, int64_t size) {
  const int found = order_ ? FindMemory(address, size) : -1;
  if (found < 0) return;
  const auto begin =
      static_cast<int64_t>(address - memories_[found].memory.base);
  memories_[found].accesses->Define(begin, begin + size);
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
