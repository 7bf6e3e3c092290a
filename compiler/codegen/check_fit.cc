#include "compiler/codegen/check_fit.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/ir/storage.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/integer_io.h"
#include "target/memories.h"
#include "target/pattern_ops.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;
// A grouped convolution, which partition may rewrite for an engine, or an op
// that is placed by cycles.
constexpr int32_t kUndecided = -2;

bool IsReshape(const Op& op) {
  return op.attributes.op_case() == v1::OpAttributes::kReshape;
}

class FitChecker {
 public:
  FitChecker(const Graph& graph, const std::vector<int32_t>& engines,
             const v1::Machine& machine, SystemMemories memories)
      : graph_(graph),
        engines_(engines),
        machine_(machine),
        memories_(memories),
        storage_(StorageOf(graph)) {}

  // Smallest tiles of every run of ops on one engine, as they will be planned.
  absl::Status CheckSram() const {
    for (size_t first = 0; first < engines_.size();) {
      size_t end = first;
      std::vector<int32_t> ops;
      for (; end < engines_.size() && engines_[end] == engines_[first]; ++end) {
        ops.push_back(static_cast<int32_t>(end));
      }
      if (engines_[first] >= 0) {
        EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                            FindBackend(machine_, engines_[first]));
        EK_RETURN_IF_ERROR(
            backend->CheckSmallest(graph_, ops, machine_, engines_[first]));
      }
      first = end;
    }
    return absl::OkStatus();
  }

  // The bytes that activations take at least.
  absl::StatusOr<int64_t> CheckRam() const {
    EK_ASSIGN_OR_RETURN(const std::vector<bool> certain, TensorsInRam());
    // The rest lies in RAM unless it fits engines' memory; input and output of
    // a foldable transpose count once.
    EK_ASSIGN_OR_RETURN(const std::vector<bool> folds, MayFold());
    EK_ASSIGN_OR_RETURN(const std::vector<bool> whole, WholeTensors());
    std::vector<bool> movable(graph_.tensors.size(), false);
    for (size_t t = 0; t < movable.size(); ++t) {
      movable[t] = whole[t] && !certain[t];
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!folds[i]) continue;
      const TensorId made = storage_[graph_.ops[i].outputs[0]];
      movable[made] = false;
      if (certain[made]) movable[storage_[graph_.ops[i].inputs[0]]] = false;
    }
    const auto ops = static_cast<int64_t>(graph_.ops.size());
    const OpTimes times = InOrder(ops);
    const TensorLives in_ram = LivesOf(graph_, storage_, certain, times);
    const TensorLives moved = LivesOf(graph_, storage_, movable, times);
    std::vector<int64_t> need = AliveBytes(in_ram, ops);
    const std::vector<int64_t> beside = AliveBytes(moved, ops);
    const int64_t scratchpads = AllScratchpadBytes();
    for (int64_t i = 0; i < ops; ++i) {
      // All of these are alive together only while something is computed.
      if (IsReshape(graph_.ops[i])) continue;
      const int64_t rest = std::max<int64_t>(beside[i + 1] - scratchpads, 0);
      need[i + 1] += std::min(rest, kMaxBytes - need[i + 1]);
    }
    const auto peak = std::max_element(need.begin(), need.end());
    const v1::ResolvedMemory ram = Together(machine_, memories_.rams);
    if (*peak <= ram.capacity_bytes()) return *peak;
    const int64_t instant = peak - need.begin() - 1;
    std::vector<TensorId> alive = AliveAt(in_ram, instant);
    const std::vector<TensorId> others = AliveAt(moved, instant);
    alive.insert(alive.end(), others.begin(), others.end());
    return MemoryTooSmall(ram, "activations", AtLeast(*peak),
                          Largest(graph_, std::move(alive)));
  }

  // `activation_bytes` lie in the same memory.
  absl::Status CheckFlash(int64_t activation_bytes) const {
    std::set<TensorId> counted;
    int64_t need = 0;
    const auto add = [&](int64_t bytes) {
      need += std::min(bytes, kMaxBytes - need);
    };
    EK_ASSIGN_OR_RETURN(const auto tables, TableBytes());
    for (const auto& [weights, bytes] : tables) add(bytes);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      // Moves no bytes, so that constants behind it are its readers'.
      if (IsReshape(op)) continue;
      for (size_t n = 0; n < op.inputs.size(); ++n) {
        if (op.inputs[n] == kNoTensor || !IsConstant(op.inputs[n])) continue;
        // An engine has a table in place of the bias.
        if (engines_[i] != kHost && n > 1) continue;
        const TensorId constant = storage_[op.inputs[n]];
        if (!counted.insert(constant).second) continue;
        const Tensor& tensor = graph_.tensors[constant];
        const int64_t bytes = tensor.num_elements() * ElementBytes(tensor.type);
        if (engines_[i] == kHost || n != 1) {
          add(bytes);
          continue;
        }
        EK_ASSIGN_OR_RETURN(const int64_t packed, LeastWeightBytes(bytes));
        add(packed);
      }
    }
    const v1::ResolvedMemory& flash = machine_.memories(memories_.flash);
    add(activation_bytes);
    if (need <= flash.capacity_bytes()) return absl::OkStatus();
    return MemoryTooSmall(
        flash,
        activation_bytes == 0 ? "weights and constants"
                              : "weights, constants and activations",
        AtLeast(need), Largest(graph_, {counted.begin(), counted.end()}));
  }

 private:
  static constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max();

  static std::string AtLeast(int64_t bytes) {
    return absl::StrCat(bytes, " bytes at least");
  }

  bool IsConstant(TensorId tensor) const {
    return graph_.tensors[storage_[tensor]].is_constant();
  }

  // Of the entries that engines have for each channel in place of the biases,
  // by weights; not more than these would grow if what reads them stayed float
  // after all.
  absl::StatusOr<std::map<TensorId, int64_t>> TableBytes() const {
    std::map<TensorId, int64_t> tables;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (engines_[i] < 0 || op.inputs.size() < 2 ||
          !IsConstant(op.inputs[1])) {
        continue;
      }
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          FindBackend(machine_, engines_[i]));
      const int64_t weights = graph_.tensors[op.inputs[1]].num_elements();
      int64_t& bytes = tables[storage_[op.inputs[1]]];
      bytes = std::min(bytes + backend->ConstantBytesBesideWeights(
                                   graph_, op, machine_, engines_[i]),
                       3 * weights);
    }
    return tables;
  }

  // On whichever engine has them in the fewest.
  absl::StatusOr<int64_t> LeastWeightBytes(int64_t bytes) const {
    int64_t least = bytes;
    for (int32_t e = 0; e < machine_.engines_size(); ++e) {
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          FindBackend(machine_, e));
      least = std::min(least, backend->LeastWeightBytes(bytes, machine_, e));
    }
    return least;
  }

  // Capacity of all memories that the host does not reach.
  int64_t AllScratchpadBytes() const {
    int64_t bytes = 0;
    for (const v1::ResolvedMemory& memory : machine_.memories()) {
      if (!memory.host_reaches()) bytes += memory.capacity_bytes();
    }
    return bytes;
  }

  // Whether the op runs, or may run, on such an engine.
  absl::StatusOr<bool> MayRunWhere(bool (EngineBackend::*has)() const,
                                   int32_t engine) const {
    for (int32_t e = 0; e < machine_.engines_size(); ++e) {
      if (e != engine && engine != kUndecided) continue;
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          FindBackend(machine_, e));
      if ((backend->*has)()) return true;
    }
    return false;
  }
  absl::StatusOr<bool> HostDriven(int32_t engine) const {
    return MayRunWhere(&EngineBackend::HostDriven, engine);
  }

  // By place of a tensor that is no constant: whether an op makes or reads all
  // of it at once.
  absl::StatusOr<std::vector<bool>> WholeTensors() const {
    std::vector<bool> whole(graph_.tensors.size(), false);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (IsReshape(op)) continue;
      EK_ASSIGN_OR_RETURN(
          const bool in_pieces,
          MayRunWhere(&EngineBackend::ComputesInPieces, engines_[i]));
      if (in_pieces) continue;
      for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *tensors) {
          if (tensor == kNoTensor || IsConstant(tensor)) continue;
          whole[storage_[tensor]] = true;
        }
      }
    }
    return whole;
  }

  // By op: transposes on the host that may be folded into moves of engines.
  absl::StatusOr<std::vector<bool>> MayFold() const {
    EK_ASSIGN_OR_RETURN(const bool host_driven, HostDriven(kUndecided));
    const bool moves =
        host_driven && std::any_of(engines_.begin(), engines_.end(),
                                   [](int32_t e) { return e != kHost; });
    std::vector<bool> folds;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      folds.push_back(moves && engines_[i] == kHost &&
                      graph_.ops[i].attributes.has_transpose());
    }
    return folds;
  }

  // Those of the host, and those that pass from one program of an engine to
  // another: what the host does between ends the first. What an engine that the
  // host drives reads may have stayed in its memory.
  absl::StatusOr<std::vector<bool>> TensorsInRam() const {
    EK_ASSIGN_OR_RETURN(const std::vector<bool> folds, MayFold());
    std::vector<bool> on_host;
    for (size_t i = 0; i < engines_.size(); ++i) {
      on_host.push_back(engines_[i] == kHost && !folds[i]);
    }
    std::vector<bool> in_ram = TensorsOfHost(graph_, storage_, on_host);
    std::vector<int32_t> made_in(graph_.tensors.size(), -1);
    int32_t part = 0;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (on_host[i] || folds[i]) {
        ++part;
        continue;
      }
      EK_ASSIGN_OR_RETURN(const bool host_driven, HostDriven(engines_[i]));
      for (const TensorId tensor : graph_.ops[i].inputs) {
        if (tensor == kNoTensor || IsConstant(tensor) || host_driven) continue;
        const TensorId stored = storage_[tensor];
        if (made_in[stored] != part) in_ram[stored] = true;
      }
      for (const TensorId tensor : graph_.ops[i].outputs) {
        if (!IsReshape(graph_.ops[i])) made_in[storage_[tensor]] = part;
      }
    }
    return in_ram;
  }

  const Graph& graph_;
  const std::vector<int32_t>& engines_;
  const v1::Machine& machine_;
  const SystemMemories memories_;
  const std::vector<TensorId> storage_;
};

