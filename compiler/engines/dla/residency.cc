#include "compiler/engines/dla/residency.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "compiler/engines/dla/residents.h"

namespace edgekiln::compiler::dla {
namespace {

// States kept after each layer: those of the fewest cycles, and that of a
// choice which is known to fit. All of them where seven tensors or fewer live
// at once.
constexpr size_t kMaxStates = 128;
// Of them, those that chains may begin with: there are many ways to cut these.
constexpr size_t kMaxChainStates = 4;

// What choices without chains are compared by.
struct Total {
  int64_t cycles = 0;
  int64_t dma_bytes = 0;
  bool operator<(const Total& other) const {
    return std::tie(cycles, dma_bytes) <
           std::tie(other.cycles, other.dma_bytes);
  }
};

// What was decided up to a layer, and what it costs.
struct State {
  int64_t cycles = 0;
  int64_t dma_bytes = 0;
  int64_t most_bytes = 0;  // Of SRAM, of any layer; without chains.
  Tiling tiling;           // Of the layer.
  int32_t chain = -1;      // That ends with it; its tilings are there.
  bool kept = false;       // The layer's output stays.
  int32_t before = -1;     // Index of the state before the layer or its chain.
};

class Search {
 public:
  Search(const SubgraphInput& input, std::vector<TilingSearch>& searches,
         ChainSearch* chain_search, int64_t sram_bytes, int64_t chain_bytes,
         Estimate estimate)
      : input_(input),
        searches_(searches),
        chain_search_(chain_search),
        sram_bytes_(sram_bytes),
        chain_bytes_(chain_bytes),
        estimate_(estimate),
        tensors_(input),
        certain_(input.layers.size()) {}

