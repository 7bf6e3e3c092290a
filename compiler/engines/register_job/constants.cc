#include "compiler/engines/register_job/constants.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/constants_in_place.h"
#include "compiler/engines/register_job/padded_channels.h"
#include "compiler/engines/register_job/tile_costs.h"
#include "target/cell_rows.h"
#include "target/layout.h"

namespace edgekiln::compiler::register_job {
namespace {

void PutInt32(int32_t value, char* to) {
  const auto bits = static_cast<uint32_t>(value);
  for (int i = 0; i < 4; ++i) {
    to[i] = static_cast<char>((bits >> (8 * i)) & 0xff);
  }
}

void PutTable(const Graph& graph, const Operation& operation, const Cut& c,
              char* to) {
  for (int64_t channel = c.begin; channel < c.end; ++channel) {
    int32_t bias = 0;
    if (operation.bias != kNoTensor) {
      std::memcpy(&bias,
                  graph.tensors[operation.bias].data->data() + channel * 4, 4);
    }
    ops::FixedPointMultiplier factor;
    if (!operation.multipliers.empty()) {
      factor = operation.multipliers[channel];
    }
    PutInt32(bias, to);
    if (operation.converter != nullptr) {
      const v1::Converter& converter = *operation.converter;
      const int entry =
          converter.scale_size() == 1 ? 0 : static_cast<int>(channel);
      factor = {converter.scale(entry), converter.offset(entry)};
    }
    PutInt32(factor.multiplier, to + 4);
    PutInt32(factor.shift, to + 8);
    to += target::kJobTableEntryBytes;
  }
}

// The weights of output channels `c` dense: [o][h][w][i], or [o][h][w] of a
// depthwise convolution, whose tensor is [1][h][w][o]. 0 where only jobs have
// channels.
std::string DenseWeights(const Graph& graph, const Operation& operation,
                         const Cut& c) {
  const Tensor& weights = graph.tensors[operation.weights];
  const char* const data = weights.data->data();
  const int64_t channels = operation.out.c - operation.out_padding;
  const int64_t elements = weights.num_elements() / channels;
  if (operation.kernel != v1::RegisterJobs::DEPTHWISE_CONVOLUTION) {
    return WithZeros(std::string(data + c.begin * elements,
                                 static_cast<size_t>(c.size() * elements)),
                     operation.in.c - operation.in_padding,
                     operation.in_padding);
  }
  std::string dense;
  dense.reserve(static_cast<size_t>(c.size() * elements));
  for (int64_t o = c.begin; o < std::min(c.end, channels); ++o) {
    for (int64_t k = 0; k < elements; ++k) {
      dense.push_back(data[k * channels + o]);
    }
  }
  dense.resize(static_cast<size_t>(c.size() * elements), '\0');
  return dense;
}

absl::Status PutWeights(const Graph& graph, const Placement& placement,
                        const target::JobVariables& variables, const Cut& c,
                        char* to) {
  EK_ASSIGN_OR_RETURN(
      const v1::Layout message,
      LayoutOf(placement, target::JobOperand::kWeights, variables));
  EK_ASSIGN_OR_RETURN(const target::Layout layout,
                      target::Layout::Create(message));
  const std::string dense = DenseWeights(graph, placement.operation, c);
  if (layout.dense_bytes() != std::ssize(dense)) {
    return absl::InternalError(
        "the engine's layout of weights has another number of elements");
  }
  layout.Scatter(dense.data(), to);
  return absl::OkStatus();
}

std::string BiasBytes(const Graph& graph, const Operation& operation) {
  std::string biases;
  if (operation.bias != kNoTensor) {
    biases = std::string(*graph.tensors[operation.bias].data);
  }
  biases.resize(static_cast<size_t>(operation.out.c) * 4, '\0');
  return biases;
}

// Each block as a dense convolution of its channels alone.
absl::StatusOr<Constants> PackBlocks(const Graph& graph,
                                     const Placement& placement,
                                     const WholeConstants& whole) {
  const Operation& operation = placement.operation;
  const std::string biases = BiasBytes(graph, operation);
  Constants constants;
  constants.offsets = {0};
  constants.bytes.resize(static_cast<size_t>(whole.bytes), '\0');
  char* at = constants.bytes.data();
  for (int64_t begin = 0; begin < operation.out.c; begin += placement.block) {
    const Cut c = {begin, std::min(begin + placement.block, operation.out.c),
                   begin, std::min(begin + placement.block, operation.out.c)};
    target::JobVariables variables = VariablesOfAll(operation);
    variables[target::JobVariable::kInC] = c.size();
    variables[target::JobVariable::kOutC] = c.size();
    variables[target::JobVariable::kWeightsAddr] = 0;
    EK_ASSIGN_OR_RETURN(
        const v1::Layout weights,
        LayoutOf(placement, target::JobOperand::kWeights, variables));
    EK_ASSIGN_OR_RETURN(
        const v1::Layout bias,
        LayoutOf(placement, target::JobOperand::kBias, variables));
    EK_ASSIGN_OR_RETURN(
        const int64_t bias_address,
        placement.chip->view().AddressOf(placement.job,
                                         target::JobOperand::kBias, variables));
    EK_ASSIGN_OR_RETURN(const target::Layout weight_layout,
                        target::Layout::Create(weights));
    EK_ASSIGN_OR_RETURN(const target::Layout bias_layout,
                        target::Layout::Create(bias));
    // [o][h][w] of the depthwise convolution; [o][h][w][i] here.
    const std::string own = DenseWeights(graph, operation, c);
    const int64_t taps = std::ssize(own) / c.size();
    std::string dense(own.size() * static_cast<size_t>(c.size()), '\0');
    for (int64_t o = 0; o < c.size(); ++o) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        dense[(o * taps + tap) * c.size() + o] = own[o * taps + tap];
      }
    }
    weight_layout.Scatter(dense.data(), at);
    bias_layout.Scatter(biases.data() + begin * 4,
                        at + bias_address - bias.first_byte());
    at += whole.block_bytes;
  }
  return constants;
}

