#include "compiler/quantize/integer_choice.h"

#include <algorithm>
#include <numeric>

#include "compiler/ir/tensor_views.h"
#include "compiler/passes/float32_form.h"
#include "compiler/passes/op_traits.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

// The tensor as `type` with `scale`; other types than float32 as they are.
Tensor AsIntegers(Tensor tensor, float scale, v1::ElementType type) {
  if (tensor.type != v1::FLOAT32) return tensor;
  tensor.type = type;
  tensor.quantization =
      Quantization{.scale = {scale}, .zero_point = {0}, .axis = 0};
  return tensor;
}

// Whether ops/ takes the op with tensors of `type`, its output scaled so.
bool IntegerKernelTakes(const Graph& graph, const Op& op, float output_scale,
                        v1::ElementType type) {
  std::vector<Tensor> tensors;
  const bool weights = WeightAxis(op) >= 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == kNoTensor) {
      tensors.emplace_back();
      continue;
    }
    tensors.push_back(AsIntegers(graph.tensors[op.inputs[i]], 1,
                                 weights && i > 0 ? v1::INT8 : type));
    if (weights && i == 2) {
      tensors.back().type = v1::INT32;
      tensors.back().data = {};
    }
  }
  const Tensor output =
      AsIntegers(graph.tensors[op.outputs[0]], output_scale, type);
  std::vector<ops::TensorView> views;
  for (const Tensor& tensor : tensors) {
    views.push_back(ViewOf(tensor));
    views.back().data = nullptr;
  }
  return ops::CheckOp(op.attributes, views, {ViewOf(output)}).ok();
}

bool HasIntegerForm(const Graph& graph, const Op& op, v1::ElementType type) {
  if (op.outputs.size() != 1 || op.inputs.empty() ||
      op.inputs[0] == kNoTensor ||
      graph.tensors[op.inputs[0]].type != v1::FLOAT32 ||
      graph.tensors[op.outputs[0]].type != v1::FLOAT32) {
    return false;
  }
  if (WeightAxis(op) >= 0) {
    for (size_t i = 1; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != kNoTensor &&
          !graph.tensors[op.inputs[i]].is_constant()) {
        return false;
      }
    }
  } else if (!ChoosesValues(op) && !HasIntegerMeaning(op)) {
    return false;
  }
  return IntegerKernelTakes(graph, op, 1, type);
}

bool IsAtOneOf(const Op& op, const std::vector<bool>& tensors) {
  const auto is_one = [&tensors](TensorId id) {
    return id != kNoTensor && tensors[id];
  };
  return std::any_of(op.inputs.begin(), op.inputs.end(), is_one) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), is_one);
}

// Its results are values of its operand, but for their sign or a slope up to 1:
// a scale of its own would tell apart hardly more of them, and round them all
// once more.
bool PassesValues(const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  switch (attributes.op_case()) {
    case v1::OpAttributes::kClip: {
      const v1::Clamp& clamp = attributes.clip().clamp();
      return clamp.has_min() && clamp.min() == 0 && !clamp.has_max();
    }
    case v1::OpAttributes::kUnary:
      return attributes.unary().function() == v1::Unary::ABS ||
             (attributes.unary().function() == v1::Unary::LEAKY_RELU &&
              attributes.unary().alpha() >= 0 &&
              attributes.unary().alpha() <= 1);
    default:
      return false;
  }
}

}  // namespace

int WeightAxis(const Op& op) {
  if (op.attributes.has_conv2d() || op.attributes.has_fully_connected()) {
    return 0;
  }
  return op.attributes.has_depthwise_conv2d() ? 3 : -1;
}

bool SumsProducts(const Op& op) {
  return WeightAxis(op) >= 0 || op.attributes.has_mat_mul();
}

bool SharesQuantization(const Graph& graph, const Op& op,
                        v1::ElementType activations) {
  return PassesValues(op) || !IntegerKernelTakes(graph, op, 2, activations);
}

bool MayShareQuantization(const Graph& graph, const Op& op) {
  const v1::Unary& unary = op.attributes.unary();
  if (unary.function() == v1::Unary::LEAKY_RELU) return unary.alpha() > 1;
  const v1::Binary::Function function = op.attributes.binary().function();
  return (function == v1::Binary::MINIMUM || function == v1::Binary::MAXIMUM) &&
         std::none_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
           return graph.tensors[id].is_constant();
         });
}

std::vector<bool> ChooseIntegerOps(const Graph& graph,
                                   const std::vector<bool>& unbounded,
                                   const std::vector<bool>& kept,
                                   v1::ElementType activations) {
  const int32_t count = static_cast<int32_t>(graph.ops.size());
  std::vector<bool> integer(count);
  for (int32_t i = 0; i < count; ++i) {
    integer[i] = HasIntegerForm(graph, graph.ops[i], activations) &&
                 !IsAtOneOf(graph.ops[i], unbounded) &&
                 (kept.empty() || !kept[i]);
  }
  // Neighbours that could all be integer form groups.
  std::vector<int32_t> group(count);
  std::iota(group.begin(), group.end(), 0);
  const auto leader = [&group](int32_t i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
  };
  const std::vector<int32_t> producers = Producers(graph);
  std::vector<bool> sums(count, false);
  std::vector<bool> meets_float(count, false);
  const auto visit = [&](auto&& what) {
    for (int32_t i = 0; i < count; ++i) {
      for (const TensorId id : graph.ops[i].inputs) {
        const int32_t before = id == kNoTensor ? -1 : producers[id];
        if (before >= 0) what(i, before);
      }
    }
  };
  visit([&](int32_t a, int32_t b) {
    if (integer[a] && integer[b]) group[leader(a)] = leader(b);
  });
  visit([&](int32_t a, int32_t b) {
    if (integer[a] == integer[b]) return;
    // At the border of a model in other floats: the Quantize or Dequantize
    // takes the place of the cast.
    if (IsCastOfFloats(graph, graph.ops[integer[a] ? b : a])) return;
    meets_float[leader(integer[a] ? a : b)] = true;
  });
  for (int32_t i = 0; i < count; ++i) {
    if (SumsProducts(graph.ops[i])) sums[leader(i)] = true;
  }
  for (int32_t i = 0; i < count; ++i) {
    const int32_t of = leader(i);
    if (meets_float[of] && !sums[of]) integer[i] = false;
  }
  return integer;
}

}  // namespace edgekiln::compiler
