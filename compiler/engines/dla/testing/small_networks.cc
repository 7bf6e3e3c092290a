#include "compiler/engines/dla/testing/small_networks.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/engines/dla/plan_timing.h"
#include "compiler/engines/dla/tiles.h"
#include "compiler/engines/dla/tiling_costs.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {

Chip TestChip(bool output_parallel, int64_t sram_bytes,
              const std::string& more) {
  const auto target = target::ResolveTarget(
      absl::StrCat("extends: \"dla\" set { name: \"pes\" value: 8 } "
                   "set { name: \"output_parallel\" value: ",
                   output_parallel ? 1 : 0, " }", more));
  return Chip::Create(target->machine(), 0, sram_bytes).value();
}

std::string RandomCosts(Rng& rng) {
  std::string settings;
  const auto set = [&](const char* name, int64_t value) {
    if (rng.InRange(0, 1) == 0) return;
    absl::StrAppend(&settings, " set { name: \"", name, "\" value: ", value,
                    " }");
  };
  set("decode_cycles", 100);
  set("dma_setup_cycles", 0);
  set("fill_cycles", 0);
  set("dma_bytes_per_cycle", 2);
  return settings;
}

SubgraphInput RandomNet(Rng& rng, int layers, bool tall, const Graph& graph) {
  SubgraphInput input;
  input.graph = &graph;
  std::vector<ImageExtent> extents = {{rng.InRange(3, 14) * (tall ? 5 : 1),
                                       rng.InRange(3, 14), rng.InRange(1, 40)}};
  for (int l = 0; l < layers; ++l) {
    Layer layer;
    const int64_t from =
        std::max<int64_t>(l - (tall ? 0 : rng.InRange(0, 2)), 0);
    const int64_t kind = rng.InRange(0, 4);
    layer.op = kind < 3    ? LayerOp::kConv
               : kind == 3 ? LayerOp::kDepthwise
                           : LayerOp::kMaxPool;
    layer.by_channel = kind == 3 && rng.InRange(0, 1) == 0;
    layer.op_index = l;
    layer.input = static_cast<TensorId>(from);
    layer.output = l + 1;
    layer.in = layer.out = extents[from];
    if (layer.op == LayerOp::kConv) layer.out.c = rng.InRange(1, 40);
    const int64_t stride =
        layer.in.h < 3 || layer.in.w < 3
            ? 1
            : std::vector<int64_t>{1, 1, 2, 3}[rng.InRange(0, 3)];
    // Same, or valid: a window of three elements, or of one.
    const int64_t kernel = rng.InRange(0, 1) == 0 ? 1 : 3;
    const int64_t pad = stride == 1 ? kernel / 2 : 0;
    const int64_t window = stride > 1 && kernel == 3 ? 3 : kernel;
    layer.vertical = layer.horizontal = {window, stride, 1, pad};
    layer.out.h = (layer.in.h + 2 * pad - window) / stride + 1;
    layer.out.w = (layer.in.w + 2 * pad - window) / stride + 1;
    extents.push_back(layer.out);
    input.layers.push_back(layer);
  }
  for (int t = 0; t <= layers; ++t) input.storage.push_back(t);
  input.external = {0, layers};
  return input;
}

