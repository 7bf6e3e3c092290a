#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/compile.h"
#include "compiler/codegen/emit_turns.h"
#include "compiler/codegen/io_cost.h"
#include "compiler/codegen/program_writer.h"
#include "compiler/codegen/wall_cycles.h"
#include "target/memories.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;

bool IsReshape(const Op& op) {
  return op.attributes.op_case() == v1::OpAttributes::kReshape;
}

absl::Status OfAnother() {
  return absl::InvalidArgumentError(
      "the regions' plans belong to another partition");
}

// Emits programs whose engines run streams: strictly one after another, in the
// order of the graph's ops.
class StreamEmitter {
 public:
  StreamEmitter(const Graph& graph, const v1::Partition& partition,
                const v1::RegionPlans& plans, const v1::Machine& machine,
                ProgramWriter& writer)
      : graph_(graph),
        partition_(partition),
        plans_(plans),
        machine_(machine),
        writer_(writer) {}

  absl::Status Run() {
    EK_ASSIGN_OR_RETURN(costs_, target::HostCosts::Create(machine_));
    EK_RETURN_IF_ERROR(GatherRegions());
    EK_RETURN_IF_ERROR(PlaceTensors());
    for (int32_t op = 0; op < std::ssize(graph_.ops); ++op) {
      if (partition_.placements(op).engine() == kHost) {
        EK_RETURN_IF_ERROR(AddHostOp(op));
      } else if (const auto it = regions_.find(op); it != regions_.end()) {
        EK_RETURN_IF_ERROR(AddRegion(it->second));
      }
    }
    for (const auto& [engine, cycles] : bounds_) {
      if (cycles <= 0) continue;
      v1::Program::Bound& bound = *writer_.program().add_bounds();
      bound.set_engine(engine);
      bound.set_cycles(cycles);
    }
    return absl::OkStatus();
  }

 private:
  struct PlannedRegion {
    const v1::RegionPlan* plan = nullptr;
    Region region;
  };

  // Regions by their first op.
  absl::Status GatherRegions() {
    std::vector<bool> planned(graph_.ops.size(), false);
    for (const v1::RegionPlan& plan : plans_.regions()) {
      std::vector<int32_t> ops(plan.ops().begin(), plan.ops().end());
      for (const int32_t op : ops) {
        if (op < 0 || op >= partition_.placements_size() || planned[op] ||
            partition_.placements(op).engine() != plan.engine()) {
          return OfAnother();
        }
        planned[op] = true;
      }
      if (ops.empty()) return absl::InvalidArgumentError("a region is empty");
      const int32_t first = ops.front();
      regions_[first] = {&plan, RegionOf(graph_, std::move(ops))};
    }
    for (const auto& placement : partition_.placements()) {
      if (placement.engine() != kHost && !planned[placement.op()]) {
        return absl::InvalidArgumentError("a region has no plan");
      }
    }
    return absl::OkStatus();
  }

  // RAM for whatever passes between host and engines, or does not stay in SRAM.
  absl::Status PlaceTensors() {
    std::vector<bool> on_host;
    for (const auto& placement : partition_.placements()) {
      on_host.push_back(placement.engine() == kHost);
    }
    std::vector<bool> in_ram =
        TensorsOfHost(graph_, writer_.storage(), on_host);
    for (const auto& [op, planned] : regions_) MarkInRam(planned, in_ram);
    EK_ASSIGN_OR_RETURN(const OpTimes times, Times());
    EK_ASSIGN_OR_RETURN(RamPlan ram, PlanRam(graph_, writer_.storage(), in_ram,
                                             times, machine_, RamsOfEngines()));
    writer_.SetRam(std::move(ram));
    return absl::OkStatus();
  }

