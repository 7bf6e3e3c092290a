#include "compiler/engines/dla/residency.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::dla {
namespace {

// States kept after each layer: those of the fewest cycles. All of them where
// seven tensors or fewer live at once.
constexpr size_t kMaxStates = 128;
// Of them, those that chains may begin with: there are many ways to cut these.
constexpr size_t kMaxChainStates = 4;

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
  int32_t chain = -1;   // That ends with it; its tilings are there.
  bool kept = false;    // The layer's output stays.
  int32_t before = -1;  // Index of the state before the layer or its chain.
};

// Storages that stay, in order.
using Residents = std::vector<TensorId>;

class Search {
 public:
  Search(const SubgraphInput& input, std::vector<TilingSearch>& searches,
         ChainSearch* chain_search, int64_t sram_bytes, int64_t chain_bytes,
         bool early_blocks)
      : input_(input),
        searches_(searches),
        chain_search_(chain_search),
        sram_bytes_(sram_bytes),
        chain_bytes_(chain_bytes),
        early_blocks_(early_blocks),
        candidates_(CandidatesOf(input)) {
    for (const auto& candidate : candidates_) {
      if (candidate) by_storage_[candidate->storage] = *candidate;
    }
  }

  absl::StatusOr<std::optional<ResidencyChoice>> Run() {
    reached_.push_back({{{}, -1}});
    for (size_t l = 0; l < input_.layers.size(); ++l) {
      EK_ASSIGN_OR_RETURN(Reached after, After(l));
      if (after.empty()) return std::optional<ResidencyChoice>();
      reached_.push_back(std::move(after));
    }
    // Nothing lives after the last layer.
    return std::optional<ResidencyChoice>(
        Choice(reached_.back().begin()->second));
  }

 private:
  using Reached = std::map<Residents, int32_t>;

  // The states after layer `l`, by what stays beyond it.
  absl::StatusOr<Reached> After(size_t l) {
    states_.emplace_back();
    Reached next;
    for (const auto& [residents, index] : reached_[l]) {
      EK_RETURN_IF_ERROR(Extend(l, residents, index, /*keep=*/false, next));
      if (candidates_[l]) {
        EK_RETURN_IF_ERROR(Extend(l, residents, index, /*keep=*/true, next));
      }
    }
    if (chain_search_ != nullptr) EK_RETURN_IF_ERROR(AddChains(l, next));
    if (next.size() > kMaxStates) {
      proven_ = false;
      std::vector<Reached::iterator> all;
      for (auto it = next.begin(); it != next.end(); ++it) all.push_back(it);
      std::stable_sort(all.begin(), all.end(), [&](auto a, auto b) {
        return Less(states_[l][a->second], states_[l][b->second]);
      });
      for (size_t i = kMaxStates; i < all.size(); ++i) next.erase(all[i]);
    }
    return next;
  }