SubgraphInput RandomTinyNet(Rng& rng, int layers, const Graph& graph) {
  SubgraphInput input;
  input.graph = &graph;
  std::vector<ImageExtent> extents = {
      {rng.InRange(1, 4), rng.InRange(1, 3), rng.InRange(1, 12)}};
  for (int l = 0; l < layers; ++l) {
    Layer layer;
    layer.op_index = layer.input = l;
    layer.output = l + 1;
    layer.in = layer.out = extents[l];
    layer.vertical = layer.horizontal = {1, 1, 1, 0};
    layer.op = std::vector<LayerOp>{LayerOp::kConv,      LayerOp::kConv,
                                    LayerOp::kMatMul,    LayerOp::kDepthwise,
                                    LayerOp::kDepthwise, LayerOp::kMaxPool,
                                    LayerOp::kAdd}[rng.InRange(0, 6)];
    if (layer.op == LayerOp::kAdd) {
      const auto same = std::find(extents.begin(), extents.end() - 1, layer.in);
      if (same == extents.end() - 1) {
        layer.op = LayerOp::kConv;
      } else {
        layer.input2 = static_cast<TensorId>(same - extents.begin());
      }
    }
    if (layer.sums_up()) layer.out.c = rng.InRange(1, 12);
    if (layer.op == LayerOp::kDepthwise ||
        (layer.op == LayerOp::kConv && rng.InRange(0, 2) == 0)) {
      layer.vertical = {3, layer.in.h > 1 ? rng.InRange(1, 2) : 1, 1, 1};
      if (rng.InRange(0, 1) == 0) layer.horizontal = {3, 1, 1, 1};
    }
    if (layer.op == LayerOp::kMaxPool && layer.in.h > 1) {
      layer.vertical = {2, 2, 1, 0};
    }
    layer.out.h =
        (layer.in.h + 2 * layer.vertical.pad_before - layer.vertical.kernel) /
            layer.vertical.stride +
        1;
    extents.push_back(layer.out);
    input.layers.push_back(layer);
  }
  for (int t = 0; t <= layers; ++t) input.storage.push_back(t);
  input.external = {0, layers};
  return input;
}

SubgraphInput RandomLayer(Rng& rng, const Graph& graph) {
  Layer layer;
  layer.op = std::vector<LayerOp>{
      LayerOp::kConv,        LayerOp::kConv,      LayerOp::kConv,
      LayerOp::kDepthwise,   LayerOp::kDepthwise, LayerOp::kMatMul,
      LayerOp::kAveragePool, LayerOp::kMaxPool,   LayerOp::kAdd,
      LayerOp::kRequantize}[rng.InRange(0, 9)];
  layer.op_index = 0;
  layer.input = 0;
  layer.output = 1;
  layer.in =
      layer.out = {rng.InRange(1, 9), rng.InRange(1, 9), rng.InRange(1, 24)};
  const bool has_window =
      layer.op == LayerOp::kConv || layer.op == LayerOp::kDepthwise ||
      layer.op == LayerOp::kAveragePool || layer.op == LayerOp::kMaxPool;
  const auto make_axis = [&](int64_t in, WindowAxis& axis) {
    axis = {rng.InRange(1, 3), rng.InRange(1, 3), 1, 0};
    if (axis.kernel > 1) axis.dilation = rng.InRange(1, 2);
    axis.pad_before = rng.InRange(0, axis.Span(1) - 1);
    const int64_t pads = axis.pad_before + rng.InRange(0, axis.Span(1) - 1);
    if (in + pads < axis.Span(1)) axis = {1, 1, 1, 0};
    return (std::max(in + pads, axis.Span(1)) - axis.Span(1)) / axis.stride + 1;
  };
  if (has_window) {
    layer.out.h = make_axis(layer.in.h, layer.vertical);
    layer.out.w = make_axis(layer.in.w, layer.horizontal);
  } else {
    layer.vertical = layer.horizontal = {1, 1, 1, 0};
  }
  if (layer.sums_up()) layer.out.c = rng.InRange(1, 24);
  if (layer.op == LayerOp::kDepthwise) {
    layer.depth_multiplier = rng.InRange(0, 1) == 0 ? 1 : rng.InRange(2, 4);
    layer.out.c = layer.in.c * layer.depth_multiplier;
    layer.by_channel = rng.InRange(0, 1) == 0;
  }
  if (layer.has_weights() && rng.InRange(0, 5) == 0) layer.out_bytes = 4;
  if (layer.op == LayerOp::kRequantize) layer.in_bytes = 4;
  SubgraphInput input;
  input.graph = &graph;
  input.storage = {0, 1, 2};
  input.external = {0, 1, 2};
  if (layer.has_second_input()) layer.input2 = 2;
  input.layers = {layer};
  return input;
}

