#ifndef EK_COMPILER_CODEGEN_TURNS_H_
#define EK_COMPILER_CODEGEN_TURNS_H_

// What the host does when, on machines with engines that it drives: which step
// of which region comes next, and when engines are polled.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// What belongs together: the steps of a region, or an op of the host. Cycles
// are of the machine's wall clock.
struct Work {
  struct Step {
    int64_t host_cycles = 0;
    bool job = false;           // Starts the engine ..
    int64_t engine_cycles = 0;  // .. for so long.
    std::vector<int32_t> after;
    bool early = false;
  };
  int32_t region = -1;  // Index into RegionPlans.regions; -1: of the host.
  int32_t op = 0;       // Its op, or the region's first.
  int32_t engine = -1;
  std::vector<int32_t> before;  // Works that make what this one reads.
  std::vector<Step> steps;
};

// All works of a partition, by rising op. Reshapes are none.
absl::StatusOr<std::vector<Work>> WorksOf(const Graph& graph,
                                          const v1::Partition& partition,
                                          const v1::RegionPlans& plans,
                                          const v1::Machine& machine);

// An order of all steps, and what follows from it.
struct TurnPlan {
  struct Turn {
    int32_t work = 0;
    int32_t step = 0;
    std::vector<int32_t> polls;  // Engines, before it.
    bool drained = false;        // All that ran.
  };
  std::vector<Turn> turns;
  std::vector<int32_t> last_polls;  // After all turns.
  // By work and step: the turn before which its end was seen, of jobs; of other
  // steps, the turn after its own.
  std::vector<std::vector<int32_t>> seen;
  int64_t cycles = 0;                 // Predicted, of the wall clock.
  std::vector<int64_t> layer_cycles;  // Of them, by op: they sum to `cycles`.
};

// Each time the step that can start first, a job before anything else; among
// equals the one with the longest way to the end. Works begin at most `window`
// after the first one whose steps are not all done; with kDrained, in order and
// each when the one before has ended: what needs the least memory.
inline constexpr int32_t kDrained = -1;
TurnPlan OrderTurns(const std::vector<Work>& works, int32_t window,
                    const v1::Machine& machine, int32_t num_ops);

// The same for an order that is known. INVALID_ARGUMENT if it is not one of all
// steps, with each after what it needs.
absl::StatusOr<TurnPlan> ReplayTurns(
    const std::vector<Work>& works,
    const google::protobuf::RepeatedPtrField<v1::RegionPlans::Turn>& turns,
    const v1::Machine& machine, int32_t num_ops);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_TURNS_H_
