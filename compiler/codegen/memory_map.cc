#include "compiler/codegen/memory_map.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/rounding.h"
#include "target/memories.h"

namespace edgekiln::compiler {
namespace {

// Host kernels read whole elements.
constexpr int64_t kTensorAlignment = 16;

// Exporters join the names of fused ops: the first words tell enough.
std::string Short(const std::string& name) {
  constexpr size_t kMost = 40;
  return name.size() <= kMost ? name : name.substr(0, kMost) + "...";
}

// Puts tensors of `waiting` (indices into `lives`, largest first) below
// `capacity`, each at the lowest offset that is free while it lives. Those that
// have no room go on waiting.
void FillFirstFit(const std::vector<BufferLife>& lives, int64_t capacity,
                  std::vector<size_t>& waiting, std::vector<int64_t>& offsets) {
  std::vector<size_t> left;
  std::vector<size_t> placed;
  std::vector<std::pair<int64_t, int64_t>> taken;  // [offset, end).
  for (const size_t i : waiting) {
    const BufferLife& life = lives[i];
    taken.clear();
    for (const size_t other : placed) {
      const BufferLife& o = lives[other];
      if (o.begin > life.end || life.begin > o.end) continue;
      taken.emplace_back(offsets[other], offsets[other] + o.size_bytes);
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= life.size_bytes) break;
      offset = std::max(offset, RoundUp(end, life.alignment_bytes));
    }
    if (life.size_bytes > capacity || offset > capacity - life.size_bytes) {
      left.push_back(i);
      continue;
    }
    offsets[i] = offset;
    placed.push_back(i);
  }
  waiting = std::move(left);
}

// Indices of the lives in `rams`, each where `ram_of` says, or all in the first
// one; largest first.
std::vector<std::vector<size_t>> Waiting(const TensorLives& all,
                                         const std::vector<int32_t>& rams,
                                         const RamOfTensor* ram_of) {
  std::vector<std::vector<size_t>> waiting(rams.size());
  for (size_t i = 0; i < all.lives.size(); ++i) {
    size_t ram = 0;
    if (ram_of != nullptr) {
      const auto found = ram_of->find(all.tensors[i]);
      if (found != ram_of->end()) {
        ram = std::find(rams.begin(), rams.end(), found->second) - rams.begin();
      }
    }
    waiting[ram < rams.size() ? ram : 0].push_back(i);
  }
  for (std::vector<size_t>& each : waiting) {
    std::stable_sort(each.begin(), each.end(), [&](size_t a, size_t b) {
      return all.lives[a].size_bytes > all.lives[b].size_bytes;
    });
  }
  return waiting;
}

}  // namespace

int64_t BytesOf(const Tensor& tensor) {
  return tensor.num_elements() * ElementBytes(tensor.type);
}

absl::Status MemoryTooSmall(const v1::ResolvedMemory& memory,
                            absl::string_view what, absl::string_view need,
                            absl::string_view largest) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.reason = "MEMORY_TOO_SMALL",
       .what = absl::StrCat("the model's ", what, " do not fit"),
       .where = absl::StrCat("memory ", memory.name(), "; ", largest),
       .limit = absl::StrCat(memory.capacity_bytes(), " bytes"),
       .need = std::string(need),
       .fix = "use a target with more of this memory, or a smaller model"});
}

std::string Largest(const Graph& graph, std::vector<TensorId> tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [&](TensorId a, TensorId b) {
    return BytesOf(graph.tensors[a]) > BytesOf(graph.tensors[b]);
  });
  if (tensors.size() > 3) tensors.resize(3);
  return absl::StrCat(
      "largest: ",
      absl::StrJoin(tensors, ", ", [&](std::string* out, TensorId id) {
        const Tensor& tensor = graph.tensors[id];
        absl::StrAppend(out, "'", Short(tensor.name), "' (", BytesOf(tensor),
                        " bytes)");
      }));
}

absl::StatusOr<SystemMemories> SystemMemoriesOf(const v1::Machine& machine) {
  SystemMemories found;
  for (int32_t i = 0; i < machine.memories_size(); ++i) {
    const v1::ResolvedMemory& memory = machine.memories(i);
    if (!memory.host_reaches()) continue;
    if (target::IsWritable(memory)) {
      found.rams.push_back(i);
    } else if (target::Holds(memory, v1::MemoryDescriptor::CONSTANTS)) {
      found.flash = i;
    }
  }
  for (size_t r = 0; found.flash < 0 && r < found.rams.size(); ++r) {
    const v1::ResolvedMemory& ram = machine.memories(found.rams[r]);
    if (target::Holds(ram, v1::MemoryDescriptor::CONSTANTS)) {
      found.flash = found.rams[r];
    }
  }
  if (found.flash >= 0 && !found.rams.empty()) return found;
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = "the target lacks system memory",
                    .where = "memories",
                    .need = "memories that the host reaches: one that holds "
                            "CONSTANTS, one that holds ACTIVATIONS",
                    .fix = "add it to the descriptor"});
}

