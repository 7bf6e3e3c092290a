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
    LayerBuffers& buffers = slots_.emplace_back();
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
      claimed.layer, static_cast<size_t>(claimed.operand), claimed.slot);
  return load_buffers_[load];
}

int64_t SramBuffers::NewBytes(int32_t load) const {
  const Load& asked = made_.loads[load];
  const auto operand = static_cast<size_t>(asked.operand);
  return slots_[asked.layer][operand][asked.slot] < 0
             ? made_.slots[asked.layer].loads[operand].bytes
             : 0;
}

Located SramBuffers::Input(const Layer& layer, TensorId tensor, int32_t load,
                           const Slice& slice) const {
  Located input;
  if (load >= 0 && !made_.loads[load].part_of_whole) {
    input.place = DensePlacement(layer.in_bytes, slice);
    input.access = {load_buffers_[load], false, 0, layer.InputBytes(slice)};
    return input;
  }
  input.place = WholePlacement(layer.in, layer.in_bytes, slice);
  input.access = {
      load >= 0 ? load_buffers_[load] : residents_.at(storage_[tensor]), false,
      slice.h_begin * layer.in_row_bytes(), slice.h_end * layer.in_row_bytes()};
  return input;
}

Located SramBuffers::Output(const Step& step) {
  const Layer& layer = plan_.layers[step.layer];
  Located output;
  if (!IsResident(layer.output)) {
    output.place = DensePlacement(layer.out_bytes, step.output);
    output.access = {SlotBuffer(step.layer, kOutput, step.slot), true, 0,
                     layer.OutputBytes(step.output)};
    return output;
  }
  const TensorId storage = storage_[layer.output];
  if (!residents_.contains(storage)) {
    residents_[storage] = NewBuffer(layer.all_out_bytes(),
                                    layer.out_bytes > 1 ? kSlotAlignment : 1);
  }
  output.place = WholePlacement(layer.out, layer.out_bytes, step.output);
  output.access = {residents_[storage], true,
                   step.output.h_begin * layer.out_row_bytes(),
                   step.output.h_end * layer.out_row_bytes()};
  return output;
}

Located SramBuffers::Sums(const Step& step, int32_t slot) {
  return {DensePlacement(kSumBytes, step.output),
          {SlotBuffer(step.layer, kSums, slot), true, 0,
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

int32_t SramBuffers::SlotBuffer(int32_t layer, size_t operand, int32_t slot) {
  int32_t& buffer = slots_[layer][operand][slot];
  if (buffer >= 0) return buffer;
  const Slots& slots = made_.slots[layer];
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
