#include "compiler/codegen/host_pools.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/wall_cycles.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler {
namespace {

// The op over images of that many channels. Weights and biases of channels are
// alike.
HostForm OverBlocks(const Graph& graph, const Op& op, int64_t channels) {
  const auto in_blocks = [&](Tensor tensor) {
    tensor.shape[0] = tensor.shape[3] / channels;
    tensor.shape[3] = channels;
    return tensor;
  };
  HostForm form;
  form.attributes = op.attributes;
  form.inputs.push_back(in_blocks(graph.tensors[op.inputs[0]]));
  form.output = in_blocks(graph.tensors[op.outputs[0]]);
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == kNoTensor) break;
    Tensor constant = graph.tensors[op.inputs[i]];
    constant.shape.back() = channels;
    const auto bytes = static_cast<size_t>(constant.num_elements() *
                                           ElementBytes(constant.type));
    constant.data = ConstantData(std::string(constant.data->substr(0, bytes)));
    KeepOneScale(constant);
    form.inputs.push_back(std::move(constant));
  }
  return form;
}

}  // namespace

int64_t ChannelsOfBlocks(const v1::Layout& layout) {
  if (layout.extents_size() != 4 || layout.element_bits() != 8 ||
      layout.first_byte() != 0) {
    return 0;
  }
  const int64_t all = layout.extents(3);
  const int64_t group = std::max<int64_t>(layout.reversed_bytes(), 1);
  std::vector<int64_t> sizes = {all};
  for (const v1::Layout::Term& term : layout.terms()) {
    if (term.axis() == 3 && term.modulo() > 0) sizes.push_back(term.modulo());
  }
  for (const int64_t channels : sizes) {
    const bool is_dense = channels == all && layout.reversed_bytes() == 0;
    if (is_dense || all % channels != 0 || channels % group != 0 ||
        (channels != all && layout.extents(0) != 1)) {
      continue;
    }
    const v1::Layout blocks =
        InChannelBlocks(layout.extents(), channels, layout.reversed_bytes());
    if (target::SamePlaces(blocks, layout)) return channels;
  }
  return 0;
}

v1::Layout InChannelBlocks(absl::Span<const int64_t> shape, int64_t channels,
                           int32_t reversed_bytes) {
  const std::vector<int64_t> extents(shape.begin(), shape.end());
  v1::Layout layout = target::DenseLayout(extents, 1);
  layout.set_reversed_bytes(reversed_bytes);
  if (channels == shape[3]) return layout;
  layout.clear_terms();
  const int64_t pixels = shape[1] * shape[2];
  const auto add = [&](int32_t axis, int64_t stride) {
    v1::Layout::Term& term = *layout.add_terms();
    term.set_axis(axis);
    term.set_stride_bytes(stride);
    return &term;
  };
  add(0, pixels * shape[3]);
  add(1, shape[2] * channels);
  add(2, channels);
  add(3, 1)->set_modulo(channels);
  add(3, pixels * channels)->set_divide(channels);
  return layout;
}

std::optional<PoolRun> PoolRunAt(const Graph& graph, int32_t index,
                                 const std::vector<HostOrder>& orders,
                                 const HostLayouts& layouts) {
  const auto order =
      std::find_if(orders.begin(), orders.end(), [&](const HostOrder& each) {
        return each.op == index && each.kind == HostOrder::kChannels;
      });
  if (order == orders.end()) return std::nullopt;
  const auto input = layouts.find(order->places[0]);
  if (input == layouts.end()) return std::nullopt;
  const int64_t channels = ChannelsOfBlocks(input->second);
  if (channels == 0) return std::nullopt;
  PoolRun run;
  const Op& op = graph.ops[index];
  if (channels != input->second.extents(3)) {
    run.form = OverBlocks(graph, op, channels);
  }
  const Tensor& output = graph.tensors[op.outputs[0]];
  if (layouts.contains(order->places[1])) return run;
  v1::Layout left =
      InChannelBlocks(output.shape, channels, input->second.reversed_bytes());
  if (!target::SamePlaces(left, target::DenseLayout(output.shape, 1))) {
    run.left = std::move(left);
  }
  return run;
}

absl::StatusOr<int64_t> PoolRunCycles(const Graph& graph, const Op& op,
                                      const PoolRun& run,
                                      const v1::Machine& machine,
                                      const target::HostCosts& costs) {
  int64_t cycles = 0;
  if (run.form) {
    EK_ASSIGN_OR_RETURN(cycles, HostOpCycles(*run.form, machine, costs));
  } else {
    EK_ASSIGN_OR_RETURN(cycles, HostOpCycles(graph, op, machine, costs));
  }
  if (!run.left) return cycles;
  EK_ASSIGN_OR_RETURN(
      const int64_t copy,
      costs.CopyCycles(graph.tensors[op.outputs[0]].num_elements()));
  return cycles + 2 * WallCycles(copy, machine.host_clock_hz(), machine);
}

}  // namespace edgekiln::compiler
