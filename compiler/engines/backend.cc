#include "compiler/engines/backend.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/storage.h"

namespace edgekiln::compiler {
namespace {

void SortUnique(std::vector<TensorId>& tensors) {
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
}

// By storage: what ops of the region make.
absl::flat_hash_set<TensorId> MadeIn(const Region& region) {
  absl::flat_hash_set<TensorId> made;
  for (const int32_t index : region.ops) {
    const Op& op = region.graph->ops[index];
    if (op.attributes.has_reshape()) continue;  // Makes nothing.
    for (const TensorId output : op.outputs) {
      made.insert(region.storage[output]);
    }
  }
  return made;
}

}  // namespace

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
  const absl::flat_hash_set<TensorId> made = MadeIn(region);
  for (const int32_t op : region.ops) {
    for (const TensorId tensor : graph.ops[op].inputs) {
      if (tensor == kNoTensor) continue;
      const TensorId stored = region.storage[tensor];
      if (graph.tensors[stored].is_constant() || made.contains(stored)) {
        continue;
      }
      region.inputs.push_back(stored);
    }
  }
  SortUnique(region.inputs);
  return region;
}

std::vector<TensorId> OutputsOf(const Region& region) {
  std::vector<TensorId> outputs;
  for (const TensorId tensor : MadeIn(region)) {
    if (region.external.contains(tensor)) outputs.push_back(tensor);
  }
  SortUnique(outputs);
  return outputs;
}

absl::StatusOr<v1::Layout> EngineBackend::OperandLayout(const Region&, TensorId,
                                                        const v1::Machine&,
                                                        int32_t) const {
  return absl::UnimplementedError(
      "the engine's memory holds nothing between launches");
}

}  // namespace edgekiln::compiler
