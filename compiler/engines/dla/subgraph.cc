#include "compiler/engines/dla/subgraph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/encode.h"
#include "compiler/engines/dla/hazards.h"
#include "compiler/engines/dla/plan_timing.h"
#include "target/layout.h"

namespace edgekiln::compiler::dla {
namespace {

// A tile of a tensor, in the tensor's own rank if that is how the DLA sees it.
v1::Box BoxOfTile(absl::Span<const int64_t> shape, const ImageExtent& extent,
                  const Slice& slice) {
  v1::Box box;
  const auto add_axis = [&](int64_t begin, int64_t end) {
    box.add_begin(begin);
    box.add_end(end);
  };
  if (shape.size() == 4 && shape[0] == 1) {
    add_axis(0, 1);
    add_axis(slice.h_begin, slice.h_end);
    add_axis(slice.w_begin, slice.w_end);
  } else {
    add_axis(slice.h_begin, slice.h_end);
    if (shape.size() != 2) {
      box.add_shape(extent.h);
      box.add_shape(extent.c);
    }
  }
  add_axis(slice.c_begin, slice.c_end);
  return box;
}

class Emitter {
 public:
  Emitter(const Chip& chip, const SubgraphInput& input,
          const SubgraphPlan& plan, const SystemMap& system)
      : chip_(chip), input_(input), plan_(plan), system_(system) {}

  absl::StatusOr<RegionCode> Run() {
    // Before any of them is made.
    if (ComputeCommands(plan_) > target::kMaxDlaStreamCommands) {
      return TooManyCommands();
    }
    schedule_ =
        BuildSchedule(plan_, system_, input_.storage, chip_.sram_bytes());
    if (std::ssize(schedule_.commands) > target::kMaxDlaStreamCommands) {
      return TooManyCommands();
    }
    offsets_ = AllocateOffsetsWithin(schedule_.buffers, chip_.sram_bytes());
    if (!schedule_.fits || offsets_.peak_bytes > chip_.sram_bytes()) {
      return absl::InvalidArgumentError(
          "the tiling does not fit the machine's SRAM");
    }
    EK_ASSIGN_OR_RETURN(stream_,
                        EncodeStream(chip_, schedule_, offsets_.offsets,
                                     WaitCounts(schedule_, offsets_.offsets)));
    result_.code = stream_.code;
    result_.memories = {{chip_.sram_memory(), offsets_.peak_bytes}};
    for (const Block& block : schedule_.blocks) {
      result_.constants +=
          PackBlock(*input_.graph, plan_.layers[block.layer], block.channels);
    }
    AddTaps();
    AddAliasTaps();
    AddRanges();
    AddLayerUse();
    return std::move(result_);
  }

 private:
  using Numbers = absl::InlinedVector<int64_t, 4>;

  static absl::Status TooManyCommands() {
    return absl::InvalidArgumentError(absl::StrCat(
        "the region's plan takes more than the ", target::kMaxDlaStreamCommands,
        " commands that a stream can have"));
  }

  int32_t OpOf(int32_t layer) const { return plan_.layers[layer].op_index; }
  absl::Span<const int64_t> ShapeOf(TensorId tensor) const {
    return input_.graph->tensors[tensor].shape;
  }

  void AddTaps() {
    for (size_t i = 0; i < schedule_.commands.size(); ++i) {
      const ScheduledCommand& command = schedule_.commands[i];
      if (!command.tap || command.tap->slice.rows() <= 0) continue;
      const Layer& layer = plan_.layers[command.layer];
      const TileTap& tile = *command.tap;
      v1::Program::Tap& tap = result_.taps.emplace_back();
      tap.set_command(stream_.command_word[i]);
      tap.set_tensor(layer.output);
      *tap.mutable_box() =
          BoxOfTile(ShapeOf(layer.output), layer.out, tile.slice);
      tap.set_layout(LayoutOfTile(tap.box(), tile.placement, layer.out_bytes));
      tap.mutable_location()->set_memory(chip_.sram_memory());
      tap.mutable_location()->set_address(static_cast<uint64_t>(
          offsets_.offsets[tile.buffer] + tile.placement.offset));
    }
  }