  absl::Status Extend(size_t l, const Residents& residents, int32_t before,
                      bool keep, Reached& next) {
    State state;
    if (before >= 0) {
      state = states_[l - 1][before];
      state.before = before;
    }
    state.chain = -1;
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
      state.dma_bytes += cost->dma_bytes + WrittenBesides(l, keep);
      state.tiling = cost->tiling;
    }
    Reach(l, ResidentsAfter(l, residents, keep), state, next);
    return absl::OkStatus();
  }

  // Of a layer's output that stays, if others read it.
  int64_t WrittenBesides(size_t l, bool keep) const {
    return keep && input_.external.contains(candidates_[l]->storage)
               ? candidates_[l]->bytes
               : 0;
  }

  Residents ResidentsAfter(size_t l, const Residents& before, bool keep) const {
    Residents after;
    for (const TensorId tensor : before) {
      if (by_storage_.at(tensor).last_layer > static_cast<int32_t>(l)) {
        after.push_back(tensor);
      }
    }
    if (keep) {
      after.insert(
          std::upper_bound(after.begin(), after.end(), candidates_[l]->storage),
          candidates_[l]->storage);
    }
    return after;
  }

  void Reach(size_t l, Residents after, const State& state, Reached& next) {
    std::vector<State>& states = states_[l];
    const auto [it, added] =
        next.try_emplace(std::move(after), static_cast<int32_t>(states.size()));
    if (added) {
      states.push_back(state);
    } else if (Less(state, states[it->second])) {
      states[it->second] = state;
    }
  }

  // Chains that end with layer `l`.
  absl::Status AddChains(size_t l, Reached& next) {
    if (input_.layers[l].op == LayerOp::kAlias) return absl::OkStatus();
    for (const int32_t first :
         chain_search_->FirstLayers(static_cast<int32_t>(l))) {
      for (const auto& [residents, index] : BestBefore(first)) {
        EK_RETURN_IF_ERROR(
            ExtendByChain(first, l, residents, index, /*keep=*/false, next));
        if (candidates_[l]) {
          EK_RETURN_IF_ERROR(
              ExtendByChain(first, l, residents, index, /*keep=*/true, next));
        }
      }
    }
    return absl::OkStatus();
  }

  // The states before a layer that chains may begin with.
  std::vector<std::pair<Residents, int32_t>> BestBefore(int32_t layer) const {
    std::vector<std::pair<Residents, int32_t>> states(reached_[layer].begin(),
                                                      reached_[layer].end());
    if (states.size() <= kMaxChainStates) return states;
    std::stable_sort(states.begin(), states.end(),
                     [&](const auto& a, const auto& b) {
                       return Less(states_[layer - 1][a.second],
                                   states_[layer - 1][b.second]);
                     });
    states.resize(kMaxChainStates);
    return states;
  }

  absl::Status ExtendByChain(int32_t first, size_t l,
                             const Residents& residents, int32_t before,
                             bool keep, Reached& next) {
    State state;
    if (before >= 0) {
      state = states_[first - 1][before];
      state.before = before;
    }
    state.kept = keep;
    state.dma_bytes += WrittenBesides(l, keep);
    int64_t held = keep ? candidates_[l]->bytes : 0;
    for (const TensorId tensor : residents) {
      held += by_storage_.at(tensor).bytes;
    }
    if (held >= chain_bytes_) return absl::OkStatus();
    std::vector<Residency> residency;
    TensorId passed = kNoTensor;
    for (size_t k = first; k <= l; ++k) {
      const Layer& layer = input_.layers[k];
      const auto stays = [&](TensorId tensor) {
        return tensor != kNoTensor &&
               (tensor == passed ||
                std::binary_search(residents.begin(), residents.end(),
                                   input_.storage[tensor]));
      };
      residency.push_back(
          {stays(layer.input), stays(layer.input2), k < l || keep});
      passed = layer.output;
    }
    Residents after = ResidentsAfter(l, residents, keep);
    auto limit = std::numeric_limits<int64_t>::max();
    if (const auto known = next.find(after); known != next.end()) {
      const State& best = states_[l][known->second];
      limit = chain_search_->Worth(best.cycles - state.cycles,
                                   best.dma_bytes - state.dma_bytes);
    }
    EK_ASSIGN_OR_RETURN(
        std::optional<ChainCost> cost,
        chain_search_->Best(first, static_cast<int32_t>(l), residency,
                            chain_bytes_ - held, limit));
    if (!cost) return absl::OkStatus();
    state.cycles += cost->cycles;
    state.dma_bytes += cost->dma_bytes;
    state.chain = static_cast<int32_t>(chains_.size());
    chains_.push_back(*std::move(cost));
    Reach(l, std::move(after), state, next);
    return absl::OkStatus();
  }

  bool Less(const State& a, const State& b) const {
    if (chain_search_ != nullptr) {
      return chain_search_->Worth(a.cycles, a.dma_bytes) <
             chain_search_->Worth(b.cycles, b.dma_bytes);
    }
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
      if (state.chain < 0) continue;
      const ChainCost& cost = chains_[state.chain];
      choice.plan.chains.push_back(cost.chain);
      std::copy(cost.tilings.begin(), cost.tilings.end(),
                choice.plan.tilings.begin() + cost.chain.first);
      l = cost.chain.first;
    }
    std::reverse(choice.plan.chains.begin(), choice.plan.chains.end());
    return choice;
  }

  const SubgraphInput& input_;
  std::vector<TilingSearch>& searches_;
  ChainSearch* const chain_search_;  // nullptr: no chains.
  const int64_t sram_bytes_;
  const int64_t chain_bytes_;
  const bool early_blocks_;
  const std::vector<std::optional<Candidate>> candidates_;
  absl::flat_hash_map<TensorId, Candidate> by_storage_;
  std::vector<std::vector<State>> states_;  // By layer.
  std::vector<Reached> reached_;            // Before each layer.
  std::vector<ChainCost> chains_;           // Of states.
  bool proven_ = true;
};

}  // namespace

absl::StatusOr<std::optional<ResidencyChoice>> ChooseResidency(
    const SubgraphInput& input, std::vector<TilingSearch>& searches,
    int64_t sram_bytes, bool early_blocks) {
  return Search(input, searches, /*chain_search=*/nullptr, sram_bytes,
                /*chain_bytes=*/0, early_blocks)
      .Run();
}

absl::StatusOr<std::optional<ResidencyChoice>> ChooseChains(
    const SubgraphInput& input, std::vector<TilingSearch>& searches,
    ChainSearch& chains, int64_t sram_bytes, int64_t chain_bytes,
    bool early_blocks) {
  return Search(input, searches, &chains, sram_bytes, chain_bytes, early_blocks)
      .Run();
}

}  // namespace edgekiln::compiler::dla
