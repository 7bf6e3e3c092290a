#include "tests/chips/pattern_conditions.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::Tensor;
using compiler::TensorId;
using Pattern = v1::OpPattern;

bool IsPool(const Pattern& pattern) {
  return pattern.pattern() == Pattern::AVERAGE_POOL2D ||
         pattern.pattern() == Pattern::MAX_POOL2D;
}

bool HasWeights(const Pattern& pattern) {
  return pattern.pattern() == Pattern::CONV2D ||
         pattern.pattern() == Pattern::DEPTHWISE_CONV2D ||
         pattern.pattern() == Pattern::FULLY_CONNECTED;
}

bool HasWindow(const Pattern& pattern) {
  return pattern.pattern() == Pattern::CONV2D ||
         pattern.pattern() == Pattern::DEPTHWISE_CONV2D || IsPool(pattern);
}

bool Always(const Pattern&) { return true; }

Tensor& InputOf(Graph& graph) { return graph.tensors[graph.ops[0].inputs[0]]; }
Tensor& WeightsOf(Graph& graph) {
  return graph.tensors[graph.ops[0].inputs[1]];
}
Tensor& OutputOf(Graph& graph) {
  return graph.tensors[graph.ops[0].outputs[0]];
}
// An activation that the layer reads or writes.
Tensor& AnyActivationOf(Graph& graph, Rng& rng) {
  return rng.Below(2) == 0 ? InputOf(graph) : OutputOf(graph);
}

// At most `most`, and no more than a limit, where 0 is none.
int64_t Within(int64_t limit, int64_t most, Rng& rng) {
  return rng.InRange(1, limit > 0 ? std::min(limit, most) : most);
}

// Padding that a window needs to fit whatever there is.
void PadToFit(WindowCase& window) {
  for (const int axis : {0, 1}) {
    window.pad[axis * 2] =
        static_cast<int32_t>(window.kernel[axis] - 1) * window.dilation[axis];
  }
}

// Limits may be so large that the rest of the layer had better be small.
void Shrink(LayerSizes& sizes) {
  sizes.h = sizes.w = 1;
  sizes.c = sizes.channels = 2;
  sizes.window = {};
}

void EnlargeKernel(const Pattern& pattern, LayerSizes& sizes, Rng& rng) {
  Shrink(sizes);
  sizes.window.kernel[rng.Below(2)] = pattern.max_kernel() + 1;
  PadToFit(sizes.window);
}

void EnlargeStride(const Pattern& pattern, LayerSizes& sizes, Rng& rng) {
  sizes.window.stride[rng.Below(2)] = pattern.max_stride() + 1;
}

void EnlargeDilation(const Pattern& pattern, LayerSizes& sizes, Rng& rng) {
  const uint64_t axis = rng.Below(2);
  // No pattern limits paddings: two positions need no more than a step.
  sizes.window.kernel[axis] = 2;
  sizes.window.dilation[axis] = pattern.max_dilation() + 1;
  PadToFit(sizes.window);
}

void EnlargeExtent(const Pattern& pattern, LayerSizes& sizes, Rng& rng) {
  Shrink(sizes);
  std::vector<int64_t*> extents = {&sizes.w, &sizes.c};
  if (pattern.pattern() != Pattern::FULLY_CONNECTED) {
    extents.push_back(&sizes.h);
  }
  if (HasWeights(pattern)) extents.push_back(&sizes.channels);
  *extents[rng.Below(extents.size())] = pattern.max_extent() + 1;
}

void EnlargeBatch(const Pattern&, LayerSizes& sizes, Rng& rng) {
  sizes.batch = rng.InRange(2, 5);
}

void DilatePool(const Pattern&, LayerSizes& sizes, Rng& rng) {
  sizes.window.dilation[rng.Below(2)] = static_cast<int32_t>(rng.InRange(2, 9));
  PadToFit(sizes.window);
}