// int16 pairs of scale and offset.
std::string AffineBytes(const Operation& operation, const Cut& c) {
  std::string bytes;
  const v1::Converter& converter = *operation.converter;
  for (int64_t channel = c.begin; channel < c.end; ++channel) {
    const int entry =
        converter.scale_size() == 1 ? 0 : static_cast<int>(channel);
    for (const int32_t value :
         {converter.scale(entry), converter.offset(entry)}) {
      const auto bits = static_cast<uint32_t>(value);
      bytes.push_back(static_cast<char>(bits & 0xff));
      bytes.push_back(static_cast<char>((bits >> 8) & 0xff));
    }
  }
  return bytes;
}

// Cells and a converter's numbers of each block of output channels.
absl::StatusOr<Constants> PackCells(const Graph& graph,
                                    const Placement& placement,
                                    const WholeConstants& whole) {
  const Operation& operation = placement.operation;
  const target::RegisterJobsView& view = placement.chip->view();
  Constants constants;
  constants.offsets = {0};
  constants.bytes.resize(static_cast<size_t>(whole.bytes), '\0');
  char* at = constants.bytes.data();
  for (int64_t begin = 0; begin < operation.out.c;
       begin += placement.cell_channels) {
    const Cut c = CellCut(placement, begin);
    const target::JobVariables variables = BlockVariables(operation, c);
    EK_ASSIGN_OR_RETURN(
        const v1::Layout message,
        LayoutOf(placement, target::JobOperand::kWeights, variables));
    EK_ASSIGN_OR_RETURN(
        const v1::Layout affine,
        LayoutOf(placement, target::JobOperand::kAffine, variables));
    EK_ASSIGN_OR_RETURN(
        const int64_t address,
        view.AddressOf(placement.job, target::JobOperand::kAffine, variables));
    EK_ASSIGN_OR_RETURN(const target::CellRows rows,
                        view.CellsOf(placement.job, variables));
    EK_ASSIGN_OR_RETURN(const target::Layout cell_layout,
                        target::Layout::Create(message));
    EK_ASSIGN_OR_RETURN(const target::Layout affine_layout,
                        target::Layout::Create(affine));
    const std::string dense = DenseWeights(graph, operation, c);
    std::string cells(static_cast<size_t>(rows.bytes()), '\0');
    target::PutCells(rows, reinterpret_cast<const int8_t*>(dense.data()),
                     cells.data());
    cell_layout.Scatter(cells.data(), at);
    affine_layout.Scatter(AffineBytes(operation, c).data(),
                          at + address - affine.first_byte());
    at += whole.block_bytes;
  }
  return constants;
}