std::vector<bool> TensorsOfHost(const Graph& graph,
                                const std::vector<TensorId>& storage,
                                const std::vector<bool>& on_host) {
  std::vector<bool> in_ram(graph.tensors.size(), false);
  const auto need = [&](const std::vector<TensorId>& tensors) {
    for (const TensorId tensor : tensors) {
      if (tensor == kNoTensor) continue;
      const TensorId stored = storage[tensor];
      if (!graph.tensors[stored].is_constant()) in_ram[stored] = true;
    }
  };
  need(graph.inputs);
  need(graph.outputs);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!on_host[i]) continue;
    need(graph.ops[i].inputs);
    need(graph.ops[i].outputs);
  }
  return in_ram;
}

OpTimes InOrder(int64_t ops) {
  OpTimes times;
  for (int64_t i = 0; i < ops; ++i) times.of_op.emplace_back(i, i);
  times.end = ops;
  return times;
}

TensorLives LivesOf(const Graph& graph, const std::vector<TensorId>& storage,
                    const std::vector<bool>& in_ram, const OpTimes& times,
                    const BytesOfTensor& bytes) {
  TensorLives result;
  std::vector<TensorId>& tensors = result.tensors;
  std::vector<BufferLife>& lives = result.lives;
  std::vector<int32_t> slot(graph.tensors.size(), -1);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!in_ram[t]) continue;
    const auto tensor = static_cast<TensorId>(t);
    const auto found = bytes.find(tensor);
    const int64_t size =
        found != bytes.end() ? found->second : BytesOf(graph.tensors[t]);
    slot[t] = static_cast<int32_t>(lives.size());
    tensors.push_back(tensor);
    lives.push_back({.size_bytes = std::max<int64_t>(size, 1),
                     .alignment_bytes = kTensorAlignment,
                     .begin = times.end,
                     .end = -1});
  }
  const auto touch = [&](TensorId tensor, int64_t when) {
    if (tensor == kNoTensor || slot[storage[tensor]] < 0) return;
    BufferLife& life = lives[slot[storage[tensor]]];
    life.begin = std::min(life.begin, when);
    life.end = std::max(life.end, when);
  };
  for (const TensorId input : graph.inputs) touch(input, -1);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (times.of_op[i].first > times.of_op[i].second) continue;
    for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
      for (const TensorId tensor : *tensors) {
        touch(tensor, times.of_op[i].first);
        touch(tensor, times.of_op[i].second);
      }
    }
  }
  for (const TensorId output : graph.outputs) touch(output, times.end);
  return result;
}

std::vector<int64_t> AliveBytes(const TensorLives& all, int64_t end) {
  // Changes at each instant; wide, as any shape may come here.
  std::vector<__int128> change(static_cast<size_t>(end) + 3, 0);
  for (const BufferLife& life : all.lives) {
    if (life.end < life.begin) continue;
    change[static_cast<size_t>(life.begin + 1)] += life.size_bytes;
    change[static_cast<size_t>(life.end + 2)] -= life.size_bytes;
  }
  constexpr auto kMax = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> alive;
  __int128 sum = 0;
  for (int64_t instant = -1; instant <= end; ++instant) {
    sum += change[static_cast<size_t>(instant + 1)];
    alive.push_back(sum > kMax ? kMax : static_cast<int64_t>(sum));
  }
  return alive;
}

std::vector<TensorId> AliveAt(const TensorLives& all, int64_t instant) {
  std::vector<TensorId> alive;
  for (size_t i = 0; i < all.tensors.size(); ++i) {
    if (all.lives[i].begin <= instant && instant <= all.lives[i].end) {
      alive.push_back(all.tensors[i]);
    }
  }
  return alive;
}

int32_t MemoryAt(const v1::Machine& machine,
                 const std::vector<int32_t>& memories, uint64_t address) {
  for (const int32_t m : memories) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    if (address >= memory.base_address() &&
        address - memory.base_address() <
            static_cast<uint64_t>(memory.capacity_bytes())) {
      return m;
    }
  }
  return -1;
}