void GiveAnotherType(const Pattern& pattern, Graph& graph, Rng& rng) {
  Tensor& tensor = AnyActivationOf(graph, rng);
  const auto& taken = pattern.element_types();
  do {
    tensor.type = static_cast<v1::ElementType>(
        rng.InRange(v1::ElementType_MIN + 1, v1::ElementType_MAX));
  } while (!v1::ElementType_IsValid(tensor.type) ||
           std::count(taken.begin(), taken.end(), tensor.type) > 0);
}

void TakeScaleAway(const Pattern&, Graph& graph, Rng& rng) {
  Tensor& tensor = AnyActivationOf(graph, rng);
  if (rng.Below(2) == 0) {
    tensor.quantization.reset();
  } else {
    tensor.quantization->scale.push_back(1);
    tensor.quantization->zero_point.push_back(0);
  }
}

void Empty(const Pattern&, Graph& graph, Rng& rng) {
  Tensor& tensor = AnyActivationOf(graph, rng);
  tensor.shape[rng.Below(tensor.shape.size())] = 0;
}

void MakeOperandConstant(const Pattern& pattern, Graph& graph, Rng& rng) {
  const bool second = pattern.pattern() == Pattern::ADD && rng.Below(2) == 0;
  const TensorId id = graph.ops[0].inputs[second ? 1 : 0];
  Tensor& tensor = graph.tensors[id];
  tensor.data = compiler::ConstantData(
      std::string(static_cast<size_t>(tensor.num_elements()), '\1'));
  graph.inputs.erase(std::find(graph.inputs.begin(), graph.inputs.end(), id));
}

void RoundHalfEven(const Pattern&, Graph& graph, Rng&) {
  graph.ops[0].attributes.set_rounding(v1::HALF_EVEN);
}

void Group(const Pattern&, Graph& graph, Rng&) {
  graph.ops[0].attributes.mutable_conv2d()->set_groups(2);
}

void MakeWeightsAnInput(const Pattern&, Graph& graph, Rng&) {
  WeightsOf(graph).data = {};
  graph.inputs.push_back(graph.ops[0].inputs[1]);
}

void TakeScaleOfWeightsAway(const Pattern&, Graph& graph, Rng&) {
  WeightsOf(graph).quantization.reset();
}

void GiveWeightsAnotherType(const Pattern&, Graph& graph, Rng& rng) {
  WeightsOf(graph).type = rng.Below(2) == 0 ? v1::UINT8 : v1::INT16;
}

void MakeBiasAnInput(const Pattern&, Graph& graph, Rng&) {
  compiler::Op& op = graph.ops[0];
  if (op.inputs[2] == compiler::kNoTensor) {
    op.inputs[2] = static_cast<TensorId>(graph.tensors.size());
    Tensor bias;
    bias.name = "bias";
    bias.type = v1::INT32;
    bias.shape = {OutputOf(graph).shape.back()};
    graph.tensors.push_back(std::move(bias));
  }
  graph.tensors[op.inputs[2]].data = {};
  graph.inputs.push_back(op.inputs[2]);
}

void GiveChannelsScales(const Pattern&, Graph& graph, Rng&) {
  compiler::Quantization& weights = *WeightsOf(graph).quantization;
  weights.scale.assign(std::max<size_t>(weights.scale.size(), 2), 0.25f);
  weights.zero_point.assign(weights.scale.size(), 0);
}

void MoveZeroOfWeights(const Pattern&, Graph& graph, Rng& rng) {
  std::vector<int32_t>& zeros = WeightsOf(graph).quantization->zero_point;
  zeros[rng.Below(zeros.size())] = static_cast<int32_t>(rng.InRange(1, 127));
}

void GiveOperandAnotherShape(const Pattern&, Graph& graph, Rng& rng) {
  Tensor& tensor = graph.tensors[graph.ops[0].inputs[rng.Below(2)]];
  int64_t& extent = tensor.shape[rng.InRange(1, 3)];
  extent = extent == 1 ? 2 : extent - 1;
}

