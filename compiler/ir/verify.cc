#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor_views.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

absl::Status Invalid(std::string what, std::string where,
                     std::string need = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "GRAPH_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .need = std::move(need)});
}

std::string OpText(const Op& op) {
  return absl::StrCat(op.id, " (", std::string(op.kind()), ")");
}

std::string OpPlace(const Graph& graph, size_t index) {
  return absl::StrCat("op ", index, " ", OpText(graph.ops[index]));
}

// What ops/ refuses comes without a place: it sees no graph.
absl::Status At(std::string where, const absl::Status& status) {
  std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value() || !detail->where.empty()) return status;
  detail->where = std::move(where);
  if (detail->fix.empty()) detail->fix = "change this layer of the model";
  return MakeError(status.code(), *std::move(detail));
}

std::string TensorPlace(const Graph& graph, size_t index) {
  return absl::StrCat("tensor ", index, " '", graph.tensors[index].name, "'");
}

bool IsLayerId(absl::string_view id) {
  return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

absl::Status VerifyTensors(const Graph& graph) {
  absl::flat_hash_set<absl::string_view> names;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    if (tensor.name.empty() || !names.insert(tensor.name).second) {
      return Invalid("tensor name is empty or used twice",
                     TensorPlace(graph, i));
    }
    if (tensor.quantization.has_value() && tensor.quantization->scale.empty()) {
      return Invalid("quantization without a scale", TensorPlace(graph, i));
    }
    EK_RETURN_IF_ERROR(ops::CheckTensorType(ViewOf(tensor)),
                       TensorPlace(graph, i));
    if (!tensor.is_constant()) continue;
    const int64_t bytes = tensor.num_elements() * ElementBytes(tensor.type);
    if (std::ssize(*tensor.data) != bytes) {
      return Invalid(
          absl::StrCat("constant of ", tensor.data->size(), " bytes"),
          TensorPlace(graph, i),
          absl::StrCat(bytes, " bytes for its shape and type"));
    }
  }
  return absl::OkStatus();
}

// What is known of each tensor while the ops are walked in order.
class DefinitionWalk {
 public:
  explicit DefinitionWalk(const Graph& graph)
      : graph_(graph), defined_(graph.tensors.size(), false) {}

