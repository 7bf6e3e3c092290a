#include "compiler/codegen/c/copied_outputs.h"

#include <algorithm>

#include "base/rounding.h"
#include "compiler/codegen/c/arena.h"

namespace edgekiln::compiler {

bool IsCopiedOutput(const Graph& graph, TensorId output) {
  return graph.tensors[output].is_constant() ||
         std::any_of(
             graph.states.begin(), graph.states.end(),
             [output](const State& state) { return state.input == output; });
}

int64_t CopyBytesOf(const Tensor& tensor) {
  const int64_t bytes = tensor.num_elements() * ElementBytes(tensor.type);
  return RoundUp(std::max<int64_t>(bytes, 1), kArenaAlignment);
}

int64_t CopiedOutputBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const TensorId id : graph.outputs) {
    if (IsCopiedOutput(graph, id)) bytes += CopyBytesOf(graph.tensors[id]);
  }
  return bytes;
}

}  // namespace edgekiln::compiler
