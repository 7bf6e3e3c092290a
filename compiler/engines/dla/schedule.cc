#include "compiler/engines/dla/schedule.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/engines/dla/sram_buffers.h"
#include "compiler/engines/dla/tiles.h"
#include "compiler/engines/dla/transfers.h"

namespace edgekiln::compiler::dla {
namespace {

using R = DlaRegister;

// The front end issues in order: more loads in a row than the queue holds would
// keep it from issuing the computation they are to overlap.
constexpr int kPrefetchesPerStep = 3;

class Builder {
 public:
  Builder(const SubgraphPlan& plan, const SystemMap& system,
          const std::vector<TensorId>& storage, int64_t sram_bytes,
          Schedule reused)
      : plan_(plan),
        system_(system),
        storage_(storage),
        sram_bytes_(sram_bytes),
        made_(MakeTiles(plan, storage)),
        output_buffers_(made_.steps.size(), -1),
        stored_(made_.steps.size(), false),
        next_block_address_(system.blocks),
        schedule_(std::move(reused)),
        buffers_(plan, storage, made_, schedule_) {
    schedule_.fits = true;
    schedule_.commands.clear();
    schedule_.buffers.clear();
    schedule_.blocks.clear();
    schedule_.most_buffers = MostBuffers(made_);
    PlanMemory();
  }

  Schedule Build() && {
    for (const int64_t bytes : bytes_) {
      schedule_.fits = schedule_.fits && bytes <= sram_bytes_;
    }
    if (!schedule_.fits) return std::move(schedule_);
    // Each step computes, and some store.
    schedule_.commands.reserve(made_.loads.size() + 2 * made_.steps.size());
    for (int32_t step = 0; step < num_steps(); ++step) {
      for (const int32_t load : made_.steps[step].loads()) {
        IssueWhenStored(load);
      }
      Prefetch(step);
      CopyRows(step);
      Compute(step);
      if (step > 0) Store(step - 1);
      if (!stored_late_[step]) Store(step);
      // No stream can have so many.
      if (std::ssize(schedule_.commands) > target::kMaxDlaStreamCommands) {
        return std::move(schedule_);
      }
    }
    if (num_steps() > 0) Store(num_steps() - 1);
    schedule_.blocks_end = next_block_address_;
    return std::move(schedule_);
  }

 private:
  int32_t num_steps() const { return static_cast<int32_t>(made_.steps.size()); }

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
  std::vector<int32_t> MissingStores(const Load& load) {
    std::vector<int32_t> missing;
    if (load.storage == kNoTensor) return missing;
    const auto producer = made_.producers.find(load.storage);
    if (producer == made_.producers.end()) return missing;
    const int64_t row = plan_.layers[load.layer].in.row_elements();
    const int64_t begin = load.slice.h_begin * row;
    const int64_t end = load.slice.h_end * row;
    const auto [first, last] = producer->second;
    // Stores are in order, but for a few.
    int32_t& unstored =
        unstored_.try_emplace(load.storage, first).first->second;
    // In a chain other layers have steps between.
    const int32_t maker = made_.steps[first].layer;
    const auto stores = [&](int32_t s) {
      return made_.steps[s].last && made_.steps[s].layer == maker &&
             !stored_[s];
    };
    while (unstored <= last && !stores(unstored)) ++unstored;
    const int64_t out_row = plan_.layers[maker].out.row_elements();
    for (int32_t s = unstored; s <= last; ++s) {
      const Step& step = made_.steps[s];
      if (stores(s) && step.output.h_begin * out_row < end &&
          begin < step.output.h_end * out_row) {
        missing.push_back(s);
      }
    }
    return missing;
  }

  void IssueWhenStored(int32_t load) {
    if (buffers_.OfLoad(load) >= 0) return;
    for (const int32_t step : MissingStores(made_.loads[load])) Store(step);
    Issue(load);
  }

