#include "compiler/codegen/plane_sums.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "base/rounding.h"
#include "base/status_macros.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler {
namespace {

// Whether one window without padding is the whole image.
bool CoversAll(const v1::Window2d& window, int64_t kernel_h, int64_t kernel_w,
               const std::vector<int64_t>& in,
               const std::vector<int64_t>& out) {
  return in.size() == 4 && out.size() == 4 && in[0] == 1 && kernel_h == in[1] &&
         kernel_w == in[2] && out[1] == 1 && out[2] == 1 && out[3] == in[3] &&
         window.pad_top() == 0 && window.pad_bottom() == 0 &&
         window.pad_left() == 0 && window.pad_right() == 0 &&
         window.dilation_h() <= 1 && window.dilation_w() <= 1;
}

// Elements of `size` bytes.
bool AllEqual(absl::string_view bytes, size_t size) {
  for (size_t at = size; at < bytes.size(); ++at) {
    if (bytes[at] != bytes[at - size]) return false;
  }
  return true;
}

v1::Window2d PlaneWindow() {
  v1::Window2d window;
  window.set_stride_h(1);
  window.set_stride_w(1);
  window.set_dilation_h(1);
  window.set_dilation_w(1);
  return window;
}

template <typename T>
bool AllAlike(const std::vector<T>& values) {
  return !values.empty() &&
         std::all_of(values.begin(), values.end(),
                     [&](const T& value) { return value == values[0]; });
}

// Or one for each channel, all equal.
bool HasOneScale(const Tensor& tensor) {
  return tensor.quantization && AllAlike(tensor.quantization->scale) &&
         AllAlike(tensor.quantization->zero_point);
}

}  // namespace

bool IsPlaneSum(const Graph& graph, const Op& op) {
  if (op.inputs.empty() || op.inputs[0] == kNoTensor) return false;
  const Tensor& input = graph.tensors[op.inputs[0]];
  const Tensor& output = graph.tensors[op.outputs[0]];
  if (input.type != v1::INT8) return false;
  if (op.attributes.has_average_pool2d()) {
    const v1::AveragePool2d& pool = op.attributes.average_pool2d();
    return CoversAll(pool.window(), pool.kernel_h(), pool.kernel_w(),
                     input.shape, output.shape);
  }
  if (!op.attributes.has_depthwise_conv2d() || op.inputs.size() > 3) {
    return false;
  }
  const v1::DepthwiseConv2d& conv = op.attributes.depthwise_conv2d();
  const Tensor& weights = graph.tensors[op.inputs[1]];
  if (!weights.is_constant() || weights.type != v1::INT8 ||
      weights.shape.size() != 4 || weights.num_elements() == 0 ||
      conv.depth_multiplier() != 1 || !HasOneScale(weights) ||
      !AllEqual(*weights.data, 1)) {
    return false;
  }
  if (op.inputs.size() == 3 && op.inputs[2] != kNoTensor) {
    const Tensor& bias = graph.tensors[op.inputs[2]];
    if (!bias.is_constant() || bias.type != v1::INT32 ||
        (bias.quantization && !HasOneScale(bias)) ||
        !AllEqual(*bias.data, sizeof(int32_t))) {
      return false;
    }
  }
  return CoversAll(conv.window(), weights.shape[1], weights.shape[2],
                   input.shape, output.shape);
}

bool LiesInPlanes(const v1::Layout& layout) {
  if (layout.extents_size() != 4 || layout.extents(0) != 1 ||
      layout.element_bits() != 8 || layout.first_byte() != 0) {
    return false;
  }
  const int64_t w = layout.extents(2);
  const int64_t plane = layout.extents(1) * w;
  if (layout.reversed_bytes() > 0 &&
      plane * layout.extents(3) % layout.reversed_bytes() != 0) {
    return false;
  }
  v1::Layout planes;
  for (const int64_t extent : layout.extents()) planes.add_extents(extent);
  planes.set_element_bits(8);
  planes.set_reversed_bytes(layout.reversed_bytes());
  planes.set_size_bytes(layout.size_bytes());
  const int64_t strides[] = {plane * layout.extents(3), w, 1, plane};
  for (int32_t axis = 0; axis < 4; ++axis) {
    v1::Layout::Term& term = *planes.add_terms();
    term.set_axis(axis);
    term.set_stride_bytes(strides[axis]);
  }
  return target::SamePlaces(planes, layout);
}