void RescalePool(const Pattern&, Graph& graph, Rng& rng) {
  compiler::Quantization& output = *OutputOf(graph).quantization;
  if (rng.Below(2) == 0) {
    output.scale[0] *= 2;
  } else {
    output.zero_point[0] ^= 1;
  }
}

std::string Types(const Pattern& pattern) {
  std::vector<std::string> names;
  for (const int type : pattern.element_types()) {
    names.push_back(absl::AsciiStrToLower(
        v1::ElementType_Name(static_cast<v1::ElementType>(type))));
  }
  return absl::StrJoin(names, " or ");
}

bool LimitsDilation(const Pattern& pattern) {
  // Pools have none at all.
  return HasWindow(pattern) && !IsPool(pattern) && pattern.max_dilation() > 0;
}

const PatternCondition kConditions[] = {
    {"Kernel", "max_kernel",
     [](const Pattern& p) { return HasWindow(p) && p.max_kernel() > 0; },
     EnlargeKernel, nullptr,
     [](const Pattern& p) {
       return absl::StrCat("kernels up to ", p.max_kernel(), " (here ");
     }},
    {"Stride", "max_stride",
     [](const Pattern& p) { return HasWindow(p) && p.max_stride() > 0; },
     EnlargeStride, nullptr,
     [](const Pattern& p) {
       return absl::StrCat("strides up to ", p.max_stride(), " (here ",
                           p.max_stride() + 1, ")");
     }},
    {"Dilation", "max_dilation", LimitsDilation, EnlargeDilation, nullptr,
     [](const Pattern& p) {
       return absl::StrCat("dilations up to ", p.max_dilation(), " (here ",
                           p.max_dilation() + 1, ")");
     }},
    {"Extent", "max_extent",
     [](const Pattern& p) { return p.max_extent() > 0; }, EnlargeExtent,
     nullptr,
     [](const Pattern& p) {
       return absl::StrCat("extents up to ", p.max_extent(), " (");
     }},
    {"ElementType", "element_types", Always, nullptr, GiveAnotherType,
     [](const Pattern& p) { return absl::StrCat(Types(p), " tensors ("); }},
    {"Rounding", "rounds_half_even",
     [](const Pattern& p) { return !p.rounds_half_even(); }, nullptr,
     RoundHalfEven,
     [](const Pattern&) {
       return std::string("rounding half up (here half to even)");
     }},
    {"ScalesOfWeights", "per_channel",
     [](const Pattern& p) { return HasWeights(p) && !p.per_channel(); },
     nullptr, GiveChannelsScales,
     [](const Pattern&) { return std::string("weights with one scale ("); }},
    {"ZeroOfWeights", "asymmetric_weights",
     [](const Pattern& p) { return HasWeights(p) && !p.asymmetric_weights(); },
     nullptr, MoveZeroOfWeights,
     [](const Pattern&) { return std::string("symmetric weights"); }},
    {"OneScale", "", Always, nullptr, TakeScaleAway,
     [](const Pattern&) {
       return std::string("tensors quantized with one scale (");
     }},
    {"NotEmpty", "", Always, nullptr, Empty,
     [](const Pattern&) {
       return std::string("tensors that are not empty (");
     }},
    {"Batch", "",
     [](const Pattern& p) { return p.pattern() != Pattern::FULLY_CONNECTED; },
     EnlargeBatch, nullptr,
     [](const Pattern&) { return std::string("batch 1 (here "); }},
    {"Activations", "", Always, nullptr, MakeOperandConstant,
     [](const Pattern&) {
       return std::string("operands that are activations (");
     }},
    {"Groups", "",
     [](const Pattern& p) { return p.pattern() == Pattern::CONV2D; }, nullptr,
     Group,
     [](const Pattern&) {
       return std::string("convolutions without groups (here 2)");
     }},
    {"ConstantWeights", "", HasWeights, nullptr, MakeWeightsAnInput,
     [](const Pattern&) { return std::string("constant weights"); }},
    {"QuantizedWeights", "", HasWeights, nullptr, TakeScaleOfWeightsAway,
     [](const Pattern&) { return std::string("quantized weights"); }},
    {"TypeOfWeights", "", HasWeights, nullptr, GiveWeightsAnotherType,
     [](const Pattern&) { return std::string("int8 weights (here "); }},
    {"ConstantBias", "", HasWeights, nullptr, MakeBiasAnInput,
     [](const Pattern&) { return std::string("a constant bias"); }},
    {"Shapes", "", [](const Pattern& p) { return p.pattern() == Pattern::ADD; },
     nullptr, GiveOperandAnotherShape,
     [](const Pattern&) { return std::string("operands of one shape"); }},
    {"ScaleOfPool", "", IsPool, nullptr, RescalePool,
     [](const Pattern&) {
       return std::string("pools that keep the quantization of their input");
     }},
    {"DilationOfPool", "", IsPool, DilatePool, nullptr,
     [](const Pattern&) { return std::string("pools without dilation"); }},
};

}  // namespace