// Whether one of these engines has enough memory for the op.
absl::Status CheckAnyHolds(const Graph& graph, int32_t op,
                           const std::vector<Taker>& takers,
                           const v1::Machine& machine) {
  absl::Status refusal;
  for (const Taker& taker : takers) {
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine, taker.engine));
    refusal = backend->CheckSmallest(graph, {op}, machine, taker.engine);
    if (refusal.ok()) return refusal;
  }
  return refusal;
}

// Whether calibration may find ranges for which the op's operands and result
// get several quantizations (compiler/quantize): then the host has it.
bool DependsOnRanges(const v1::OpAttributes& attributes) {
  return attributes.has_binary() || attributes.unary().alpha() > 1;
}

// Whether an engine takes the op with some weights only: then the host may have
// it. Neither an outline nor a QuantizedForm() tells values.
bool DependsOnWeights(const v1::OpAttributes& attributes,
                      const v1::Capabilities& capabilities) {
  const std::string name = target::PatternOpName(attributes);
  for (const auto& engine : capabilities.engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      if (pattern.numerics().weight_values() != v1::WEIGHTS_ANY &&
          absl::c_linear_search(pattern.ops(), name)) {
        return true;
      }
    }
  }
  return false;
}

// The engine of each op whose placement is certain.
absl::StatusOr<std::vector<int32_t>> CertainEngines(
    const PlacedForFit& placed, const v1::Machine& machine) {
  const Graph& graph = placed.graph;
  if (placed.offload == v1::NONE) {
    return std::vector<int32_t>(graph.ops.size(), kHost);
  }
  std::vector<int32_t> engines = placed.engines;
  for (int32_t i = 0; i < std::ssize(engines); ++i) {
    if (engines[i] >= machine.engines_size()) {
      return absl::InternalError("capabilities and machine of two targets");
    }
    if (graph.ops[i].attributes.conv2d().groups() > 1) engines[i] = kUndecided;
    const v1::OpAttributes& op = graph.ops[i].attributes;
    if (engines[i] < 0) continue;
    const std::vector<Taker>& takers = placed.takers[i];
    if (takers.empty()) {
      // Partition rewrites it for an engine, or another op brings it there.
      const bool rewritten = op.has_conv2d() || op.has_depthwise_conv2d();
      if (placed.offload == v1::PAYING && rewritten) engines[i] = kUndecided;
      continue;
    }
    if (placed.offload == v1::PAYING || !placed.is_certain[i]) {
      engines[i] = kUndecided;
    } else if (takers.size() > 1) {
      EK_RETURN_IF_ERROR(CheckAnyHolds(graph, i, takers, machine));
      engines[i] = kUndecided;
    }
  }
  return engines;
}

}  // namespace