  absl::StatusOr<std::optional<ResidencyChoice>> Run() {
    if (chain_search_ == nullptr) EK_RETURN_IF_ERROR(FindLimit());
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

  // Finds lower bounds by layer, and what one choice takes, which keeps
  // whatever fits. States that exceed that together with the bounds of the
  // layers after them cannot become the best.
  absl::Status FindLimit() {
    const size_t count = input_.layers.size();
    std::vector<Total> least(count + 1);
    std::vector<Total> least_of(count);
    for (size_t l = count; l-- > 0;) {
      least[l] = least[l + 1];
      if (input_.layers[l].op == LayerOp::kAlias) continue;
      EK_ASSIGN_OR_RETURN(
          const std::optional<TilingCost> cost,
          searches_[l].Best(tensors_.AllOf(l), sram_bytes_, estimate_));
      if (!cost) return absl::OkStatus();  // No choice fits.
      least_of[l] = {cost->cycles, cost->dma_bytes};
      least[l].cycles += cost->cycles;
      least[l].dma_bytes += cost->dma_bytes;
    }
    Total all;
    Residents residents;
    std::vector<Residents> after;
    for (size_t l = 0; l < count; ++l) {
      bool keep = tensors_.CanKeep(l);
      if (input_.layers[l].op != LayerOp::kAlias) {
        EK_ASSIGN_OR_RETURN(std::optional<TilingCost> cost,
                            CostOfLayer(l, residents, keep));
        if (!cost && keep) {
          keep = false;
          EK_ASSIGN_OR_RETURN(cost, CostOfLayer(l, residents, keep));
        }
        if (!cost) return absl::OkStatus();
        least_of[l].dma_bytes += tensors_.MovedBytes(l, residents, keep);
        // Not a lower bound after all: of costs beyond kMostCycles any is
        // taken. There is no limit then.
        if (Total{cost->cycles, cost->dma_bytes} < least_of[l]) {
          return absl::OkStatus();
        }
        all.cycles += cost->cycles;
        all.dma_bytes += cost->dma_bytes + tensors_.WrittenBesides(l, keep);
      }
      residents = tensors_.After(l, residents, keep);
      after.push_back(residents);
    }
    least_ = std::move(least);
    certain_ = std::move(after);
    limit_ = all;
    return absl::OkStatus();
  }

  // Empty if it does not fit.
  absl::StatusOr<std::optional<TilingCost>> CostOfLayer(
      size_t l, const Residents& residents, bool keep) {
    const int64_t held = tensors_.HeldBytes(l, residents, keep);
    if (held > sram_bytes_) return std::optional<TilingCost>();
    return searches_[l].Best(tensors_.ResidencyOf(l, residents, keep),
                             sram_bytes_ - held, estimate_);
  }

  // A choice that takes so much before layer `l`, and at least `more` bytes
  // besides what it takes at least from there on, is worse than another one.
  bool ExceedsLimit(const State& state, size_t l, int64_t more) const {
    return limit_ &&
           *limit_ < Total{state.cycles + least_[l].cycles,
                           state.dma_bytes + least_[l].dma_bytes + more};
  }

  // The states after layer `l`, by what stays beyond it.
  absl::StatusOr<Reached> After(size_t l) {
    states_.emplace_back();
    Reached next;
    for (const auto& [residents, index] : reached_[l]) {
      EK_RETURN_IF_ERROR(Extend(l, residents, index, /*keep=*/false, next));
      if (tensors_.CanKeep(l)) {
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
      for (size_t i = kMaxStates; i < all.size(); ++i) {
        // All others may exceed the limit later, or not fit.
        if (all[i]->first == certain_[l]) continue;
        next.erase(all[i]);
      }
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
      if (ExceedsLimit(state, l, tensors_.MovedBytes(l, residents, keep))) {
        return absl::OkStatus();
      }
      EK_ASSIGN_OR_RETURN(const std::optional<TilingCost> cost,
                          CostOfLayer(l, residents, keep));
      if (!cost) return absl::OkStatus();
      state.cycles += cost->cycles;
      state.dma_bytes += cost->dma_bytes + tensors_.WrittenBesides(l, keep);
      state.most_bytes =
          std::max(state.most_bytes,
                   tensors_.HeldBytes(l, residents, keep) + cost->sram_bytes);
      state.tiling = cost->tiling;
      if (ExceedsLimit(state, l + 1, 0)) return absl::OkStatus();
    }
    Reach(l, tensors_.After(l, residents, keep), state, next);
    return absl::OkStatus();
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
        if (tensors_.CanKeep(l)) {
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
    state.dma_bytes += tensors_.WrittenBesides(l, keep);
    const int64_t held = tensors_.HeldBytes(l, residents, keep);
    if (held >= chain_bytes_) return absl::OkStatus();
    std::vector<Residency> residency;
    TensorId passed = kNoTensor;
    for (size_t k = first; k <= l; ++k) {
      const Layer& layer = input_.layers[k];
      const auto stays = [&](TensorId tensor) {
        return tensor != kNoTensor &&
               (tensor == passed || tensors_.Stays(tensor, residents));
      };
      residency.push_back(
          {stays(layer.input), stays(layer.input2), k < l || keep});
      passed = layer.output;
    }
    Residents after = tensors_.After(l, residents, keep);
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
    if (last >= 0) {
      choice.cycles = states_.back()[last].cycles;
      choice.sram_bytes = states_.back()[last].most_bytes;
    }
    for (size_t l = input_.layers.size(); l-- > 0;) {
      const State& state = states_[l][last];
      choice.plan.tilings[l] = state.tiling;
      if (state.kept) choice.plan.resident.insert(tensors_.MadeBy(l));
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
  const Estimate estimate_;
  const ResidentTensors tensors_;
  std::vector<std::vector<State>> states_;  // By layer.
  std::vector<Reached> reached_;            // Before each layer.
  std::vector<ChainCost> chains_;           // Of states.
  // From each layer on, at least; empty without a limit.
  std::vector<Total> least_;
  std::optional<Total> limit_;  // What some choice takes.
  // After each layer, of a choice that fits if any does: the one that takes
  // `limit_`, or that nothing stays.
  std::vector<Residents> certain_;
  bool proven_ = true;
};

}  // namespace

absl::StatusOr<std::optional<ResidencyChoice>> ChooseResidency(
    const SubgraphInput& input, std::vector<TilingSearch>& searches,
    int64_t sram_bytes, Estimate estimate) {
  return Search(input, searches, /*chain_search=*/nullptr, sram_bytes,
                /*chain_bytes=*/0, estimate)
      .Run();
}

absl::StatusOr<std::optional<ResidencyChoice>> ChooseChains(
    const SubgraphInput& input, std::vector<TilingSearch>& searches,
    ChainSearch& chains, int64_t sram_bytes, int64_t chain_bytes,
    Estimate estimate) {
  return Search(input, searches, &chains, sram_bytes, chain_bytes, estimate)
      .Run();
}

}  // namespace edgekiln::compiler::dla
