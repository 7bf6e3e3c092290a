#include "compiler/engines/dla/border_bound.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/border_search.h"
#include "compiler/engines/dla/chain_search.h"

namespace edgekiln::compiler::dla {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

// What is left from the end of some layer on, at least.
struct Left {
  int64_t cycles = kNever;  // If nothing for it is in SRAM by then.
  // If all that it moves was moved before.
  int64_t moved_before = kNever;
};

class Borders {
 public:
  Borders(const Chip& chip, const SubgraphInput& input, Cuts cuts,
          const std::vector<int64_t>& fewest_cycles, bool chains)
      : chip_(chip), input_(input), fewest_cycles_(fewest_cycles) {
    for (size_t l = 0; l < input.layers.size(); ++l) {
      if (input.layers[l].op == LayerOp::kAlias) continue;
      order_.push_back(l);
      searches_.emplace_back(chip, input.layers[l], cuts);
    }
    FindLinks();
    if (chains) FindChains();
  }

  absl::StatusOr<int64_t> Run() && {
    const size_t count = order_.size();
    if (count == 0) return 0;
    left_.resize(count + 1);
    left_[count][0] = {0, 0};
    for (size_t k = count; k-- > 0;) {
      for (const bool in : {false, true}) {
        if (in && !(k > 0 && links_[k - 1])) continue;
        Left& left = left_[k][in];
        for (const bool out : {false, true}) {
          if (out && !links_[k]) continue;
          EK_RETURN_IF_ERROR(AddLayer(k, in, out, left));
        }
        AddChains(k, in, left);
      }
    }
    const int64_t cycles = left_[0][0].cycles;
    return cycles < kNever ? cycles : 0;
  }

 private:
  // By place in `order_`: the layer's output is read by the next one alone.
  // Such a tensor stays for both of them or for none; of others each layer has
  // the choice.
  void FindLinks() {
    links_.assign(order_.size(), false);
    for (size_t k = 0; k < order_.size(); ++k) {
      const Layer& layer = input_.layers[order_[k]];
      for (const TensorId tensor : InputsOf(layer)) ++readers_[tensor];
      makers_[input_.storage[layer.output]] = k;
    }
    for (size_t k = 0; k + 1 < order_.size(); ++k) {
      const TensorId made = input_.storage[input_.layers[order_[k]].output];
      const std::vector<TensorId> next = InputsOf(input_.layers[order_[k + 1]]);
      links_[k] = readers_[made] == 1 && !input_.external.contains(made) &&
                  std::find(next.begin(), next.end(), made) != next.end();
    }
  }

  // Storages, each once.
  std::vector<TensorId> InputsOf(const Layer& layer) const {
    std::vector<TensorId> inputs = {input_.storage[layer.input]};
    if (layer.has_second_input() &&
        input_.storage[layer.input2] != inputs.front()) {
      inputs.push_back(input_.storage[layer.input2]);
    }
    return inputs;
  }

  void FindChains() {
    chains_.emplace(chip_, input_, fewest_cycles_);
    for (const int64_t size : AllSizesForChains(chip_.sram_bytes())) {
      chains_->SetSize(size);
      if (!chains_->MayChain()) continue;
      for (size_t k = 0; k < order_.size(); ++k) {
        const auto last = static_cast<int32_t>(order_[k]);
        for (const int32_t first : chains_->FirstLayers(last)) {
          // Neighbours: no alias lies between.
          lasts_of_[k - (last - first)].insert(k);
        }
      }
    }
  }

  // Of the DMA, for what may be in SRAM where a layer ends: nothing is left in
  // the end.
  int64_t HiddenAfter(size_t k, bool out) const {
    if (k + 1 == order_.size()) return 0;
    const int64_t held = out ? input_.layers[order_[k]].all_out_bytes() : 0;
    return CeilDiv(std::max<int64_t>(chip_.sram_bytes() - held, 0),
                   chip_.dma_bytes_per_cycle());
  }

  // A byte of each operand, before the first command, and of the output, after
  // the last.
  int64_t ExposedAt(size_t first, size_t last) const {
    const int64_t transfer = chip_.dma_setup_cycles() + 1;
    int64_t exposed = last + 1 == order_.size() ? transfer : 0;
    if (first > 0) return exposed;
    const Layer& layer = input_.layers[order_[0]];
    return exposed + transfer * (static_cast<int64_t>(InputsOf(layer).size()) +
                                 (layer.has_block() ? 1 : 0));
  }

