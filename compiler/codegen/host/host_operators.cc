#include "compiler/codegen/host/host_operators.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {
namespace {

using Operand = v1::Program::HostOp::Operand;

// The host ops as a graph, in which no tensor belongs to two of them.
class OperatorGraph {
 public:
  OperatorGraph(const v1::Program& program, absl::string_view constants)
      : program_(program), constants_(constants) {}

  absl::Status Add(const v1::Program::HostOp& host) {
    if (host.layer() < 0 || host.layer() >= program_.layers_size()) {
      return absl::InvalidArgumentError("a host op belongs to no layer");
    }
    v1::Op& op = *proto_.add_ops();
    *op.mutable_attributes() = host.attributes();
    std::string id = program_.layers(host.layer()).id();
    if (!ids_.insert(id).second) id = absl::StrCat("op", proto_.ops_size());
    ids_.insert(id);
    op.set_id(id);
    for (const Operand& operand : host.inputs()) {
      if (operand.absent()) {
        op.add_inputs(kNoTensor);
        continue;
      }
      EK_ASSIGN_OR_RETURN(const TensorId tensor, AddTensor(operand), id);
      op.add_inputs(tensor);
      const std::optional<absl::string_view> bytes = ConstantAt(operand);
      if (bytes.has_value()) {
        proto_.mutable_tensors(tensor)->set_data(std::string(*bytes));
      } else {
        proto_.add_inputs(tensor);
      }
    }
    for (const Operand& operand : host.outputs()) {
      EK_ASSIGN_OR_RETURN(const TensorId tensor, AddTensor(operand), id);
      op.add_outputs(tensor);
      proto_.add_outputs(tensor);
    }
    return absl::OkStatus();
  }

  const v1::Graph& proto() const { return proto_; }
  const std::map<TensorId, CPlace>& places() const { return places_; }

 private:
  static int64_t BytesOf(const v1::TensorType& type) {
    int64_t bytes = ElementBytes(type.element_type());
    for (const int64_t extent : type.shape()) {
      if (__builtin_mul_overflow(bytes, extent, &bytes)) return -1;
    }
    return bytes;
  }

  absl::StatusOr<TensorId> AddTensor(const Operand& operand) {
    const uint64_t element =
        static_cast<uint64_t>(ElementBytes(operand.type().element_type()));
    const uint64_t address = operand.location().address();
    if (element == 0 || BytesOf(operand.type()) < 0) {
      return absl::InvalidArgumentError("an operand has no size");
    }
    if (address % element != 0) {
      return MakeError(
          absl::StatusCode::kUnimplemented,
          {.fault = Fault::kUser,
           .reason = "C_UNALIGNED",
           .what = absl::StrCat("no C for a tensor at address ", address),
           .need = absl::StrCat("a multiple of ", element)});
    }
    const auto id = static_cast<TensorId>(proto_.tensors_size());
    v1::TensorType& type = *proto_.add_tensors()->mutable_type();
    type = operand.type();
    type.set_name(absl::StrCat("t", id));
    places_[id] = {operand.location().memory(), address};
    return id;
  }

  // The bytes of an operand that lies in a segment of constants.
  std::optional<absl::string_view> ConstantAt(const Operand& operand) const {
    const uint64_t address = operand.location().address();
    const auto bytes = static_cast<uint64_t>(BytesOf(operand.type()));
    for (const v1::Program::Segment& segment : program_.segments()) {
      const auto size = static_cast<uint64_t>(segment.size_bytes());
      const uint64_t base = segment.location().address();
      if (segment.location().memory() != operand.location().memory() ||
          segment.size_bytes() < 0 || segment.blob_offset() < 0 ||
          address < base || address - base > size ||
          bytes > size - (address - base)) {
        continue;
      }
      const uint64_t at =
          static_cast<uint64_t>(segment.blob_offset()) + (address - base);
      if (at > constants_.size() || bytes > constants_.size() - at) continue;
      return constants_.substr(at, bytes);
    }
    return std::nullopt;
  }

  const v1::Program& program_;
  const absl::string_view constants_;
  v1::Graph proto_;
  std::map<TensorId, CPlace> places_;
  std::set<std::string> ids_;
};

}  // namespace

absl::StatusOr<COperators> HostOperators(const v1::Program& program,
                                         absl::string_view constants,
                                         const v1::Machine& machine,
                                         const std::string& prefix) {
  OperatorGraph made(program, constants);
  for (const v1::Program::Step& step : program.steps()) {
    if (!step.has_host_op()) continue;
    EK_RETURN_IF_ERROR(made.Add(step.host_op()), "a host op");
  }
  if (made.proto().ops().empty()) return COperators();
  EK_ASSIGN_OR_RETURN(const Graph graph, GraphFromProto(made.proto()),
                      "the host ops");
  EK_ASSIGN_OR_RETURN(const SystemMemories memories, SystemMemoriesOf(machine));
  EK_ASSIGN_OR_RETURN(
      COperators fast,
      EmitCOperators(graph, made.places(), prefix, CRecipe::kDefault));
  const int64_t room =
      machine.memories(memories.flash).capacity_bytes() - program.flash_bytes();
  if (fast.constant_bytes <= room) return fast;
  return EmitCOperators(graph, made.places(), prefix, CRecipe::kPlain);
}

}  // namespace edgekiln::compiler