std::vector<TilingSearch> SearchesOf(const Chip& chip,
                                     const SubgraphInput& input) {
  std::vector<TilingSearch> searches;
  for (const Layer& layer : input.layers) searches.emplace_back(chip, layer);
  return searches;
}

std::vector<Tiling> AllTilings(const Chip& chip, const Layer& layer) {
  const TilingCosts costs(chip, layer, {});
  std::vector<Tiling> tilings;
  Candidate c;
  for (c.rows = 0; c.rows < costs.rows().size(); ++c.rows) {
    for (c.columns = 0; c.columns < costs.columns().size(); ++c.columns) {
      for (c.channels = 0; c.channels < costs.channels().size(); ++c.channels) {
        for (c.inputs = 0; c.inputs < costs.inputs().size(); ++c.inputs) {
          if (!costs.SumsFit(c)) continue;
          for (const int how : {0, 1, 2, 3}) {
            c.order = (how & 1) != 0 ? TileOrder::kPixelsOuter
                                     : TileOrder::kChannelsOuter;
            c.whole_input = (how & 2) != 0;
            Tiling tiling = costs.TilingOf(c);
            for (int doubled = 0; doubled < 8; ++doubled) {
              tiling.double_input = (doubled & 1) != 0;
              tiling.double_block = (doubled & 2) != 0;
              tiling.double_output = (doubled & 4) != 0;
              tilings.push_back(tiling);
            }
          }
        }
      }
    }
  }
  return tilings;
}

namespace {

// Of a plan of one part.
bool IsSame(const Tiles& a, const Tiles& b) {
  const auto same_step = [](const Step& x, const Step& y) {
    return std::tie(x.output, x.block, x.input, x.input2, x.slot) ==
               std::tie(y.output, y.block, y.input, y.input2, y.slot) &&
           x.channels == y.channels;
  };
  const auto same_load = [](const Load& x, const Load& y) {
    return std::tie(x.slice, x.part_of_whole, x.slot, x.before) ==
           std::tie(y.slice, y.part_of_whole, y.slot, y.before);
  };
  const auto same_slots = [](const Slots::Of& x, const Slots::Of& y) {
    return std::tie(x.bytes, x.count) == std::tie(y.bytes, y.count);
  };
  const Slots& s = a.slots[0];
  const Slots& t = b.slots[0];
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(),
                    b.steps.end(), same_step) &&
         std::equal(a.loads.begin(), a.loads.end(), b.loads.begin(),
                    b.loads.end(), same_load) &&
         std::equal(s.loads.begin(), s.loads.end(), t.loads.begin(),
                    same_slots) &&
         same_slots(s.output, t.output);
}

}  // namespace

std::vector<Tiling> DistinctTilings(const Chip& chip,
                                    const SubgraphInput& input, size_t layer) {
  std::vector<Tiling> distinct;
  std::vector<Tiles> made;
  SubgraphPlan plan;
  plan.layers = {input.layers[layer]};
  plan.tilings.resize(1);
  plan.buffers = kMaxBuffers;
  for (const Tiling& tiling : AllTilings(chip, input.layers[layer])) {
    plan.tilings[0] = tiling;
    Tiles tiles = MakeTiles(plan, input.storage);
    const bool known =
        std::any_of(made.begin(), made.end(),
                    [&](const Tiles& m) { return IsSame(m, tiles); });
    if (known) continue;
    distinct.push_back(tiling);
    made.push_back(std::move(tiles));
  }
  return distinct;
}

std::optional<int64_t> CyclesOf(const Chip& chip, const SubgraphInput& input,
                                const SubgraphPlan& plan) {
  Schedule scratch;
  int64_t commands = 0;
  const auto timed =
      RunAhead(chip, input.storage, plan, chip.sram_bytes(), scratch, commands);
  if (!timed.ok() || !*timed) return std::nullopt;
  return (*timed)->cycles;
}

SubgraphPlan EmptyPlan(const SubgraphInput& input) {
  SubgraphPlan plan;
  plan.layers = input.layers;
  plan.external = input.external;
  plan.tilings.resize(input.layers.size());
  return plan;
}

}  // namespace edgekiln::compiler::dla
