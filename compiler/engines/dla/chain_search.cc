#include "compiler/engines/dla/chain_search.h"

#include <algorithm>
#include <limits>

#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/compute_command.h"
#include "compiler/engines/dla/cycle_limit.h"

namespace edgekiln::compiler::dla {
namespace {

// Of SRAM.
constexpr int kChainSizes = 4;
// Of pieces: chains of more would take too many commands. And numbers of them
// that fit the SRAM, if nothing else were there.
constexpr int64_t kMostPieces = 256;
constexpr size_t kMostShapes = 16;
// Numbers of pieces that are tried, from the fewest on that fit.
constexpr int kMostCuts = 4;
// Cycles of the DMA that are worth one.
constexpr int64_t kDmaCycles = 8;
// A DMA that moves more in a cycle counts as one of so many bytes.
constexpr int64_t kMostBytesPerCycle = 1 << 16;

int64_t AllBlocks(const Layer& layer) {
  return BlockBytes(layer, layer.out.c, layer.in.c);
}

// Multiply-accumulates of one row of its output.
int64_t MacsPerRow(const Layer& layer) {
  if (!layer.has_weights()) return 0;
  return layer.out.row_elements() * layer.vertical.kernel *
         layer.horizontal.kernel * (layer.channelwise() ? 1 : layer.in.c);
}

// Of buffers that hold them all: equally large ones.
int64_t KeptBytes(const Layer& layer, const Tiling& tiling) {
  const int64_t channels = std::min(tiling.channels, layer.out.c);
  const int64_t inputs = InputsPerStep(layer, tiling);
  return CeilDiv(layer.out.c, channels) * CeilDiv(layer.in.c, inputs) *
         RoundUp(BlockBytes(layer, channels, inputs), kSlotAlignment);
}

// Rows that two pieces next to each other both read.
int64_t SharedRows(const Layer& layer) {
  return layer.vertical.Span(1) - layer.vertical.stride;
}

// Cycles that one command takes to copy rows of a layer's output in SRAM. 0 if
// the chip's timing has none for them: schedules with the command tell that.
int64_t CopyCycles(const Chip& chip, const Layer& layer, int64_t rows) {
  const ComputeCommand copy =
      CopyBytes(rows, layer.out.w, layer.out.c * layer.out_bytes, 0, 0);
  return chip.OccupancyCycles(copy.command, copy.registers).value_or(0);
}

// Cycles that it takes at least to let `maker` pass on its output: to compute
// again, or to copy, what pieces share, and to read again blocks and input.
int64_t LeastCostOfPassing(const Chip& chip, const Layer& maker,
                           const Layer& reader, int64_t fewest_cycles,
                           int64_t sram_bytes) {
  const WindowAxis& axis = reader.vertical;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const bool keeps_blocks : {false, true}) {
    const int64_t blocks = AllBlocks(maker) + AllBlocks(reader);
    const int64_t room = sram_bytes - (keeps_blocks ? blocks : 0);
    const int64_t made = room / maker.out_row_bytes();
    if (made < axis.Span(1)) continue;
    const int64_t rows = (made - axis.Span(1)) / axis.stride + 1;
    const int64_t more = CeilDiv(reader.out.h, rows) - 1;
    const int64_t read =
        (keeps_blocks ? 0 : blocks) + SharedRows(maker) * maker.in_row_bytes();
    const int64_t shared =
        chip.position(DlaCommand::kMax) >= 0
            ? CopyCycles(chip, maker, SharedRows(reader))
            : PartOfCycles(fewest_cycles, SharedRows(reader), maker.out.h);
    least = std::min(
        least, TimesCycles(shared + read / chip.dma_bytes_per_cycle(), more));
  }
  return least;
}

}  // namespace

std::vector<bool> LayersToChain(const Chip& chip, const SubgraphInput& input,
                                const std::vector<int64_t>& fewest_cycles,
                                int64_t sram_bytes) {
  const std::vector<Layer>& layers = input.layers;
  std::vector<bool> chained =
      LayersThatPassOn(layers, input.storage, input.external);
  for (size_t l = layers.size(); l-- > 0;) {
    if (!chained[l]) continue;
    const int64_t bytes = layers[l].all_out_bytes();
    // The next layer ends a chain, or is in one itself.
    chained[l] =
        2 * bytes > sram_bytes && (layers[l + 1].out.h > 1 || chained[l + 1]) &&
        LeastCostOfPassing(chip, layers[l], layers[l + 1], fewest_cycles[l],
                           sram_bytes) <= bytes / chip.dma_bytes_per_cycle();
  }
  return chained;
}

std::vector<int64_t> SizesForChains(int64_t sram_bytes) {
  std::vector<int64_t> sizes;
  for (int64_t size = RoundSize(sram_bytes);
       size > 0 && std::ssize(sizes) < kChainSizes;
       size = RoundSize(size - 1)) {
    sizes.push_back(size);
  }
  const int64_t coarse = sizes.empty() ? 0 : CoarseSizeBelow(sizes.back());
  if (coarse > 0) sizes.push_back(coarse);
  return sizes;
}

