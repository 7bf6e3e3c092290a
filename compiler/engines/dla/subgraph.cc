#include "compiler/engines/dla/subgraph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/engines/dla/encode.h"
#include "compiler/engines/dla/hazards.h"
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
    add_axis(0, extent.w);
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

// Of the elements of `box`, a tile at `place`.
v1::Layout LayoutOfTile(const v1::Box& box, const Placement& place) {
  absl::InlinedVector<int64_t, 4> extents;
  for (int axis = 0; axis < box.begin_size(); ++axis) {
    extents.push_back(box.end(axis) - box.begin(axis));
  }
  if (extents.size() == 2) {
    return target::StridedLayout(extents, {place.row_pitch, 1}, 1);
  }
  return target::StridedLayout(extents,
                               {0, place.row_pitch, place.pixel_pitch, 1}, 1);
}

class Emitter {
 public:
  Emitter(const Chip& chip, const SubgraphInput& input,
          const SubgraphPlan& plan, const SystemMap& system)
      : chip_(chip), input_(input), plan_(plan), system_(system) {}

  absl::StatusOr<EmittedSubgraph> Run() {
    schedule_ =
        BuildSchedule(plan_, system_, input_.storage, chip_.sram_bytes());
    offsets_ = AllocateOffsets(schedule_.buffers);
    if (offsets_.peak_bytes > chip_.sram_bytes()) {
      return absl::InvalidArgumentError(
          "the tiling does not fit the machine's SRAM");
    }
    EK_ASSIGN_OR_RETURN(stream_,
                        EncodeStream(chip_, schedule_, offsets_.offsets,
                                     WaitCounts(schedule_, offsets_.offsets)));
    result_.code = stream_.code;
    result_.cycles = stream_.cycles;
    result_.sram_peak_bytes = offsets_.peak_bytes;
    for (const Block& block : schedule_.blocks) {
      result_.blocks += PackBlock(*input_.graph, plan_.layers[block.layer],
                                  block.c_begin, block.c_end);
    }
    AddTaps();
    AddAliasTaps();
    AddRanges();
    AddLayerUse();
    return std::move(result_);
  }

 private:
  int32_t OpOf(int32_t layer) const { return plan_.layers[layer].op_index; }
  absl::Span<const int64_t> ShapeOf(TensorId tensor) const {
    return input_.graph->tensors[tensor].shape;
  }

  void AddTaps() {
    for (size_t i = 0; i < schedule_.commands.size(); ++i) {
      const ScheduledCommand& command = schedule_.commands[i];
      if (!command.tap) continue;
      const Layer& layer = plan_.layers[command.layer];
      const TileTap& tile = *command.tap;
      EmittedSubgraph::Tap& added = result_.taps.emplace_back();
      v1::Program::Tap& tap = added.tap;
      tap.set_command(stream_.command_word[i]);
      tap.set_tensor(layer.output);
      *tap.mutable_box() =
          BoxOfTile(ShapeOf(layer.output), layer.out, tile.slice);
      added.layout = LayoutOfTile(tap.box(), tile.placement);
      tap.mutable_location()->set_memory(chip_.sram_memory());
      tap.mutable_location()->set_address(static_cast<uint64_t>(
          offsets_.offsets[tile.buffer] + tile.placement.offset));
    }
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
      EmittedSubgraph::Tap& added = result_.taps.emplace_back();
      v1::Program::Tap& tap = added.tap;
      tap.set_command(stream_.command_word[last]);
      tap.set_tensor(layer.output);
      *tap.mutable_box() = target::WholeBox(ShapeOf(layer.output));
      added.layout = target::DenseLayout(ShapeOf(layer.output), 1);
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
    struct Life {
      int64_t first = -1;
      int64_t last = -1;
      int32_t tiles = 0;
      int64_t cycles = 0;
    };
    std::vector<Life> lives(plan_.layers.size());
    for (size_t i = 0; i < schedule_.commands.size(); ++i) {
      const ScheduledCommand& command = schedule_.commands[i];
      Life& life = lives[command.layer];
      life.cycles += stream_.command_cycles[i];
      if (!command.tap) continue;
      if (life.first < 0) life.first = static_cast<int64_t>(i);
      life.last = static_cast<int64_t>(i);
      ++life.tiles;
    }
    for (size_t l = 0; l < plan_.layers.size(); ++l) {
      int64_t peak = 0;
      for (size_t b = 0; b < schedule_.buffers.size(); ++b) {
        const BufferLife& buffer = schedule_.buffers[b];
        if (lives[l].first >= 0 && buffer.begin <= lives[l].last &&
            lives[l].first <= buffer.end) {
          peak = std::max(peak, offsets_.offsets[b] + buffer.size_bytes);
        }
      }
      result_.layers.push_back({OpOf(static_cast<int32_t>(l)), peak,
                                lives[l].tiles, lives[l].cycles});
    }
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  const SubgraphPlan& plan_;
  const SystemMap& system_;
  Schedule schedule_;
  OffsetPlan offsets_;
  EncodedStream stream_;
  EmittedSubgraph result_;
};

}  // namespace