  // Index of the layout of the elements of `box`, a tile at `place`. Most tiles
  // of a layer share one.
  int32_t LayoutOfTile(const v1::Box& box, const Placement& place,
                       int64_t element_bytes) {
    Numbers extents;
    for (int axis = 0; axis < box.begin_size(); ++axis) {
      extents.push_back(box.end(axis) - box.begin(axis));
    }
    Numbers strides = {place.row_pitch, element_bytes};
    if (extents.size() == 4) {
      strides = {0, place.row_pitch, place.pixel_pitch, element_bytes};
    }
    const auto [index, is_new] = layout_index_.try_emplace(
        {extents, strides}, static_cast<int32_t>(result_.layouts.size()));
    if (is_new) {
      result_.layouts.push_back(
          target::StridedLayout(extents, strides, element_bytes));
    }
    return index->second;
  }

  // A reshape's output is its input's bytes: visible in SRAM once the last tile
  // of a resident tensor is computed, else in system memory once the last tile
  // is stored; nothing takes their place before the reshape's readers are done.
  void AddAliasTaps() {
    for (const Layer& layer : plan_.layers) {
      if (layer.op != LayerOp::kAlias) continue;
      const TensorId storage = input_.storage[layer.output];
      const bool resident = plan_.resident.contains(storage);
      const int64_t last = LastWriter(storage, resident);
      if (last < 0) continue;  // Made outside: the caller's to show.
      v1::Program::Tap& tap = result_.taps.emplace_back();
      tap.set_command(stream_.command_word[last]);
      tap.set_tensor(layer.output);
      *tap.mutable_box() = target::WholeBox(ShapeOf(layer.output));
      tap.set_layout(static_cast<int32_t>(result_.layouts.size()));
      result_.layouts.push_back(target::DenseLayout(ShapeOf(layer.output), 1));
      v1::Location& location = *tap.mutable_location();
      if (resident) {
        const int32_t buffer = schedule_.commands[last].tap->buffer;
        location.set_memory(chip_.sram_memory());
        location.set_address(static_cast<uint64_t>(offsets_.offsets[buffer]));
      } else {
        location.set_memory(system_.ram);
        location.set_address(system_.tensors.at(storage));
      }
    }
  }

  // Index of the command that completes a tensor: the last to compute a tile of
  // it, or the last to store one. -1 if it is not made in this subgraph.
  int64_t LastWriter(TensorId storage, bool resident) const {
    for (auto i = std::ssize(schedule_.commands) - 1; i >= 0; --i) {
      const ScheduledCommand& command = schedule_.commands[i];
      const Layer& layer = plan_.layers[command.layer];
      const bool writes = resident ? command.tap.has_value()
                                   : command.command == DlaCommand::kDmaWrite;
      if (writes && input_.storage[layer.output] == storage) return i;
    }
    return -1;
  }

  void AddRanges() {
    for (size_t i = 0; i < schedule_.commands.size(); ++i) {
      const int32_t op = OpOf(schedule_.commands[i].layer);
      if (!result_.ranges.empty() && result_.ranges.back().layer() == op) {
        result_.ranges.back().set_last_command(stream_.command_word[i]);
        continue;
      }
      v1::Program::CommandRange range;
      range.set_first_command(stream_.first_word[i]);
      range.set_last_command(stream_.command_word[i]);
      range.set_layer(op);
      result_.ranges.push_back(range);
    }
    // OP_END belongs to whoever ran last.
    if (!result_.ranges.empty()) {
      result_.ranges.back().set_last_command(stream_.words - 1);
    }
  }

  void AddLayerUse() {
    struct Use {
      std::vector<int32_t> buffers;
      int32_t tiles = 0;
      int64_t cycles = 0;
    };
    std::vector<Use> uses(plan_.layers.size());
    for (size_t i = 0; i < schedule_.commands.size(); ++i) {
      const ScheduledCommand& command = schedule_.commands[i];
      Use& use = uses[command.layer];
      use.cycles += stream_.command_cycles[i];
      if (command.tap) ++use.tiles;
      for (const BufferAccess& access : command.accesses) {
        use.buffers.push_back(access.buffer);
      }
    }
    for (size_t l = 0; l < plan_.layers.size(); ++l) {
      result_.layers.push_back(
          {.op = OpOf(static_cast<int32_t>(l)),
           .sram_bytes = MostAtOnce(std::move(uses[l].buffers)),
           .tiles = uses[l].tiles,
           .cycles = uses[l].cycles,
           .bound_cycles = plan_.bounds.empty() ? 0 : plan_.bounds[l],
           .compulsory_bytes = CompulsoryBytes(plan_.layers[l])});
    }
  }

