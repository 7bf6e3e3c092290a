#include "simfarm/simulators/system_memory.h"

namespace edgekiln::simfarm {

void SystemMemory::AddRegion(uint64_t base, uint8_t* bytes, int64_t size,
                             Access access) {
  regions_.push_back({base, bytes, size, access, std::nullopt});
}

void SystemMemory::TrackDefined() {
  for (Region& region : regions_) region.defined.emplace(region.size);
}

const SystemMemory::Region* SystemMemory::FindRegion(uint64_t address,
                                                     int64_t size) const {
  for (const Region& region : regions_) {
    if (address < region.base) continue;
    const uint64_t offset = address - region.base;
    if (offset < static_cast<uint64_t>(region.size) &&
        static_cast<uint64_t>(size) <= region.size - offset) {
      return &region;
    }
  }
  return nullptr;
}

uint8_t* SystemMemory::Find(uint64_t address, int64_t size) const {
  const Region* region = FindRegion(address, size);
  return region == nullptr ? nullptr : region->bytes + (address - region->base);
}

bool SystemMemory::IsWritable(uint64_t address) const {
  const Region* region = FindRegion(address, 1);
  return region != nullptr && region->access == Access::kReadWrite;
}

void SystemMemory::MarkDefined(uint64_t address, int64_t size) {
  const Region* found = FindRegion(address, size);
  if (found == nullptr || !found->defined) return;
  Region& region = regions_[static_cast<size_t>(found - regions_.data())];
  const auto offset = static_cast<int64_t>(address - region.base);
  region.defined->Assign(offset, offset + size, true);
}

int64_t SystemMemory::FindUndefined(uint64_t address, int64_t size) const {
  const Region* region = FindRegion(address, size);
  if (region == nullptr || !region->defined) return -1;
  const auto offset = static_cast<int64_t>(address - region->base);
  int64_t hole = -1;
  region->defined->ForEach(offset, offset + size,
                           [&](int64_t begin, int64_t, bool defined) {
                             if (!defined) hole = begin - offset;
                             return defined;
                           });
  return hole;
}

}  // namespace edgekiln::simfarm
