#ifndef EK_SIMFARM_SIMULATORS_RV32_MEMORY_H_
#define EK_SIMFARM_SIMULATORS_RV32_MEMORY_H_

// The memories of one core: their bytes, who may do what with them, which bytes
// have a value, and which have been decoded as code.

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "simfarm/simulators/lazy_bytes.h"

namespace edgekiln::simfarm::rv32 {

struct MemoryRegion {
  std::string name{};  // For reports.
  uint32_t base = 0;
  int64_t size_bytes = 0;  // Like `base` a multiple of 4.
  bool readable = true;
  bool writable = true;
  bool executable = true;
  // Added to each access where a cost table is used; an instruction is one
  // fetch.
  int32_t read_wait_cycles = 0;
  int32_t write_wait_cycles = 0;
  int32_t fetch_wait_cycles = 0;
};

// All memories of a core together.
inline constexpr int64_t kMaxMemoryBytes = int64_t{1} << 30;

// Part of a region that loads (or stores) may access without further checks but
// those of Offset() and, in a checked run, of `defined`.
struct Window {
  uint32_t base = 0;
  // Number of bytes, halfwords and words.
  std::array<uint32_t, 3> limits = {};
  uint8_t* bytes = nullptr;    // At `base`.
  uint8_t* defined = nullptr;  // 0xff for each byte that has a value.
  int64_t wait_cycles = 0;

  // Whether the naturally aligned access of 2^kLog2 bytes at *offset, an
  // address, lies within; if so, *offset becomes its distance from `base`.
  template <int kLog2>
  bool Contains(uint32_t* offset) const {
    *offset -= base;
    // Rotating moves what is misaligned to the top, beyond any limit.
    return std::rotr(*offset, kLog2) < limits[kLog2];
  }
};

// Why an access is not possible.
enum class AccessProblem {
  kNone,
  kMisaligned,
  kUnmapped,
  kForbidden,  // The region is not readable, writable or executable.
  kUndefined,  // Nothing wrote one of the bytes; checked runs only.
  kGuard,      // A store into the guard below the stack.
};

// Not thread-safe. Regions do not overlap. Windows keep their addresses for the
// life of the memory; the extent of those for stores changes.
class Memory {
 public:
  // INVALID_ARGUMENT names the region that is misaligned, empty, overlaps
  // another one or exceeds the address space or kMaxMemoryBytes. `checked`:
  // follows which bytes have a value. All bytes are 0 at first.
  static absl::StatusOr<std::unique_ptr<Memory>> Create(
      std::vector<MemoryRegion> regions, bool checked);

  // The window of an access of `width` bytes (1, 2 or 4), or what prevents it.
  // Undefined bytes do not. *window is null for a store among code that
  // windows leave out: see StoreAmongCode().
  AccessProblem FindLoad(uint32_t address, int width, Window** window);
  AccessProblem FindStore(uint32_t address, int width, Window** window);
  // A store for which FindStore() found kNone and null. True if it changed
  // bytes that NoteCode() named.
  bool StoreAmongCode(uint32_t address, int width, uint32_t value);

  // The halfword of code at an even address.
  AccessProblem FetchHalf(uint32_t address, uint32_t* half) const;
  int32_t fetch_wait_cycles(uint32_t address) const;
  int64_t max_wait_cycles() const { return max_wait_cycles_; }

  // The bytes [begin, end), decoded as code, lie in one executable region.
  // From now on stores to them are found by StoreAmongCode().
  void NoteCode(uint32_t begin, uint32_t end);
  // No code is decoded any more.
  void ForgetCode();

  // Stores to [begin, end) are kGuard; multiples of 4.
  void SetGuard(uint32_t begin, uint32_t end);

  // For loaders, devices and those who read results: permissions do not count.
  // OUT_OF_RANGE if the bytes do not lie in one region.
  absl::StatusOr<absl::string_view> Read(uint32_t address, int64_t size) const;
  // Gives the bytes a value. True if NoteCode() may have named one of them.
  absl::StatusOr<bool> Write(uint32_t address, absl::string_view bytes);
  // The first of these bytes without a value; absent if all have one, also if
  // the run is not checked or there are no such bytes.
  std::optional<uint32_t> FindUndefined(uint32_t address, int64_t size) const;
  // Makes all bytes 0 and undefined; no code is decoded any more.
  void Clear();

  // "ram 0x80000010", or "0x10" where no memory is. For errors.
  std::string Name(uint32_t address) const;
  const MemoryRegion* FindRegion(uint32_t address) const;

 private:
  // What is left of a region without guard and code is three pieces at most.
  static constexpr int kMaxStoreWindows = 3;
  struct Region {
    MemoryRegion spec;
    LazyBytes bytes;
    LazyBytes defined;  // Empty if not checked.
    LazyBytes code;     // Per halfword, 1: decoded. Empty until there is any.
    uint32_t code_begin = 0;  // Offsets. Equal: nothing is decoded.
    uint32_t code_end = 0;
    Window load;
    std::array<Window, kMaxStoreWindows> stores;
  };

  Region* Find(uint32_t address, int64_t size);
  const Region* Find(uint32_t address, int64_t size) const;
  static void SetLoadWindow(Region& region);
  void SetStoreWindows(Region& region);
  static Window MakeWindow(const Region& region, uint32_t begin, uint32_t end,
                           int32_t wait_cycles);

  std::vector<std::unique_ptr<Region>> regions_;
  uint32_t guard_begin_ = 0;
  uint32_t guard_end_ = 0;
  int64_t max_wait_cycles_ = 0;
};

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_MEMORY_H_
