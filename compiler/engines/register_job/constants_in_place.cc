#include "compiler/engines/register_job/constants_in_place.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "target/layout_parts.h"
#include "target/register_jobs.h"

namespace edgekiln::compiler::register_job {
namespace {

// Blocks of cells begin at multiples of it.
constexpr int64_t kCellGrain = 16;

// A job's operand, from the first byte of its group.
struct Found {
  v1::Layout layout;
  int64_t offset = 0;
};

absl::StatusOr<Found> FindOperand(const Placement& placement,
                                  target::JobOperand operand,
                                  const target::JobVariables& variables) {
  const target::RegisterJobsView& view = placement.chip->view();
  Found found;
  EK_ASSIGN_OR_RETURN(found.layout, LayoutOf(placement, operand, variables));
  EK_ASSIGN_OR_RETURN(found.offset,
                      view.AddressOf(placement.job, operand, variables));
  found.offset -= found.layout.first_byte();
  return found;
}

// Where the channels of a block of cells lie, and the bytes of both.
absl::StatusOr<WholeConstants> CellBlock(const Placement& placement,
                                         const Cut& c) {
  const target::RegisterJobsView& view = placement.chip->view();
  const target::JobVariables variables = BlockVariables(placement.operation, c);
  EK_ASSIGN_OR_RETURN(
      Found weights,
      FindOperand(placement, target::JobOperand::kWeights, variables));
  EK_ASSIGN_OR_RETURN(Found channels,
                      FindOperand(placement, OfChannels(placement), variables));
  if (weights.offset != 0 || channels.offset < weights.layout.size_bytes()) {
    return target::InvalidConstantPlaces(view, placement.job,
                                         "operands overlap");
  }
  WholeConstants block;
  block.channels_offset = channels.offset;
  block.bytes = channels.offset + channels.layout.size_bytes();
  block.channels = std::move(channels.layout);
  return block;
}

// Blocks of cells, each with what its channels have behind it.
absl::StatusOr<WholeConstants> WholeCells(const Placement& placement) {
  const int64_t channels = placement.operation.out.c;
  WholeConstants whole;
  for (int64_t begin = 0; begin < channels; begin += placement.cell_channels) {
    EK_ASSIGN_OR_RETURN(const WholeConstants block,
                        CellBlock(placement, CellCut(placement, begin)));
    if (begin == 0) whole.block_bytes = RoundUp(block.bytes, kCellGrain);
    whole.bytes += RoundUp(block.bytes, kCellGrain);
  }
  return whole;
}

// Whether a job that has the operand `part` finds channels [c.begin, c.end) of
// `whole`, which lies at `offset`.
bool IsPart(const v1::Layout& whole, int64_t offset, const Cut& c,
            const Found& part) {
  std::vector<int64_t> begin(whole.extents_size(), 0);
  std::vector<int64_t> extents(whole.extents().begin(), whole.extents().end());
  begin[0] = c.begin;
  extents[0] = c.size();
  const auto there = target::PartOf(whole, begin, extents);
  return there && offset + there->offset == part.offset &&
         target::SamePlaces(there->layout, part.layout);
}

}  // namespace

target::JobOperand OfChannels(const Placement& placement) {
  const v1::RegisterJobs& jobs = placement.chip->view().jobs();
  return jobs.jobs(placement.job).results() == v1::RegisterJobs::BY_CONVERTER
             ? target::JobOperand::kAffine
             : target::JobOperand::kBias;
}

target::JobVariables BlockVariables(const Operation& operation, const Cut& c) {
  const TileSet all(operation,
                    {operation.out.h, operation.out.w, operation.out.c});
  target::JobVariables variables =
      VariablesOf(operation, all.h->cuts[0], all.w->cuts[0], c);
  variables[target::JobVariable::kWeightsAddr] = 0;
  return variables;
}

Cut CellCut(const Placement& placement, int64_t begin) {
  const int64_t end =
      std::min(begin + placement.cell_channels, placement.operation.out.c);
  return {begin, end, 0, placement.operation.in.c};
}

absl::StatusOr<WholeConstants> WholeConstantsOf(const Placement& placement) {
  if (placement.cell_channels > 0) return WholeCells(placement);
  const Operation& operation = placement.operation;
  target::JobVariables all = VariablesOfAll(operation);
  if (placement.block > 0) {
    all[target::JobVariable::kInC] = placement.block;
    all[target::JobVariable::kOutC] = placement.block;
  }
  all[target::JobVariable::kWeightsAddr] = 0;
  EK_ASSIGN_OR_RETURN(
      Found weights, FindOperand(placement, target::JobOperand::kWeights, all));
  EK_ASSIGN_OR_RETURN(Found channels,
                      FindOperand(placement, OfChannels(placement), all));
  if (weights.offset != 0 || channels.offset < 0) {
    return target::InvalidConstantPlaces(
        placement.chip->view(), placement.job,
        "an operand begins before weights_addr");
  }
  WholeConstants whole;
  whole.bytes = std::max(weights.layout.size_bytes(),
                         channels.offset + channels.layout.size_bytes());
  whole.channels_offset = channels.offset;
  whole.weights = std::move(weights.layout);
  whole.channels = std::move(channels.layout);
  if (placement.block > 0) {
    whole.block_bytes = whole.bytes;
    whole.bytes *= CeilDiv(operation.out.c, placement.block);
  }
  return whole;
}

absl::StatusOr<std::optional<int64_t>> AddressOfPart(
    const Placement& placement, const WholeConstants& whole, const Cut& c) {
  if (placement.block > 0) {
    const bool one_block =
        c.begin % placement.block == 0 && c.size() <= placement.block;
    if (!one_block) return std::nullopt;
    return c.begin / placement.block * whole.block_bytes;
  }
  if (placement.cell_channels > 0) {
    const bool one_block = c.begin % placement.cell_channels == 0 &&
                           c.end == CellCut(placement, c.begin).end;
    if (!one_block) return std::nullopt;
    return c.begin / placement.cell_channels * whole.block_bytes;
  }
  std::vector<int64_t> begin(whole.weights.extents_size(), 0);
  std::vector<int64_t> extents(whole.weights.extents().begin(),
                               whole.weights.extents().end());
  begin[0] = c.begin;
  extents[0] = c.size();
  const auto part = target::PartOf(whole.weights, begin, extents);
  if (!part) return std::nullopt;
  const int64_t address = part->offset + part->layout.first_byte();
  const Operation& operation = placement.operation;
  const TileSet all(operation,
                    {operation.out.h, operation.out.w, operation.out.c});
  target::JobVariables variables =
      VariablesOf(operation, all.h->cuts[0], all.w->cuts[0], c);
  variables[target::JobVariable::kWeightsAddr] = address;
  EK_ASSIGN_OR_RETURN(
      const Found weights,
      FindOperand(placement, target::JobOperand::kWeights, variables));
  EK_ASSIGN_OR_RETURN(const Found channels,
                      FindOperand(placement, OfChannels(placement), variables));
  if (!IsPart(whole.weights, 0, c, weights) ||
      !IsPart(whole.channels, whole.channels_offset, c, channels)) {
    return std::nullopt;
  }
  return address;
}

}  // namespace edgekiln::compiler::register_job
