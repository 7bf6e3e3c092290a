#include "compiler/passes/float32_form.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/pipeline.h"
#include "ops/float16.h"

namespace edgekiln::compiler {
namespace {

bool IsOtherFloat(v1::ElementType type) {
  return type == v1::FLOAT16 || type == v1::FLOAT64;
}

bool IsFloat(v1::ElementType type) {
  return type == v1::FLOAT32 || IsOtherFloat(type);
}

// A mask of -1e300 stays a mask: infinity minus infinity is no number.
float Narrowed(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::isfinite(value)) value = std::clamp(value, -kMost, kMost);
  return static_cast<float>(value);
}

template <typename From, typename Convert>
std::string Converted(absl::string_view data, const Convert& convert) {
  std::string floats(data.size() / sizeof(From) * sizeof(float), '\0');
  for (size_t i = 0; i < data.size() / sizeof(From); ++i) {
    From from;
    std::memcpy(&from, data.data() + i * sizeof(From), sizeof(From));
    const float to = convert(from);
    std::memcpy(floats.data() + i * sizeof(float), &to, sizeof(to));
  }
  return floats;
}

void MakeFloat32(Tensor& tensor) {
  if (!IsOtherFloat(tensor.type)) return;
  const bool half = tensor.type == v1::FLOAT16;
  tensor.type = v1::FLOAT32;
  if (!tensor.is_constant()) return;
  tensor.data =
      ConstantData(half ? Converted<uint16_t>(*tensor.data, ops::FloatFromHalf)
                        : Converted<double>(*tensor.data, Narrowed));
}

std::vector<v1::ElementType> TypesOf(const Graph& graph,
                                     const std::vector<TensorId>& ids) {
  std::vector<v1::ElementType> types;
  types.reserve(ids.size());
  for (const TensorId id : ids) types.push_back(graph.tensors[id].type);
  return types;
}

// Gives inputs and outputs their types back.
class Border {
 public:
  explicit Border(Graph& graph) : graph_(graph), names_(graph) {}

  void Restore(const std::vector<v1::ElementType>& inputs,
               const std::vector<v1::ElementType>& outputs) {
    std::map<TensorId, TensorId> input_port;
    std::map<TensorId, TensorId> output_port;
    std::vector<Op> casts;
    for (size_t i = 0; i < inputs.size(); ++i) {
      TensorId& id = graph_.inputs[i];
      if (graph_.tensors[id].type == inputs[i]) continue;
      const TensorId port = AddPort(id, inputs[i]);
      casts.push_back(Cast(port, id));
      input_port[id] = port;
      id = port;
    }
    graph_.ops.insert(graph_.ops.begin(),
                      std::make_move_iterator(casts.begin()),
                      std::make_move_iterator(casts.end()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      TensorId& id = graph_.outputs[i];
      if (graph_.tensors[id].type == outputs[i]) continue;
      // An input that is an output as well has its port already.
      const auto& known = input_port.contains(id) ? input_port : output_port;
      if (const auto found = known.find(id); found != known.end()) {
        id = found->second;
        continue;
      }
      const TensorId port = AddPort(id, outputs[i]);
      graph_.ops.push_back(Cast(id, port));
      output_port[id] = port;
      id = port;
    }
    for (State& state : graph_.states) {
      if (const auto found = input_port.find(state.input);
          found != input_port.end()) {
        state.input = found->second;
      }
      const auto& made =
          input_port.contains(state.output) ? input_port : output_port;
      if (const auto found = made.find(state.output); found != made.end()) {
        state.output = found->second;
      }
    }
  }

 private:
  // Takes over the name, which users feed and read.
  TensorId AddPort(TensorId id, v1::ElementType type) {
    Tensor port = graph_.tensors[id];
    port.type = type;
    port.data = {};
    graph_.tensors[id].name =
        names_.TensorName(absl::StrCat(port.name, ".float32"));
    graph_.tensors.push_back(std::move(port));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  Op Cast(TensorId from, TensorId to) {
    const bool in = graph_.tensors[to].type == v1::FLOAT32;
    const std::string& port = graph_.tensors[in ? from : to].name;
    Op op;
    op.id =
        names_.OpId(absl::StrCat("cast_", LayerIdMaker().Make(port, "tensor")));
    op.attributes.mutable_cast();
    op.inputs = {from};
    op.outputs = {to};
    return op;
  }

  Graph& graph_;
  FreshNames names_;
};

}  // namespace

bool HasOtherFloats(const Graph& graph) {
  return std::any_of(
      graph.tensors.begin(), graph.tensors.end(),
      [](const Tensor& tensor) { return IsOtherFloat(tensor.type); });
}

absl::StatusOr<Graph> Float32Form(Graph graph) {
  const std::vector<v1::ElementType> inputs = TypesOf(graph, graph.inputs);
  const std::vector<v1::ElementType> outputs = TypesOf(graph, graph.outputs);
  for (Tensor& tensor : graph.tensors) MakeFloat32(tensor);
  // The casts come last: no rewrite has to see through them, and the form is
  // that of the same network exported in FLOAT32.
  EK_RETURN_IF_ERROR(Simplify(graph), "the float32 form");
  Border(graph).Restore(inputs, outputs);
  MergeFloat16Casts(graph);
  EK_RETURN_IF_ERROR(VerifyGraph(graph), "the float32 form");
  return graph;
}

bool IsCastOfFloats(const Graph& graph, const Op& op) {
  return op.attributes.has_cast() &&
         IsFloat(graph.tensors[op.inputs[0]].type) &&
         IsFloat(graph.tensors[op.outputs[0]].type);
}

void MergeFloat16Casts(Graph& graph) {
  const std::vector<int32_t> producers = Producers(graph);
  const auto producer = [&](const Op& op) -> const Op* {
    const int32_t index = producers[op.inputs[0]];
    return index < 0 ? nullptr : &graph.ops[index];
  };
  for (Op& op : graph.ops) {
    if (op.attributes.has_quantize()) {
      const Op* cast = producer(op);
      if (cast == nullptr || !IsCastOfFloats(graph, *cast) ||
          graph.tensors[op.inputs[0]].type != v1::FLOAT32 ||
          graph.tensors[cast->inputs[0]].type != v1::FLOAT16) {
        continue;
      }
      op.inputs[0] = cast->inputs[0];
    } else if (op.attributes.has_cast() &&
               graph.tensors[op.outputs[0]].type == v1::FLOAT16) {
      const Op* dequantize = producer(op);
      if (dequantize == nullptr || !dequantize->attributes.has_dequantize() ||
          graph.tensors[op.inputs[0]].type != v1::FLOAT32) {
        continue;
      }
      op.attributes = dequantize->attributes;
      op.inputs[0] = dequantize->inputs[0];
    }
  }
  // Cannot fail: it only leaves out what no output needs.
  NewRemoveDeadOpsPass()->Run({}, graph).IgnoreError();
}

}  // namespace edgekiln::compiler
