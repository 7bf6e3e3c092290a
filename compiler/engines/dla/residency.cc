#include "compiler/engines/dla/residency.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::dla {
namespace {

// States kept after each layer: those of the fewest cycles. All of them where
// seven tensors or fewer live at once.
constexpr size_t kMaxStates = 128;

// A tensor that could stay in SRAM.
struct Candidate {
  TensorId storage = kNoTensor;
  int32_t last_layer = 0;
  int64_t bytes = 0;
};

// Tensors made and read within the subgraph, by the layer that makes them.
std::vector<std::optional<Candidate>> CandidatesOf(const SubgraphInput& input) {
  std::vector<std::optional<Candidate>> candidates(input.layers.size());
  absl::flat_hash_map<TensorId, size_t> made;  // By storage: the layer.
  for (size_t l = 0; l < input.layers.size(); ++l) {
    const Layer& layer = input.layers[l];
    if (layer.op == LayerOp::kAlias) continue;
    for (const TensorId tensor : {layer.input, layer.input2}) {
      if (tensor == kNoTensor) continue;
      const auto it = made.find(input.storage[tensor]);
      if (it == made.end()) continue;
      candidates[it->second]->last_layer = static_cast<int32_t>(l);
    }
    const TensorId output = input.storage[layer.output];
    candidates[l] = {output, static_cast<int32_t>(l), layer.all_out_bytes()};
    made[output] = l;
  }
  for (size_t l = 0; l < candidates.size(); ++l) {
    if (candidates[l] && candidates[l]->last_layer == static_cast<int32_t>(l)) {
      candidates[l].reset();  // Nobody reads it here.
    }
  }
  return candidates;
}

// What was decided up to a layer, and what it costs.
struct State {
  int64_t cycles = 0;
  int64_t dma_bytes = 0;
  Tiling tiling;        // Of the layer.
  bool kept = false;    // The layer's output stays.
  int32_t before = -1;  // Index of the state after the layer before.
};

// Storages that stay, in order.
using Residents = std::vector<TensorId>;

class Search {
 public:
  Search(const SubgraphInput& input, std::vector<TilingSearch>& searches,
         int64_t sram_bytes, bool early_blocks)
      : input_(input),
        searches_(searches),
        sram_bytes_(sram_bytes),
        early_blocks_(early_blocks),
        candidates_(CandidatesOf(input)) {
    for (const auto& candidate : candidates_) {
      if (candidate) by_storage_[candidate->storage] = *candidate;
    }
  }

  absl::StatusOr<std::optional<ResidencyChoice>> Run() {
    std::map<Residents, int32_t> reached = {{{}, -1}};
    for (size_t l = 0; l < input_.layers.size(); ++l) {
      EK_ASSIGN_OR_RETURN(reached, After(l, reached));
      if (reached.empty()) return std::optional<ResidencyChoice>();
    }
    // Nothing lives after the last layer.
    return std::optional<ResidencyChoice>(Choice(reached.begin()->second));
  }

 private:
  // The states after layer `l`, by what stays beyond it.
  absl::StatusOr<std::map<Residents, int32_t>> After(
      size_t l, const std::map<Residents, int32_t>& reached) {
    states_.emplace_back();
    std::map<Residents, int32_t> next;
    for (const auto& [residents, index] : reached) {
      EK_RETURN_IF_ERROR(Extend(l, residents, index, /*keep=*/false, next));
      if (candidates_[l]) {
        EK_RETURN_IF_ERROR(Extend(l, residents, index, /*keep=*/true, next));
      }
    }
    if (next.size() > kMaxStates) {
      proven_ = false;
      std::vector<std::map<Residents, int32_t>::iterator> all;
      for (auto it = next.begin(); it != next.end(); ++it) all.push_back(it);
      std::stable_sort(all.begin(), all.end(), [&](auto a, auto b) {
        return Less(states_[l][a->second], states_[l][b->second]);
      });
      for (size_t i = kMaxStates; i < all.size(); ++i) next.erase(all[i]);
    }
    return next;
  }

  absl::Status Extend(size_t l, const Residents& residents, int32_t before,
                      bool keep, std::map<Residents, int32_t>& next) {
    State state;
    if (before >= 0) {
      state = states_[l - 1][before];
      state.before = before;
    }
    state.kept = keep;
    const Layer& layer = input_.layers[l];
    if (layer.op != LayerOp::kAlias) {
      int64_t held = keep ? candidates_[l]->bytes : 0;
      for (const TensorId tensor : residents) {
        held += by_storage_.at(tensor).bytes;
      }
      if (held > sram_bytes_) return absl::OkStatus();
      const auto stays = [&](TensorId tensor) {
        return tensor != kNoTensor &&
               std::binary_search(residents.begin(), residents.end(),
                                  input_.storage[tensor]);
      };
      EK_ASSIGN_OR_RETURN(
          const std::optional<TilingCost> cost,
          searches_[l].Best({stays(layer.input), stays(layer.input2), keep},
                            sram_bytes_ - held, early_blocks_));
      if (!cost) return absl::OkStatus();
      state.cycles += cost->cycles;
      state.dma_bytes += cost->dma_bytes;
      state.tiling = cost->tiling;
      // Others read it: it is written besides.
      if (keep && input_.external.contains(candidates_[l]->storage)) {
        state.dma_bytes += candidates_[l]->bytes;
      }
    }
    Residents after;
    for (const TensorId tensor : residents) {
      if (by_storage_.at(tensor).last_layer > static_cast<int32_t>(l)) {
        after.push_back(tensor);
      }
    }
    if (keep) {
      after.insert(
          std::upper_bound(after.begin(), after.end(), candidates_[l]->storage),
          candidates_[l]->storage);
    }
    std::vector<State>& states = states_[l];
    const auto [it, added] =
        next.try_emplace(std::move(after), static_cast<int32_t>(states.size()));
    if (added) {
      states.push_back(state);
    } else if (Less(state, states[it->second])) {
      states[it->second] = state;
    }
    return absl::OkStatus();
  }

  static bool Less(const State& a, const State& b) {
    return std::tie(a.cycles, a.dma_bytes) < std::tie(b.cycles, b.dma_bytes);
  }

  ResidencyChoice Choice(int32_t last) const {
    ResidencyChoice choice;
    choice.plan.layers = input_.layers;
    choice.plan.external = input_.external;
    choice.plan.tilings.resize(input_.layers.size());
    choice.proven = proven_;
    if (last >= 0) choice.cycles = states_.back()[last].cycles;
    for (size_t l = input_.layers.size(); l-- > 0;) {
      const State& state = states_[l][last];
      choice.plan.tilings[l] = state.tiling;
      if (state.kept) choice.plan.resident.insert(candidates_[l]->storage);
      last = state.before;
    }
    return choice;
  }

  const SubgraphInput& input_;
  std::vector<TilingSearch>& searches_;
  const int64_t sram_bytes_;
  const bool early_blocks_;
  const std::vector<std::optional<Candidate>> candidates_;
  absl::flat_hash_map<TensorId, Candidate> by_storage_;
  std::vector<std::vector<State>> states_;  // By layer.
  bool proven_ = true;
};

}  // namespace

absl::StatusOr<std::optional<ResidencyChoice>> ChooseResidency(
    const SubgraphInput& input, std::vector<TilingSearch>& searches,
    int64_t sram_bytes, bool early_blocks) {
  return Search(input, searches, sram_bytes, early_blocks).Run();
}

}  // namespace edgekiln::compiler::dla
