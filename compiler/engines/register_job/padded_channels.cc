#include "compiler/engines/register_job/padded_channels.h"

#include <algorithm>
#include <utility>

#include "base/rounding.h"
#include "base/status_macros.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {
namespace {

// Most bytes of a group that layouts reverse.
constexpr int64_t kMostReversed = 8;

// How many bytes of the tensor lie together from its first one on, in whole
// groups of its own and of `group` bytes; 0 if it has gaps.
int64_t FirstBytes(const v1::Layout& tensor, int64_t group) {
  int64_t bytes = tensor.element_bits() / 8;
  for (const int64_t extent : tensor.extents()) bytes *= extent;
  const int64_t own = std::max<int64_t>(tensor.reversed_bytes(), 1);
  if (tensor.first_byte() != 0 || RoundUp(bytes, own) < tensor.size_bytes()) {
    return 0;
  }
  group = std::max(group, own);
  return bytes / group * group;
}

bool CanPad(const Graph& graph, const Placement& placement) {
  const v1::OpAttributes& op =
      graph.ops[placement.operation.op_index].attributes;
  const bool depthwise = op.has_depthwise_conv2d();
  if (!depthwise && !op.has_conv2d()) return false;
  if (!placement.constants_in_place || placement.block > 0) return false;
  if (depthwise && (placement.output.resident ||
                    placement.operation.depth_multiplier != 1)) {
    return false;
  }
  return !placement.input.resident &&
         FirstBytes(placement.input.whole, kMostReversed) > 0;
}

}  // namespace

void PadChannels(const Graph& graph, int64_t multiple, Placement& placement) {
  if (multiple <= 1 || !CanPad(graph, placement)) return;
  Operation padded = placement.operation;
  padded.in_padding = RoundUp(padded.in.c, multiple) - padded.in.c;
  if (padded.in_padding == 0) return;
  padded.in.c += padded.in_padding;
  if (padded.channelwise()) {
    padded.out_padding = padded.in_padding;
    padded.out.c += padded.out_padding;
  }
  const auto job = FindJob(*placement.chip, padded, padded.kernel);
  if (!job.ok() || *job != placement.job) return;
  placement.operation = std::move(padded);
  placement.input_channels_multiple = multiple;
}

std::optional<Filler> FillerOf(const Operand& input, const v1::Layout& room,
                               int64_t padding) {
  if (padding == 0) return std::nullopt;
  const auto behind =
      target::PartOf(room, {0, 0, room.extents(2) - padding},
                     {room.extents(0), room.extents(1), padding});
  Filler filler;
  filler.begin = behind ? behind->offset : 0;
  filler.bytes = room.size_bytes() - filler.begin;
  // Links move the room's bytes in its groups.
  filler.run_bytes = FirstBytes(input.whole, room.reversed_bytes());
  return filler;
}

absl::StatusOr<int64_t> FillerCycles(const Chip& chip, const Operand& input,
                                     const Filler& filler) {
  const auto cycles = [&](int64_t bytes) -> absl::StatusOr<int64_t> {
    if (bytes == 0) return 0;
    const v1::Layout run = target::DenseLayout({bytes}, 1);
    EK_ASSIGN_OR_RETURN(
        const Chip::Move move,
        chip.MoveBetween(input.memory, run, chip.memory(), run));
    return move.host_cycles;
  };
  EK_ASSIGN_OR_RETURN(const int64_t full, cycles(filler.run_bytes));
  EK_ASSIGN_OR_RETURN(const int64_t last,
                      cycles(filler.bytes % filler.run_bytes));
  return filler.bytes / filler.run_bytes * full + last;
}

std::string WithZeros(std::string dense, int64_t row_bytes, int64_t padding) {
  if (padding == 0) return dense;
  const int64_t rows = std::ssize(dense) / row_bytes;
  std::string wide;
  wide.reserve(static_cast<size_t>(rows * (row_bytes + padding)));
  for (int64_t row = 0; row < rows; ++row) {
    wide.append(dense, static_cast<size_t>(row * row_bytes),
                static_cast<size_t>(row_bytes));
    wide.append(static_cast<size_t>(padding), '\0');
  }
  return wide;
}

}  // namespace edgekiln::compiler::register_job
