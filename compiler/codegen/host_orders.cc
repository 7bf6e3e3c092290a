#include "compiler/codegen/host_orders.h"

#include <algorithm>

#include "absl/status/status.h"
#include "compiler/codegen/host_pools.h"
#include "compiler/codegen/in_place_ops.h"
#include "compiler/codegen/plane_sums.h"
#include "ops/in_place.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler {
namespace {

bool AtMostOneScale(const Tensor& tensor) {
  return !tensor.quantization || tensor.quantization->scale.size() == 1;
}

// Whether it computes each channel of [n, h, w, c] alike.
bool PoolsChannels(const Graph& graph, const Op& op) {
  return op.attributes.has_average_pool2d() || op.attributes.has_max_pool2d() ||
         (op.attributes.has_depthwise_conv2d() && IsPlaneSum(graph, op));
}

// By place, the ops that read it and leave it as it is; who gets an output of
// the graph counts.
std::vector<int32_t> CountReaders(const Graph& graph, const Views& views) {
  std::vector<int32_t> readers(graph.tensors.size(), 0);
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    if (views.IsNothing(i) || views.IsInPlace(i)) continue;
    for (const TensorId input : graph.ops[i].inputs) {
      if (input != kNoTensor) ++readers[views.places()[input]];
    }
  }
  for (const TensorId output : graph.outputs) ++readers[views.places()[output]];
  return readers;
}

std::optional<HostOrder> OrderOf(const Graph& graph, const Views& views,
                                 const std::vector<int32_t>& readers,
                                 int32_t index) {
  const Op& op = graph.ops[index];
  HostOrder order;
  order.op = index;
  const bool pools = PoolsChannels(graph, op);
  if (pools) order.kind = HostOrder::kChannels;
  if ((!pools && !ops::IsElementwise(op.attributes)) ||
      op.outputs.size() != 1) {
    return std::nullopt;
  }
  const Tensor& result = graph.tensors[op.outputs[0]];
  std::vector<TensorId> tensors = op.inputs;
  if (pools) tensors.resize(1);  // Weights and biases are alike.
  tensors.push_back(op.outputs[0]);
  for (const TensorId id : tensors) {
    if (id == kNoTensor) return std::nullopt;
    const Tensor& tensor = graph.tensors[id];
    const TensorId place = views.places()[id];
    if (!AtMostOneScale(tensor)) return std::nullopt;
    if (graph.tensors[place].is_constant()) {
      if (tensor.num_elements() != 1) return std::nullopt;
      continue;
    }
    if (ElementBytes(tensor.type) != 1 || tensor.num_elements() == 0 ||
        tensor.shape != graph.tensors[place].shape ||
        !views.OthersOf(place).empty() ||
        (!pools && tensor.shape != result.shape)) {
      return std::nullopt;
    }
    order.places.push_back(place);
  }
  if (pools && order.places.size() != 2) return std::nullopt;
  order.restores =
      pools && readers[order.places[0]] == 1 &&
      2 * result.num_elements() <= graph.tensors[op.inputs[0]].num_elements();
  return order;
}

// The layout of `place`, not the first of its op's, if the first has `layout`;
// or the other way round.
std::optional<v1::Layout> Likewise(const Graph& graph, const HostOrder& order,
                                   const v1::Layout& layout, TensorId place) {
  if (order.kind == HostOrder::kElements) return layout;
  const int64_t channels = ChannelsOfBlocks(layout);
  if (channels == 0) return std::nullopt;
  return InChannelBlocks(graph.tensors[place].shape, channels,
                         layout.reversed_bytes());
}

// Whether a pool reads its input in blocks and puts its result in plain order,
// unless `layouts` has one for that.
bool CanRestore(const HostOrder& order, const HostLayouts& layouts) {
  if (!order.restores) return false;
  const auto input = layouts.find(order.places[0]);
  return input != layouts.end() && ChannelsOfBlocks(input->second) > 0;
}

// Sums over planes come first (plane_sums.h): their results are dense.
bool SumsPlanes(const Graph& graph, const HostOrder& order,
                const HostLayouts& layouts) {
  if (!IsPlaneSum(graph, graph.ops[order.op])) return false;
  const auto input = layouts.find(order.places[0]);
  return input != layouts.end() && LiesInPlanes(input->second);
}

