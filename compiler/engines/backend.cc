#include "compiler/engines/backend.h"

#include <utility>

#include "compiler/ir/storage.h"

namespace edgekiln::compiler {

Region RegionOf(const Graph& graph, std::vector<int32_t> ops) {
  Region region;
  region.graph = &graph;
  region.ops = std::move(ops);
  region.storage = StorageOf(graph);
  std::vector<bool> inside(graph.ops.size(), false);
  for (const int32_t op : region.ops) inside[op] = true;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (inside[i]) continue;
    for (const TensorId tensor : graph.ops[i].inputs) {
      if (tensor != kNoTensor) region.external.insert(region.storage[tensor]);
    }
  }
  for (const TensorId output : graph.outputs) {
    region.external.insert(region.storage[output]);
  }
  return region;
}

}  // namespace edgekiln::compiler