  // Bytes that those buffers take together at most; some may be named twice.
  int64_t MostAtOnce(std::vector<int32_t> buffers) const {
    std::sort(buffers.begin(), buffers.end());
    buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
    // Instants and what is taken or given back then; first what is given back.
    std::vector<std::pair<int64_t, int64_t>> changes;
    for (const int32_t b : buffers) {
      const BufferLife& life = schedule_.buffers[b];
      changes.emplace_back(life.begin, life.size_bytes);
      changes.emplace_back(life.end + 1, -life.size_bytes);
    }
    std::sort(changes.begin(), changes.end());
    int64_t taken = 0;
    int64_t most = 0;
    for (const auto& [instant, bytes] : changes) {
      taken += bytes;
      most = std::max(most, taken);
    }
    return most;
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  const SubgraphPlan& plan_;
  const SystemMap& system_;
  Schedule schedule_;
  OffsetPlan offsets_;
  EncodedStream stream_;
  RegionCode result_;
  // Of tiles, by extents and strides.
  absl::flat_hash_map<std::pair<Numbers, Numbers>, int32_t> layout_index_;
};

}  // namespace

absl::StatusOr<SubgraphInput> InputOfRegion(const Chip& chip,
                                            const Region& region) {
  SubgraphInput input;
  input.graph = region.graph;
  input.storage = region.storage;
  input.external = region.external;
  for (const int32_t op : region.ops) {
    EK_ASSIGN_OR_RETURN(Layer layer, LayerOf(*region.graph, op));
    layer.by_channel = layer.op == LayerOp::kDepthwise &&
                       chip.position(DlaCommand::kDepthConv) < 0;
    input.layers.push_back(std::move(layer));
  }
  return input;
}

namespace {

absl::StatusOr<std::vector<Chain>> ChainsFromProto(
    const SubgraphInput& input, const v1::RegionPlan& stored_plan,
    const v1::dla::RegionDecisions& decisions) {
  const std::vector<bool> passes_on =
      LayersThatPassOn(input.layers, input.storage, input.external);
  std::vector<Chain> chains;
  int32_t next = 0;
  for (const v1::dla::RegionDecisions::Chain& stored : decisions.chains()) {
    const Chain chain = {stored.first(), stored.last(), stored.rows()};
    bool fits = chain.first >= next && chain.first < chain.last &&
                chain.last < std::ssize(input.layers) &&
                chain.last - chain.first < kMostChainLayers &&
                chain.rows >= 1 && chain.rows <= input.layers[chain.last].out.h;
    for (int32_t l = chain.first; fits && l < chain.last; ++l) {
      fits = passes_on[l];
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          "the region's plan chains layers that do not pass on their output");
    }
    chains.push_back(chain);
    next = chain.last + 1;
  }
  // Memory outside is planned by the ops' chains, the schedule by the layers'.
  bool same = stored_plan.chains_size() == std::ssize(chains);
  for (int i = 0; same && i < stored_plan.chains_size(); ++i) {
    const v1::RegionPlan::Chain& ops = stored_plan.chains(i);
    same = ops.first() == input.layers[chains[i].first].op_index &&
           ops.last() == input.layers[chains[i].last].op_index;
  }
  if (!same) {
    return absl::InvalidArgumentError(
        "the region's plan chains other ops than its decisions do");
  }
  return chains;
}

// No cut is larger than what is cut.
bool IsTilingOf(const Layer& layer,
                const v1::dla::RegionDecisions::Layer& tiling) {
  if (tiling.rows() < 1 || tiling.columns() < 1 || tiling.channels() < 1 ||
      tiling.inputs() < 1) {
    return false;
  }
  return layer.op == LayerOp::kAlias ||
         (tiling.rows() <= layer.out.h && tiling.columns() <= layer.out.w &&
          tiling.channels() <= layer.out.c && tiling.inputs() <= layer.in.c);
}

}  // namespace

v1::RegionPlan PlanToProto(const Chip& chip, const SubgraphInput& input,
                           const TimedPlan& timed) {
  const SubgraphPlan& plan = timed.plan;
  v1::dla::RegionDecisions decisions;
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    v1::dla::RegionDecisions::Layer* layer = decisions.add_layers();
    layer->set_op(plan.layers[l].op_index);
    const Tiling& tiling = plan.tilings[l];
    layer->set_rows(tiling.rows);
    layer->set_columns(tiling.columns);
    layer->set_channels(tiling.channels);
    layer->set_inputs(tiling.inputs);
    layer->set_pixels_outer(tiling.order == TileOrder::kPixelsOuter);
    layer->set_whole_input(tiling.whole_input);
    layer->set_double_input(tiling.double_input);
    layer->set_double_block(tiling.double_block);
    layer->set_double_output(tiling.double_output);
    layer->set_keeps_blocks(tiling.keeps_blocks);
    if (!plan.bounds.empty()) layer->set_bound_cycles(plan.bounds[l]);
  }
  for (const Chain& chain : plan.chains) {
    v1::dla::RegionDecisions::Chain* stored = decisions.add_chains();
    stored->set_first(chain.first);
    stored->set_last(chain.last);
    stored->set_rows(chain.rows);
  }
  decisions.set_lookahead(plan.lookahead);
  decisions.set_buffers(plan.buffers);
  decisions.set_fenced(plan.fenced);
  decisions.set_strict(plan.strict);
  decisions.set_sram_bytes(timed.sram_bytes);
  v1::RegionPlan stored;
  stored.mutable_decisions()->PackFrom(decisions);
  std::vector<TensorId> resident(plan.resident.begin(), plan.resident.end());
  for (const Chain& chain : plan.chains) {
    v1::RegionPlan::Chain* ops = stored.add_chains();
    ops->set_first(plan.layers[chain.first].op_index);
    ops->set_last(plan.layers[chain.last].op_index);
    for (int32_t l = chain.first; l < chain.last; ++l) {
      resident.push_back(input.storage[plan.layers[l].output]);
    }
  }
  std::sort(resident.begin(), resident.end());
  for (const TensorId tensor : resident) stored.add_resident(tensor);
  v1::RegionPlan::MemoryNeed* need = stored.add_needs();
  need->set_memory(chip.sram_memory());
  need->set_bytes(timed.peak_bytes);
  stored.set_predicted_cycles(timed.cycles);
  stored.set_bound_cycles(timed.bound_cycles);
  return stored;
}