std::vector<int64_t> AllSizesForChains(int64_t sram_bytes) {
  std::vector<int64_t> sizes = SizesForChains(sram_bytes);
  if (sizes.empty()) return sizes;
  for (const int64_t size : SizesForChains(sizes.back())) {
    if (size != sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

int64_t ChainSearch::Worth(int64_t cycles, int64_t dma_bytes) const {
  using Limits = std::numeric_limits<int64_t>;
  return static_cast<int64_t>(
      std::clamp<__int128>(__int128{cycles} * bytes_per_cycle_ + dma_bytes,
                           Limits::min(), Limits::max()));
}

ChainSearch::ChainSearch(const Chip& chip, const SubgraphInput& input,
                         const std::vector<int64_t>& fewest_cycles)
    : chip_(chip),
      input_(input),
      fewest_cycles_(fewest_cycles),
      bytes_per_cycle_(
          kDmaCycles *
          std::min<int64_t>(chip.dma_bytes_per_cycle(), kMostBytesPerCycle)) {
  for (int32_t l = 0; l < std::ssize(input.layers); ++l) {
    if (input.layers[l].op == LayerOp::kAlias) continue;
    most_operand_bytes_ = std::max(most_operand_bytes_, OperandBytes(l, l));
  }
}

int64_t ChainSearch::OperandBytes(int32_t first, int32_t last) const {
  int64_t bytes = input_.layers[last].all_out_bytes();
  for (int32_t l = first; l <= last; ++l) {
    const Layer& layer = input_.layers[l];
    const int inputs = StreamedInputs(layer, {}) - (l > first ? 1 : 0);
    bytes += layer.all_in_bytes() * inputs;
  }
  return bytes;
}

void ChainSearch::SetSize(int64_t sram_bytes) {
  passes_on_ = LayersToChain(chip_, input_, fewest_cycles_, sram_bytes);
  avoided_.clear();
}

bool ChainSearch::MayChain() const {
  return std::find(passes_on_.begin(), passes_on_.end(), true) !=
         passes_on_.end();
}

std::vector<int32_t> ChainSearch::FirstLayers(int32_t last) const {
  std::vector<int32_t> first;
  // One row is one piece.
  if (input_.layers[last].out.h < 2) return first;
  for (int32_t l = last - 1; l >= 0 && l > last - kMostChainLayers; --l) {
    if (!passes_on_[l]) break;
    if (!avoided_.contains({l, last}) &&
        OperandBytes(l, last) <= most_operand_bytes_) {
      first.push_back(l);
    }
  }
  return first;
}

const std::vector<ChainSearch::Shape>& ChainSearch::ShapesOf(int32_t first,
                                                             int32_t last) {
  const auto [it, added] = shapes_.try_emplace({first, last});
  if (!added) return it->second;
  const Layer& end = input_.layers[last];
  const int64_t most = std::min(end.out.h, kMostPieces);
  for (int64_t pieces = 2, before = end.out.h;
       pieces <= most && it->second.size() < kMostShapes;
       pieces += 1 + pieces / 8) {
    Shape shape;
    shape.chain = {first, last, CeilDiv(end.out.h, pieces)};
    if (shape.chain.rows == before) continue;
    before = shape.chain.rows;
    // Before rows are counted.
    if (InnerPiece(end, before).all_in_bytes() >= chip_.sram_bytes()) continue;
    shape.chain = WithCopies(chip_, input_.layers, shape.chain);
    shape.pieces = PiecesOf(input_.layers, shape.chain);
    shape.rows = CountRows(input_.layers, shape.chain);
    for (const RowCopies& each : shape.rows.copied) {
      shape.copy_cycles +=
          TimesCycles(CopyCycles(chip_, input_.layers[each.layer], each.rows),
                      each.commands);
    }
    shape.copy_cycles = LimitCycles(shape.copy_cycles);
    shape.fewest_cycles = shape.copy_cycles;
    for (int32_t l = first; l <= last; ++l) {
      const Layer& layer = input_.layers[l];
      const size_t k = l - first + 1;
      shape.fewest_cycles +=
          PartOfCycles(fewest_cycles_[l], shape.rows.all[k], layer.out.h);
      if (l == last) break;
      shape.passed_bytes +=
          RoundUp(shape.rows.held[k] * layer.out_row_bytes(), kSlotAlignment);
    }
    it->second.push_back(std::move(shape));
  }
  return it->second;
}

std::vector<ChainSearch::Least> ChainSearch::LeastOf(int32_t first,
                                                     int32_t last) {
  std::vector<Least> ways;
  for (const Shape& shape : ShapesOf(first, last)) {
    Least least = {.cycles = shape.copy_cycles};
    for (int32_t l = first; l <= last; ++l) {
      const Layer& layer = input_.layers[l];
      // Rows that two pieces need are computed twice, unless they are copied.
      const int64_t again = shape.rows.all[l - first + 1] - layer.out.h;
      least.cycles +=
          fewest_cycles_[l] + again * MacsPerRow(layer) /
                                  std::max<int64_t>(chip_.macs_per_cycle(), 1);
      least.block_bytes += AllBlocks(layer);
    }
    if (shape.passed_bytes + least.block_bytes < chip_.sram_bytes()) {
      ways.push_back(least);
    } else if (shape.passed_bytes < chip_.sram_bytes()) {
      least.block_bytes *= shape.pieces;
      ways.push_back(least);
    }
  }
  return ways;
}

TilingSearch& ChainSearch::SearchOf(int32_t layer, int64_t rows) {
  std::unique_ptr<Piece>& piece = pieces_[{layer, rows}];
  if (!piece) {
    piece = std::make_unique<Piece>(chip_, input_.layers[layer], rows);
  }
  return piece->search;
}

int64_t ChainSearch::LeastBytes(const Shape& shape,
                                absl::Span<const Residency> residency,
                                bool keeps_blocks) const {
  int64_t bytes = 0;
  for (size_t k = 0; k < residency.size(); ++k) {
    const Layer& layer = input_.layers[shape.chain.first + k];
    bytes += AllBlocks(layer) * (keeps_blocks ? 1 : shape.pieces) +
             layer.all_in_bytes() * StreamedInputs(layer, residency[k]);
    if (!residency[k].output) bytes += layer.all_out_bytes();
  }
  return bytes;
}

absl::StatusOr<std::optional<ChainCost>> ChainSearch::Cut(
    const Shape& shape, absl::Span<const Residency> residency,
    bool keeps_blocks, int64_t budget_bytes) {
  ChainCost cost = {
      .chain = shape.chain,
      .tilings = {},
      .cycles = shape.copy_cycles +
                shape.rows.copies * chip_.IssueCycles(DlaCommand::kMax)};
  budget_bytes -= shape.passed_bytes;
  int64_t kept = 0;  // Blocks, if each took no more than its own bytes.
  for (size_t k = 0; keeps_blocks && k < residency.size(); ++k) {
    kept += AllBlocks(input_.layers[shape.chain.first + k]);
  }
  cost.dma_bytes = kept;
  if (budget_bytes <= kept) return std::optional<ChainCost>();
  int64_t kept_buffers = 0;
  int64_t most = 0;  // Of one layer's other buffers.
  for (size_t k = 0; k < residency.size(); ++k) {
    const int32_t l = shape.chain.first + static_cast<int32_t>(k);
    const Layer& layer = input_.layers[l];
    const int64_t rows = shape.rows.most[k + 1];
    Residency resident = residency[k];
    resident.blocks = keeps_blocks && layer.has_block();
    EK_ASSIGN_OR_RETURN(std::optional<TilingCost> best,
                        SearchOf(l, rows).Best(resident, budget_bytes - kept));
    if (!best) return std::optional<ChainCost>();
    if (resident.blocks) {
      best->tiling.keeps_blocks = true;
      kept_buffers += KeptBytes(layer, best->tiling);
    }
    most = std::max(most, best->sram_bytes);
    cost.tilings.push_back(best->tiling);
    // Of pieces of so many rows.
    const auto scaled = [&](int64_t of_piece) {
      return of_piece * shape.rows.all[k + 1] / rows;
    };
    cost.cycles += PartOfCycles(best->cycles, shape.rows.all[k + 1], rows);
    cost.dma_bytes += scaled(best->dma_bytes - best->block_bytes) +
                      best->block_bytes * shape.pieces;
  }
  if (kept_buffers + most > budget_bytes) return std::optional<ChainCost>();
  return std::optional<ChainCost>(std::move(cost));
}

absl::StatusOr<std::optional<ChainCost>> ChainSearch::Best(
    int32_t first, int32_t last, absl::Span<const Residency> residency,
    int64_t budget_bytes, int64_t limit) {
  std::optional<ChainCost> best;
  int tried = 0;
  for (const Shape& shape : ShapesOf(first, last)) {
    if (tried == kMostCuts) break;
    if (shape.passed_bytes >= budget_bytes) continue;
    bool fits = false;
    for (const bool keeps_blocks : {true, false}) {
      if (Worth(shape.fewest_cycles,
                LeastBytes(shape, residency, keeps_blocks)) >= limit) {
        continue;
      }
      EK_ASSIGN_OR_RETURN(std::optional<ChainCost> cost,
                          Cut(shape, residency, keeps_blocks, budget_bytes));
      if (!cost) continue;
      fits = true;
      const int64_t worth = Worth(cost->cycles, cost->dma_bytes);
      if (worth >= limit) continue;
      limit = worth;
      best = std::move(cost);
    }
    if (fits) ++tried;
  }
  return best;
}

}  // namespace edgekiln::compiler::dla