LayerSizes RandomSizes(const Pattern& pattern, Rng& rng) {
  LayerSizes sizes;
  const int64_t extent = pattern.max_extent();
  sizes.h = Within(extent, 7, rng);
  sizes.w = Within(extent, 7, rng);
  sizes.c = Within(extent, 9, rng);
  const bool multiplies = pattern.pattern() == Pattern::DEPTHWISE_CONV2D;
  sizes.channels =
      Within(multiplies && extent > 0 ? extent / sizes.c : extent, 9, rng);
  for (const int axis : {0, 1}) {
    WindowCase& window = sizes.window;
    window.kernel[axis] = Within(pattern.max_kernel(), 4, rng);
    window.stride[axis] =
        static_cast<int32_t>(Within(pattern.max_stride(), 3, rng));
    if (IsPool(pattern)) continue;
    window.dilation[axis] =
        static_cast<int32_t>(Within(pattern.max_dilation(), 3, rng));
  }
  PadToFit(sizes.window);
  return sizes;
}

Graph LayerOf(const Pattern& pattern, const LayerSizes& sizes,
              QuantizedGraphBuilder& builder) {
  const bool dense = pattern.pattern() == Pattern::FULLY_CONNECTED;
  const std::vector<int64_t> shape =
      dense ? std::vector<int64_t>{sizes.w, sizes.c}
            : std::vector<int64_t>{sizes.batch, sizes.h, sizes.w, sizes.c};
  const TensorId x = builder.Input(shape);
  TensorId y = compiler::kNoTensor;
  switch (pattern.pattern()) {
    case Pattern::CONV2D:
      y = builder.Conv(x, sizes.channels, sizes.window, true);
      break;
    case Pattern::DEPTHWISE_CONV2D:
      y = builder.Depthwise(x, sizes.channels, sizes.window, true);
      break;
    case Pattern::FULLY_CONNECTED:
      y = builder.FullyConnected(x, sizes.channels);
      break;
    case Pattern::ADD:
      y = builder.Add(x, builder.Input(shape));
      break;
    case Pattern::AVERAGE_POOL2D:
      y = builder.AveragePool(x, sizes.window);
      break;
    default:
      y = builder.MaxPool(x, sizes.window);
      break;
  }
  Graph graph = builder.Finish({y});
  if (HasWeights(pattern) && !pattern.per_channel()) {
    compiler::Quantization& weights = *WeightsOf(graph).quantization;
    weights.scale.resize(1);
    weights.zero_point.resize(1);
    weights.axis = 0;
  }
  return graph;
}

void PrintTo(const PatternCondition& condition, std::ostream* out) {
  *out << condition.name;
}

const std::vector<PatternCondition>& PatternConditions() {
  static const auto* const conditions = new std::vector<PatternCondition>(
      std::begin(kConditions), std::end(kConditions));
  return *conditions;
}

}  // namespace edgekiln::tests
