#ifndef EK_SIMFARM_SIMULATORS_SYSTEM_MEMORY_H_
#define EK_SIMFARM_SIMULATORS_SYSTEM_MEMORY_H_

// The memory that the host CPU and every DMA see: regions of one address
// space. In a checked run it also knows which bytes hold a value.

#include <cstdint>
#include <optional>
#include <vector>

#include "simfarm/simulators/span_map.h"

namespace edgekiln::simfarm {

// Not thread-safe for writers. Regions that several memories share (constants)
// are read-only.
class SystemMemory {
 public:
  enum class Access { kReadOnly, kReadWrite };

  // Adds `size` bytes at `base`; regions must not overlap. `bytes` must outlive
  // this object; null where nobody asks for values.
  void AddRegion(uint64_t base, uint8_t* bytes, int64_t size, Access access);

  // From now on keeps track of which bytes were written. So far, none is.
  void TrackDefined();

  // The bytes [address, address + size), or null if they do not lie in one
  // region. size >= 1.
  uint8_t* Find(uint64_t address, int64_t size) const;
  bool IsWritable(uint64_t address) const;

  // Marks bytes as written; no effect unless they are tracked.
  void MarkDefined(uint64_t address, int64_t size);
  // Offset of the first byte that was never written, or -1 (always, if bytes
  // are not tracked).
  int64_t FindUndefined(uint64_t address, int64_t size) const;

 private:
  struct Region {
    uint64_t base = 0;
    uint8_t* bytes = nullptr;
    int64_t size = 0;
    Access access = Access::kReadOnly;
    std::optional<SpanMap<bool>> defined{};  // If tracked.
  };
  const Region* FindRegion(uint64_t address, int64_t size) const;

  std::vector<Region> regions_;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_SYSTEM_MEMORY_H_
