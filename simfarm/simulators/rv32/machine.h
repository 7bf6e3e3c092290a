#ifndef EK_SIMFARM_SIMULATORS_RV32_MACHINE_H_
#define EK_SIMFARM_SIMULATORS_RV32_MACHINE_H_

// A simulated RV32 microcontroller: one core, its memories and devices, and the
// firmware that runs on it. docs/targets/rv32.md says what it does.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "simfarm/simulators/rv32/costs.h"
#include "simfarm/simulators/rv32/device.h"
#include "simfarm/simulators/rv32/elf.h"
#include "simfarm/simulators/rv32/fault.h"
#include "simfarm/simulators/rv32/isa.h"
#include "simfarm/simulators/rv32/memory.h"

namespace edgekiln::simfarm::rv32 {

// An sp below `low` and a store into the `guard_bytes` under it end the run.
struct StackLimit {
  uint32_t low = 0;  // A multiple of 4, as is guard_bytes.
  uint32_t guard_bytes = 0;
};

struct MachineConfig {
  Isa isa{};
  std::vector<MemoryRegion> memory{};
  std::vector<DeviceWindow> devices{};
  // Absent: every instruction takes one cycle, and nothing waits.
  std::optional<CycleCosts> costs{};
  // Reading a byte that nothing wrote ends the run.
  bool checked = false;
  // CountAddresses() and CountFunctions() tell of cycles and taken branches,
  // too. Runs take longer.
  bool profile = false;
  std::optional<StackLimit> stack{};
};

struct Totals {
  int64_t instructions = 0;  // Retired.
  int64_t cycles = 0;        // Those asleep in wfi included.

  friend bool operator==(const Totals&, const Totals&) = default;
};

enum class ExitReason {
  kExited,            // A device said so: see exit_code.
  kInstructionLimit,  // Run() again to go on.
  kFault,             // See fault.
};

struct RunResult {
  ExitReason reason = ExitReason::kExited;
  int32_t exit_code = 0;
  Totals totals;  // Since the last Reset().
  std::optional<Fault> fault{};
};

// The integer and float registers and the pc.
struct Registers {
  uint32_t x[32] = {};
  uint32_t f[32] = {};
  uint32_t pc = 0;
  uint32_t fcsr = 0;
};

class Machine;

// Learns when functions begin and end. An error ends the run and is returned
// by Run().
class FunctionObserver {
 public:
  virtual ~FunctionObserver() = default;
  // The core is about to execute the first instruction of `function`, an index
  // into the observed ones. `totals` is the count up to there.
  virtual absl::Status OnEnter(int function, const Totals& totals,
                               Machine& machine) = 0;
  // It is about to go on in the caller: pc and sp are those with which the
  // function was to be left.
  virtual absl::Status OnReturn(int function, const Totals& totals,
                                Machine& machine) = 0;
};

// What was executed in one function, the functions it called not included.
struct FunctionCount {
  std::string name;
  uint32_t address = 0;
  int64_t instructions = 0;
  int64_t cycles = 0;  // 0 unless MachineConfig.profile.
};

// What was executed at one address. A trap's entry is charged to the address
// before which it is taken, time asleep to the wfi.
struct PcCount {
  uint32_t pc = 0;
  int64_t executions = 0;
  // 0 unless MachineConfig.profile.
  int64_t taken = 0;  // Of a conditional branch.
  int64_t cycles = 0;
};

// Not thread-safe; machines share nothing.
class Machine {
 public:
  // Open calls of observed functions, at most.
  static constexpr int kMaxObservedDepth = 4096;

  virtual ~Machine() = default;

  // Writes the segments, as far as the file holds bytes for them, and sets the
  // pc. INVALID_ARGUMENT if a segment or the entry lies in no memory; then
  // memory may hold part of it.
  virtual absl::Status Load(const Executable& executable) = 0;

  // Executes at most this many instructions, until a device ends the run, or a
  // fault does; then only set_pc(), or Reset() and Load(), make it of use
  // again. An error is that of an observer, or of observed calls nested too
  // deeply.
  virtual absl::StatusOr<RunResult> Run(int64_t max_instructions) = 0;

  // All memory 0 and undefined, all registers and counts 0, nothing decoded.
  // Devices are not touched, and the functions observed stay so.
  virtual void Reset() = 0;

  virtual Registers registers() const = 0;
  virtual void set_x(int index, uint32_t value) = 0;  // 1 to 31.
  virtual void set_pc(uint32_t pc) = 0;
  virtual Totals totals() const = 0;

  // Bytes of memory, whatever the region permits. What Write() stores has a
  // value from then on; code may be among it. OUT_OF_RANGE if the bytes do not
  // lie in one region. A view is valid until Reset().
  virtual absl::StatusOr<absl::string_view> Read(uint32_t address,
                                                 int64_t size_bytes) const = 0;
  virtual absl::Status Write(uint32_t address, absl::string_view bytes) = 0;
  // The first of these bytes that nothing wrote; absent if there is none or
  // the run is not checked.
  virtual std::optional<uint32_t> FindUndefined(uint32_t address,
                                                int64_t size_bytes) const = 0;

  // From now on `observer`, which must outlive the machine, hears of the
  // functions that begin at these addresses. Replaces the one before. It adds
  // no instruction and no cycle.
  virtual void Observe(std::vector<uint32_t> entries,
                       FunctionObserver* observer) = 0;

  // Since the last Reset(): one entry per function that executed something, by
  // address; an entry without a name has what no symbol covers. They sum to
  // totals(), cycles where the machine profiles.
  virtual std::vector<FunctionCount> CountFunctions() const = 0;
  // The same for each address, in order.
  virtual std::vector<PcCount> CountAddresses() const = 0;
};

// INVALID_ARGUMENT names the memory, device, cost or limit that is wrong.
absl::StatusOr<std::unique_ptr<Machine>> NewMachine(MachineConfig config);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_MACHINE_H_
