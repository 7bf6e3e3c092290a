#include "simfarm/simulators/system_memory.h"

#include <cstring>
#include <new>

namespace edgekiln::simfarm {

LazyBytes::LazyBytes(int64_t size)
    : bytes_(size == 0 ? nullptr
                       : static_cast<uint8_t*>(
                             std::calloc(static_cast<size_t>(size), 1))),
      size_(size) {
  if (size > 0 && bytes_ == nullptr) throw std::bad_alloc();
}

void SystemMemory::AddRegion(uint64_t base, uint8_t* bytes, int64_t size,
                             Access access) {
  regions_.push_back({base, bytes, size, access, {}});
}

void SystemMemory::TrackDefined() {
  for (Region& region : regions_) region.defined = LazyBytes(region.size);
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
  const Region* region = FindRegion(address, size);
  if (region == nullptr || region->defined.size() == 0) return;
  std::memset(region->defined.data() + (address - region->base), 1, size);
}

int64_t SystemMemory::FindUndefined(uint64_t address, int64_t size) const {
  const Region* region = FindRegion(address, size);
  if (region == nullptr || region->defined.size() == 0) return -1;
  const uint8_t* defined = region->defined.data() + (address - region->base);
  const void* hole = std::memchr(defined, 0, size);
  return hole == nullptr ? -1 : static_cast<const uint8_t*>(hole) - defined;
}

}  // namespace edgekiln::simfarm
