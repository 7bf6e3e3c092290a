#include "compiler/codegen/program_writer.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/codegen/accumulators.h"
#include "compiler/codegen/layer_rows.h"
#include "compiler/codegen/plane_sums.h"
#include "compiler/codegen/wall_cycles.h"
#include "compiler/ir/storage.h"
#include "target/layout.h"

namespace edgekiln::compiler {
ProgramWriter::ProgramWriter(const Graph& graph, const v1::Partition& partition,
                             const v1::Machine& machine,
                             SystemMemories memories)
    : graph_(graph),
      machine_(machine),
      memories_(memories),
      storage_(StorageOf(graph)),
      places_(storage_),
      memory_bytes_(machine.memories_size(), 0),
      flash_(machine.memories(memories.flash)) {
  program_.set_version(3);
  AddLayers(partition);
}

void ProgramWriter::AddLayers(const v1::Partition& partition) {
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const auto& placement = partition.placements(static_cast<int>(i));
    v1::Program::Layer& layer = AddLayerRow(graph_, graph_.ops[i], &program_);
    layer.set_subgraph(placement.subgraph());
    layer.set_engine(placement.engine());
    layer.set_reason(placement.reason());
  }
}

void ProgramWriter::SetRam(RamPlan ram) {
  ram_ = std::move(ram);
  flash_.StartAt(RoundUp(ram_.bytes[memories_.flash], kConstantAlignment));
}

bool ProgramWriter::IsConstant(TensorId tensor) const {
  return graph_.tensors[storage_[tensor]].is_constant();
}

uint64_t ProgramWriter::AddressOfConstant(TensorId constant) {
  const auto [place, is_new] = constant_address_.try_emplace(constant, 0);
  if (is_new) {
    flash_.Align(kConstantAlignment);
    place->second = flash_.Append(*graph_.tensors[constant].data);
  }
  return place->second;
}

v1::Location ProgramWriter::LocationOf(TensorId tensor) {
  v1::Location location;
  if (IsConstant(tensor)) {
    location.set_memory(memories_.flash);
    location.set_address(AddressOfConstant(storage_[tensor]));
  } else {
    const uint64_t address = ram_.address.at(places_[tensor]);
    location.set_memory(RamAt(address));
    location.set_address(address);
  }
  return location;
}

int32_t ProgramWriter::IndexOf(const v1::Layout& layout) {
  const auto [place, is_new] = layout_index_.try_emplace(
      layout.SerializeAsString(), program_.layouts_size());
  if (is_new) *program_.add_layouts() = layout;
  return place->second;
}

int32_t ProgramWriter::DenseLayoutOf(TensorId id) {
  const Tensor& tensor = graph_.tensors[id];
  return IndexOf(target::DenseLayout(tensor.shape, ElementBytes(tensor.type)));
}

v1::Program::Binding ProgramWriter::BindingOf(TensorId tensor) {
  v1::Program::Binding binding;
  *binding.mutable_type() = TypeOf(graph_.tensors[tensor]);
  *binding.mutable_location() = LocationOf(tensor);
  binding.set_layout(DenseLayoutOf(tensor));
  return binding;
}

v1::Program::HostOp::Operand ProgramWriter::OperandOf(TensorId tensor) {
  v1::Program::HostOp::Operand operand;
  if (tensor == kNoTensor) {
    operand.set_absent(true);
    return operand;
  }
  *operand.mutable_type() = TypeOf(graph_.tensors[tensor]);
  *operand.mutable_location() = LocationOf(tensor);
  return operand;
}

void ProgramWriter::AddHostOp(int32_t index) {
  const Op& op = graph_.ops[index];
  v1::Program::HostOp* host = program_.add_steps()->mutable_host_op();
  *host->mutable_attributes() = op.attributes;
  host->set_layer(index);
  for (const TensorId tensor : op.inputs) {
    *host->add_inputs() = OperandOf(tensor);
  }
  for (const TensorId tensor : op.outputs) {
    *host->add_outputs() = OperandOf(tensor);
  }
}

void ProgramWriter::AddHostMove(int32_t op, const v1::Location& from,
                                const v1::Layout& from_layout,
                                const v1::Location& to,
                                const v1::Layout& to_layout) {
  v1::Program::Move& move = *program_.add_steps()->mutable_move();
  *move.mutable_from() = from;
  *move.mutable_to() = to;
  move.set_from_layout(IndexOf(from_layout));
  move.set_to_layout(IndexOf(to_layout));
  move.set_layer(op);
  move.set_link(-1);
}

