#include "compiler/engines/dla/schedule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/engines/dla/tiles.h"

namespace edgekiln::compiler::dla {
namespace {

using R = DlaRegister;

// The front end issues in order: more loads in a row than the queue holds would
// keep it from issuing the computation they are to overlap.
constexpr int kPrefetchesPerTile = 3;

class Builder {
 public:
  Builder(const SubgraphPlan& plan, const SystemMap& system,
          const std::vector<TensorId>& storage, int64_t sram_bytes)
      : plan_(plan),
        system_(system),
        storage_(storage),
        sram_bytes_(sram_bytes),
        made_(MakeTiles(plan, storage)),
        load_buffers_(made_.loads.size(), -1),
        output_buffers_(made_.tiles.size(), -1),
        stored_(made_.tiles.size(), false),
        next_block_address_(system.blocks) {
    for (const Slots& slots : made_.slots) {
      LayerBuffers& buffers = slot_buffers_.emplace_back();
      for (size_t i = 0; i < kOutput; ++i) {
        buffers[i].resize(slots.loads[i].count, -1);
      }
      buffers[kOutput].resize(slots.output.count, -1);
    }
    PlanMemory();
  }

  Schedule Build() && {
    for (const int64_t bytes : bytes_) {
      schedule_.fits = schedule_.fits && bytes <= sram_bytes_;
    }
    if (!schedule_.fits) return std::move(schedule_);
    for (int32_t tile = 0; tile < num_tiles(); ++tile) {
      for (const int32_t load : made_.tiles[tile].loads()) {
        IssueWhenStored(load);
      }
      Prefetch(tile);
      Compute(tile);
      if (tile > 0) Store(tile - 1);
      if (!stored_late_[tile]) Store(tile);
    }
    if (num_tiles() > 0) Store(num_tiles() - 1);
    schedule_.blocks_end = next_block_address_;
    return std::move(schedule_);
  }

 private:
  int32_t num_tiles() const { return static_cast<int32_t>(made_.tiles.size()); }

  bool resident(TensorId tensor) const {
    return plan_.resident.contains(storage_[tensor]);
  }

  // ---- Buffers ----

  int32_t NewBuffer(int64_t bytes, int64_t alignment) {
    BufferLife life;
    life.size_bytes = bytes;
    life.alignment_bytes = alignment;
    life.begin = life.end = now();
    schedule_.buffers.push_back(life);
    return static_cast<int32_t>(schedule_.buffers.size()) - 1;
  }

  // By operand, kOutput after those that are loaded, and slot; -1 until used.
  static constexpr size_t kOutput = 3;
  using LayerBuffers = std::array<absl::InlinedVector<int32_t, 2>, kOutput + 1>;
  int32_t SlotBuffer(int32_t layer, size_t operand, int32_t slot) {
    int32_t& buffer = slot_buffers_[layer][operand][slot];
    if (buffer < 0) {
      const Slots& slots = made_.slots[layer];
      const bool block = operand == static_cast<size_t>(Operand::kBlock);
      buffer = NewBuffer(
          operand == kOutput ? slots.output.bytes : slots.loads[operand].bytes,
          block || !plan_.strict || plan_.layers[layer].aligned()
              ? kSlotAlignment
              : 1);
    }
    return buffer;
  }

  int64_t now() const {
    return static_cast<int64_t>(schedule_.commands.size());
  }

  // Appends a command; its buffers live at least until then.
  void Append(ScheduledCommand command) {
    for (const BufferAccess& access : command.accesses) {
      BufferLife& life = schedule_.buffers[access.buffer];
      life.end = std::max(life.end, now());
    }
    schedule_.commands.push_back(std::move(command));
  }

  // ---- Loads ----

