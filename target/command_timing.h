#ifndef EK_TARGET_COMMAND_TIMING_H_
#define EK_TARGET_COMMAND_TIMING_H_

// What a command costs: the timing expressions of an instruction set, compiled
// once for one machine. Used by the simulator and by the compiler's prediction.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"

namespace edgekiln::target {

// A stream of 2^18 commands takes less than 2^62 cycles. Sums over more, such
// as all tiles that a search looks at, need a limit of their own.
inline constexpr int64_t kMaxIssueCycles = 1'000'000;
inline constexpr int64_t kMaxCommandCycles = 1'000'000'000'000;

// Immutable, hence thread-safe.
class CommandTiming {
 public:
  // `engine` belongs to `machine`. INVALID_ARGUMENT names command and column.
  static absl::StatusOr<CommandTiming> Create(
      const v1::Machine& machine, const v1::Machine::Engine& engine);

  // Cycles in the front end, 1 to kMaxIssueCycles. `command` is a position in
  // Isa.commands.
  int64_t IssueCycles(int32_t command) const { return issue_[command]; }

  // Positions of the registers that OccupancyCycles() looks at.
  std::vector<int32_t> RegistersOfOccupancy(int32_t command) const {
    return expressions_[occupancy_[command]].UsedVariables();
  }

  // Cycles of its unit, 1 to kMaxCommandCycles, given the value of every
  // register in the order of Isa.registers (undefined ones: any value).
  // OUT_OF_RANGE names the command for overflow and for other results. Not for
  // commands of the control unit.
  absl::StatusOr<int64_t> OccupancyCycles(
      int32_t command, absl::Span<const int64_t> registers) const;

 private:
  std::vector<std::string> mnemonics_;
  std::vector<int64_t> issue_;
  std::vector<size_t> occupancy_;  // Position in expressions_.
  std::vector<Expression> expressions_;
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_COMMAND_TIMING_H_
