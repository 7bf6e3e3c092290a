#include "simfarm/host/host_op.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "ops/evaluate.h"
#include "ops/in_place.h"
#include "target/op_variables.h"

namespace edgekiln::simfarm {
namespace {

constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;
constexpr int kMaxOperands = 4096;

absl::Status Invalid(std::string what, std::string where) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kInfra,
                    .reason = "PROGRAM_INVALID",
                    .what = std::move(what),
                    .where = std::move(where)});
}

ops::QuantizationView QuantizationOf(const v1::TensorType& type) {
  const v1::Quantization& q = type.quantization();
  return {.scale = absl::MakeConstSpan(q.scale().data(), q.scale_size()),
          .zero_point =
              absl::MakeConstSpan(q.zero_point().data(), q.zero_point_size()),
          .axis = q.axis()};
}

absl::Span<const int64_t> ShapeOf(const v1::TensorType& type) {
  return absl::MakeConstSpan(type.shape().data(), type.shape_size());
}

absl::StatusOr<HostOp::Operand> ReadOperand(
    const v1::Program::HostOp::Operand& operand) {
  const v1::TensorType& type = operand.type();
  EK_ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(type));
  if (bytes == 0) return Invalid("a tensor without elements", type.name());
  if (type.quantization().scale_size() !=
      type.quantization().zero_point_size()) {
    return Invalid("as many zero points as scales are needed", type.name());
  }
  if (operand.location().address() % ops::ElementBytes(type.element_type()) !=
      0) {
    return Invalid("the address is not a multiple of the element's size",
                   type.name());
  }
  return HostOp::Operand{operand.location().address(), bytes};
}

bool Overlap(const HostOp::Operand& a, const HostOp::Operand& b) {
  return a.address < b.address + static_cast<uint64_t>(b.bytes) &&
         b.address < a.address + static_cast<uint64_t>(a.bytes);
}

ops::CpuPath OpsPath(CpuPath path) {
  switch (path) {
    case CpuPath::kBest:
      return ops::CpuPath::kAuto;
    case CpuPath::kAvx2:
      return ops::CpuPath::kAvx2;
    case CpuPath::kAvx512Vnni:
      return ops::CpuPath::kAvx512;
    default:
      return ops::CpuPath::kScalar;
  }
}

}  // namespace

absl::StatusOr<int64_t> TensorBytes(const v1::TensorType& type) {
  const auto elements = CheckedProduct(ShapeOf(type));
  const int64_t element_bytes = ops::ElementBytes(type.element_type());
  if (!elements || element_bytes == 0) {
    return Invalid("an unusable shape or element type",
                   absl::StrCat("tensor ", type.name()));
  }
  const auto bytes = CheckedMul(*elements, element_bytes);
  if (!bytes || *bytes > kMaxTensorBytes) {
    return Invalid("the tensor is too large",
                   absl::StrCat("tensor ", type.name()));
  }
  return *bytes;
}

absl::StatusOr<HostOp> HostOp::Create(const v1::Program::HostOp& op,
                                      const target::HostCosts& costs) {
  if (op.inputs_size() > kMaxOperands || op.outputs_size() > kMaxOperands ||
      op.outputs_size() == 0) {
    return Invalid("an unusable number of operands", "host op");
  }
  HostOp host;
  host.op_ = &op;
  for (const v1::Program::HostOp::Operand& operand : op.inputs()) {
    EK_RETURN_IF_ERROR(host.AddInput(operand), "host op: input");
  }
  for (const v1::Program::HostOp::Operand& operand : op.outputs()) {
    EK_RETURN_IF_ERROR(host.AddOutput(operand), "host op: output");
  }
  EK_RETURN_IF_ERROR(host.CheckOverlap());
  EK_RETURN_IF_ERROR(host.SetCycles(costs));
  return host;
}

absl::Status HostOp::AddInput(const v1::Program::HostOp::Operand& operand) {
  if (operand.absent()) {
    inputs_.push_back({});
    input_operand_of_.push_back(-1);
    return absl::OkStatus();
  }
  EK_ASSIGN_OR_RETURN(const Operand read, ReadOperand(operand));
  inputs_.push_back({.type = operand.type().element_type(),
                     .shape = ShapeOf(operand.type()),
                     .quantization = QuantizationOf(operand.type())});
  input_operand_of_.push_back(static_cast<int32_t>(input_operands_.size()));
  input_operands_.push_back(read);
  return absl::OkStatus();
}

absl::Status HostOp::AddOutput(const v1::Program::HostOp::Operand& operand) {
  if (operand.absent()) return Invalid("an absent output", "");
  EK_ASSIGN_OR_RETURN(const Operand read, ReadOperand(operand));
  outputs_.push_back({.type = operand.type().element_type(),
                      .shape = ShapeOf(operand.type()),
                      .quantization = QuantizationOf(operand.type())});
  output_operands_.push_back(read);
  return absl::OkStatus();
}

// Whether the op writes its one output over its one input.
bool HostOp::IsInPlace() const {
  return ops::MayOverwriteInput(op_->attributes()) && inputs_.size() == 1 &&
         input_operands_.size() == 1 && output_operands_.size() == 1 &&
         inputs_[0].type == outputs_[0].type &&
         input_operands_[0].address == output_operands_[0].address &&
         input_operands_[0].bytes == output_operands_[0].bytes;
}

absl::Status HostOp::CheckOverlap() const {
  if (IsInPlace()) return absl::OkStatus();
  for (size_t i = 0; i < output_operands_.size(); ++i) {
    for (const Operand& input : input_operands_) {
      if (Overlap(output_operands_[i], input)) {
        return Invalid("an output overlaps an input", "host op");
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (Overlap(output_operands_[i], output_operands_[j])) {
        return Invalid("two outputs overlap", "host op");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status HostOp::SetCycles(const target::HostCosts& costs) {
  std::vector<target::ShapeSpan> inputs;
  std::vector<target::ShapeSpan> outputs;
  for (const auto& operand : op_->inputs()) {
    inputs.push_back(operand.absent() ? target::ShapeSpan()
                                      : ShapeOf(operand.type()));
  }
  for (const auto& operand : op_->outputs()) {
    outputs.push_back(ShapeOf(operand.type()));
  }
  EK_ASSIGN_OR_RETURN(const target::OpVariables variables,
                      target::VariablesOf(op_->attributes(), inputs, outputs));
  EK_ASSIGN_OR_RETURN(
      cycles_,
      costs.Cycles(target::OpAttributesName(op_->attributes()), variables));
  return absl::OkStatus();
}

absl::Status HostOp::Run(const ChipMemory& memory, CpuPath cpu_path) const {
  std::vector<ops::TensorView> inputs = inputs_;
  std::vector<ops::MutableTensorView> outputs = outputs_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (input_operand_of_[i] < 0) continue;
    const Operand& operand = input_operands_[input_operand_of_[i]];
    inputs[i].data = memory.Find(operand.address, operand.bytes);
    if (inputs[i].data == nullptr) {
      return Invalid("an input lies outside memory", "host op");
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Operand& operand = output_operands_[i];
    outputs[i].data = memory.Find(operand.address, operand.bytes);
    if (outputs[i].data == nullptr || !memory.IsWritable(operand.address)) {
      return Invalid("an output lies outside writable memory", "host op");
    }
  }
  return ops::Evaluate(op_->attributes(), inputs, outputs,
                       {.cpu_path = OpsPath(cpu_path)});
}

}  // namespace edgekiln::simfarm