  // Stores that a load of system memory depends on and that are not issued.
  std::vector<int32_t> MissingStores(const Load& load) const {
    std::vector<int32_t> missing;
    if (load.storage == kNoTensor) return missing;
    const auto producer = made_.producers.find(load.storage);
    if (producer == made_.producers.end()) return missing;
    const int64_t row = plan_.layers[load.layer].in.row_elements();
    const int64_t begin = load.slice.h_begin * row;
    const int64_t end = load.slice.h_end * row;
    for (int32_t t = producer->second.first; t <= producer->second.second;
         ++t) {
      const Tile& tile = made_.tiles[t];
      const int64_t out_row = plan_.layers[tile.layer].out.row_elements();
      if (!stored_[t] && tile.output.h_begin * out_row < end &&
          begin < tile.output.h_end * out_row) {
        missing.push_back(t);
      }
    }
    return missing;
  }

  void IssueWhenStored(int32_t load) {
    if (load_buffers_[load] >= 0) return;
    for (const int32_t tile : MissingStores(made_.loads[load])) Store(tile);
    Issue(load);
  }

  void Issue(int32_t index) {
    const Load& load = made_.loads[index];
    const bool block = load.storage == kNoTensor;
    load_buffers_[index] =
        SlotBuffer(load.layer, static_cast<size_t>(load.operand), load.slot);
    ScheduledCommand command;
    command.command = DlaCommand::kDmaRead;
    command.layer = load.layer;
    RegisterFile& r = command.registers;
    if (block) {
      r.Set(R::kDmaSystemAddr, static_cast<int64_t>(BlockAddress(load)));
      r.Set(R::kDmaRowBytes, load.bytes);
      r.Set(R::kDmaRows, 1);
    } else {
      const Layer& layer = plan_.layers[load.layer];
      SetSystemSide(load.storage, layer.in, layer.in_bytes, load.slice, r);
      if (r[R::kDmaRows] > 1) {
        r.Set(R::kDmaSramPitch, load.slice.channels() * layer.in_bytes);
      }
    }
    r.Set(R::kDmaSramAddr, 0);
    command.bases.push_back({R::kDmaSramAddr, load_buffers_[index]});
    command.accesses.push_back({load_buffers_[index], 0, load.bytes, true});
    Append(std::move(command));
  }

  uint64_t BlockAddress(const Load& load) {
    const auto key = std::make_pair(load.layer, load.slice.c_begin);
    const auto [it, added] =
        block_addresses_.try_emplace(key, next_block_address_);
    if (added) {
      schedule_.blocks.push_back({load.layer, load.slice.c_begin,
                                  load.slice.c_end, next_block_address_});
      next_block_address_ += static_cast<uint64_t>(load.bytes);
    }
    return it->second;
  }

  // Address, row bytes, rows and pitch of a slice in system memory.
  void SetSystemSide(TensorId storage, const ImageExtent& extent,
                     int64_t element_bytes, const Slice& slice,
                     RegisterFile& r) const {
    const uint64_t base = system_.tensors.at(storage);
    const Placement place = WholePlacement(extent, element_bytes, slice);
    r.Set(R::kDmaSystemAddr, static_cast<int64_t>(base) + place.offset);
    if (slice.channels() == extent.c) {
      r.Set(R::kDmaRowBytes, slice.rows() * place.row_pitch);
      r.Set(R::kDmaRows, 1);
    } else {
      r.Set(R::kDmaRowBytes, slice.channels() * element_bytes);
      r.Set(R::kDmaRows, slice.rows() * extent.w);
      r.Set(R::kDmaSystemPitch, place.pixel_pitch);
    }
  }

  // Bytes that are taken while each tile is computed: its layer's buffers, what
  // is resident, and what the layer before made and is stored meanwhile.
  void PlanMemory() {
    bytes_.resize(made_.tiles.size());
    stored_late_.assign(made_.tiles.size(), false);
    for (size_t t = 0; t < made_.tiles.size(); ++t) {
      bytes_[t] = made_.slots[made_.tiles[t].layer].bytes();
    }
    for (const auto& [tensor, producers] : made_.producers) {
      if (!plan_.resident.contains(tensor)) continue;
      const Layer& layer = plan_.layers[made_.tiles[producers.first].layer];
      for (int32_t t = producers.first; t <= made_.last_use.at(tensor); ++t) {
        bytes_[t] += layer.all_out_bytes();
      }
    }
    for (int32_t t = 0; t + 1 < num_tiles() && !plan_.strict; ++t) {
      const int32_t layer = made_.tiles[t].layer;
      if (made_.tiles[t + 1].layer == layer) {
        stored_late_[t] = made_.slots[layer].output.count > 1;
        continue;
      }
      const int64_t output = made_.slots[layer].output.bytes;
      stored_late_[t] = !plan_.fenced && bytes_[t + 1] + output <= sram_bytes_;
      if (stored_late_[t]) bytes_[t + 1] += output;
    }
  }

