#ifndef EK_SIMFARM_SIMULATORS_ENGINE_STREAM_H_
#define EK_SIMFARM_SIMULATORS_ENGINE_STREAM_H_

// What a session needs of an engine simulator: a command stream that was
// decoded once and can be timed, checked and executed.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "simfarm/simulators/chip_memory.h"

namespace edgekiln::simfarm {

// Which instructions of the simulating machine to use. Results are the same.
enum class CpuPath {
  kBest,      // The widest this machine has.
  kPortable,  // Plain loops.
  kSse2,
  kAvx2,
  kAvx512Vnni,
};

// What the checks of a stream refer to besides its bytes.
struct StreamContext {
  int32_t engine = 0;  // Index into Machine.engines.
  // Capacity of the engine's scratchpad if it has exactly one. Engines with
  // several take them from the machine.
  int64_t scratchpad_bytes = 0;
  // Readable and, of those, writable system memory: [base, base + size).
  struct Range {
    uint64_t base = 0;
    int64_t size = 0;
    bool writable = false;
  };
  std::vector<Range> system;
  // Names the layer of a command word in errors. May be empty.
  std::function<std::string(int32_t word)> layer_name;
  CpuPath cpu_path = CpuPath::kBest;
};

// When a stream's commands run, in engine cycles from its launch.
struct StreamTiming {
  // What a cycle of a command is spent with.
  enum class Spent { kComputing, kTransfer, kContention, kControl };
  // A span of cycles that belongs to one command.
  struct Segment {
    int64_t end = 0;   // Exclusive; the span starts where the previous ends.
    int32_t word = 0;  // Of the owning command.
    Spent spent = Spent::kControl;
  };
  enum class Kind { kCompute, kRead, kWrite };  // Of and to system memory.
  // One unit works on one command in [begin, end).
  struct Work {
    int64_t begin = 0;
    int64_t end = 0;
    int32_t word = 0;
    int32_t unit = 0;
    Kind kind = Kind::kCompute;
  };
  struct Transfer {
    int32_t word = 0;
    int64_t bytes_read = 0;     // From system memory.
    int64_t bytes_written = 0;  // To system memory.
  };
  int64_t cycles = 0;
  int64_t busy_cycles = 0;          // Any unit working.
  std::vector<Segment> segments;    // They cover [0, cycles).
  std::vector<Transfer> transfers;  // In stream order.
  std::vector<std::string> units;   // Their names.
  std::vector<Work> work;           // In stream order: of each unit in time.
};

// Scratchpad bytes [begin, end) that are looked at from outside after the
// command `word`.
struct ShownRange {
  int32_t word = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int32_t memory = 0;  // Index into Machine.memories.
};

enum class RunMode {
  kChecked,    // Every access is checked first: uninitialized bytes, races.
  kFast,       // For programs that passed a checked run. Still memory-safe.
  kCheckOnly,  // The checks of kChecked; nothing is computed or moved.
};

// One execution of a stream. Not thread-safe.
class StreamRun {
 public:
  virtual ~StreamRun() = default;

  // Executes the commands up to, not including, word `end_word`, that were not
  // executed yet. Errors name command index, mnemonic, address and layer.
  virtual absl::Status RunUntil(int32_t end_word) = 0;
};

// Immutable but for KeepConstants(), hence thread-safe.
class EngineStream {
 public:
  virtual ~EngineStream() = default;

  // Says that read-only system memory holds the same bytes in all runs from now
  // on, and that of scratchpads nothing is looked at but `shown`, in order of
  // words. kFast runs then need not move what they know. At most once.
  virtual void KeepConstants(absl::Span<const ShownRange> shown) = 0;

  virtual int32_t num_words() const = 0;
  virtual const StreamTiming& timing() const = 0;
  // Bytes of a scratchpad of the engine (index into Machine.memories) that the
  // stream reaches: highest address + 1.
  virtual int64_t scratchpad_extent(int32_t memory) const = 0;
  // System memory that the stream reaches, as [begin, end) ranges.
  struct SystemRange {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  virtual const std::vector<SystemRange>& system_ranges() const = 0;

  // Runs on the scratchpads and the system memory of `memory`, which tracks
  // accesses unless the mode is kFast, has no bytes if it is kCheckOnly, and
  // must outlive the run. Scratchpads hold scratchpad_extent() bytes.
  virtual std::unique_ptr<StreamRun> Start(ChipMemory& memory,
                                           RunMode mode) const = 0;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_ENGINE_STREAM_H_