  absl::Status AddLayer(size_t k, bool in, bool out, Left& left) {
    const Layer& layer = input_.layers[order_[k]];
    const Left& after = left_[k + 1][out];
    if (after.cycles >= kNever) return absl::OkStatus();
    const int64_t hidden = HiddenAfter(k, out);
    // Moved now for what follows.
    const int64_t ahead = std::min(hidden, after.cycles - after.moved_before);
    const int64_t exposed = ExposedAt(k, k);
    std::optional<int64_t> with;
    std::optional<int64_t> without;
    for (const Residency& residency : ChoicesOf(k, in, out)) {
      int64_t held = 0;
      if (residency.input) held += layer.all_in_bytes();
      if (residency.input2 &&
          (!residency.input ||
           input_.storage[layer.input] != input_.storage[layer.input2])) {
        held += layer.all_in_bytes();
      }
      if (residency.output) held += layer.all_out_bytes();
      if (held > chip_.sram_bytes()) continue;
      const int64_t budget = chip_.sram_bytes() - held;
      EK_ASSIGN_OR_RETURN(
          const std::optional<int64_t> cycles,
          searches_[k].Fewest(residency, budget, hidden - ahead + exposed));
      if (!cycles) continue;
      EK_ASSIGN_OR_RETURN(const std::optional<int64_t> computing,
                          searches_[k].Fewest(residency, budget, kNever));
      if (!with || *cycles < *with) with = cycles;
      if (!without || *computing < *without) without = computing;
    }
    if (!with) return absl::OkStatus();
    left.cycles = std::min(left.cycles, *with + exposed - ahead + after.cycles);
    left.moved_before =
        std::min(left.moved_before, *without + exposed - ahead + after.cycles);
    return absl::OkStatus();
  }

  // Which of its tensors stay, if the link before it and its own do or do not.
  std::vector<Residency> ChoicesOf(size_t k, bool in, bool out) const {
    const Layer& layer = input_.layers[order_[k]];
    const auto may_stay = [&](TensorId storage) {
      return makers_.contains(storage) && makers_.at(storage) < k;
    };
    const auto options = [&](TensorId storage) -> std::vector<bool> {
      if (!may_stay(storage)) return {false};
      if (links_[makers_.at(storage)]) return {in};
      return {false, true};
    };
    const TensorId made = input_.storage[layer.output];
    std::vector<bool> outs = {out};
    const auto readers = readers_.find(made);
    if (!links_[k] && readers != readers_.end()) outs = {false, true};
    std::vector<Residency> choices;
    for (const bool output : outs) {
      for (const bool first : options(input_.storage[layer.input])) {
        if (!layer.has_second_input()) {
          choices.push_back({.input = first, .output = output});
          continue;
        }
        if (input_.storage[layer.input] == input_.storage[layer.input2]) {
          choices.push_back(
              {.input = first, .input2 = first, .output = output});
          continue;
        }
        for (const bool second : options(input_.storage[layer.input2])) {
          choices.push_back(
              {.input = first, .input2 = second, .output = output});
        }
      }
    }
    return choices;
  }

  // Chains that begin with layer `k`. What they hold between their layers is
  // left out, as are other operands than those before and after.
  void AddChains(size_t k, bool in, Left& left) {
    const auto lasts = lasts_of_.find(k);
    if (lasts == lasts_of_.end()) return;
    for (const size_t j : lasts->second) {
      for (const bool out : {false, true}) {
        if (out && !links_[j]) continue;
        const Left& after = left_[j + 1][out];
        if (after.cycles >= kNever) continue;
        const int64_t hidden = HiddenAfter(j, out);
        const int64_t ahead =
            std::min(hidden, after.cycles - after.moved_before);
        const int64_t exposed = ExposedAt(k, j);
        int64_t bytes = 0;
        const Layer& first = input_.layers[order_[k]];
        if (k > 0 && links_[k - 1] && !in) {
          bytes += first.InputBytes(
              InputOf(first, {0, first.out.h, 0, first.out.w, 0, first.out.c})
                  .slice);
        }
        if (links_[j] && !out) {
          bytes += input_.layers[order_[j]].all_out_bytes();
        }
        for (const ChainSearch::Least& way :
             chains_->LeastOf(static_cast<int32_t>(order_[k]),
                              static_cast<int32_t>(order_[j]))) {
          const int64_t moving =
              CeilDiv(bytes + way.block_bytes, chip_.dma_bytes_per_cycle());
          const int64_t computing = way.cycles + exposed - ahead;
          left.cycles = std::min(
              left.cycles, std::max(computing, moving - hidden) + after.cycles);
          left.moved_before =
              std::min(left.moved_before, computing + after.cycles);
        }
      }
    }
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  const std::vector<int64_t>& fewest_cycles_;
  std::vector<size_t> order_;  // Layers that are computed.
  std::vector<BorderSearch> searches_;
  std::vector<bool> links_;
  absl::flat_hash_map<TensorId, int> readers_;    // By storage.
  absl::flat_hash_map<TensorId, size_t> makers_;  // By storage.
  std::optional<ChainSearch> chains_;
  // By place of a chain's first layer: those of the last.
  absl::flat_hash_map<size_t, std::set<size_t>> lasts_of_;
  // Before each layer, by whether the tensor of the link stays.
  std::vector<std::array<Left, 2>> left_;
};

}  // namespace

absl::StatusOr<int64_t> BoundByBorders(
    const Chip& chip, const SubgraphInput& input, Cuts cuts,
    const std::vector<int64_t>& fewest_cycles, bool chains) {
  return Borders(chip, input, cuts, fewest_cycles, chains).Run();
}

}  // namespace edgekiln::compiler::dla