  void Issue(int32_t index) {
    const Load& load = made_.loads[index];
    const int32_t buffer = buffers_.ClaimForLoad(index);
    if (load.storage != kNoTensor) {
      const Layer& layer = plan_.layers[load.layer];
      Placement place = DensePlacement(layer.in_bytes, load.slice);
      if (load.part_of_whole) {
        place = WholePlacement(layer.in, layer.in_bytes, load.slice);
        place.offset -=
            made_.parts[load.part].input.begin * layer.in_row_bytes();
      }
      Move(DlaCommand::kDmaRead, load.layer, load.storage, layer.in,
           layer.in_bytes, load.slice, buffer, place);
      return;
    }
    ScheduledCommand command;
    command.command = DlaCommand::kDmaRead;
    command.layer = load.layer;
    RegisterFile& r = command.registers;
    r.Set(R::kDmaSystemAddr, static_cast<int64_t>(BlockAddress(load)));
    r.Set(R::kDmaRowBytes, load.bytes);
    r.Set(R::kDmaRows, 1);
    r.Set(R::kDmaSramAddr, 0);
    command.bases.push_back({R::kDmaSramAddr, buffer});
    command.accesses.push_back({buffer, true, 0, load.bytes});
    Append(std::move(command));
  }

  // Between a tensor in system memory and a buffer that holds the slice at
  // `place`.
  void Move(DlaCommand direction, int32_t layer, TensorId storage,
            const ImageExtent& extent, int64_t element_bytes,
            const Slice& slice, int32_t buffer, const Placement& place) {
    const auto base = static_cast<int64_t>(system_.tensors.at(storage));
    for (const Transfer& transfer :
         TransfersOf(extent, element_bytes, slice, place)) {
      ScheduledCommand command;
      command.command = direction;
      command.layer = layer;
      RegisterFile& r = command.registers;
      r.Set(R::kDmaSystemAddr, base + transfer.system_offset);
      r.Set(R::kDmaSramAddr, transfer.sram_offset);
      r.Set(R::kDmaRowBytes, transfer.row_bytes);
      r.Set(R::kDmaRows, transfer.rows);
      if (transfer.rows > 1) {
        r.Set(R::kDmaSystemPitch, transfer.system_pitch);
        r.Set(R::kDmaSramPitch, transfer.sram_pitch);
      }
      Touch(R::kDmaSramAddr,
            {buffer, direction == DlaCommand::kDmaRead, transfer.sram_offset,
             transfer.sram_offset + transfer.sram_extent()},
            command);
      Append(std::move(command));
    }
  }

  uint64_t BlockAddress(const Load& load) {
    const auto [it, added] = block_addresses_.try_emplace(
        {load.layer, load.block}, next_block_address_);
    if (added) {
      schedule_.blocks.push_back({load.layer, load.block, next_block_address_});
      next_block_address_ += static_cast<uint64_t>(load.bytes);
    }
    return it->second;
  }

  // Bytes that are taken while each step is computed: its part's buffers, what
  // is resident or held by its chain, and what the part before made and is
  // stored meanwhile.
  void PlanMemory() {
    bytes_.resize(made_.steps.size());
    stored_late_.assign(made_.steps.size(), false);
    for (size_t t = 0; t < made_.steps.size(); ++t) {
      bytes_[t] = made_.slots[made_.steps[t].part].bytes();
    }
    for (const Held& held : made_.held) {
      for (int32_t t = held.first; t <= held.last; ++t) bytes_[t] += held.bytes;
    }
    for (const auto& [tensor, producers] : made_.producers) {
      if (!plan_.resident.contains(tensor)) continue;
      const Layer& layer = plan_.layers[made_.steps[producers.first].layer];
      for (int32_t t = producers.first; t <= made_.last_use.at(tensor); ++t) {
        bytes_[t] += layer.all_out_bytes();
      }
    }
    for (int32_t t = 0; t + 1 < num_steps() && !plan_.strict; ++t) {
      const int32_t part = made_.steps[t].part;
      if (made_.steps[t + 1].part == part) {
        stored_late_[t] = made_.slots[part].output.count > 1;
        continue;
      }
      const int64_t output = made_.slots[part].output.bytes;
      stored_late_[t] = !plan_.fenced && bytes_[t + 1] + output <= sram_bytes_;
      if (stored_late_[t]) bytes_[t + 1] += output;
    }
  }