// By the host's code, through the place of the result.
void ProgramWriter::AddReversal(int32_t index, const v1::Layout& planes) {
  const Op& op = graph_.ops[index];
  const v1::Location room = LocationOf(op.outputs[0]);
  for (const SharedGroups& row : SharedGroupsOf(graph_, op, planes)) {
    v1::Location place = LocationOf(op.inputs[0]);
    place.set_address(place.address() + static_cast<uint64_t>(row.offset));
    AddHostMove(index, place, row.reversed, room, row.room);
    AddHostMove(index, room, row.room, place, row.ordered);
  }
}

void ProgramWriter::RestoreOrder(int32_t index, const v1::Layout& left) {
  const Op& op = graph_.ops[index];
  const v1::Layout dense =
      target::DenseLayout(graph_.tensors[op.outputs[0]].shape, 1);
  const v1::Location place = LocationOf(op.outputs[0]);
  const v1::Location room = LocationOf(op.inputs[0]);
  AddHostMove(index, place, left, room, dense);
  AddHostMove(index, room, dense, place, dense);
}

void ProgramWriter::AddPlaneSum(int32_t index, const v1::Layout& planes) {
  AddReversal(index, planes);
  AddForm(index, AsPlaneSum(graph_, graph_.ops[index]));
}

void ProgramWriter::AddForm(int32_t index, const HostForm& form) {
  const Op& op = graph_.ops[index];
  v1::Program::HostOp* host = program_.add_steps()->mutable_host_op();
  *host->mutable_attributes() = form.attributes;
  host->set_layer(index);
  for (const Tensor& input : form.inputs) {
    v1::Program::HostOp::Operand* operand = host->add_inputs();
    *operand->mutable_type() = TypeOf(input);
    if (!input.is_constant()) {
      *operand->mutable_location() = LocationOf(op.inputs[0]);
      continue;
    }
    flash_.Align(kConstantAlignment);
    operand->mutable_location()->set_memory(memories_.flash);
    operand->mutable_location()->set_address(flash_.Append(*input.data));
  }
  v1::Program::HostOp::Operand* output = host->add_outputs();
  *output->mutable_type() = TypeOf(form.output);
  *output->mutable_location() = LocationOf(op.outputs[0]);
}

void ProgramWriter::AddCycles(int64_t wall_cycles, int32_t op) {
  v1::Program::Layer* layer = program_.mutable_layers(op);
  layer->set_predicted_cycles(layer->predicted_cycles() + wall_cycles);
  program_.set_predicted_cycles(program_.predicted_cycles() + wall_cycles);
}

void ProgramWriter::NoteBytes(int32_t memory, int64_t bytes) {
  memory_bytes_[memory] = std::max(memory_bytes_[memory], bytes);
}

void ProgramWriter::TapWhole(TensorId id) {
  if (program_.steps_size() == 0) return;
  const Tensor& tensor = graph_.tensors[id];
  TapWhole(id, LocationOf(id),
           target::DenseLayout(tensor.shape, ElementBytes(tensor.type)));
}

void ProgramWriter::TapWhole(TensorId id, const v1::Location& location,
                             const v1::Layout& layout) {
  v1::Program::Tap* tap = program_.add_taps();
  tap->set_stream(-1);
  tap->set_step(program_.steps_size() - 1);
  tap->set_tensor(id);
  *tap->mutable_box() = target::WholeBox(graph_.tensors[id].shape);
  *tap->mutable_location() = location;
  tap->set_layout(IndexOf(layout));
}

absl::StatusOr<EmitResult> ProgramWriter::Finish() {
  for (const TensorId input : graph_.inputs) {
    *program_.add_inputs() = BindingOf(input);
  }
  for (const TensorId output : graph_.outputs) {
    *program_.add_outputs() = BindingOf(output);
  }
  AddCarries(graph_, &program_);
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
        machine_.memories(memories_.flash).base_address() +
        static_cast<uint64_t>(flash_.begin()));
    const Digest digest = DigestOf(constants);
    segment->mutable_digest()->set_hash(digest.hash);
    segment->mutable_digest()->set_size_bytes(digest.size_bytes);
    segment->set_size_bytes(digest.size_bytes);
  }
  const int64_t flash_bytes =
      static_cast<int64_t>(constants.size()) + code_bytes;
  program_.set_flash_bytes(flash_bytes);
  int64_t ram_bytes = 0;
  for (const int32_t ram : memories_.rams) ram_bytes += ram_.bytes[ram];
  program_.set_ram_bytes(ram_bytes);
  AddTensorUses(graph_, places_, machine_,
                {memories_, ram_.address, constant_address_, resident_},
                &program_);
  AddAccumulators(graph_, &program_);
  for (const int32_t ram : memories_.rams) memory_bytes_[ram] = ram_.bytes[ram];
  memory_bytes_[memories_.flash] = flash_.begin() + flash_bytes;
  EmitResult result;
  result.program = std::move(program_);
  result.constants = flash_.Take();
  result.memory_bytes = std::move(memory_bytes_);
  return result;
}

}  // namespace edgekiln::compiler