  // Issues loads of the next tiles whose data exist, while memory lasts.
  void Prefetch(int32_t tile) {
    const auto end = std::min<int64_t>(
        static_cast<int64_t>(tile) + plan_.lookahead + 1, num_tiles());
    int issued = 0;
    int64_t most = bytes_[tile];  // From this tile to the one before `next`.
    int32_t border = tile;        // The first tile of the layer of `next`.
    for (auto next = tile + 1; next < end; ++next) {
      if (made_.tiles[next].layer != made_.tiles[next - 1].layer) {
        if (plan_.fenced) return;
        border = next;
      }
      bool full = false;
      for (const int32_t index : made_.tiles[next].loads()) {
        if (load_buffers_[index] >= 0) continue;
        const Load& load = made_.loads[index];
        // Its buffer is taken until then.
        if (load.before >= 0 && made_.loads[load.before].last_tile >= tile) {
          full = true;
          continue;
        }
        // The buffers of this layer are there already.
        const int64_t bytes = border > tile ? SlotBytes(load) : 0;
        if (most + bytes > sram_bytes_) {
          full = true;
          continue;
        }
        if (!MissingStores(load).empty()) continue;
        if (++issued > kPrefetchesPerTile) return;
        Issue(index);
        for (int32_t t = tile; t < border; ++t) bytes_[t] += bytes;
        most += bytes;
      }
      if (full) return;
      most = std::max(most, bytes_[next]);
    }
  }

  // That loading it adds: none if its buffer is in use already.
  int64_t SlotBytes(const Load& load) const {
    const auto operand = static_cast<size_t>(load.operand);
    return slot_buffers_[load.layer][operand][load.slot] < 0
               ? made_.slots[load.layer].loads[operand].bytes
               : 0;
  }

  // ---- Computing and storing ----

  // The operand's buffer and place; adds what is read to `command`.
  Placement ReadOperand(const Layer& layer, TensorId tensor, int32_t load,
                        const Slice& slice, R reg, ScheduledCommand& command) {
    int32_t buffer = 0;
    Placement place;
    int64_t begin = 0;
    int64_t end = 0;
    if (load >= 0) {
      buffer = load_buffers_[load];
      place = DensePlacement(layer.in, layer.in_bytes, slice);
      end = made_.loads[load].bytes;
    } else {
      buffer = resident_buffers_.at(storage_[tensor]);
      place = WholePlacement(layer.in, layer.in_bytes, slice);
      begin = slice.h_begin * layer.in_row_bytes();
      end = slice.h_end * layer.in_row_bytes();
    }
    command.bases.push_back({reg, buffer});
    command.accesses.push_back({buffer, begin, end, false});
    return place;
  }

  void Compute(int32_t index) {
    const Tile& tile = made_.tiles[index];
    const Layer& layer = plan_.layers[tile.layer];
    ScheduledCommand command;
    command.layer = tile.layer;
    const Slice in = InputOf(layer, tile.output).slice;
    TileOperands operands;
    operands.input =
        ReadOperand(layer, layer.input, tile.input, in, R::kInAddr, command);
    if (layer.op == LayerOp::kAdd) {
      operands.input2 = ReadOperand(layer, layer.input2, tile.input2, in,
                                    R::kIn2Addr, command);
    }
    operands.output = PlaceOutput(index, command);
    if (tile.block >= 0) {
      const int32_t block = load_buffers_[tile.block];
      command.bases.push_back({R::kTableAddr, block});
      command.bases.push_back({R::kWeightAddr, block});
      command.accesses.push_back(
          {block, 0, made_.loads[tile.block].bytes, false});
    }
    const std::vector<ComputeCommand> computes =
        ComputeSlice(layer, tile.output, operands);
    for (size_t i = 0; i < computes.size(); ++i) {
      ScheduledCommand one = command;
      one.command = computes[i].command;
      one.half_even = computes[i].half_even;
      one.registers = computes[i].registers;
      if (i + 1 == computes.size()) {
        one.tap = TileTap{tile.output, output_buffers_[index], operands.output};
      }
      Append(std::move(one));
    }
  }