  // Issues loads of the next steps whose data exist, while memory lasts.
  void Prefetch(int32_t step) {
    const auto end = std::min<int64_t>(
        static_cast<int64_t>(step) + plan_.lookahead + 1, num_steps());
    int issued = 0;
    int64_t most = bytes_[step];  // From this step to the one before `next`.
    int32_t border = step;        // The first step of the part of `next`.
    for (auto next = step + 1; next < end; ++next) {
      if (made_.steps[next].part != made_.steps[next - 1].part) {
        if (plan_.fenced) return;
        border = next;
      }
      bool full = false;
      for (const int32_t index : made_.steps[next].loads()) {
        if (buffers_.OfLoad(index) >= 0) continue;
        const Load& load = made_.loads[index];
        // Its buffer is taken until then.
        if (load.before >= 0 && made_.loads[load.before].last_step >= step) {
          full = true;
          continue;
        }
        // The buffers of this part are there already.
        const int64_t bytes = border > step ? buffers_.NewBytes(index) : 0;
        if (most + bytes > sram_bytes_) {
          full = true;
          continue;
        }
        if (!MissingStores(load).empty()) continue;
        if (++issued > kPrefetchesPerStep) return;
        Issue(index);
        for (int32_t t = step; t < border; ++t) bytes_[t] += bytes;
        most += bytes;
      }
      if (full) return;
      most = std::max(most, bytes_[next]);
    }
  }

  // ---- Computing and storing ----

  // Adds that `command` touches these bytes of the buffer whose address `reg`
  // holds.
  static void Touch(R reg, const BufferAccess& access,
                    ScheduledCommand& command) {
    command.bases.push_back({reg, access.buffer});
    command.accesses.push_back(access);
  }

  static BufferAccess Read(BufferAccess access) {
    access.writes = false;
    return access;
  }

  void TouchBlock(const Step& step, ScheduledCommand& command) const {
    if (step.block < 0) return;
    const int32_t buffer = buffers_.OfLoad(step.block);
    command.bases.push_back({R::kTableAddr, buffer});
    command.bases.push_back({R::kWeightAddr, buffer});
    command.accesses.push_back(
        {buffer, false, 0, made_.loads[step.block].bytes});
  }

  // Appends `compute` with what `command` touches already.
  void AppendCompute(ScheduledCommand command, const ComputeCommand& compute) {
    command.command = compute.command;
    command.half_even = compute.half_even;
    command.registers = compute.registers;
    Append(std::move(command));
  }

  void Compute(int32_t index) {
    const Step& step = made_.steps[index];
    const Layer& layer = plan_.layers[step.layer];
    ScheduledCommand command;
    command.layer = step.layer;
    const Slice in = InputOfStep(layer, step);
    TileOperands operands;
    const Located input = buffers_.Input(step, layer.input, step.input, in);
    operands.input = input.place;
    Touch(R::kInAddr, input.access, command);
    if (layer.input2 != kNoTensor) {
      const Located input2 =
          buffers_.Input(step, layer.input2, step.input2, in);
      operands.input2 = input2.place;
      Touch(R::kIn2Addr, input2.access, command);
    }
    TouchBlock(step, command);
    if (!(step.first && step.last)) {
      SumUp(index, std::move(command), operands.input);
      return;
    }
    const Located output = buffers_.Output(step);
    operands.output = output.place;
    Touch(R::kOutAddr, output.access, command);
    for (const ComputeCommand& compute :
         ComputeSlice(layer, step.output, operands)) {
      AppendCompute(command, compute);
    }
    Finish(index, output);
  }

  // Moves to the front of their buffers what the piece before has made for the
  // present one: the larger of each element and itself.
  void CopyRows(int32_t step) {
    for (; next_copy_ < made_.copies.size() &&
           made_.copies[next_copy_].step == step;
         ++next_copy_) {
      const Copy& copy = made_.copies[next_copy_];
      const Layer& layer = plan_.layers[copy.layer];
      const int32_t buffer = buffers_.OfWhole(layer.output);
      const int64_t row = layer.out_row_bytes();
      for (int64_t to = 0; to < copy.rows; to += copy.from_row) {
        const int64_t rows = std::min(copy.from_row, copy.rows - to);
        const int64_t from = to + copy.from_row;
        ScheduledCommand command;
        command.layer = copy.layer;
        const ComputeCommand compute =
            CopyBytes(rows, layer.out.w, layer.out.c * layer.out_bytes,
                      from * row, to * row);
        for (const R reg : {R::kInAddr, R::kIn2Addr}) {
          Touch(reg, {buffer, false, from * row, (from + rows) * row}, command);
        }
        Touch(R::kOutAddr, {buffer, true, to * row, (to + rows) * row},
              command);
        AppendCompute(std::move(command), compute);
      }
    }
  }

