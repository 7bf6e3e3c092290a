#include "compiler/engines/dla/bound.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "base/rounding.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::dla {
namespace {

// Bytes that have to come from system memory before the layer's last command,
// and go there after its first, in any plan.
struct Moves {
  int64_t read_bytes = 0;
  int64_t reads = 0;  // Transfers, at least.
  int64_t written_bytes = 0;
  int64_t writes = 0;
};

std::vector<Moves> MovesOf(const SubgraphInput& input) {
  std::vector<Moves> moves(input.layers.size());
  // By storage: tensors that are there already.
  absl::flat_hash_set<TensorId> made;
  for (size_t l = 0; l < input.layers.size(); ++l) {
    const Layer& layer = input.layers[l];
    if (layer.op == LayerOp::kAlias) continue;
    if (layer.has_block()) {
      moves[l].read_bytes += BlockBytes(layer, layer.out.c, layer.in.c);
      ++moves[l].reads;
    }
    for (const TensorId tensor : {layer.input, layer.input2}) {
      if (tensor == kNoTensor) continue;
      // A window may leave out parts of the input, but not all of it.
      if (made.insert(input.storage[tensor]).second) ++moves[l].reads;
    }
    const TensorId output = input.storage[layer.output];
    made.insert(output);
    if (!input.external.contains(output)) continue;
    moves[l].written_bytes += layer.all_out_bytes();
    ++moves[l].writes;
  }
  return moves;
}

}  // namespace

absl::StatusOr<Bound> BoundOf(const Chip& chip, const SubgraphInput& input,
                              std::vector<TilingSearch>& searches) {
  Bound bound;
  const size_t count = input.layers.size();
  bound.layers.resize(count);
  for (size_t l = 0; l < count; ++l) {
    if (input.layers[l].op == LayerOp::kAlias) continue;
    EK_ASSIGN_OR_RETURN(bound.layers[l],
                        searches[l].FewestComputeCycles(chip.sram_bytes()));
  }
  const std::vector<Moves> moves = MovesOf(input);
  const int64_t width = chip.dma_bytes_per_cycle();
  const int64_t setup = chip.dma_setup_cycles();

  // All that the DMA does.
  int64_t bytes = 0;
  int64_t transfers = 0;
  int64_t computing = 0;
  for (size_t l = 0; l < count; ++l) {
    bytes += moves[l].read_bytes + moves[l].written_bytes;
    transfers += moves[l].reads + moves[l].writes;
    computing += bound.layers[l];
  }
  bound.cycles = transfers * setup + CeilDiv(bytes, width);
  if (chip.blocking_dma()) {
    bound.cycles += computing;
    return bound;
  }
  // Layers before `first` are computed, then the SRAM holds at most all its
  // bytes of what layers first..last read, then the rest of it is read, and
  // the layers after `last` are computed.
  int64_t before = 0;
  for (size_t first = 0; first < count; ++first) {
    int64_t read = 0;
    int64_t reads = 0;
    int64_t after = computing - before;
    const int64_t held = first == 0 ? 0 : chip.sram_bytes();
    for (size_t last = first; last < count; ++last) {
      read += moves[last].read_bytes;
      reads += moves[last].reads;
      after -= bound.layers[last];
      // What is held already may have had any number of transfers.
      const int64_t reading =
          CeilDiv(std::max<int64_t>(read - held, 0), width) +
          (first == 0 ? reads * setup : 0);
      bound.cycles = std::max(bound.cycles, before + reading + after);
    }
    before += bound.layers[first];
  }
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
  bound.cycles = std::max(bound.cycles,
                          computing + (start.reads + end.writes) * (setup + 1));
  return bound;
}

}  // namespace edgekiln::compiler::dla
