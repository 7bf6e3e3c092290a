#include "compiler/codegen/tensor_uses.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace edgekiln::compiler {
namespace {

struct Life {
  int32_t first = -1;  // -1: nobody uses it.
  int32_t last = -1;

  void Add(int32_t layer) {
    first = first < 0 ? layer : std::min(first, layer);
    last = std::max(last, layer);
  }
};

// Whether the op's output is its input under another name or shape.
bool IsAlias(const Op& op, const std::vector<TensorId>& storage) {
  return !op.inputs.empty() && op.inputs[0] != kNoTensor &&
         storage[op.inputs[0]] == storage[op.outputs[0]];
}

// By storage: a use of a reshape is a use of its input.
std::vector<Life> LivesOf(const Graph& graph,
                          const std::vector<TensorId>& storage) {
  std::vector<Life> lives(graph.tensors.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (IsAlias(graph.ops[i], storage)) continue;
    const auto layer = static_cast<int32_t>(i);
    for (const TensorId tensor : graph.ops[i].inputs) {
      if (tensor != kNoTensor) lives[storage[tensor]].Add(layer);
    }
    for (const TensorId tensor : graph.ops[i].outputs) {
      lives[storage[tensor]].Add(layer);
    }
  }
  for (const TensorId input : graph.inputs) lives[storage[input]].Add(0);
  const auto last = static_cast<int32_t>(graph.ops.size()) - 1;
  for (const TensorId output : graph.outputs) {
    lives[storage[output]].Add(std::max(last, 0));
  }
  return lives;
}

// Scratchpad and address of what lies in no system memory. Taps show parts of
// it, the first byte among them. Not of what is never there as a whole.
ResidentPlaces ResidentTensors(const Graph& graph,
                               const std::vector<TensorId>& storage,
                               const TensorPlaces& places,
                               const v1::Program& program) {
  ResidentPlaces found = places.resident;
  std::map<TensorId, uint64_t> ends;
  for (const v1::Program::Tap& tap : program.taps()) {
    if (tap.stream() < 0) continue;
    const TensorId stored = storage[tap.tensor()];
    if (places.ram.contains(stored) || places.flash.contains(stored)) continue;
    const auto [place, is_new] = found.try_emplace(
        stored, tap.location().memory(), tap.location().address());
    place->second.second =
        std::min<uint64_t>(place->second.second, tap.location().address());
    uint64_t& end = ends[stored];
    end = std::max<uint64_t>(
        end,
        tap.location().address() +
            static_cast<uint64_t>(program.layouts(tap.layout()).size_bytes()));
  }
  for (const auto& [tensor, end] : ends) {
    const auto place = found.find(tensor);
    if (end - place->second.second <
        static_cast<uint64_t>(BytesOf(graph.tensors[tensor]))) {
      found.erase(place);
    }
  }
  return found;
}

}  // namespace

void AddTensorUses(const Graph& graph, const std::vector<TensorId>& storage,
                   const v1::Machine& machine, const TensorPlaces& places,
                   v1::Program* program) {
  const std::vector<Life> lives = LivesOf(graph, storage);
  std::vector<std::tuple<int32_t, uint64_t, TensorId>> sorted;
  for (const auto& [tensor, address] : places.ram) {
    sorted.emplace_back(MemoryAt(machine, places.memories.rams, address),
                        address, tensor);
  }
  for (const auto& [tensor, address] : places.flash) {
    sorted.emplace_back(places.memories.flash, address, tensor);
  }
  for (const auto& [tensor, place] :
       ResidentTensors(graph, storage, places, *program)) {
    sorted.emplace_back(place.first, place.second, tensor);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [memory, address, tensor] : sorted) {
    const Tensor& described = graph.tensors[tensor];
    v1::TensorUse* use = program->add_tensors();
    use->set_name(described.name);
    use->set_memory(machine.memories(memory).name());
    use->set_address(address);
    use->set_bytes(BytesOf(described));
    use->set_first_layer(std::max(lives[tensor].first, 0));
    use->set_last_layer(std::max(lives[tensor].last, 0));
  }
}

}  // namespace edgekiln::compiler