absl::StatusOr<PlacedForFit> PlaceForFit(Graph deployed,
                                         const v1::Capabilities& capabilities,
                                         v1::Offload offload) {
  PlacedForFit placed;
  placed.graph = std::move(deployed);
  placed.offload = offload;
  // Real numbers at inputs and outputs take more than the integers they stand
  // for: what holds of those holds of either form.
  UseIntegerPorts(placed.graph);
  if (offload == v1::NONE) return placed;
  EK_ASSIGN_OR_RETURN(placed.engines, EnginesOf(placed.graph, capabilities));
  EK_ASSIGN_OR_RETURN(placed.takers,
                      EnginesThatTake(placed.graph, capabilities));
  for (const Op& op : placed.graph.ops) {
    placed.is_certain.push_back(!DependsOnRanges(op.attributes) &&
                                !DependsOnWeights(op.attributes, capabilities));
  }
  return placed;
}

absl::Status CheckFits(const PlacedForFit& placed, const v1::Machine& machine) {
  EK_ASSIGN_OR_RETURN(const SystemMemories memories, SystemMemoriesOf(machine));
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> engines,
                      CertainEngines(placed, machine));
  const FitChecker checker(placed.graph, engines, machine, memories);
  EK_RETURN_IF_ERROR(checker.CheckSram());
  EK_ASSIGN_OR_RETURN(const int64_t activation_bytes, checker.CheckRam());
  // Of several memories, those of the others may hold them.
  const bool together =
      memories.rams.size() == 1 && memories.rams[0] == memories.flash;
  return checker.CheckFlash(together ? activation_bytes : 0);
}

absl::Status CheckFits(Graph deployed, const v1::Capabilities& capabilities,
                       const v1::Machine& machine, v1::Offload offload) {
  EK_ASSIGN_OR_RETURN(const PlacedForFit placed,
                      PlaceForFit(std::move(deployed), capabilities, offload));
  return CheckFits(placed, machine);
}

}  // namespace edgekiln::compiler
