#include "compiler/codegen/sufficient_memory.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "compiler/codegen/memory_map.h"
#include "target/validate_machine.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kPlentyBytes = int64_t{1} << 31;
// Each compiles the network, and takes about as long as its plan has turns.
constexpr int64_t kFewestTrials = 2;
constexpr int64_t kMostTrials = 20;
constexpr int64_t kMostTurns = int64_t{1} << 16;
// Of plans of more turns, the last bytes are not searched for: half the trials.
constexpr int64_t kExactTurns = 256;
constexpr int64_t kPrecision = 256;  // 1 / kPrecision of the size.
// Constants are assumed to take at most kMostPacked times their bytes, and
// kMostPackedBeside per op, once packed. Where that fits, nothing is packed to
// check it. Both are of the built-in targets: a dense block of 16 channels has
// 16 times the weights of a depthwise layer, and the smallest block of cells,
// 288 x 128 of 2 bits, has 9216 bytes; 1 KiB more is for tables. Targets that
// pack into more may have constants that only EmitProgram() refuses.
constexpr int64_t kMostPacked = 16;
constexpr int64_t kMostPackedBeside = 10240;

// The one memory of activations, if it holds constants as well; else -1.
int32_t SharedMemoryOf(const v1::Machine& machine) {
  const auto memories = SystemMemoriesOf(machine);
  if (!memories.ok() || memories->rams.size() != 1 ||
      memories->rams[0] != memories->flash) {
    return -1;
  }
  return memories->flash;
}

// One network, compiled for several sizes of a memory.
class Trials {
 public:
  Trials(const Graph& graph, const v1::Partition& partition,
         const v1::Machine& machine, const v1::TileRecipe& recipe,
         int32_t memory)
      : graph_(graph),
        partition_(partition),
        machine_(machine),
        recipe_(recipe),
        memory_(memory) {}

  // What the program takes of so many bytes; nothing if it does not fit.
  absl::StatusOr<std::optional<int64_t>> Compile(int64_t bytes) {
    machine_.mutable_memories(memory_)->set_capacity_bytes(bytes);
    const auto plans = TilePartition(graph_, partition_, machine_, recipe_);
    if (absl::IsResourceExhausted(plans.status())) return std::nullopt;
    EK_RETURN_IF_ERROR(plans.status());
    turns_ = plans->turns_size();
    const auto emitted = EmitProgram(graph_, partition_, *plans, machine_);
    if (absl::IsResourceExhausted(emitted.status())) return std::nullopt;
    EK_RETURN_IF_ERROR(emitted.status());
    return emitted->memory_bytes[memory_];
  }

  // Steps of the last plan.
  int64_t turns() const { return turns_; }

  bool IsMachine(int64_t bytes) {
    machine_.mutable_memories(memory_)->set_capacity_bytes(bytes);
    return target::ValidateMachine(machine_).ok();
  }

 private:
  const Graph& graph_;
  const v1::Partition& partition_;
  v1::Machine machine_;
  const v1::TileRecipe& recipe_;
  const int32_t memory_;
  int64_t turns_ = 0;
};

// Bytes that suffice, where `low` do not; nothing if none are found.
absl::StatusOr<std::optional<int64_t>> Sufficient(Trials& trials, int64_t low) {
  EK_ASSIGN_OR_RETURN(const std::optional<int64_t> plenty,
                      trials.Compile(kPlentyBytes));
  if (!plenty) return std::nullopt;
  int64_t left = std::clamp(kMostTurns / std::max<int64_t>(trials.turns(), 1),
                            kFewestTrials, kMostTrials);
  std::optional<int64_t> high;
  int64_t taken = 0;  // Of `high`.
  bool halve = false;
  // What is in memory beside the program, such as kernels' code, is not in it.
  int64_t bytes = std::max(*plenty, low + 1);
  for (; left > 0 && bytes < kPlentyBytes; --left) {
    EK_ASSIGN_OR_RETURN(const std::optional<int64_t> fits,
                        trials.Compile(bytes));
    if (fits) {
      high = bytes;
      taken = *fits;
    } else {
      low = bytes;
    }
    if (!high) {
      bytes *= 2;
      continue;
    }
    const bool exact = trials.turns() <= kExactTurns;
    const int64_t close = exact ? 1 : std::max<int64_t>(*high / kPrecision, 1);
    if (*high - low <= close) break;
    // Less than all that was taken makes another plan, or none.
    bytes = halve || taken <= low ? low + (*high - low) / 2
                                  : std::min(taken, *high - 1);
    halve = !halve;
  }
  if (high && !trials.IsMachine(*high)) high.reset();
  return high;
}

}  // namespace

absl::Status NameSufficientMemory(absl::Status refusal, const Graph& graph,
                                  const v1::Partition& partition,
                                  const v1::Machine& machine,
                                  const v1::TileRecipe& recipe) {
  std::optional<ErrorDetail> detail = GetErrorDetail(refusal);
  const int32_t shared = SharedMemoryOf(machine);
  if (!detail || detail->reason != "MEMORY_TOO_SMALL" || shared < 0) {
    return refusal;
  }
  const v1::ResolvedMemory& memory = machine.memories(shared);
  if (!absl::StartsWith(detail->where,
                        absl::StrCat("memory ", memory.name(), ";"))) {
    return refusal;  // It is about another memory.
  }
  Trials trials(graph, partition, machine, recipe, shared);
  const auto found = Sufficient(trials, memory.capacity_bytes());
  if (!found.ok() || !*found) return refusal;
  const int64_t bytes = **found;
  detail->fix = absl::StrReplaceAll(
      detail->fix, {{"more of this memory",
                     absl::StrCat("at least ", bytes - memory.capacity_bytes(),
                                  " more bytes of ", memory.name())}});
  absl::StrAppend(&detail->need, "; ", bytes, " bytes suffice");
  return MakeError(refusal.code(), *std::move(detail));
}

absl::Status CheckConstantsFit(const Graph& graph,
                               const v1::Partition& partition,
                               const v1::RegionPlans& plans,
                               const v1::Machine& machine) {
  const int32_t shared = SharedMemoryOf(machine);
  if (shared < 0) return absl::OkStatus();
  int64_t constants = 0;
  int64_t activations = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.is_constant()) constants += BytesOf(tensor);
  }
  for (const v1::RegionPlans::SystemRoom& room : plans.system_rooms()) {
    activations += BytesOf(graph.tensors[room.tensor()]);
  }
  const int64_t capacity = machine.memories(shared).capacity_bytes();
  const int64_t most =
      capacity - activations - kMostPackedBeside * std::ssize(graph.ops);
  if (constants <= most / kMostPacked) return absl::OkStatus();
  return EmitProgram(graph, partition, plans, machine).status();
}

}  // namespace edgekiln::compiler