bool Holds(const Graph& graph, const HostOrder& order,
           const HostLayouts& layouts) {
  const auto first = layouts.find(order.places[0]);
  if (first == layouts.end() || !LiesWithoutGaps(first->second)) return false;
  if (CanRestore(order, layouts) && !layouts.contains(order.places[1])) {
    return true;
  }
  return std::all_of(
      order.places.begin(), order.places.end(), [&](TensorId place) {
        const auto found = layouts.find(place);
        const auto like = Likewise(graph, order, first->second, place);
        return found != layouts.end() && like &&
               target::SamePlaces(found->second, *like);
      });
}

}  // namespace

std::vector<HostOrder> HostOrders(const Graph& graph,
                                  const v1::Partition& partition,
                                  const Views& views) {
  const std::vector<int32_t> readers = CountReaders(graph, views);
  std::vector<HostOrder> orders;
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    if (partition.placements(i).engine() >= 0 || views.IsNothing(i) ||
        views.IsInPlace(i)) {
      continue;
    }
    std::optional<HostOrder> order = OrderOf(graph, views, readers, i);
    if (order) orders.push_back(*std::move(order));
  }
  return orders;
}

void SpreadLayouts(const Graph& graph, const std::vector<HostOrder>& orders,
                   const std::vector<bool>& dense, HostLayouts& layouts) {
  for (bool spreads = true; spreads;) {
    spreads = false;
    for (const HostOrder& order : orders) {
      if (SumsPlanes(graph, order, layouts)) continue;
      const auto known =
          std::find_if(order.places.begin(), order.places.end(),
                       [&](TensorId place) { return layouts.contains(place); });
      if (known == order.places.end()) continue;
      if (CanRestore(order, layouts)) continue;
      const v1::Layout layout = layouts[*known];
      for (const TensorId place : order.places) {
        if (dense[place] || layouts.contains(place)) continue;
        auto like = Likewise(graph, order, layout, place);
        if (!like) continue;
        layouts[place] = *std::move(like);
        spreads = true;
      }
    }
  }
}

void SettleLayouts(const Graph& graph, const std::vector<HostOrder>& orders,
                   std::vector<bool>& dense, HostLayouts& layouts) {
  for (;;) {
    std::erase_if(layouts, [&](const auto& each) { return dense[each.first]; });
    HostLayouts all = layouts;
    SpreadLayouts(graph, orders, dense, all);
    bool settled = true;
    for (const HostOrder& order : orders) {
      if (SumsPlanes(graph, order, layouts) || Holds(graph, order, all)) {
        continue;
      }
      for (const TensorId place : order.places) {
        if (CanRestore(order, all) && place == order.places[0]) continue;
        settled = settled && dense[place];
        dense[place] = true;
      }
    }
    if (settled) {
      layouts = std::move(all);
      return;
    }
  }
}

absl::StatusOr<HostLayouts> ArrangedPlaces(const Graph& graph,
                                           const std::vector<HostOrder>& orders,
                                           const Views& views,
                                           const v1::RegionPlans& plans,
                                           const v1::Machine& machine) {
  HostLayouts arranged;
  for (const v1::RegionPlan& plan : plans.regions()) {
    for (const v1::RegionPlan::Border& border : plan.borders()) {
      if (border.tensor() < 0 || border.tensor() >= std::ssize(graph.tensors) ||
          border.memory() < 0 || border.memory() >= machine.memories_size()) {
        return absl::InvalidArgumentError(
            "the regions' plans belong to another partition");
      }
      const TensorId place = views.places()[border.tensor()];
      if (!machine.memories(border.memory()).host_reaches() ||
          !views.OthersOf(place).empty()) {
        continue;
      }
      const Tensor& tensor = graph.tensors[border.tensor()];
      const v1::Layout dense =
          target::DenseLayout(tensor.shape, ElementBytes(tensor.type));
      if (!target::SamePlaces(border.layout(), dense)) {
        arranged[place] = border.layout();
      }
    }
  }
  // Places that host ops alone use.
  SpreadLayouts(graph, orders, std::vector<bool>(graph.tensors.size(), false),
                arranged);
  return arranged;
}

}  // namespace edgekiln::compiler