absl::StatusOr<SubgraphInput> InputOfOps(const Graph& graph,
                                         const std::vector<int32_t>& ops) {
  SubgraphInput input;
  input.graph = &graph;
  input.storage = StorageOf(graph);
  std::vector<bool> inside(graph.ops.size(), false);
  for (const int32_t op : ops) {
    EK_ASSIGN_OR_RETURN(Layer layer, LayerOf(graph, op));
    inside[op] = true;
    input.layers.push_back(std::move(layer));
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (inside[i]) continue;
    for (const TensorId tensor : graph.ops[i].inputs) {
      if (tensor != kNoTensor) input.external.insert(input.storage[tensor]);
    }
  }
  for (const TensorId output : graph.outputs) {
    input.external.insert(input.storage[output]);
  }
  return input;
}

absl::StatusOr<v1::TilingPlan::Subgraph> TileSubgraph(
    const Chip& chip, const SubgraphInput& input) {
  EK_ASSIGN_OR_RETURN(const SubgraphPlan plan, PlanSubgraph(chip, input));
  v1::TilingPlan::Subgraph stored;
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    v1::TilingPlan::LayerTiling* layer = stored.add_layers();
    layer->set_op(plan.layers[l].op_index);
    layer->set_rows(plan.tilings[l].rows);
    layer->set_channels(plan.tilings[l].channels);
    layer->set_rows_outer(plan.tilings[l].order == TileOrder::kRowsOuter);
  }
  std::vector<TensorId> resident(plan.resident.begin(), plan.resident.end());
  std::sort(resident.begin(), resident.end());
  for (const TensorId tensor : resident) stored.add_resident(tensor);
  stored.set_lookahead(plan.lookahead);
  stored.set_strict(plan.strict);
  return stored;
}

absl::StatusOr<SubgraphPlan> PlanFromProto(
    const SubgraphInput& input, const v1::TilingPlan::Subgraph& stored) {
  const auto foreign = [] {
    return absl::InvalidArgumentError(
        "the tiling plan belongs to another graph");
  };
  if (stored.layers_size() != static_cast<int>(input.layers.size())) {
    return foreign();
  }
  SubgraphPlan plan;
  plan.layers = input.layers;
  plan.external = input.external;
  plan.lookahead = stored.lookahead();
  plan.strict = stored.strict();
  for (size_t l = 0; l < input.layers.size(); ++l) {
    const auto& tiling = stored.layers(static_cast<int>(l));
    if (tiling.op() != input.layers[l].op_index || tiling.rows() < 1 ||
        tiling.channels() < 1) {
      return foreign();
    }
    plan.tilings.push_back({tiling.rows(), tiling.channels(),
                            tiling.rows_outer() ? TileOrder::kRowsOuter
                                                : TileOrder::kChannelsOuter});
  }
  for (const int32_t tensor : stored.resident()) plan.resident.insert(tensor);
  return plan;
}

absl::StatusOr<EmittedSubgraph> EmitSubgraph(const Chip& chip,
                                             const SubgraphInput& input,
                                             const SubgraphPlan& plan,
                                             const SystemMap& system) {
  return Emitter(chip, input, plan, system).Run();
}

}  // namespace edgekiln::compiler::dla
