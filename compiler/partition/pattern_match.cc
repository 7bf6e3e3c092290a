#include "compiler/partition/pattern_match.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"

namespace edgekiln::compiler {
namespace {

using Kind = v1::OpAttributes::OpCase;

Kind KindOf(v1::OpPattern::Pattern pattern) {
  switch (pattern) {
    case v1::OpPattern::CONV2D:
      return Kind::kConv2D;
    case v1::OpPattern::DEPTHWISE_CONV2D:
      return Kind::kDepthwiseConv2D;
    case v1::OpPattern::FULLY_CONNECTED:
      return Kind::kFullyConnected;
    case v1::OpPattern::ADD:
      return Kind::kAdd;
    case v1::OpPattern::AVERAGE_POOL2D:
      return Kind::kAveragePool2D;
    case v1::OpPattern::MAX_POOL2D:
      return Kind::kMaxPool2D;
    default:
      return Kind::OP_NOT_SET;
  }
}

bool HasWeights(Kind kind) {
  return kind == Kind::kConv2D || kind == Kind::kDepthwiseConv2D ||
         kind == Kind::kFullyConnected;
}

std::string TypeName(v1::ElementType type) {
  return absl::AsciiStrToLower(v1::ElementType_Name(type));
}

std::string TypeNames(const v1::OpPattern& pattern) {
  std::vector<std::string> names;
  for (const int type : pattern.element_types()) {
    names.push_back(TypeName(static_cast<v1::ElementType>(type)));
  }
  return absl::StrJoin(names, " or ");
}

// Exporters join the names of fused ops: the first words tell enough. Cuts
// between characters, so that what is UTF-8 stays so. Without parentheses,
// which end what is said of one layer.
std::string Short(const std::string& name) {
  constexpr size_t kMost = 40;
  std::string text =
      name.size() <= kMost ? name : SanitizeText(name, kMost + 3);
  std::replace(text.begin(), text.end(), '(', '[');
  std::replace(text.begin(), text.end(), ')', ']');
  return text;
}

// Kernel extents and window of the ops that have one.
struct WindowView {
  const v1::Window2d* window = nullptr;
  int64_t kernel_h = 1;
  int64_t kernel_w = 1;
};

WindowView WindowOf(const Graph& graph, const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  switch (attributes.op_case()) {
    case Kind::kConv2D: {
      const auto& shape = graph.tensors[op.inputs[1]].shape;
      return {&attributes.conv2d().window(), shape[1], shape[2]};
    }
    case Kind::kDepthwiseConv2D: {
      const auto& shape = graph.tensors[op.inputs[1]].shape;
      return {&attributes.depthwise_conv2d().window(), shape[1], shape[2]};
    }
    case Kind::kAveragePool2D:
      return {&attributes.average_pool2d().window(),
              attributes.average_pool2d().kernel_h(),
              attributes.average_pool2d().kernel_w()};
    case Kind::kMaxPool2D:
      return {&attributes.max_pool2d().window(),
              attributes.max_pool2d().kernel_h(),
              attributes.max_pool2d().kernel_w()};
    default:
      return {};
  }
}

std::string WhyNotWindow(const WindowView& view, const v1::OpPattern& pattern) {
  if (view.window == nullptr) return "";
  const auto over = [](int64_t value, int64_t limit) {
    return limit > 0 && value > limit;
  };
  const v1::Window2d& window = *view.window;
  if (over(std::max(view.kernel_h, view.kernel_w), pattern.max_kernel())) {
    return absl::StrCat("kernels up to ", pattern.max_kernel(), " (here ",
                        view.kernel_h, "x", view.kernel_w, ")");
  }
  const int64_t stride = std::max(window.stride_h(), window.stride_w());
  if (over(stride, pattern.max_stride())) {
    return absl::StrCat("strides up to ", pattern.max_stride(), " (here ",
                        stride, ")");
  }
  const int64_t dilation = std::max(window.dilation_h(), window.dilation_w());
  if (over(dilation, pattern.max_dilation())) {
    return absl::StrCat("dilations up to ", pattern.max_dilation(), " (here ",
                        dilation, ")");
  }
  return "";
}

std::string WhyNotWeights(const Graph& graph, const Op& op,
                          const v1::OpPattern& pattern) {
  const Tensor& weights = graph.tensors[op.inputs[1]];
  if (!weights.is_constant()) return "constant weights";
  if (!weights.quantization) return "quantized weights";
  if (weights.type != v1::INT8) {
    return absl::StrCat("int8 weights (here ", TypeName(weights.type), ")");
  }
  if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor &&
      !graph.tensors[op.inputs[2]].is_constant()) {
    return "a constant bias";
  }
  if (weights.quantization->per_channel() && !pattern.per_channel()) {
    return "weights with one scale (here one per channel)";
  }
  if (!pattern.asymmetric_weights() &&
      absl::c_any_of(weights.quantization->zero_point,
                     [](int32_t zero) { return zero != 0; })) {
    return "symmetric weights";
  }
  return "";
}

// Pools pass values through: their output must share the input's quantization.
std::string WhyNotPool(const Graph& graph, const Op& op) {
  const WindowView view = WindowOf(graph, op);
  if (graph.tensors[op.inputs[0]].quantization !=
      graph.tensors[op.outputs[0]].quantization) {
    return "pools that keep the quantization of their input";
  }
  if (view.window->dilation_h() > 1 || view.window->dilation_w() > 1) {
    return "pools without dilation";
  }
  return "";
}

std::string WhyNotTensor(const Tensor& tensor, const v1::OpPattern& pattern) {
  if (!absl::c_linear_search(pattern.element_types(), tensor.type)) {
    return absl::StrCat(TypeNames(pattern), " tensors (", Short(tensor.name),
                        " is ", TypeName(tensor.type), ")");
  }
  if (!tensor.quantization || tensor.quantization->per_channel()) {
    return absl::StrCat("tensors quantized with one scale (",
                        Short(tensor.name), " is not)");
  }
  for (const int64_t extent : tensor.shape) {
    if (pattern.max_extent() > 0 && extent > pattern.max_extent()) {
      return absl::StrCat("extents up to ", pattern.max_extent(), " (",
                          Short(tensor.name), " has ", extent, ")");
    }
  }
  if (tensor.num_elements() == 0) {
    return absl::StrCat("tensors that are not empty (", Short(tensor.name),
                        " is)");
  }
  if (tensor.shape.size() == 4 && tensor.shape[0] != 1) {
    return absl::StrCat("batch 1 (here ", tensor.shape[0], ")");
  }
  return "";
}

// Whether a pattern of its kind takes `op`. Empty: it does.
std::string WhyNot(const Graph& graph, const Op& op,
                   const v1::OpPattern& pattern) {
  const Kind kind = op.attributes.op_case();
  if (op.attributes.conv2d().groups() > 1) {
    return absl::StrCat("convolutions without groups (here ",
                        op.attributes.conv2d().groups(), ")");
  }
  if (op.attributes.rounding() == v1::HALF_EVEN &&
      !pattern.rounds_half_even()) {
    return "rounding half up (here half to even)";
  }
  const bool weights = HasWeights(kind);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (weights && i > 0) break;
    const Tensor& tensor = graph.tensors[op.inputs[i]];
    if (tensor.is_constant()) {
      return absl::StrCat("operands that are activations (", Short(tensor.name),
                          " is constant)");
    }
    if (std::string why = WhyNotTensor(tensor, pattern); !why.empty()) {
      return why;
    }
  }
  const Tensor& output = graph.tensors[op.outputs[0]];
  if (std::string why = WhyNotTensor(output, pattern); !why.empty()) return why;
  if (weights) {
    if (std::string why = WhyNotWeights(graph, op, pattern); !why.empty()) {
      return why;
    }
  }
  if (kind == Kind::kAdd) {
    for (const TensorId input : op.inputs) {
      if (graph.tensors[input].shape != output.shape) {
        return "operands of one shape";
      }
    }
  }
  if (kind == Kind::kAveragePool2D || kind == Kind::kMaxPool2D) {
    if (std::string why = WhyNotPool(graph, op); !why.empty()) return why;
  }
  return WhyNotWindow(WindowOf(graph, op), pattern);
}

}  // namespace

Match MatchChain(const Graph& graph, int32_t first,
                 const v1::Capabilities::Engine& engine) {
  const Op& op = graph.ops[first];
  const Kind kind = op.attributes.op_case();
  Match match;
  for (const v1::OpPattern& pattern : engine.patterns()) {
    if (kind != KindOf(pattern.pattern()) || kind == Kind::OP_NOT_SET) continue;
    std::string why = WhyNot(graph, op, pattern);
    if (why.empty()) return {.ops = {first}, .failed = {}};
    match.failed.push_back(std::move(why));
  }
  return match;
}

}  // namespace edgekiln::compiler
