#include "compiler/codegen/in_place_ops.h"

#include <cstdint>

#include "compiler/ir/storage.h"
#include "ops/in_place.h"
#include "target/layout.h"

namespace edgekiln::compiler {

std::vector<bool> InPlaceOps(const Graph& graph,
                             const v1::Partition& partition) {
  const std::vector<TensorId> storage = StorageOf(graph);
  const std::vector<int32_t> producers = Producers(graph);
  const std::vector<std::vector<int32_t>> readers = Consumers(graph);
  std::vector<bool> is_output(graph.tensors.size(), false);
  for (const TensorId output : graph.outputs) is_output[output] = true;
  std::vector<bool> in_place(graph.ops.size(), false);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (partition.placements(static_cast<int>(i)).engine() >= 0 ||
        !ops::MayOverwriteInput(op.attributes)) {
      continue;
    }
    const TensorId input = op.inputs[0];
    in_place[i] =
        storage[input] == input && producers[input] >= 0 &&
        readers[input].size() == 1 && !is_output[input] &&
        graph.tensors[input].type == graph.tensors[op.outputs[0]].type;
  }
  return in_place;
}

bool LiesWithoutGaps(const v1::Layout& layout) {
  const auto read = target::Layout::Create(layout);
  return read.ok() && read->element_bytes() == 1 &&
         read->end_bytes() == read->dense_bytes();
}

}  // namespace edgekiln::compiler
