#ifndef EK_COMPILER_CODEGEN_C_ARENA_H_
#define EK_COMPILER_CODEGEN_C_ARENA_H_

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/codegen/c/step_writer.h"
#include "compiler/codegen/c/steps.h"
#include "compiler/ir/graph.h"

// The memory plan of a network: one arena, in which buffers that are alive at
// the same time never overlap.
namespace edgekiln::compiler {

// What memory a step touches.
struct StepUse {
  std::vector<TensorId> reads;
  std::vector<TensorId> writes;
  std::vector<CScratch> scratch;
  // Inputs whose memory output 0 may take, in order of preference.
  std::vector<TensorId> overwrites;
  // What is to be found when it ends: of the last step of a layer, what the
  // layer computes.
  std::vector<TensorId> keeps;
  bool is_alias = false;  // A reshape: its output is its input.
};

struct ArenaPlan {
  std::map<TensorId, int64_t> tensors;  // Offsets.
  std::map<int64_t, int64_t> scratch;   // By number.
  std::map<TensorId, int64_t> states;   // Offsets of kept state inputs.
  // By step: of what is alive while it runs.
  std::vector<int64_t> step_bytes;
  int64_t bytes = 0;
  int64_t state_bytes = 0;  // Of the states, a part of `bytes`.
};

inline constexpr int64_t kArenaAlignment = 8;

// Whether `op` may share the memory of its input for its output: a reshape of
// what is neither constant nor a state.
bool IsAlias(const Graph& graph, const CStep& step);

// Graph inputs are alive from the start to their last reader, outputs until the
// end, states always. `steps` are those of all ops, in order.
ArenaPlan PlanArena(const Graph& graph, const std::vector<StepUse>& steps);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_ARENA_H_