absl::StatusOr<SubgraphPlan> PlanFromProto(
    const SubgraphInput& input, const v1::RegionPlan& stored,
    const v1::dla::RegionDecisions& decisions) {
  const auto foreign = [] {
    return absl::InvalidArgumentError(
        "the region's plan belongs to another graph");
  };
  if (decisions.layers_size() != static_cast<int>(input.layers.size())) {
    return foreign();
  }
  SubgraphPlan plan;
  plan.layers = input.layers;
  plan.external = input.external;
  plan.lookahead = decisions.lookahead();
  if (decisions.buffers() < 1 || decisions.buffers() > kMaxBuffers) {
    return foreign();
  }
  plan.buffers = decisions.buffers();
  plan.fenced = decisions.fenced();
  plan.strict = decisions.strict();
  for (size_t l = 0; l < input.layers.size(); ++l) {
    const auto& tiling = decisions.layers(static_cast<int>(l));
    if (tiling.op() != input.layers[l].op_index ||
        !IsTilingOf(input.layers[l], tiling)) {
      return foreign();
    }
    plan.tilings.push_back({.rows = tiling.rows(),
                            .columns = tiling.columns(),
                            .channels = tiling.channels(),
                            .inputs = tiling.inputs(),
                            .order = tiling.pixels_outer()
                                         ? TileOrder::kPixelsOuter
                                         : TileOrder::kChannelsOuter,
                            .whole_input = tiling.whole_input(),
                            .double_input = tiling.double_input(),
                            .double_block = tiling.double_block(),
                            .double_output = tiling.double_output(),
                            .keeps_blocks = tiling.keeps_blocks()});
    plan.bounds.push_back(tiling.bound_cycles());
  }
  for (const int32_t tensor : stored.resident()) plan.resident.insert(tensor);
  EK_ASSIGN_OR_RETURN(plan.chains, ChainsFromProto(input, stored, decisions));
  for (const Chain& chain : plan.chains) {
    for (int32_t l = chain.first; l < chain.last; ++l) {
      plan.resident.erase(input.storage[plan.layers[l].output]);
    }
  }
  return plan;
}

absl::StatusOr<RegionCode> EmitSubgraph(const Chip& chip,
                                        const SubgraphInput& input,
                                        const SubgraphPlan& plan,
                                        const SystemMap& system) {
  return Emitter(chip, input, plan, system).Run();
}

}  // namespace edgekiln::compiler::dla
