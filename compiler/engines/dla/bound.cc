#include "compiler/engines/dla/bound.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/border_bound.h"
#include "compiler/engines/dla/border_search.h"
#include "compiler/engines/dla/chain_search.h"

namespace edgekiln::compiler::dla {
namespace {

// Layers that are looked at together: limits the time for long networks.
constexpr size_t kLongestRun = 512;
// Of the cycles to compute, one part in so many for each border of two layers.
constexpr int64_t kBorders = 64;

// What has to move because of one layer, in any plan.
struct Moves {
  // Before its last command: its block, and what it reads that comes from
  // outside or that no plan keeps.
  int64_t read_bytes = 0;
  int64_t reads = 0;  // Transfers, at least.
  // After its first command.
  int64_t written_bytes = 0;
  int64_t writes = 0;
  // Tensors it reads that layers before had to write: their index, and bytes.
  std::vector<std::pair<size_t, int64_t>> from;
};

class MovesMaker {
 public:
  // `chained`: layers whose output may never leave SRAM, though no plan keeps
  // it.
  MovesMaker(const Chip& chip, const SubgraphInput& input,
             const std::vector<bool>& chained)
      : chip_(chip),
        input_(input),
        chained_(chained),
        moves_(input.layers.size()) {}

  std::vector<Moves> Make() && {
    for (size_t l = 0; l < input_.layers.size(); ++l) {
      if (input_.layers[l].op != LayerOp::kAlias) AddLayer(l);
    }
    return std::move(moves_);
  }

 private:
  void AddLayer(size_t l) {
    const Layer& layer = input_.layers[l];
    Moves& moves = moves_[l];
    if (layer.has_block()) {
      moves.read_bytes += BlockBytes(layer, layer.out.c, layer.in.c);
      ++moves.reads;
    }
    const bool twice =
        layer.has_second_input() &&
        input_.storage[layer.input2] == input_.storage[layer.input];
    Read(l, layer.input, {.input = true, .input2 = twice});
    if (layer.has_second_input() && !twice) {
      Read(l, layer.input2, {.input2 = true});
    }
    const TensorId output = input_.storage[layer.output];
    makers_[output] = l;
    if (input_.external.contains(output)) Write(l);
  }

  void Write(size_t l) {
    Moves& moves = moves_[l];
    if (moves.writes > 0) return;
    moves.written_bytes = input_.layers[l].all_out_bytes();
    moves.writes = 1;
  }

  void Read(size_t l, TensorId tensor, const Residency& kept) {
    const Layer& layer = input_.layers[l];
    const TensorId storage = input_.storage[tensor];
    Moves& moves = moves_[l];
    const auto maker = makers_.find(storage);
    if (maker == makers_.end()) {
      if (!loaded_.insert(storage).second) return;
      ++moves.reads;
      moves.read_bytes += NeededBytes(layer);
      return;
    }
    if (chained_[maker->second]) return;
    if (Keepable(layer, layer.all_in_bytes(), kept) &&
        Keepable(input_.layers[maker->second], layer.all_in_bytes(),
                 {.output = true})) {
      return;
    }
    Write(maker->second);
    moves.read_bytes += NeededBytes(layer);
    // All readers share what was written.
    if (passed_on_.insert(storage).second) {
      moves.from.emplace_back(maker->second,
                              input_.layers[maker->second].all_out_bytes());
    }
  }

  // Of one input, that some window covers.
  static int64_t NeededBytes(const Layer& layer) {
    if (SkipsInput(layer)) return 0;  // It depends on the tiles.
    const Slice all = {0, layer.out.h, 0, layer.out.w, 0, layer.out.c};
    return layer.InputBytes(InputOf(layer, all).slice);
  }

