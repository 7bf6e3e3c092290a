#include "compiler/partition/ungroup.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/transposed_tensor.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

// Dense weights of a layer are bounded, as its grouped ones were.
constexpr int64_t kMaxDenseElements = int64_t{1} << 26;

// [O,KH,KW,C/G] -> [O,KH,KW,C], the weights of other groups at the zero point.
std::optional<Tensor> DenseWeights(const Tensor& grouped, int64_t groups) {
  const int64_t outputs = grouped.shape[0];
  const int64_t places = grouped.shape[1] * grouped.shape[2];
  const int64_t inner = grouped.shape[3];
  if (grouped.num_elements() > kMaxDenseElements / groups) return std::nullopt;
  const Quantization& q = *grouped.quantization;
  Tensor dense = grouped;
  dense.shape[3] = inner * groups;
  std::string data;
  data.reserve(static_cast<size_t>(dense.num_elements()));
  for (int64_t o = 0; o < outputs; ++o) {
    const char zero = static_cast<char>(
        q.zero_point[q.per_channel() ? static_cast<size_t>(o) : 0]);
    const int64_t group = o / (outputs / groups);
    for (int64_t p = 0; p < places; ++p) {
      const auto row = static_cast<size_t>((o * places + p) * inner);
      data.append(static_cast<size_t>(group * inner), zero);
      absl::StrAppend(&data,
                      grouped.data->substr(row, static_cast<size_t>(inner)));
      data.append(static_cast<size_t>((groups - 1 - group) * inner), zero);
    }
  }
  dense.data = ConstantData(std::move(data));
  return dense;
}

struct Ungrouped {
  v1::OpAttributes attributes;
  Tensor weights;
};

std::optional<Ungrouped> Ungroup(const v1::Conv2d& conv,
                                 const Tensor& weights) {
  const int64_t groups = conv.groups();
  Ungrouped result;
  if (weights.shape[3] == 1) {
    v1::DepthwiseConv2d* depthwise =
        result.attributes.mutable_depthwise_conv2d();
    *depthwise->mutable_window() = conv.window();
    if (conv.has_clamp()) *depthwise->mutable_clamp() = conv.clamp();
    depthwise->set_depth_multiplier(
        static_cast<int32_t>(weights.shape[0] / groups));
    result.weights = TransposedTensor(weights, {3, 1, 2, 0});
    return result;
  }
  std::optional<Tensor> dense = DenseWeights(weights, groups);
  if (!dense.has_value()) return std::nullopt;
  *result.attributes.mutable_conv2d() = conv;
  result.attributes.mutable_conv2d()->clear_groups();
  result.weights = *std::move(dense);
  return result;
}

}  // namespace

void UngroupConvolutions(Graph& graph) {
  FreshNames names(graph);
  std::vector<int> uses = UsesOf(graph);
  for (Op& op : graph.ops) {
    if (op.attributes.conv2d().groups() <= 1) continue;
    const Tensor& weights = graph.tensors[op.inputs[1]];
    if (!weights.is_constant() || !weights.quantization.has_value() ||
        ElementBytes(weights.type) != 1) {
      continue;
    }
    std::optional<Ungrouped> ungrouped =
        Ungroup(op.attributes.conv2d(), weights);
    if (!ungrouped.has_value()) continue;
    std::vector<ops::TensorView> views = ViewsOf(graph, op.inputs);
    views[1] = ViewOf(ungrouped->weights);
    if (!ops::CheckOp(ungrouped->attributes, views, ViewsOf(graph, op.outputs))
             .ok()) {
      continue;
    }
    ungrouped->weights.name =
        names.TensorName(absl::StrCat(weights.name, ".ungrouped"));
    ungrouped->attributes.set_rounding(op.attributes.rounding());
    op.attributes = std::move(ungrouped->attributes);
    if (--uses[op.inputs[1]] == 0) {
      graph.tensors[op.inputs[1]] = std::move(ungrouped->weights);
      continue;
    }
    op.inputs[1] = static_cast<TensorId>(graph.tensors.size());
    graph.tensors.push_back(std::move(ungrouped->weights));
  }
}

}  // namespace edgekiln::compiler
