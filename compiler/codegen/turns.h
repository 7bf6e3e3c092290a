#ifndef EK_COMPILER_CODEGEN_TURNS_H_
#define EK_COMPILER_CODEGEN_TURNS_H_

// What the host does when, on machines with engines that it drives: which step
// of which region comes next, and when engines are polled.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/views.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// One unit of scheduling: the steps of a region, or one op of the host. Cycles
// are of the machine's wall clock.
struct Work {
  struct Step {
    int64_t host_cycles = 0;
    bool job = false;           // Starts the engine ..
    int64_t engine_cycles = 0;  // .. for so long.
    std::vector<int32_t> after;
    bool early = false;
    int32_t window = -1;  // The engine whose jobs must have ended before.
  };
  int32_t region = -1;  // Index into RegionPlans.regions; -1: of the host.
  int32_t op = 0;       // Its op, or the region's first.
  int32_t engine = -1;
  // Works that make what this one reads, or read what it writes over.
  std::vector<int32_t> before;
  std::vector<Step> steps;
};

// All works of a partition, by rising op; none for reshapes and folded ops.
absl::StatusOr<std::vector<Work>> WorksOf(const Graph& graph,
                                          const Views& views,
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

// List scheduling: the next step is the one that can start first, jobs before
// other steps; among equals, the one with the longest path to the end. A work
// may begin if it is at most `window` positions behind the first unfinished
// one. With kDrained, works run in order, each after the one before has ended:
// this needs the least memory.
inline constexpr int32_t kDrained = -1;
TurnPlan OrderTurns(const std::vector<Work>& works, int32_t window,
                    const v1::Machine& machine, int32_t num_ops);

// The same for a given order. INVALID_ARGUMENT if it does not hold each step
// once, after those that it depends on.
absl::StatusOr<TurnPlan> ReplayTurns(
    const std::vector<Work>& works,
    const google::protobuf::RepeatedPtrField<v1::RegionPlans::Turn>& turns,
    const v1::Machine& machine, int32_t num_ops);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_TURNS_H_
