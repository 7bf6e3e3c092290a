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

RegionMaker::RegionMaker(const Graph& graph)
    : graph_(graph),
      storage_(StorageOf(graph)),
      readers_(graph.tensors.size()),
      is_output_(graph.tensors.size(), false) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const TensorId tensor : graph.ops[i].inputs) {
      if (tensor == kNoTensor) continue;
      std::vector<int32_t>& readers = readers_[storage_[tensor]];
      const auto op = static_cast<int32_t>(i);
      if (readers.empty() || readers.back() != op) readers.push_back(op);
    }
  }
  for (const TensorId output : graph.outputs) {
    is_output_[storage_[output]] = true;
  }
}

Region RegionMaker::Make(std::vector<int32_t> ops) const {
  Region region;
  region.graph = &graph_;
  region.ops = std::move(ops);
  region.storage = storage_;
  const auto outside = [&](int32_t op) {
    return !std::binary_search(region.ops.begin(), region.ops.end(), op);
  };
  const absl::flat_hash_set<TensorId> made = MadeIn(region);
  for (const int32_t index : region.ops) {
    const Op& op = graph_.ops[index];
    for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
      for (const TensorId tensor : *tensors) {
        if (tensor == kNoTensor) continue;
        const TensorId stored = storage_[tensor];
        const std::vector<int32_t>& readers = readers_[stored];
        if (is_output_[stored] ||
            std::any_of(readers.begin(), readers.end(), outside)) {
          region.external.insert(stored);
        }
      }
    }
    for (const TensorId tensor : op.inputs) {
      if (tensor == kNoTensor) continue;
      const TensorId stored = storage_[tensor];
      if (graph_.tensors[stored].is_constant() || made.contains(stored)) {
        continue;
      }
      region.inputs.push_back(stored);
    }
  }
  SortUnique(region.inputs);
  return region;
}

Region RegionOf(const Graph& graph, std::vector<int32_t> ops) {
  return RegionMaker(graph).Make(std::move(ops));
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

absl::Status EngineBackend::CheckBorder(const Region&, const Budget::Border&,
                                        const v1::Machine&, int32_t) const {
  return absl::UnimplementedError("borders lie densely in system memory");
}

bool EngineBackend::NeedsRearranging(const Region&, const Budget::Border&,
                                     const v1::Machine&, int32_t) const {
  return false;
}

absl::StatusOr<MemoryNeed> EngineBackend::NeedOfEachAlone(
    const Graph&, const std::vector<int32_t>&, const v1::Machine&, int32_t,
    const google::protobuf::Any&) const {
  return MemoryNeed{};
}

std::vector<TensorId> EngineBackend::OverwritableInputs(const Region&,
                                                        const v1::Machine&,
                                                        int32_t) const {
  return {};
}

absl::StatusOr<std::vector<EngineBackend::ModelFile>>
EngineBackend::FunctionalModel(const v1::Machine&, int32_t) const {
  return std::vector<ModelFile>();
}

}  // namespace edgekiln::compiler