v1::ResolvedMemory Together(const v1::Machine& machine,
                            const std::vector<int32_t>& memories) {
  v1::ResolvedMemory all = machine.memories(memories[0]);
  for (size_t i = 1; i < memories.size(); ++i) {
    const v1::ResolvedMemory& other = machine.memories(memories[i]);
    all.set_name(absl::StrCat(all.name(), " and ", other.name()));
    all.set_capacity_bytes(all.capacity_bytes() + other.capacity_bytes());
  }
  return all;
}

absl::StatusOr<RamPlan> PlanRam(
    const Graph& graph, const std::vector<TensorId>& storage,
    const std::vector<bool>& in_ram, const OpTimes& times,
    const v1::Machine& machine, const std::vector<int32_t>& rams,
    const RamOfTensor* ram_of, const BytesOfTensor& bytes, int64_t kept_bytes) {
  const TensorLives all = LivesOf(graph, storage, in_ram, times, bytes);
  const auto capacity = [&](size_t r) {
    return std::max<int64_t>(
        machine.memories(rams[r]).capacity_bytes() - (r == 0 ? kept_bytes : 0),
        0);
  };
  RamPlan plan;
  plan.bytes.assign(machine.memories_size(), 0);
  const auto put = [&](size_t i, int32_t ram, int64_t offset) {
    plan.address[all.tensors[i]] =
        machine.memories(ram).base_address() + static_cast<uint64_t>(offset);
    plan.bytes[ram] =
        std::max(plan.bytes[ram], offset + all.lives[i].size_bytes);
  };
  const OffsetPlan offsets = AllocateOffsets(all.lives);
  if (ram_of == nullptr && offsets.peak_bytes <= capacity(0)) {
    for (size_t i = 0; i < all.tensors.size(); ++i) {
      put(i, rams[0], offsets.offsets[i]);
    }
    return plan;
  }
  std::vector<std::vector<size_t>> waiting = Waiting(all, rams, ram_of);
  std::vector<size_t> left = waiting[0];
  std::vector<int64_t> places(all.lives.size(), -1);
  for (size_t r = 0; r < rams.size() && rams.size() > 1; ++r) {
    std::vector<size_t>& here = waiting[r];
    if (ram_of == nullptr && r > 0) here = std::move(left);
    left = here;
    FillFirstFit(all.lives, capacity(r), left, places);
    for (const size_t i : here) {
      if (places[i] >= 0) put(i, rams[r], places[i]);
    }
    if (ram_of != nullptr && !left.empty()) break;
  }
  if (left.empty()) return plan;
  const std::vector<int64_t> alive = AliveBytes(all, times.end);
  const auto peak = std::max_element(alive.begin(), alive.end());
  std::string need = absl::StrCat(offsets.peak_bytes + kept_bytes, " bytes");
  if (kept_bytes > 0) {
    absl::StrAppend(&need, ", ", kept_bytes,
                    " of them for records of jobs and what is rearranged");
  }
  return MemoryTooSmall(Together(machine, rams), "activations", need,
                        Largest(graph, AliveAt(all, peak - alive.begin() - 1)));
}

uint64_t FlashImage::Align(int64_t alignment_bytes) {
  while (static_cast<int64_t>(bytes_.size()) % alignment_bytes != 0) {
    bytes_.push_back('\0');
  }
  return flash_.base_address() + static_cast<uint64_t>(begin_) + bytes_.size();
}

uint64_t FlashImage::Append(absl::string_view bytes) {
  const uint64_t address =
      flash_.base_address() + static_cast<uint64_t>(begin_) + bytes_.size();
  bytes_.append(bytes.data(), bytes.size());
  return address;
}

uint64_t FlashImage::Adopt(std::string bytes) {
  if (!bytes_.empty()) return Append(bytes);
  bytes_ = std::move(bytes);
  return flash_.base_address() + static_cast<uint64_t>(begin_);
}

absl::Status FlashImage::Check(const Graph& graph, int64_t code_bytes) const {
  const int64_t bytes =
      begin_ + static_cast<int64_t>(bytes_.size()) + code_bytes;
  if (bytes <= flash_.capacity_bytes()) return absl::OkStatus();
  std::vector<TensorId> constants;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!graph.tensors[t].is_constant()) continue;
    constants.push_back(static_cast<TensorId>(t));
  }
  return MemoryTooSmall(flash_, "weights, constants and command streams",
                        begin_ == 0 ? absl::StrCat(bytes, " bytes")
                                    : absl::StrCat(bytes, " bytes, ", begin_,
                                                   " of them for activations"),
                        Largest(graph, std::move(constants)));
}

}  // namespace edgekiln::compiler