absl::StatusOr<Constants> PackWhole(const Graph& graph,
                                    const Placement& placement) {
  EK_ASSIGN_OR_RETURN(const WholeConstants whole, WholeConstantsOf(placement));
  if (placement.cell_channels > 0) return PackCells(graph, placement, whole);
  EK_ASSIGN_OR_RETURN(const target::Layout weights,
                      target::Layout::Create(whole.weights));
  EK_ASSIGN_OR_RETURN(const target::Layout channels,
                      target::Layout::Create(whole.channels));
  if (target::ShareBytes(weights, channels, whole.channels_offset)) {
    const int64_t of_job =
        placement.block > 0 ? placement.block : placement.operation.out.c;
    return target::InvalidConstantPlaces(
        placement.chip->view(), placement.job,
        absl::StrCat("operands overlap in a job of ", of_job,
                     " output channels"));
  }
  if (placement.block > 0) return PackBlocks(graph, placement, whole);
  const Operation& operation = placement.operation;
  const std::string dense =
      DenseWeights(graph, operation, {0, operation.out.c});
  const std::string of_channels =
      OfChannels(placement) == target::JobOperand::kAffine
          ? AffineBytes(operation, {0, operation.out.c})
          : BiasBytes(graph, operation);
  if (weights.dense_bytes() != std::ssize(dense) ||
      channels.dense_bytes() != std::ssize(of_channels)) {
    return absl::InternalError(
        "the engine's layout of constants has another number of elements");
  }
  Constants constants;
  constants.offsets = {0};
  constants.bytes.resize(static_cast<size_t>(whole.bytes), '\0');
  weights.Scatter(dense.data(), constants.bytes.data());
  channels.Scatter(of_channels.data(),
                   constants.bytes.data() + whole.channels_offset);
  return constants;
}

}  // namespace

absl::StatusOr<Constants> PackConstants(const Graph& graph,
                                        const Placement& placement,
                                        const Schedule& schedule) {
  if (placement.constants_in_place) return PackWhole(graph, placement);
  Constants constants;
  const Operation& operation = placement.operation;
  if (!placement.has_table()) return constants;
  const Chip& chip = *placement.chip;
  const int64_t grain = std::max<int64_t>(
      chip.machine().memories(chip.flash()).alignment_bytes(), 4);
  const TileSet& tiles = schedule.tiles();
  for (int32_t i = 0; i < std::ssize(tiles.c->cuts); ++i) {
    const Cut& c = tiles.c->cuts[i];
    EK_ASSIGN_OR_RETURN(const ConstantRoom room, schedule.ConstantRoomOf(i));
    const int64_t offset = RoundUp(std::ssize(constants.bytes), grain);
    constants.bytes.resize(static_cast<size_t>(offset + room.bytes), '\0');
    constants.offsets.push_back(offset);
    char* const at = constants.bytes.data() + offset;
    if (operation.weights != kNoTensor) {
      EK_RETURN_IF_ERROR(PutWeights(
          graph, placement,
          VariablesOf(operation, tiles.h->cuts[0], tiles.w->cuts[0], c), c,
          at));
    }
    PutTable(graph, operation, c, at + room.table_offset);
  }
  return constants;
}

}  // namespace edgekiln::compiler::register_job
