#include "compiler/engines/dla/residency.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::dla {
namespace {

// A tensor that could stay in SRAM.
struct Candidate {
  TensorId storage = kNoTensor;
  int32_t first_layer = 0;
  int32_t last_layer = 0;
  int64_t bytes = 0;
};

// Tensors made and read within the subgraph, short lives first.
std::vector<Candidate> CandidatesOf(const SubgraphInput& input) {
  absl::flat_hash_map<TensorId, Candidate> made;
  std::vector<TensorId> order;
  for (size_t l = 0; l < input.layers.size(); ++l) {
    const Layer& layer = input.layers[l];
    if (layer.op == LayerOp::kAlias) continue;
    const auto index = static_cast<int32_t>(l);
    for (const TensorId tensor : {layer.input, layer.input2}) {
      if (tensor == kNoTensor) continue;
      const auto it = made.find(input.storage[tensor]);
      if (it != made.end()) it->second.last_layer = index;
    }
    const TensorId output = input.storage[layer.output];
    made[output] = {output, index, index, layer.out.elements()};
    order.push_back(output);
  }
  std::vector<Candidate> candidates;
  for (const TensorId tensor : order) {
    const Candidate& candidate = made[tensor];
    if (candidate.last_layer > candidate.first_layer) {
      candidates.push_back(candidate);
    }
  }
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) {
        return std::make_tuple(a.last_layer - a.first_layer, a.bytes) <
               std::make_tuple(b.last_layer - b.first_layer, b.bytes);
      });
  return candidates;
}

class Search {
 public:
  Search(const Chip& chip, const SubgraphInput& input, int64_t sram_bytes)
      : chip_(chip),
        input_(input),
        sram_bytes_(sram_bytes),
        held_bytes_(input.layers.size(), 0),
        costs_(input.layers.size()) {}

  absl::StatusOr<std::optional<ResidencyChoice>> Run() {
    for (size_t l = 0; l < input_.layers.size(); ++l) {
      EK_ASSIGN_OR_RETURN(costs_[l], CostOf(l));
      if (!costs_[l]) return std::optional<ResidencyChoice>();
    }
    for (const Candidate& candidate : CandidatesOf(input_)) {
      EK_RETURN_IF_ERROR(TryToKeep(candidate));
    }
    ResidencyChoice choice;
    choice.plan.layers = input_.layers;
    choice.plan.resident = resident_;
    choice.plan.external = input_.external;
    for (const auto& cost : costs_) {
      choice.plan.tilings.push_back(cost->tiling);
      choice.cycles += cost->cycles;
    }
    return std::optional<ResidencyChoice>(std::move(choice));
  }

 private:
  absl::StatusOr<std::optional<TilingCost>> CostOf(size_t l) const {
    const Layer& layer = input_.layers[l];
    if (layer.op == LayerOp::kAlias) return std::optional(TilingCost{});
    const auto kept = [&](TensorId tensor) {
      return tensor != kNoTensor && resident_.contains(input_.storage[tensor]);
    };
    return BestTiling(
        chip_, layer,
        {kept(layer.input), kept(layer.input2), kept(layer.output)},
        sram_bytes_ - held_bytes_[l], /*double_buffer=*/true);
  }

  void Hold(const Candidate& candidate, int64_t sign) {
    for (int32_t l = candidate.first_layer; l <= candidate.last_layer; ++l) {
      held_bytes_[l] += sign * candidate.bytes;
    }
  }

  absl::Status TryToKeep(const Candidate& candidate) {
    resident_.insert(candidate.storage);
    Hold(candidate, 1);
    std::vector<std::optional<TilingCost>> costs;
    int64_t gain = 0;
    for (int32_t l = candidate.first_layer; l <= candidate.last_layer; ++l) {
      EK_ASSIGN_OR_RETURN(std::optional<TilingCost> cost, CostOf(l));
      if (!cost) {
        gain = -1;
        break;
      }
      gain += costs_[l]->cycles - cost->cycles;
      costs.push_back(cost);
    }
    if (gain < 0) {
      resident_.erase(candidate.storage);
      Hold(candidate, -1);
    } else {
      std::move(costs.begin(), costs.end(),
                costs_.begin() + candidate.first_layer);
    }
    return absl::OkStatus();
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  const int64_t sram_bytes_;
  absl::flat_hash_set<TensorId> resident_;
  std::vector<int64_t> held_bytes_;  // Per layer, by resident tensors.
  std::vector<std::optional<TilingCost>> costs_;
};

}  // namespace

absl::StatusOr<std::optional<ResidencyChoice>> ChooseResidency(
    const Chip& chip, const SubgraphInput& input, int64_t sram_bytes) {
  return Search(chip, input, sram_bytes).Run();
}

}  // namespace edgekiln::compiler::dla
