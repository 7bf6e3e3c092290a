#include "compiler/partition/host_reason.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/split_clamp.h"
#include "ops/rules.h"

namespace edgekiln::compiler {
namespace {

bool Permutes(const Op& op, const std::vector<int32_t>& order) {
  const auto& permutation = op.attributes.transpose().permutation();
  return std::equal(permutation.begin(), permutation.end(), order.begin(),
                    order.end());
}

// What may stand between a transpose and the border.
bool KeepsOrder(const Op& op) {
  return op.attributes.has_reshape() || op.attributes.has_quantize() ||
         op.attributes.has_dequantize() || op.attributes.has_cast();
}

bool IsProduct(const Op& op) {
  return op.attributes.has_conv2d() || op.attributes.has_depthwise_conv2d() ||
         op.attributes.has_fully_connected() || op.attributes.has_mat_mul();
}

bool IsBinary(const Op& op, v1::Binary::Function function) {
  return op.attributes.has_binary() &&
         op.attributes.binary().function() == function;
}

// Real values over a scale that is no constant, or times its reciprocal.
bool ScalesAtRunTime(const Graph& graph, const Op& op) {
  if (!op.attributes.has_mul() && !IsBinary(op, v1::Binary::DIV)) return false;
  return ops::IsFloatType(graph.tensors[op.outputs[0]].type) &&
         !graph.tensors[op.inputs[0]].is_constant() &&
         !graph.tensors[op.inputs[1]].is_constant();
}

// What may stand between the scaling and the cast to integers: rounding, the
// zero point and the limits of the integers.
bool Rounds(const Op& op) {
  if (op.attributes.has_unary()) {
    const v1::Unary::Function function = op.attributes.unary().function();
    return function == v1::Unary::ROUND || function == v1::Unary::FLOOR ||
           function == v1::Unary::CEIL;
  }
  return op.attributes.has_add() || op.attributes.has_clip() ||
         IsBinary(op, v1::Binary::SUB) || IsBinary(op, v1::Binary::MINIMUM) ||
         IsBinary(op, v1::Binary::MAXIMUM);
}

std::string TypeName(v1::ElementType type) {
  return absl::AsciiStrToLower(v1::ElementType_Name(type));
}

}  // namespace

HostReasons::HostReasons(const Graph& graph)
    : graph_(graph),
      producers_(Producers(graph)),
      readers_(Consumers(graph)),
      scaled_(graph.tensors.size(), Scaled::kNot) {
  for (const Op& op : graph.ops) {
    if (op.outputs.size() != 1 || op.inputs.empty()) continue;
    const TensorId to = op.outputs[0];
    if (!graph.tensors[to].quantization.has_value()) scaled_[to] = ScaledBy(op);
  }
}

HostReasons::Scaled HostReasons::ScaledBy(const Op& op) const {
  if (ScalesAtRunTime(graph_, op)) return Scaled::kReals;
  const Scaled first = scaled_[op.inputs[0]];
  if (op.attributes.has_cast()) {
    return first == Scaled::kReals &&
                   ops::IsIntegerType(graph_.tensors[op.outputs[0]].type)
               ? Scaled::kIntegers
               : first;
  }
  if (MovesValues(op)) return first;
  // Takes the zero point off.
  if (first == Scaled::kIntegers && IsBinary(op, v1::Binary::SUB)) return first;
  if (!Rounds(op)) return Scaled::kNot;
  for (const TensorId input : op.inputs) {
    if (input != kNoTensor && scaled_[input] == Scaled::kReals) {
      return Scaled::kReals;
    }
  }
  return Scaled::kNot;
}

bool HostReasons::IsInput(TensorId id) const {
  return std::find(graph_.inputs.begin(), graph_.inputs.end(), id) !=
         graph_.inputs.end();
}

bool HostReasons::IsOutput(TensorId id) const {
  return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) !=
         graph_.outputs.end();
}

