#include "compiler/engines/dla/sram_buffers.h"

#include "compiler/engines/dla/tiling.h"

namespace edgekiln::compiler::dla {

SramBuffers::SramBuffers(const SubgraphPlan& plan,
                         const std::vector<TensorId>& storage,
                         const Tiles& made, Schedule& schedule)
    : plan_(plan),
      storage_(storage),
      made_(made),
      schedule_(schedule),
      load_buffers_(made.loads.size(), -1) {
  for (const Slots& slots : made_.slots) {
    PartBuffers& buffers = slots_.emplace_back();
    for (size_t i = 0; i < kOutput; ++i) {
      buffers[i].resize(slots.loads[i].count, -1);
    }
    buffers[kOutput].resize(slots.output.count, -1);
    buffers[kSums].resize(slots.sums.count, -1);
  }
}

int32_t SramBuffers::ClaimForLoad(int32_t load) {
  const Load& claimed = made_.loads[load];
  load_buffers_[load] = SlotBuffer(
      claimed.part, static_cast<size_t>(claimed.operand), claimed.slot);
  return load_buffers_[load];
}

int64_t SramBuffers::NewBytes(int32_t load) const {
  const Load& asked = made_.loads[load];
  const auto operand = static_cast<size_t>(asked.operand);
  return slots_[asked.part][operand][asked.slot] < 0
             ? made_.slots[asked.part].loads[operand].bytes
             : 0;
}

Located SramBuffers::Input(const Step& step, TensorId tensor, int32_t load,
                           const Slice& slice) const {
  const Layer& layer = plan_.layers[step.layer];
  Located input;
  if (load >= 0 && !made_.loads[load].part_of_whole) {
    input.place = DensePlacement(layer.in_bytes, slice);
    input.access = {load_buffers_[load], false, 0, layer.InputBytes(slice)};
    return input;
  }
  // The buffer of a piece begins with the piece's first row.
  const int64_t first_row =
      load >= 0 || IsPassedOn(tensor) ? made_.parts[step.part].input.begin : 0;
  const int64_t row = layer.in_row_bytes();
  input.place = WholePlacement(layer.in, layer.in_bytes, slice);
  input.place.offset -= first_row * row;
  input.access = {
      load >= 0 ? load_buffers_[load] : residents_.at(storage_[tensor]), false,
      (slice.h_begin - first_row) * row, (slice.h_end - first_row) * row};
  return input;
}

Located SramBuffers::Output(const Step& step) {
  const Layer& layer = plan_.layers[step.layer];
  Located output;
  const bool passed_on = IsPassedOn(layer.output);
  if (!passed_on && !IsResident(layer.output)) {
    output.place = DensePlacement(layer.out_bytes, step.output);
    output.access = {SlotBuffer(step.part, kOutput, step.slot), true, 0,
                     layer.OutputBytes(step.output)};
    return output;
  }
  const TensorId storage = storage_[layer.output];
  if (!residents_.contains(storage)) {
    residents_[storage] = NewBuffer(
        passed_on ? made_.passed_on.at(storage) : layer.all_out_bytes(),
        layer.out_bytes > 1 ? kSlotAlignment : 1);
  }
  const int64_t first_row = passed_on ? made_.parts[step.part].held_from : 0;
  const int64_t row = layer.out_row_bytes();
  output.place = WholePlacement(layer.out, layer.out_bytes, step.output);
  output.place.offset -= first_row * row;
  output.access = {residents_[storage], true,
                   (step.output.h_begin - first_row) * row,
                   (step.output.h_end - first_row) * row};
  return output;
}

Located SramBuffers::Sums(const Step& step, int32_t slot) {
  return {DensePlacement(kSumBytes, step.output),
          {SlotBuffer(step.part, kSums, slot), true, 0,
           step.output.elements() * kSumBytes}};
}

int32_t SramBuffers::NewBuffer(int64_t bytes, int64_t alignment) {
  BufferLife life;
  life.size_bytes = bytes;
  life.alignment_bytes = alignment;
  life.begin = life.end = static_cast<int64_t>(schedule_.commands.size());
  schedule_.buffers.push_back(life);
  return static_cast<int32_t>(schedule_.buffers.size()) - 1;
}

int32_t SramBuffers::SlotBuffer(int32_t part, size_t operand, int32_t slot) {
  int32_t& buffer = slots_[part][operand][slot];
  if (buffer >= 0) return buffer;
  const int32_t layer = made_.parts[part].layer;
  const Slots& slots = made_.slots[part];
  const int64_t bytes = operand == kSums     ? slots.sums.bytes
                        : operand == kOutput ? slots.output.bytes
                                             : slots.loads[operand].bytes;
  const bool aligned = operand == static_cast<size_t>(Operand::kBlock) ||
                       !plan_.strict ||
                       IsAligned(plan_.layers[layer], plan_.tilings[layer]);
  buffer = NewBuffer(bytes, aligned ? kSlotAlignment : 1);
  return buffer;
}

}  // namespace edgekiln::compiler::dla
