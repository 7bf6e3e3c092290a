#include "compiler/export/testing/round_trip.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/export/onnx_export.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/clamps.h"
#include "compiler/passes/permutation.h"
#include "compiler/passes/pipeline.h"
#include "google/protobuf/util/message_differencer.h"

namespace edgekiln::compiler {
namespace {

// The integers that a clamp allows an int8 or uint8 result.
std::pair<int64_t, int64_t> LimitsOf(const v1::Clamp* clamp,
                                     const Tensor& output) {
  const int64_t least = output.type == v1::INT8 ? -128 : 0;
  std::pair<int64_t, int64_t> limits = {least, least + 255};
  if (clamp == nullptr) return limits;
  const auto steps = [&](float bound) {
    const double value = std::round(bound / output.quantization->scale[0]) +
                         output.quantization->zero_point[0];
    return static_cast<int64_t>(std::clamp<double>(
        value, static_cast<double>(least), static_cast<double>(least + 255)));
  };
  if (clamp->has_min()) limits.first = steps(clamp->min());
  if (clamp->has_max()) limits.second = steps(clamp->max());
  return limits;
}

v1::OpAttributes Compared(v1::OpAttributes attributes) {
  attributes.clear_rounding();
  if (v1::Clamp* clamp = MutableClamp(attributes)) clamp->Clear();
  return attributes;
}

// One entry per channel of `tensor`, or one.
Quantization Spread(const Tensor& tensor) {
  Quantization quantization = *tensor.quantization;
  const auto is_first = [](const auto& values) {
    return std::all_of(values.begin(), values.end(),
                       [&](auto value) { return value == values[0]; });
  };
  if (is_first(quantization.scale) && is_first(quantization.zero_point)) {
    quantization.scale.resize(1);
    quantization.zero_point.resize(1);
  }
  if (!quantization.per_channel()) quantization.axis = 0;
  return quantization;
}

// As a constant of a broadcast gets.
bool OnlyOnesBefore(const std::vector<int64_t>& shape,
                    const std::vector<int64_t>& longer) {
  return longer.size() >= shape.size() &&
         Ranked(shape, longer.size()) == longer;
}

std::string TensorDifference(const Tensor& before, const Tensor& after) {
  if (before.type != after.type) return "element type";
  if (before.shape != after.shape &&
      !(before.is_constant() && OnlyOnesBefore(before.shape, after.shape))) {
    return "shape";
  }
  // The scale of a bias says nothing.
  if (before.type == v1::INT32 && !before.quantization.has_value()) {
    return *before.data == *after.data ? "" : "data";
  }
  if (before.quantization.has_value() != after.quantization.has_value()) {
    return "quantized or not";
  }
  if (before.quantization.has_value() && Spread(before) != Spread(after)) {
    return "quantization";
  }
  if (before.is_constant() != after.is_constant()) return "constant or not";
  if (before.is_constant() && *before.data != *after.data) return "data";
  return "";
}

std::string OpDifference(const Graph& before, const Op& was, const Graph& after,
                         const Op& is) {
  if (was.kind() != is.kind()) {
    return absl::StrCat("kind ", was.kind(), " -> ", is.kind());
  }
  const v1::OpAttributes first = Compared(was.attributes);
  const v1::OpAttributes second = Compared(is.attributes);
  if (!google::protobuf::util::MessageDifferencer::Equivalent(first, second)) {
    return absl::StrCat("attributes ", first.ShortDebugString(), " -> ",
                        second.ShortDebugString());
  }
  if (was.inputs.size() != is.inputs.size()) return "number of operands";
  for (size_t i = 0; i < was.inputs.size(); ++i) {
    const std::string what = TensorDifference(before.tensors[was.inputs[i]],
                                              after.tensors[is.inputs[i]]);
    if (!what.empty()) return absl::StrCat(what, " of operand ", i);
  }
  const Tensor& output = before.tensors[was.outputs[0]];
  const std::string what =
      TensorDifference(output, after.tensors[is.outputs[0]]);
  if (!what.empty()) return absl::StrCat(what, " of the result");
  return LimitsOf(ClampOf(was.attributes), output) ==
                 LimitsOf(ClampOf(is.attributes), output)
             ? ""
             : "clamp";
}

// An id, cut where the importer cuts the names of nodes.
std::string CutId(const std::string& id) {
  return id.substr(0, LayerIdMaker::kMaxLength);
}

// Layers with a quantized result, those of one cut id in their order.
std::map<std::string, std::vector<const Op*>> IntegerOps(const Graph& graph) {
  std::map<std::string, std::vector<const Op*>> ops;
  for (const Op& op : graph.ops) {
    if (graph.tensors[op.outputs[0]].quantization.has_value()) {
      ops[CutId(op.id)].push_back(&op);
    }
  }
  return ops;
}

}  // namespace

absl::StatusOr<Graph> ExportedAndImported(const Graph& graph) {
  EK_ASSIGN_OR_RETURN(const std::string bytes, ExportQdqOnnx(graph), "export");
  EK_ASSIGN_OR_RETURN(Graph again, ImportOnnx(bytes), "import");
  EK_RETURN_IF_ERROR(Simplify(again));
  return again;
}

std::vector<std::string> IntegerDifferences(const Graph& before,
                                            const Graph& after) {
  std::vector<std::string> differences;
  const auto was = IntegerOps(before);
  auto is = IntegerOps(after);
  for (const auto& [id, ops] : was) {
    std::vector<const Op*>& found = is[id];
    for (size_t i = 0; i < ops.size(); ++i) {
      const std::string what =
          i < found.size() ? OpDifference(before, *ops[i], after, *found[i])
                           : absl::StrCat("no ", ops[i]->kind(), " any more");
      if (!what.empty()) differences.push_back(absl::StrCat(id, ": ", what));
    }
    found.erase(found.begin(),
                found.begin() + std::min(ops.size(), found.size()));
  }
  for (const auto& [id, ops] : is) {
    for (const Op* op : ops) {
      differences.push_back(absl::StrCat(id, ": new ", op->kind()));
    }
  }
  return differences;
}

Graph WithRoundingsOf(const Graph& before, Graph after) {
  std::map<std::string, v1::Rounding> roundings;
  for (const Op& op : before.ops)
    roundings[CutId(op.id)] = op.attributes.rounding();
  for (Op& op : after.ops) {
    const auto found = roundings.find(CutId(op.id));
    if (found != roundings.end()) op.attributes.set_rounding(found->second);
  }
  return after;
}

absl::StatusOr<std::string> OutputsOf(const Graph& graph,
                                      const std::vector<std::string>& inputs) {
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<Interpreter> interpreter,
                      Interpreter::Create(graph));
  EK_RETURN_IF_ERROR(interpreter->Run(
      std::vector<absl::string_view>(inputs.begin(), inputs.end())));
  std::string bytes;
  for (const TensorId id : graph.outputs) {
    absl::StrAppend(&bytes, interpreter->value(id));
  }
  return bytes;
}

}  // namespace edgekiln::compiler