  Placement PlaceOutput(int32_t index, ScheduledCommand& command) {
    const Tile& tile = made_.tiles[index];
    const Layer& layer = plan_.layers[tile.layer];
    int32_t& buffer = output_buffers_[index];
    Placement place;
    int64_t begin = 0;
    int64_t end = 0;
    if (resident(layer.output)) {
      const TensorId output = storage_[layer.output];
      if (!resident_buffers_.contains(output)) {
        resident_buffers_[output] = NewBuffer(
            layer.all_out_bytes(), layer.out_bytes > 1 ? kSlotAlignment : 1);
      }
      buffer = resident_buffers_[output];
      place = WholePlacement(layer.out, layer.out_bytes, tile.output);
      begin = tile.output.h_begin * layer.out_row_bytes();
      end = tile.output.h_end * layer.out_row_bytes();
    } else {
      place = DensePlacement(layer.out, layer.out_bytes, tile.output);
      end = layer.OutputBytes(tile.output);
      buffer = SlotBuffer(tile.layer, kOutput, tile.slot);
    }
    command.bases.push_back({R::kOutAddr, buffer});
    command.accesses.push_back({buffer, begin, end, true});
    return place;
  }

  void Store(int32_t index) {
    const Tile& tile = made_.tiles[index];
    if (stored_[index]) return;
    stored_[index] = true;
    const Layer& layer = plan_.layers[tile.layer];
    const TensorId output = storage_[layer.output];
    const bool whole = resident(layer.output);
    if (whole && !plan_.external.contains(output)) return;
    const Placement place =
        whole ? WholePlacement(layer.out, layer.out_bytes, tile.output)
              : DensePlacement(layer.out, layer.out_bytes, tile.output);
    ScheduledCommand command;
    command.command = DlaCommand::kDmaWrite;
    command.layer = tile.layer;
    RegisterFile& r = command.registers;
    SetSystemSide(output, layer.out, layer.out_bytes, tile.output, r);
    if (r[R::kDmaRows] > 1) r.Set(R::kDmaSramPitch, place.pixel_pitch);
    r.Set(R::kDmaSramAddr, place.offset);
    command.bases.push_back({R::kDmaSramAddr, output_buffers_[index]});
    const int64_t begin =
        whole ? tile.output.h_begin * layer.out_row_bytes() : 0;
    const int64_t end = whole ? tile.output.h_end * layer.out_row_bytes()
                              : layer.OutputBytes(tile.output);
    command.accesses.push_back({output_buffers_[index], begin, end, false});
    Append(std::move(command));
  }

  const SubgraphPlan& plan_;
  const SystemMap& system_;
  const std::vector<TensorId>& storage_;
  const int64_t sram_bytes_;

  const Tiles made_;
  std::vector<int32_t> load_buffers_;    // By load; -1 until it is issued.
  std::vector<int32_t> output_buffers_;  // By tile; -1 until it is computed.
  std::vector<bool> stored_;             // By tile.
  std::vector<LayerBuffers> slot_buffers_;
  absl::flat_hash_map<TensorId, int32_t> resident_buffers_;
  absl::flat_hash_map<std::pair<int32_t, int64_t>, uint64_t> block_addresses_;
  uint64_t next_block_address_;
  // By tile: SRAM that is taken while it is computed, by what is decided so
  // far; whether it is stored after the next tile is computed.
  std::vector<int64_t> bytes_;
  std::vector<bool> stored_late_;
  Schedule schedule_;
};

}  // namespace

Schedule BuildSchedule(const SubgraphPlan& plan, const SystemMap& system,
                       const std::vector<TensorId>& storage,
                       int64_t sram_bytes) {
  return Builder(plan, system, storage, sram_bytes).Build();
}

}  // namespace edgekiln::compiler::dla