std::vector<SharedGroups> SharedGroupsOf(const v1::Layout& planes,
                                         int64_t room_bytes) {
  const int64_t group = std::max<int64_t>(planes.reversed_bytes(), 1);
  const int64_t plane = planes.extents(1) * planes.extents(2);
  const int64_t count = planes.extents(3);
  // Planes that begin at the same byte of a group.
  const int64_t period = group / std::gcd(plane, group);
  const int64_t at_once = std::max<int64_t>(room_bytes / group, 1);
  std::vector<SharedGroups> shared;
  int64_t last = -1;
  for (int64_t first = 1; first < std::min(period, count); ++first) {
    const int64_t offset = first * plane / group * group;
    if (offset == last) continue;  // Three planes share it.
    last = offset;
    const int64_t groups = CeilDiv(count - first, period);
    for (int64_t done = 0; done < groups; done += at_once) {
      const int64_t n = std::min(at_once, groups - done);
      SharedGroups& row = shared.emplace_back();
      row.offset = offset + done * period * plane;
      row.ordered = target::StridedLayout({n, group}, {period * plane, 1}, 1);
      row.reversed = row.ordered;
      row.reversed.set_reversed_bytes(static_cast<int32_t>(group));
      row.room = target::DenseLayout({n, group}, 1);
    }
  }
  return shared;
}

const v1::Layout* PlanesOfInput(const Graph& graph, const Op& op,
                                const std::vector<TensorId>& storage,
                                const v1::RegionPlans& plans,
                                const v1::Machine& machine) {
  if (!IsPlaneSum(graph, op)) return nullptr;
  for (const v1::RegionPlan& plan : plans.regions()) {
    for (const v1::RegionPlan::Border& border : plan.borders()) {
      if (border.tensor() != storage[op.inputs[0]] ||
          !machine.memories(border.memory()).host_reaches() ||
          !LiesInPlanes(border.layout())) {
        continue;
      }
      // Host ops expect it dense as it is.
      const Tensor& tensor = graph.tensors[border.tensor()];
      if (!target::SamePlaces(
              border.layout(),
              target::DenseLayout(tensor.shape, ElementBytes(tensor.type)))) {
        return &border.layout();
      }
    }
  }
  return nullptr;
}

std::vector<SharedGroups> SharedGroupsOf(const Graph& graph, const Op& op,
                                         const v1::Layout& planes) {
  const Tensor& result = graph.tensors[op.outputs[0]];
  return SharedGroupsOf(planes,
                        result.num_elements() * ElementBytes(result.type));
}

absl::StatusOr<int64_t> ReversalCycles(const Graph& graph, const Op& op,
                                       const std::vector<TensorId>& storage,
                                       const v1::RegionPlans& plans,
                                       const v1::Machine& machine,
                                       const target::HostCosts& costs) {
  const v1::Layout* const planes =
      PlanesOfInput(graph, op, storage, plans, machine);
  if (planes == nullptr) return 0;
  int64_t cycles = 0;
  for (const SharedGroups& row : SharedGroupsOf(graph, op, *planes)) {
    EK_ASSIGN_OR_RETURN(const int64_t copy,
                        costs.CopyCycles(row.room.size_bytes()));
    cycles += 2 * copy;
  }
  return cycles;
}

HostForm AsPlaneSum(const Graph& graph, const Op& op) {
  HostForm sum;
  sum.attributes = op.attributes;
  const Tensor& input = graph.tensors[op.inputs[0]];
  const int64_t plane = input.shape[1] * input.shape[2];
  const int64_t channels = input.shape[3];
  Tensor planes = input;
  planes.shape = {1, channels, plane, 1};
  sum.inputs.push_back(std::move(planes));
  sum.output = graph.tensors[op.outputs[0]];
  sum.output.shape = {1, channels, 1, 1};
  if (op.attributes.has_average_pool2d()) {
    v1::AveragePool2d& pool = *sum.attributes.mutable_average_pool2d();
    pool.set_kernel_h(1);
    pool.set_kernel_w(static_cast<int32_t>(plane));
    *pool.mutable_window() = PlaneWindow();
    return sum;
  }
  *sum.attributes.mutable_depthwise_conv2d()->mutable_window() = PlaneWindow();
  Tensor weights = graph.tensors[op.inputs[1]];
  weights.shape = {1, 1, plane, 1};
  KeepOneScale(weights);
  weights.data =
      ConstantData(std::string(static_cast<size_t>(plane), (*weights.data)[0]));
  sum.inputs.push_back(std::move(weights));
  if (op.inputs.size() < 3 || op.inputs[2] == kNoTensor) return sum;
  Tensor bias = graph.tensors[op.inputs[2]];
  bias.shape = {1};
  KeepOneScale(bias);
  bias.data = ConstantData(std::string(bias.data->substr(0, sizeof(int32_t))));
  sum.inputs.push_back(std::move(bias));
  return sum;
}

}  // namespace edgekiln::compiler