std::string HostReasons::For(const Op& op) const {
  if (op.attributes.has_transpose()) return ForTranspose(op);
  if (op.attributes.has_quantize()) return ForQuantize(op);
  if (op.attributes.has_dequantize()) return ForDequantize(op);
  if (op.attributes.has_requantize()) return ForRequantize(op);
  if (op.attributes.has_clip()) return ForClip(op);
  if (IsProduct(op)) return ForProduct(op);
  return "";
}

std::string HostReasons::ForTranspose(const Op& op) const {
  TensorId from = op.inputs[0];
  while (producers_[from] >= 0 && KeepsOrder(graph_.ops[producers_[from]])) {
    from = graph_.ops[producers_[from]].inputs[0];
  }
  if (IsInput(from)) {
    return absl::StrCat(Permutes(op, {0, 2, 3, 1})
                            ? "the model's input is NCHW, engines read NHWC"
                            : "the model's input is in another order than "
                              "engines read",
                        " (", graph_.tensors[from].name, ")");
  }
  TensorId to = op.outputs[0];
  while (!IsOutput(to) && readers_[to].size() == 1 &&
         KeepsOrder(graph_.ops[readers_[to][0]])) {
    to = graph_.ops[readers_[to][0]].outputs[0];
  }
  if (IsOutput(to)) {
    return absl::StrCat(Permutes(op, {0, 3, 1, 2})
                            ? "the model's output is NCHW, engines write NHWC"
                            : "the model's output is in another order than "
                              "engines write",
                        " (", graph_.tensors[to].name, ")");
  }
  return "";
}

std::string HostReasons::ForQuantize(const Op& op) const {
  TensorId from = op.inputs[0];
  while (producers_[from] >= 0 && ChoosesValues(graph_.ops[producers_[from]])) {
    from = graph_.ops[producers_[from]].inputs[0];
  }
  const Tensor& read = graph_.tensors[from];
  if (!IsInput(from)) {
    if (producers_[from] < 0 || read.quantization.has_value()) return "";
    return absl::StrCat("converts what a layer computes as real values (",
                        graph_.ops[producers_[from]].id, ")");
  }
  const std::string stays =
      absl::StrCat("the input stays ", TypeName(read.type), ": ");
  for (const int32_t reader : readers_[from]) {
    const Op& other = graph_.ops[reader];
    if (!other.attributes.has_quantize() && !other.attributes.has_cast() &&
        !ChoosesValues(other)) {
      return absl::StrCat(stays, "a layer reads its real values (", other.id,
                          ")");
    }
  }
  if (readers_[from].size() > 1) {
    return absl::StrCat(stays, "layers round it in several ways (", read.name,
                        ")");
  }
  return absl::StrCat("converts the model's input (", read.name, ")");
}

std::string HostReasons::ForRequantize(const Op& op) const {
  const int32_t producer = producers_[op.inputs[0]];
  if (producer < 0) return "";
  return absl::StrCat("scales the int32 sums of a layer (",
                      graph_.ops[producer].id, ")");
}

std::string HostReasons::ForClip(const Op& op) const {
  const int32_t producer = producers_[op.inputs[0]];
  if (producer < 0 || !AreClampHalves(graph_, graph_.ops[producer], op)) {
    return "";
  }
  return absl::StrCat("limits the results of a layer (",
                      graph_.ops[producer].id, ")");
}

// Integers whose scale is a value of the network, as quantizers of weights
// alone leave them: no quantization says what they mean.
std::string HostReasons::ForProduct(const Op& op) const {
  if (scaled_[op.inputs[0]] != Scaled::kIntegers) return "";
  return "its integers are scaled at run time; give the float model with "
         "--calibration, or one quantized by fixed scales";
}

std::string HostReasons::ForDequantize(const Op& op) const {
  const TensorId real = op.outputs[0];
  if (!readers_[real].empty()) {
    return absl::StrCat("converts for a layer that computes real values (",
                        graph_.ops[readers_[real].front()].id, ")");
  }
  if (!IsOutput(real)) return "";
  return absl::StrCat("converts the model's output (",
                      graph_.tensors[real].name, ")");
}

}  // namespace edgekiln::compiler