  // One op after another, but for those of chains.
  absl::StatusOr<OpTimes> Times() const {
    OpTimes times = InOrder(static_cast<int64_t>(graph_.ops.size()));
    std::vector<bool> chained(graph_.ops.size(), false);
    for (const auto& [first_op, planned] : regions_) {
      for (const v1::RegionPlan::Chain& chain : planned.plan->chains()) {
        if (chain.first() < 0 || chain.last() < chain.first() ||
            chain.last() >= std::ssize(graph_.ops)) {
          return OfAnother();
        }
        for (const int32_t op : planned.region.ops) {
          if (op < chain.first() || op > chain.last()) continue;
          if (chained[op]) return OfAnother();
          chained[op] = true;
          times.of_op[op] = {chain.first(), chain.last()};
        }
      }
    }
    return times;
  }

  // What the region's engine does not keep, or somebody else reads.
  void MarkInRam(const PlannedRegion& planned, std::vector<bool>& in_ram) {
    const auto& list = planned.plan->resident();
    const absl::flat_hash_set<TensorId> resident(list.begin(), list.end());
    for (const int32_t index : planned.region.ops) {
      const Op& op = graph_.ops[index];
      for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *tensors) {
          if (tensor == kNoTensor || writer_.IsConstant(tensor)) continue;
          const TensorId stored = writer_.storage()[tensor];
          if (!resident.contains(stored) ||
              planned.region.external.contains(stored)) {
            in_ram[stored] = true;
          }
        }
      }
    }
  }

  // The RAMs that the links of all engines reach.
  std::vector<int32_t> RamsOfEngines() const {
    std::vector<int32_t> rams = writer_.memories().rams;
    for (const auto& [first, planned] : regions_) {
      const v1::ResolvedLink* const link =
          target::OnlyLinkOf(machine_, planned.plan->engine());
      if (link == nullptr) continue;
      const auto joins = [](const auto& memories, int32_t memory) {
        return std::find(memories.begin(), memories.end(), memory) !=
               memories.end();
      };
      std::erase_if(rams, [&](int32_t ram) {
        return !joins(link->from(), ram) || !joins(link->to(), ram);
      });
    }
    return rams.empty() ? writer_.memories().rams : rams;
  }

  absl::Status AddHostOp(int32_t index) {
    const Op& op = graph_.ops[index];
    if (!IsReshape(op)) {
      writer_.AddHostOp(index);
      EK_ASSIGN_OR_RETURN(const int64_t cycles,
                          HostOpCycles(graph_, op, machine_, costs_));
      writer_.AddCycles(cycles, index);
    }
    for (const TensorId tensor : op.outputs) writer_.TapWhole(tensor);
    return absl::OkStatus();
  }

  // Reshapes at the head of a region show what was there before it began.
  void TapForeignAliases(const Region& region) {
    std::vector<bool> made(graph_.tensors.size(), false);
    for (const int32_t index : region.ops) {
      const Op& op = graph_.ops[index];
      for (const TensorId output : op.outputs) {
        if (!IsReshape(op)) {
          made[writer_.storage()[output]] = true;
        } else if (!made[writer_.storage()[output]]) {
          writer_.TapWhole(output);
        }
      }
    }
  }

  absl::Status AddRegion(const PlannedRegion& planned) {
    const int32_t engine = planned.plan->engine();
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine_, engine));
    const RegionMemory memory = {
        .tensors = &writer_.ram().address,
        .ram = writer_.memories().rams[0],
        .flash = writer_.memories().flash,
        .constants = writer_.flash().Align(ProgramWriter::kConstantAlignment),
        .buffers = {}};
    EK_ASSIGN_OR_RETURN(
        RegionCode emitted,
        backend->Emit(planned.region, *planned.plan, machine_, memory));
    writer_.flash().Adopt(std::move(emitted.constants));
    TapForeignAliases(planned.region);
    const int32_t stream = writer_.program().streams_size();
    v1::Program::Stream* code = writer_.program().add_streams();
    code->set_engine(engine);
    code->set_code(std::move(emitted.code));
    std::vector<int32_t> layouts;
    for (const v1::Layout& layout : emitted.layouts) {
      layouts.push_back(writer_.IndexOf(layout));
    }
    for (v1::Program::Tap& tap : emitted.taps) {
      tap.set_stream(stream);
      tap.set_layout(layouts[tap.layout()]);
      // Back ends get one RAM: all RAMs share one address space.
      if (tap.location().memory() == memory.ram) {
        tap.mutable_location()->set_memory(
            writer_.RamAt(tap.location().address()));
      }
      *writer_.program().add_taps() = std::move(tap);
    }
    for (v1::Program::CommandRange& range : emitted.ranges) {
      range.set_stream(stream);
      *writer_.program().add_ranges() = std::move(range);
    }
    // Rounded so that they sum to the subgraph's.
    int64_t cycles = 0;
    const int64_t clock_hz = machine_.engines(engine).clock_hz();
    for (const auto& use : emitted.layers) {
      writer_.AddCycles(WallCycles(cycles + use.cycles, clock_hz, machine_) -
                            WallCycles(cycles, clock_hz, machine_),
                        use.op);
      cycles += use.cycles;
      v1::Program::Layer& layer = *writer_.program().mutable_layers(use.op);
      layer.set_sram_bytes(use.sram_bytes);
      layer.set_tiles(use.tiles);
      // Rounded down.
      layer.set_bound_cycles(
          std::max<int64_t>(WallCycles(use.bound_cycles, clock_hz, machine_) -
                                (clock_hz == machine_.clock_hz() ? 0 : 1),
                            0));
      layer.set_compulsory_bytes(use.compulsory_bytes);
    }
    bounds_[engine] += planned.plan->bound_cycles();
    for (const RegionCode::MemoryUse& use : emitted.memories) {
      writer_.program().set_sram_peak_bytes(
          std::max(writer_.program().sram_peak_bytes(), use.bytes));
      writer_.NoteBytes(use.memory, use.bytes);
    }
    writer_.program().add_steps()->mutable_launch()->set_stream(stream);
    writer_.program().add_steps()->mutable_wait()->set_engine(engine);
    return absl::OkStatus();
  }

  const Graph& graph_;
  const v1::Partition& partition_;
  const v1::RegionPlans& plans_;
  const v1::Machine& machine_;
  target::HostCosts costs_;
  ProgramWriter& writer_;
  std::map<int32_t, PlannedRegion> regions_;
  std::map<int32_t, int64_t> bounds_;  // By engine.
};

