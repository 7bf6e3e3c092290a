#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "compiler/codegen/accumulators.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/compile.h"
#include "compiler/codegen/io_cost.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/codegen/tensor_uses.h"
#include "compiler/ir/storage.h"
#include "target/host_cost.h"
#include "target/layout.h"
#include "target/memories.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;
constexpr int64_t kConstantAlignment = 16;

bool IsReshape(const Op& op) {
  return op.attributes.op_case() == v1::OpAttributes::kReshape;
}

v1::LayerKind KindOf(const Op& op) {
  switch (op.attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kFullyConnected:
      return v1::CONV;
    case v1::OpAttributes::kDepthwiseConv2D:
      return v1::DEPTH;
    default:
      return v1::OTHER;
  }
}

// Writes one program. Members are filled in the order of Run().
class Emitter {
 public:
  Emitter(const Graph& graph, const v1::Partition& partition,
          const v1::RegionPlans& plans, const v1::Machine& machine,
          SystemMemories memories)
      : graph_(graph),
        partition_(partition),
        plans_(plans),
        machine_(machine),
        memories_(memories),
        storage_(StorageOf(graph)),
        memory_bytes_(machine.memories_size(), 0),
        flash_(machine.memories(memories.flash)) {}

  absl::StatusOr<EmitResult> Run() {
    program_.set_version(3);
    EK_RETURN_IF_ERROR(GatherRegions());
    EK_RETURN_IF_ERROR(PlaceTensors());
    AddLayers();
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const auto op = static_cast<int32_t>(i);
      if (partition_.placements(op).engine() == kHost) {
        EK_RETURN_IF_ERROR(AddHostOp(op));
      } else if (const auto it = regions_.find(op); it != regions_.end()) {
        EK_RETURN_IF_ERROR(AddRegion(it->second));
      }
    }
    for (const TensorId input : graph_.inputs) {
      *program_.add_inputs() = BindingOf(input);
    }
    for (const TensorId output : graph_.outputs) {
      *program_.add_outputs() = BindingOf(output);
    }
    AddCarries();
    return Finish();
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
          return absl::InvalidArgumentError(
              "the regions' plans belong to another partition");
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
    std::vector<bool> in_ram = TensorsOfHost(graph_, storage_, on_host);
    for (const auto& [op, planned] : regions_) MarkInRam(planned, in_ram);
    EK_ASSIGN_OR_RETURN(ram_, PlanRam(graph_, storage_, in_ram,
                                      machine_.memories(memories_.ram)));
    return absl::OkStatus();
  }

  // What the region's engine does not keep, or somebody else reads.
  void MarkInRam(const PlannedRegion& planned, std::vector<bool>& in_ram) {
    const auto& list = planned.plan->resident();
    const absl::flat_hash_set<TensorId> resident(list.begin(), list.end());
    for (const int32_t index : planned.region.ops) {
      const Op& op = graph_.ops[index];
      for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *tensors) {
          if (tensor == kNoTensor || IsConstant(tensor)) continue;
          const TensorId stored = storage_[tensor];
          if (!resident.contains(stored) ||
              planned.region.external.contains(stored)) {
            in_ram[stored] = true;
          }
        }
      }
    }
  }

  void AddLayers() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      const auto& placement = partition_.placements(static_cast<int>(i));
      v1::Program::Layer* layer = program_.add_layers();
      layer->set_id(op.id);
      layer->set_name(op.name);
      layer->set_op(std::string(op.kind()));
      layer->set_kind(KindOf(op));
      layer->set_subgraph(placement.subgraph());
      layer->set_engine(placement.engine());
      layer->set_reason(placement.reason());
      layer->set_macs(MacsOf(graph_, op));
    }
  }

  v1::TensorType TypeOf(TensorId id) const {
    const Tensor& tensor = graph_.tensors[id];
    v1::TensorType type;
    type.set_name(tensor.name);
    type.set_element_type(tensor.type);
    for (const int64_t extent : tensor.shape) type.add_shape(extent);
    if (tensor.quantization) {
      v1::Quantization* quantization = type.mutable_quantization();
      for (const float s : tensor.quantization->scale) {
        quantization->add_scale(s);
      }
      for (const int32_t z : tensor.quantization->zero_point) {
        quantization->add_zero_point(z);
      }
      quantization->set_axis(tensor.quantization->axis);
    }
    return type;
  }

  // Also under another shape.
  bool IsConstant(TensorId tensor) const {
    return graph_.tensors[storage_[tensor]].is_constant();
  }

  // In flash once, however many ops of the host read it.
  uint64_t AddressOfConstant(TensorId constant) {
    const auto [place, is_new] = constant_address_.try_emplace(constant, 0);
    if (is_new) {
      flash_.Align(kConstantAlignment);
      place->second = flash_.Append(*graph_.tensors[constant].data);
    }
    return place->second;
  }

  v1::Location LocationOf(TensorId tensor) {
    v1::Location location;
    if (IsConstant(tensor)) {
      location.set_memory(memories_.flash);
      location.set_address(AddressOfConstant(storage_[tensor]));
    } else {
      location.set_memory(memories_.ram);
      location.set_address(ram_.address.at(storage_[tensor]));
    }
    return location;
  }

  // In the program's list, to which it is added if it is new.
  int32_t IndexOf(const v1::Layout& layout) {
    const auto [place, is_new] = layout_index_.try_emplace(
        layout.SerializeAsString(), program_.layouts_size());
    if (is_new) *program_.add_layouts() = layout;
    return place->second;
  }

  // Whatever lies in system memory does so densely.
  int32_t DenseLayoutOf(TensorId id) {
    const Tensor& tensor = graph_.tensors[id];
    return IndexOf(
        target::DenseLayout(tensor.shape, ElementBytes(tensor.type)));
  }

  v1::Program::Binding BindingOf(TensorId tensor) {
    v1::Program::Binding binding;
    *binding.mutable_type() = TypeOf(tensor);
    *binding.mutable_location() = LocationOf(tensor);
    binding.set_layout(DenseLayoutOf(tensor));
    return binding;
  }

  v1::Program::HostOp::Operand OperandOf(TensorId tensor) {
    v1::Program::HostOp::Operand operand;
    if (tensor == kNoTensor) {
      operand.set_absent(true);
      return operand;
    }
    *operand.mutable_type() = TypeOf(tensor);
    *operand.mutable_location() = LocationOf(tensor);
    return operand;
  }

  absl::Status AddHostOp(int32_t index) {
    const Op& op = graph_.ops[index];
    if (!IsReshape(op)) {
      v1::Program::HostOp* host = program_.add_steps()->mutable_host_op();
      *host->mutable_attributes() = op.attributes;
      host->set_layer(index);
      for (const TensorId tensor : op.inputs) {
        *host->add_inputs() = OperandOf(tensor);
      }
      for (const TensorId tensor : op.outputs) {
        *host->add_outputs() = OperandOf(tensor);
      }
      EK_RETURN_IF_ERROR(PredictHostOp(*host));
    }
    for (const TensorId tensor : op.outputs) TapWhole(tensor);
    return absl::OkStatus();
  }

  absl::Status PredictHostOp(const v1::Program::HostOp& host) {
    std::vector<const v1::TensorType*> inputs;
    std::vector<const v1::TensorType*> outputs;
    for (const auto& operand : host.inputs()) {
      inputs.push_back(operand.absent() ? nullptr : &operand.type());
    }
    for (const auto& operand : host.outputs()) {
      outputs.push_back(&operand.type());
    }
    EK_ASSIGN_OR_RETURN(
        const int64_t elements,
        target::HostElements(host.attributes(), inputs, outputs));
    EK_ASSIGN_OR_RETURN(
        const int64_t cycles,
        target::HostCycles(
            machine_, target::OpAttributesName(host.attributes()), elements));
    AddCycles(WallCycles(cycles, machine_.host_clock_hz()), host.layer());
    return absl::OkStatus();
  }

  // Whole cycles of the wall clock, rounded up.
  int64_t WallCycles(int64_t cycles, int64_t clock_hz) const {
    const auto wall = static_cast<__int128>(cycles) * machine_.clock_hz();
    return static_cast<int64_t>((wall + clock_hz - 1) / clock_hz);
  }

  void AddCycles(int64_t wall_cycles, int32_t op) {
    predicted_ += wall_cycles;
    v1::Program::Layer* layer = program_.mutable_layers(op);
    layer->set_predicted_cycles(layer->predicted_cycles() + wall_cycles);
  }

  // A whole tensor, complete after the last step so far.
  void TapWhole(TensorId id) {
    if (program_.steps_size() == 0) return;
    const Tensor& tensor = graph_.tensors[id];
    v1::Program::Tap* tap = program_.add_taps();
    tap->set_stream(-1);
    tap->set_step(program_.steps_size() - 1);
    tap->set_tensor(id);
    *tap->mutable_box() = target::WholeBox(tensor.shape);
    *tap->mutable_location() = LocationOf(id);
    tap->set_layout(DenseLayoutOf(id));
  }

  // Reshapes at the head of a region show what was there before it began.
  void TapForeignAliases(const Region& region) {
    std::vector<bool> made(graph_.tensors.size(), false);
    for (const int32_t index : region.ops) {
      const Op& op = graph_.ops[index];
      for (const TensorId output : op.outputs) {
        if (!IsReshape(op)) {
          made[storage_[output]] = true;
        } else if (!made[storage_[output]]) {
          TapWhole(output);
        }
      }
    }
  }

  absl::Status AddRegion(const PlannedRegion& planned) {
    const int32_t engine = planned.plan->engine();
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine_, engine));
    const RegionMemory memory = {.tensors = &ram_.address,
                                 .ram = memories_.ram,
                                 .flash = memories_.flash,
                                 .constants = flash_.Align(kConstantAlignment),
                                 .buffers = {}};
    EK_ASSIGN_OR_RETURN(
        RegionCode emitted,
        backend->Emit(planned.region, *planned.plan, machine_, memory));
    flash_.Append(emitted.constants);
    TapForeignAliases(planned.region);
    const int32_t stream = program_.streams_size();
    v1::Program::Stream* code = program_.add_streams();
    code->set_engine(engine);
    code->set_code(std::move(emitted.code));
    std::vector<int32_t> layouts;
    for (const v1::Layout& layout : emitted.layouts) {
      layouts.push_back(IndexOf(layout));
    }
    for (v1::Program::Tap& tap : emitted.taps) {
      tap.set_stream(stream);
      tap.set_layout(layouts[tap.layout()]);
      *program_.add_taps() = std::move(tap);
    }
    for (v1::Program::CommandRange& range : emitted.ranges) {
      range.set_stream(stream);
      *program_.add_ranges() = std::move(range);
    }
    // Rounded so that they sum to the subgraph's.
    int64_t cycles = 0;
    const int64_t clock_hz = machine_.engines(engine).clock_hz();
    for (const auto& use : emitted.layers) {
      AddCycles(WallCycles(cycles + use.cycles, clock_hz) -
                    WallCycles(cycles, clock_hz),
                use.op);
      cycles += use.cycles;
      program_.mutable_layers(use.op)->set_sram_bytes(use.sram_bytes);
      program_.mutable_layers(use.op)->set_tiles(use.tiles);
    }
    program_.set_sram_peak_bytes(
        std::max(program_.sram_peak_bytes(), emitted.scratchpad_peak_bytes));
    int64_t& peak = memory_bytes_[target::PrivateMemoryOf(machine_, engine)];
    peak = std::max(peak, emitted.scratchpad_peak_bytes);
    program_.add_steps()->mutable_launch()->set_stream(stream);
    program_.add_steps()->mutable_wait()->set_engine(engine);
    return absl::OkStatus();
  }

  void AddCarries() {
    const auto index = [](const std::vector<TensorId>& ids, TensorId id) {
      return static_cast<int32_t>(std::find(ids.begin(), ids.end(), id) -
                                  ids.begin());
    };
    for (const State& state : graph_.states) {
      v1::Program::Carry& carry = *program_.add_carries();
      carry.set_output(index(graph_.outputs, state.output));
      carry.set_input(index(graph_.inputs, state.input));
    }
  }

  absl::StatusOr<EmitResult> Finish() {
    int64_t code_bytes = 0;
    for (const auto& stream : program_.streams()) {
      code_bytes += static_cast<int64_t>(stream.code().size());
    }
    EK_RETURN_IF_ERROR(flash_.Check(graph_, code_bytes));
    const std::string& constants = flash_.bytes();
    if (!constants.empty()) {
      v1::Program::Segment* segment = program_.add_segments();
      segment->mutable_location()->set_memory(memories_.flash);
      segment->mutable_location()->set_address(
          machine_.memories(memories_.flash).base_address());
      const Digest digest = DigestOf(constants);
      segment->mutable_digest()->set_hash(digest.hash);
      segment->mutable_digest()->set_size_bytes(digest.size_bytes);
      segment->set_size_bytes(digest.size_bytes);
    }
    const int64_t flash_bytes =
        static_cast<int64_t>(constants.size()) + code_bytes;
    program_.set_flash_bytes(flash_bytes);
    program_.set_ram_bytes(ram_.bytes);
    program_.set_predicted_cycles(predicted_);
    AddTensorUses(graph_, storage_, machine_,
                  {memories_, ram_.address, constant_address_}, &program_);
    AddAccumulators(graph_, &program_);
    memory_bytes_[memories_.flash] = flash_bytes;
    memory_bytes_[memories_.ram] = ram_.bytes;
    EmitResult result;
    result.program = std::move(program_);
    result.constants = constants;
    result.memory_bytes = std::move(memory_bytes_);
    return result;
  }

  const Graph& graph_;
  const v1::Partition& partition_;
  const v1::RegionPlans& plans_;
  const v1::Machine& machine_;
  const SystemMemories memories_;
  const std::vector<TensorId> storage_;
  std::vector<int64_t> memory_bytes_;  // Of each memory of the machine.
  FlashImage flash_;
  std::map<TensorId, uint64_t> constant_address_;  // By storage.
  RamPlan ram_;
  std::map<int32_t, PlannedRegion> regions_;
  int64_t predicted_ = 0;
  v1::Program program_;
  std::map<std::string, int32_t> layout_index_;  // In program_, by content.
};

}  // namespace

absl::StatusOr<EmitResult> EmitProgram(const v1::Partition& partition,
                                       const v1::RegionPlans& plans,
                                       const v1::Machine& machine) {
  EK_ASSIGN_OR_RETURN(Graph graph, GraphFromProto(partition.graph()));
  if (partition.placements_size() != static_cast<int>(graph.ops.size())) {
    return absl::InvalidArgumentError("the partition misses placements");
  }
  EK_ASSIGN_OR_RETURN(const SystemMemories memories, SystemMemoriesOf(machine));
  EK_ASSIGN_OR_RETURN(
      EmitResult result,
      Emitter(graph, partition, plans, machine, memories).Run());
  EK_ASSIGN_OR_RETURN(result.io_conversion_cycles,
                      IoConversionCycles(std::move(graph), machine));
  return result;
}

}  // namespace edgekiln::compiler