  // A tensor of so many bytes fits beside the layer's smallest tile.
  bool Keepable(const Layer& layer, int64_t bytes,
                const Residency& kept) const {
    Tiling tiling = SmallestTiling(chip_, layer, {});
    int64_t least = TileBytes(layer, tiling, kept);
    if (CanCutInputs(chip_, layer, {})) {
      tiling.inputs = 1;
      least = std::min(least, TileBytes(layer, tiling, kept));
    }
    return bytes + least <= chip_.sram_bytes();
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  const std::vector<bool>& chained_;
  std::vector<Moves> moves_;
  absl::flat_hash_map<TensorId, size_t> makers_;  // By storage: the layer.
  absl::flat_hash_set<TensorId> loaded_;
  absl::flat_hash_set<TensorId> passed_on_;
};

// Layers first..last take at least as long as computing them. They also take at
// least as long as moving what they read, less what the SRAM can hold when they
// begin, and what they write for each other. The longest of all ways to divide
// the layers into such runs, between which no chain may reach.
int64_t OfRuns(const Chip& chip, const std::vector<Moves>& moves,
               const std::vector<int64_t>& computing,
               const std::vector<bool>& chained) {
  const size_t count = moves.size();
  // By number of layers from the first on.
  std::vector<int64_t> longest(count + 1, 0);
  for (size_t first = 0; first < count; ++first) {
    if (first > 0 && chained[first - 1]) continue;
    int64_t computed = 0;
    int64_t moved = first == 0 ? 0 : -chip.sram_bytes();
    int64_t setups = 0;
    for (size_t last = first; last < std::min(count, first + kLongestRun);
         ++last) {
      computed += computing[last];
      moved += moves[last].read_bytes;
      setups += moves[last].reads;
      for (const auto& [maker, bytes] : moves[last].from) {
        if (maker >= first) moved += bytes;
      }
      if (chained[last]) continue;
      // What is held already may have had any number of transfers.
      const int64_t moving =
          CeilDiv(std::max<int64_t>(moved, 0), chip.dma_bytes_per_cycle()) +
          (first == 0 ? setups * chip.dma_setup_cycles() : 0);
      longest[last + 1] = std::max(longest[last + 1],
                                   longest[first] + std::max(computed, moving));
    }
  }
  return longest[count];
}

// By layer: some plan may pass its output on in a chain.
std::vector<bool> MayBeChained(const Chip& chip, const SubgraphInput& input,
                               const std::vector<int64_t>& computing,
                               bool chains) {
  std::vector<bool> chained(input.layers.size(), false);
  if (!chains) return chained;
  for (const int64_t size : AllSizesForChains(chip.sram_bytes())) {
    const std::vector<bool> some = LayersToChain(chip, input, computing, size);
    for (size_t l = 0; l < some.size(); ++l) chained[l] = chained[l] || some[l];
  }
  return chained;
}

// What the SRAM holds where layers meet takes so little of the DMA's time that
// layers can be looked at one by one.
bool BordersTell(const Chip& chip, const std::vector<int64_t>& computing) {
  int64_t cycles = 0;
  int64_t layers = 0;
  for (const int64_t of_layer : computing) {
    cycles += of_layer;
    layers += of_layer > 0 ? 1 : 0;
  }
  return chip.sram_bytes() / chip.dma_bytes_per_cycle() * layers <=
         cycles / kBorders;
}

// One layer after the other, with what nothing hides: before the first command,
// after the last, and at the layer up to which the DMA is busy the longest.
absl::StatusOr<int64_t> WithEnds(const Chip& chip, const SubgraphInput& input,
                                 const std::vector<TilingSearch>& searches,
                                 const std::vector<Moves>& moves,
                                 const std::vector<int64_t>& computing,
                                 const std::vector<bool>& chained) {
  const auto reading = [&](size_t l) {
    return moves[l].reads * chip.dma_setup_cycles() +
           CeilDiv(moves[l].read_bytes, chip.dma_bytes_per_cycle());
  };
  std::vector<size_t> order;  // Layers that are computed.
  int64_t left = 0;           // To compute.
  for (size_t l = 0; l < input.layers.size(); ++l) {
    if (input.layers[l].op == LayerOp::kAlias) continue;
    order.push_back(l);
    left += computing[l];
  }
  if (order.empty()) return 0;
  // The layer whose end is the latest, if what it reads ends there, and the one
  // whose end is, if it computes after that.
  size_t busiest = 0;
  size_t longest = 0;
  int64_t latest = 0;
  int64_t latest_computing = 0;
  int64_t read = 0;
  int64_t after = left;
  for (size_t k = 0; k < order.size(); ++k) {
    read += reading(order[k]);
    after -= computing[order[k]];
    if (read + after > latest) {
      latest = read + after;
      busiest = k;
    }
    if (read + computing[order[k]] + after > latest_computing) {
      latest_computing = read + computing[order[k]] + after;
      longest = k;
    }
  }
  absl::flat_hash_set<TensorId> made;
  int64_t now = 0;  // The end of the layer before.
  read = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const size_t l = order[k];
    const Layer& layer = input.layers[l];
    const int64_t transfer = chip.dma_setup_cycles() + 1;
    const bool is_first = k == 0;
    const bool is_last = k + 1 == order.size();
    const int64_t written = is_last && moves[l].writes > 0 ? transfer : 0;
    int64_t end = now + computing[l] + written;
    if (is_first) end += moves[l].reads * transfer;
    const bool in_chain = chained[l] || (k > 0 && chained[order[k - 1]]);
    const bool may_end_late = k == busiest || k == longest;
    if ((is_first || is_last || may_end_late) && !in_chain) {
      EndsQuery query;
      query.residency.input = made.contains(input.storage[layer.input]);
      query.residency.input2 = layer.has_second_input() &&
                               made.contains(input.storage[layer.input2]);
      query.budget_bytes = chip.sram_bytes();
      query.computed_before = now;
      query.read_before = read;
      query.is_first = is_first;
      query.is_last = written > 0;
      BorderSearch search(chip, layer, searches[l].cuts());
      EK_ASSIGN_OR_RETURN(const std::optional<int64_t> fewest,
                          search.FewestAtEnds(query));
      if (fewest) end = std::max(end, *fewest);
    }
    now = end;
    read += reading(l);
    made.insert(input.storage[layer.output]);
  }
  return now;
}

}  // namespace

absl::StatusOr<Bound> BoundOf(const Chip& chip, const SubgraphInput& input,
                              std::vector<TilingSearch>& searches,
                              bool chains) {
  Bound bound;
  const size_t count = input.layers.size();
  bound.layers.resize(count);
  for (size_t l = 0; l < count; ++l) {
    if (input.layers[l].op == LayerOp::kAlias) continue;
    EK_ASSIGN_OR_RETURN(bound.layers[l],
                        searches[l].FewestComputeCycles(chip.sram_bytes()));
  }
  const std::vector<bool> chained =
      MayBeChained(chip, input, bound.layers, chains);
  const std::vector<Moves> moves = MovesMaker(chip, input, chained).Make();
  int64_t bytes = 0;
  int64_t transfers = 0;
  int64_t computing = 0;
  for (size_t l = 0; l < count; ++l) {
    bytes += moves[l].read_bytes + moves[l].written_bytes;
    transfers += moves[l].reads + moves[l].writes;
    computing += bound.layers[l];
  }
  // All that the DMA does, one thing at a time.
  bound.cycles = transfers * chip.dma_setup_cycles() +
                 CeilDiv(bytes, chip.dma_bytes_per_cycle());
  if (chip.blocking_dma()) {
    bound.cycles += computing;
    return bound;
  }
  bound.cycles =
      std::max(bound.cycles, OfRuns(chip, moves, bound.layers, chained));
  // Something is read before the first command, if only a byte of each operand,
  // and something written after the last.
  const auto is_computed = [](const Layer& layer) {
    return layer.op != LayerOp::kAlias;
  };
  const auto first =
      std::find_if(input.layers.begin(), input.layers.end(), is_computed);
  const auto last =
      std::find_if(input.layers.rbegin(), input.layers.rend(), is_computed);
  if (first == input.layers.end()) return bound;
  const Moves& start = moves[first - input.layers.begin()];
  const Moves& end = moves[input.layers.rend() - last - 1];
  bound.cycles =
      std::max(bound.cycles, computing + (start.reads + end.writes) *
                                             (chip.dma_setup_cycles() + 1));
  return bound;
}

absl::Status TightenBound(const Chip& chip, const SubgraphInput& input,
                          const std::vector<TilingSearch>& searches,
                          bool chains, Bound& bound) {
  if (chip.blocking_dma() || input.layers.empty()) return absl::OkStatus();
  const std::vector<bool> chained =
      MayBeChained(chip, input, bound.layers, chains);
  const std::vector<Moves> moves = MovesMaker(chip, input, chained).Make();
  EK_ASSIGN_OR_RETURN(
      const int64_t with_ends,
      WithEnds(chip, input, searches, moves, bound.layers, chained));
  bound.cycles = std::max(bound.cycles, with_ends);
  if (!BordersTell(chip, bound.layers)) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const int64_t by_borders,
                      BoundByBorders(chip, input, searches.front().cuts(),
                                     bound.layers, chains));
  bound.cycles = std::max(bound.cycles, by_borders);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::dla