// Nothing has the values of these tensors to compare them with.
void DropTaps(const google::protobuf::RepeatedField<int32_t>& tensors,
              v1::Program& program) {
  if (tensors.empty()) return;
  auto& taps = *program.mutable_taps();
  const auto dropped =
      std::remove_if(taps.begin(), taps.end(), [&](const auto& tap) {
        return std::binary_search(tensors.begin(), tensors.end(), tap.tensor());
      });
  taps.erase(dropped, taps.end());
}

}  // namespace

absl::StatusOr<EmitResult> EmitProgram(const v1::Partition& partition,
                                       const v1::RegionPlans& plans,
                                       const v1::Machine& machine) {
  EK_ASSIGN_OR_RETURN(const Graph graph, GraphFromProto(partition.graph()));
  return EmitProgram(graph, partition, plans, machine);
}

absl::StatusOr<EmitResult> EmitProgram(const Graph& graph,
                                       const v1::Partition& partition,
                                       const v1::RegionPlans& plans,
                                       const v1::Machine& machine) {
  if (partition.placements_size() != static_cast<int>(graph.ops.size())) {
    return absl::InvalidArgumentError("the partition misses placements");
  }
  EK_ASSIGN_OR_RETURN(const SystemMemories memories, SystemMemoriesOf(machine));
  ProgramWriter writer(graph, partition, machine, memories);
  if (plans.turns().empty()) {
    EK_RETURN_IF_ERROR(
        StreamEmitter(graph, partition, plans, machine, writer).Run());
  } else {
    EK_RETURN_IF_ERROR(EmitTurns(graph, partition, plans, machine, writer));
  }
  EK_ASSIGN_OR_RETURN(EmitResult result, writer.Finish());
  DropTaps(partition.rearranged(), result.program);
  EK_ASSIGN_OR_RETURN(result.io_conversion_cycles,
                      IoConversionCycles(graph, machine));
  return result;
}

}  // namespace edgekiln::compiler
