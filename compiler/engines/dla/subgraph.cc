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

absl::StatusOr<RegionCode> EmitSubgraph(const Chip& chip,
                                        const SubgraphInput& input,
                                        const SubgraphPlan& plan,
                                        const SystemMap& system) {
  return Emitter(chip, input, plan, system).Run();
}

}  // namespace edgekiln::compiler::dla
