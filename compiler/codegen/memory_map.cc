#include "compiler/codegen/memory_map.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/planning/offset_allocator.h"

namespace edgekiln::compiler {
namespace {

// Host kernels read whole elements.
constexpr int64_t kTensorAlignment = 16;

absl::Status TooSmall(const v1::ResolvedMemory& memory, int64_t need,
                      absl::string_view what) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.reason = "MEMORY_TOO_SMALL",
       .what = absl::StrCat("the model's ", what, " do not fit"),
       .where = absl::StrCat("memory ", memory.name()),
       .limit = absl::StrCat(memory.capacity_bytes(), " bytes"),
       .need = absl::StrCat(need, " bytes"),
       .fix = "use a target with more of this memory, or a smaller model"});
}

}  // namespace

absl::StatusOr<SystemMemories> SystemMemoriesOf(const v1::Machine& machine) {
  SystemMemories found;
  for (int32_t i = 0; i < machine.memories_size(); ++i) {
    if (machine.memories(i).kind() == v1::MemoryDescriptor::FLASH) {
      found.flash = i;
    } else if (machine.memories(i).kind() == v1::MemoryDescriptor::RAM) {
      found.ram = i;
    }
  }
  if (found.flash >= 0 && found.ram >= 0) return found;
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = "the target lacks system memory",
                    .where = "memories",
                    .need = "one memory of kind FLASH and one of kind RAM",
                    .fix = "add it to the descriptor"});
}

absl::StatusOr<RamPlan> PlanRam(const Graph& graph,
                                const std::vector<TensorId>& storage,
                                const std::vector<bool>& in_ram,
                                const v1::ResolvedMemory& ram) {
  const auto ops = static_cast<int64_t>(graph.ops.size());
  std::vector<TensorId> tensors;
  std::vector<BufferLife> lives;
  std::vector<int32_t> slot(graph.tensors.size(), -1);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!in_ram[t]) continue;
    const Tensor& tensor = graph.tensors[t];
    slot[t] = static_cast<int32_t>(lives.size());
    tensors.push_back(static_cast<TensorId>(t));
    lives.push_back({.size_bytes = std::max<int64_t>(
                         tensor.num_elements() * ElementBytes(tensor.type), 1),
                     .alignment_bytes = kTensorAlignment,
                     .begin = ops,
                     .end = -1});
  }
  const auto touch = [&](TensorId tensor, int64_t when) {
    if (tensor == kNoTensor || slot[storage[tensor]] < 0) return;
    BufferLife& life = lives[slot[storage[tensor]]];
    life.begin = std::min(life.begin, when);
    life.end = std::max(life.end, when);
  };
  for (const TensorId input : graph.inputs) touch(input, -1);
  for (int64_t i = 0; i < ops; ++i) {
    for (const TensorId tensor : graph.ops[i].inputs) touch(tensor, i);
    for (const TensorId tensor : graph.ops[i].outputs) touch(tensor, i);
  }
  for (const TensorId output : graph.outputs) touch(output, ops);
  const OffsetPlan offsets = AllocateOffsets(lives);
  RamPlan plan;
  plan.bytes = offsets.peak_bytes;
  if (plan.bytes > ram.capacity_bytes()) {
    return TooSmall(ram, plan.bytes, "activations");
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    plan.address[tensors[i]] =
        ram.base_address() + static_cast<uint64_t>(offsets.offsets[i]);
  }
  return plan;
}

uint64_t FlashImage::Align(int64_t alignment_bytes) {
  while (static_cast<int64_t>(bytes_.size()) % alignment_bytes != 0) {
    bytes_.push_back('\0');
  }
  return flash_.base_address() + bytes_.size();
}

uint64_t FlashImage::Append(absl::string_view bytes) {
  const uint64_t address = flash_.base_address() + bytes_.size();
  bytes_.append(bytes.data(), bytes.size());
  return address;
}

absl::Status FlashImage::Check() const {
  const auto bytes = static_cast<int64_t>(bytes_.size());
  if (bytes <= flash_.capacity_bytes()) return absl::OkStatus();
  return TooSmall(flash_, bytes, "weights and constants");
}

}  // namespace edgekiln::compiler