  // A step of a tile of several; `command` reads the step's input and block.
  void SumUp(int32_t index, ScheduledCommand command, const Placement& input) {
    const Step& step = made_.steps[index];
    const Layer& layer = plan_.layers[step.layer];
    const bool own = layer.gives_sums();
    const Located sums = own ? buffers_.Output(step) : buffers_.Sums(step, 0);
    const Located part = step.first ? sums : buffers_.Sums(step, own ? 0 : 1);
    Touch(R::kOutAddr, part.access, command);
    AppendCompute(
        std::move(command),
        PartialSums(layer, step.output, step.channels, input, part.place));
    if (!step.first) {
      ScheduledCommand add;
      add.layer = step.layer;
      Touch(R::kInAddr, Read(sums.access), add);
      Touch(R::kIn2Addr, Read(part.access), add);
      Touch(R::kOutAddr, sums.access, add);
      AppendCompute(std::move(add),
                    AddSums(step.output, sums.place, part.place));
    }
    if (!step.last) return;
    if (own) {
      Finish(index, sums);
      return;
    }
    const Located output = buffers_.Output(step);
    ScheduledCommand requantize;
    requantize.layer = step.layer;
    Touch(R::kInAddr, Read(sums.access), requantize);
    TouchBlock(step, requantize);
    Touch(R::kOutAddr, output.access, requantize);
    AppendCompute(std::move(requantize),
                  RequantizeSums(layer, step.output, sums.place, output.place));
    Finish(index, output);
  }

  // The last command completed the step's tile.
  void Finish(int32_t index, const Located& output) {
    output_buffers_[index] = output.access.buffer;
    TileTap tap = {made_.steps[index].output, output.access.buffer,
                   output.place};
    const int64_t made = made_.parts[made_.steps[index].part].made_before;
    if (made > tap.slice.h_begin) {
      tap.placement.offset +=
          (made - tap.slice.h_begin) * tap.placement.row_pitch;
      tap.slice.h_begin = made;
    }
    schedule_.commands.back().tap = tap;
  }

  void Store(int32_t index) {
    const Step& step = made_.steps[index];
    if (!step.last || stored_[index]) return;
    stored_[index] = true;
    const Layer& layer = plan_.layers[step.layer];
    const TensorId output = storage_[layer.output];
    if (buffers_.IsPassedOn(layer.output)) return;
    const bool whole = buffers_.IsResident(layer.output);
    if (whole && !plan_.external.contains(output)) return;
    Move(DlaCommand::kDmaWrite, step.layer, output, layer.out, layer.out_bytes,
         step.output, output_buffers_[index],
         whole ? WholePlacement(layer.out, layer.out_bytes, step.output)
               : DensePlacement(layer.out_bytes, step.output));
  }

  const SubgraphPlan& plan_;
  const SystemMap& system_;
  const std::vector<TensorId>& storage_;
  const int64_t sram_bytes_;

  const Tiles made_;
  std::vector<int32_t> output_buffers_;  // By step; -1 until it is computed.
  std::vector<bool> stored_;             // By step: its tile.
  size_t next_copy_ = 0;                 // Of made_.copies.
  // By storage: no step before it has something left to store.
  absl::flat_hash_map<TensorId, int32_t> unstored_;
  std::map<std::pair<int32_t, BlockChannels>, uint64_t> block_addresses_;
  uint64_t next_block_address_;
  // By step: SRAM that is taken while it is computed, by what is decided so
  // far; whether its tile is stored after the next step is computed.
  std::vector<int64_t> bytes_;
  std::vector<bool> stored_late_;
  Schedule schedule_;
  SramBuffers buffers_;
};

}  // namespace

Schedule BuildSchedule(const SubgraphPlan& plan, const SystemMap& system,
                       const std::vector<TensorId>& storage, int64_t sram_bytes,
                       Schedule reused) {
  return Builder(plan, system, storage, sram_bytes, std::move(reused)).Build();
}

}  // namespace edgekiln::compiler::dla