  absl::Status Run() {
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      defined_[i] = graph_.tensors[i].is_constant();
    }
    for (const TensorId input : graph_.inputs) {
      EK_RETURN_IF_ERROR(Define(input), "graph input");
    }
    absl::flat_hash_set<absl::string_view> ids;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!IsLayerId(graph_.ops[i].id) ||
          !ids.insert(graph_.ops[i].id).second) {
        return Invalid("layer id is malformed or used twice",
                       OpPlace(graph_, i), "[a-z0-9_.-]+, unique");
      }
      EK_RETURN_IF_ERROR(VisitOp(graph_.ops[i]), OpPlace(graph_, i));
    }
    for (const TensorId output : graph_.outputs) {
      EK_RETURN_IF_ERROR(Use(output), "graph output");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckIndex(TensorId id) const {
    if (id >= 0 && id < std::ssize(graph_.tensors)) return absl::OkStatus();
    return Invalid(absl::StrCat("tensor index ", id), "",
                   absl::StrCat("an index below ", graph_.tensors.size()));
  }

  absl::Status Define(TensorId id) {
    EK_RETURN_IF_ERROR(CheckIndex(id));
    if (defined_[id]) {
      return Invalid("tensor has two definitions", TensorPlace(graph_, id),
                     "one producer, constant or graph input");
    }
    defined_[id] = true;
    return absl::OkStatus();
  }

  absl::Status Use(TensorId id) const {
    EK_RETURN_IF_ERROR(CheckIndex(id));
    if (defined_[id]) return absl::OkStatus();
    return Invalid("tensor is used before it is defined",
                   TensorPlace(graph_, id), "ops in topological order");
  }

  absl::Status VisitOp(const Op& op) {
    for (const TensorId input : op.inputs) {
      if (input != kNoTensor) EK_RETURN_IF_ERROR(Use(input));
    }
    for (const TensorId output : op.outputs) {
      EK_RETURN_IF_ERROR(Define(output));
    }
    return At(OpText(op),
              ops::CheckOp(op.attributes, ViewsOf(graph_, op.inputs),
                           ViewsOf(graph_, op.outputs)));
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

bool SameType(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.shape == b.shape &&
         a.quantization == b.quantization;
}

absl::Status VerifyStates(const Graph& graph) {
  absl::flat_hash_set<TensorId> seen;
  const auto holds = [](const std::vector<TensorId>& ids, TensorId id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (const State& state : graph.states) {
    if (!holds(graph.inputs, state.input) ||
        !holds(graph.outputs, state.output)) {
      return Invalid(
          "state is not a graph input and a graph output",
          absl::StrCat("tensors ", state.input, " and ", state.output));
    }
    const std::string place = TensorPlace(graph, state.input);
    if (!seen.insert(state.input).second || !seen.insert(state.output).second) {
      return Invalid("tensor is in two states", place);
    }
    const std::optional<Quantization>& quantization =
        graph.tensors[state.input].quantization;
    if (quantization.has_value() && quantization->per_channel()) {
      return Invalid("state with a scale per channel", place, "one scale");
    }
    if (!SameType(graph.tensors[state.input], graph.tensors[state.output])) {
      return Invalid(
          "state changes its type", place,
          absl::StrCat("the type of ", TensorPlace(graph, state.output)));
    }
  }
  return absl::OkStatus();
}

bool IsReal(v1::ElementType type) {
  return type == v1::FLOAT32 || type == v1::FLOAT16 || type == v1::FLOAT64;
}

bool IsInteger(v1::ElementType type) {
  return type != v1::ELEMENT_TYPE_UNSPECIFIED && type != v1::BOOL &&
         !IsReal(type);
}

// `ports` are those of `tensors`, which have been checked.
absl::Status VerifyConvertedPorts(const Graph& graph,
                                  const std::vector<TensorId>& tensors,
                                  const std::vector<ConvertedPort>& ports,
                                  absl::string_view noun) {
  int32_t next = 0;
  for (const ConvertedPort& port : ports) {
    if (port.port < next || port.port >= std::ssize(tensors)) {
      return Invalid(absl::StrCat("converted ", noun, " ", port.port), "",
                     absl::StrCat("ascending indices below ", tensors.size()));
    }
    next = port.port + 1;
    const TensorId id = tensors[port.port];
    const Tensor& tensor = graph.tensors[id];
    const std::string place = TensorPlace(graph, id);
    if (!tensor.quantization.has_value() ||
        tensor.quantization->per_channel()) {
      return Invalid(absl::StrCat("converted ", noun, " without one scale"),
                     place);
    }
    const bool same_width =
        IsInteger(port.type) && port.type != tensor.type &&
        ElementBytes(port.type) == ElementBytes(tensor.type);
    if (!IsReal(port.type) && !same_width) {
      return Invalid(absl::StrCat("converted ", noun,
                                  " from a type that it "
                                  "cannot be converted from"),
                     place, "a float type, or the other integer of its width");
    }
    if (port.rounding != v1::HALF_UP && port.rounding != v1::HALF_EVEN) {
      return Invalid("unknown rounding", place);
    }
    for (const State& state : graph.states) {
      if (state.input == id || state.output == id) {
        return Invalid("state is converted by the caller", place);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyGraph(const Graph& graph) {
  EK_RETURN_IF_ERROR(VerifyTensors(graph));
  EK_RETURN_IF_ERROR(DefinitionWalk(graph).Run());
  EK_RETURN_IF_ERROR(VerifyStates(graph));
  EK_RETURN_IF_ERROR(VerifyConvertedPorts(graph, graph.inputs,
                                          graph.converted_inputs, "input"));
  return VerifyConvertedPorts(graph, graph.outputs, graph.converted_outputs,
                              "output");
}

}  // namespace edgekiln::compiler
