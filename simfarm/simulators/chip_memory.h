#ifndef EK_SIMFARM_SIMULATORS_CHIP_MEMORY_H_
#define EK_SIMFARM_SIMULATORS_CHIP_MEMORY_H_

// All memories of a chip during one run: where their bytes are and, in a
// checked run, who wrote and read them last.
//
// Accesses are ordered on two levels. In system memory and memory that engines
// share, launches, waits and polls order the host and the engines. In a
// scratchpad, the engine's own commands order its units. Accesses of one
// engine's units to other memory count as made in program order.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simfarm/simulators/access_map.h"

namespace edgekiln::simfarm {

// Index into Machine.engines, or the host.
inline constexpr int32_t kHost = -1;

// A scratchpad during one run of a stream: nothing is written at first.
struct ScratchpadAccesses {
  ScratchpadAccesses(int64_t size, int units)
      : order(units), map(size, order) {}
  ScratchpadAccesses(const ScratchpadAccesses&) = delete;
  ScratchpadAccesses& operator=(const ScratchpadAccesses&) = delete;

  AccessOrder order;
  AccessMap map;
};

// Not thread-safe. Regions that several chips share (constants) are read-only.
class ChipMemory {
 public:
  enum class Kind {
    kReadOnly,        // System memory, content fixed from the start.
    kReadWrite,       // System memory, written at run time.
    kShared,          // An address space of its own; content outlives launches.
    kSharedReadOnly,  // The same, never written.
    kScratchpad,  // One engine's own; all bytes are undefined at each launch.
  };

  struct Memory {
    std::string name;
    Kind kind = Kind::kReadOnly;
    // Of system memory: in the one address space of the system, where memories
    // must not overlap.
    uint64_t base = 0;
    // Must outlive this object; null where nobody asks for values.
    uint8_t* bytes = nullptr;
    int64_t size = 0;
  };

  // Memories are numbered from 0 as they are added, like Machine.memories.
  void Add(Memory memory);
  // `size` of the memory.
  void SetBytes(int32_t memory, uint8_t* bytes) {
    memories_[memory].memory.bytes = bytes;
  }

  uint8_t* scratchpad(int32_t memory) const {
    return memories_[memory].memory.bytes;
  }
  // The bytes [address, address + size) of system memory, or null if they do
  // not lie in one memory. size >= 1. Needs the bytes of that memory.
  uint8_t* Find(uint64_t address, int64_t size) const;
  bool IsWritable(uint64_t address) const;
  // Of system memory, for errors: "ram 0x80000010".
  std::string Name(uint64_t address) const;

  // The same for any memory but scratchpads, with an address of that memory's
  // space. FindIn() is also null in runs without values.
  bool Contains(int32_t memory, uint64_t address, int64_t size) const;
  uint8_t* FindIn(int32_t memory, uint64_t address, int64_t size) const;
  std::string NameIn(int32_t memory, uint64_t address) const;
  // Contains(), and if so, counts all these bytes as reached.
  bool Reserve(int32_t memory, uint64_t address, int64_t size);

  // From now on follows who writes what; so far, nobody did. Without
  // `concurrent` an engine that is launched is awaited before anybody else
  // does anything. `engines` are their names, fewer than kMaxUnits.
  void Track(std::vector<std::string> engines, bool concurrent);
  // Does no longer: the functions below find nothing.
  void StopTracking();

  // What follows happens in step `step` of the program, 0 to
  // AccessOrder::kMaxTime - 1, in order.
  void BeginStep(int32_t step);
  void Launch(int32_t engine);
  // The host has seen, by a wait or a poll, that the engine's work has ended.
  void Wait(int32_t engine);

  // `who` touches system memory now. False: *fault says why; its `at` is an
  // offset from `address`.
  bool Read(int32_t who, uint64_t address, int64_t size, AccessFault* fault);
  bool Write(int32_t who, uint64_t address, int64_t size, AccessFault* fault);
  // Read() of `rows` pieces of `row_bytes`, each `pitch` after the one before.
  bool ReadRows(int32_t who, uint64_t address, int64_t pitch, int64_t rows,
                int64_t row_bytes, AccessFault* fault);
  // The same for any memory but scratchpads. Also without tracking: false if
  // the bytes leave the memory, or a write is to read-only memory. Updates
  // reached_bytes().
  bool ReadIn(int32_t who, int32_t memory, uint64_t address, int64_t size,
              AccessFault* fault);
  bool WriteIn(int32_t who, int32_t memory, uint64_t address, int64_t size,
               AccessFault* fault);
  // One past the highest byte, from the memory's base, of successful ReadIn(),
  // WriteIn() and Reserve() calls.
  int64_t reached_bytes(int32_t memory) const {
    return memories_[memory].reached_bytes;
  }
  // System memory that holds a value before the first step.
  void Define(uint64_t address, int64_t size);
  // What is wrong, with whom a race is: "race: reads a byte while engine npu,
  // launched by step 2, may still write it".
  std::string What(const AccessFault& fault) const;

  // Begins a run of an engine with so many units on its scratchpad: what was
  // there is lost. Valid until the next such call or StopTracking().
  ScratchpadAccesses& TrackScratchpad(int32_t memory, int units);
  // Of the last such run: the first byte of [begin, end) that nothing wrote;
  // -1 if there is none or nothing was tracked.
  int64_t FindUndefined(int32_t scratchpad, int64_t begin, int64_t end) const;

 private:
  struct Tracked {
    Memory memory;
    std::optional<AccessMap> accesses;  // Not of scratchpads.
    std::unique_ptr<ScratchpadAccesses> scratchpad;
    int64_t reached_bytes = 0;
  };
  static bool Covers(const Memory& memory, uint64_t address, int64_t size);
  bool Reach(int32_t memory, uint64_t address, int64_t size,
             AccessFault* fault);
  // Index of the system memory with these bytes, or -1.
  int FindMemory(uint64_t address, int64_t size) const;

  std::vector<Tracked> memories_;
  std::vector<std::string> engines_;
  bool concurrent_ = false;
  std::unique_ptr<AccessOrder> order_;  // Host, then engines. Null: untracked.
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_CHIP_MEMORY_H_
