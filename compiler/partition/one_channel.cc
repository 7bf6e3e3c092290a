#include "compiler/partition/one_channel.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/partition/first_pattern.h"
#include "compiler/partition/pad_kernels.h"
#include "compiler/partition/pattern_match.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/transposed_tensor.h"

namespace edgekiln::compiler {
namespace {

bool IsOfOneChannel(const Graph& graph, const Op& op) {
  if (!op.attributes.has_depthwise_conv2d()) return false;
  const Tensor& weights = graph.tensors[op.inputs[1]];
  return graph.tensors[op.inputs[0]].shape[3] == 1 && weights.is_constant() &&
         weights.quantization.has_value() && ElementBytes(weights.type) == 1;
}

// [1,KH,KW,M] -> [M,KH,KW,1]. New constants are `uses` behind the others.
void MakeConvolution(FreshNames& names, std::vector<int>& uses, Op& op,
                     Graph& graph) {
  const v1::DepthwiseConv2d depthwise = op.attributes.depthwise_conv2d();
  v1::OpAttributes attributes;
  *attributes.mutable_conv2d()->mutable_window() = depthwise.window();
  if (depthwise.has_clamp()) {
    *attributes.mutable_conv2d()->mutable_clamp() = depthwise.clamp();
  }
  attributes.set_rounding(op.attributes.rounding());
  if (op.attributes.has_converter()) {
    *attributes.mutable_converter() = op.attributes.converter();
  }
  op.attributes = std::move(attributes);
  const TensorId before = op.inputs[1];
  Tensor weights = TransposedTensor(graph.tensors[before], {3, 1, 2, 0});
  weights.name = names.TensorName(absl::StrCat(weights.name, ".dense"));
  if (--uses[before] == 0) {
    graph.tensors[before] = std::move(weights);
    return;
  }
  op.inputs[1] = static_cast<TensorId>(graph.tensors.size());
  graph.tensors.push_back(std::move(weights));
}

// By op, whether an engine takes it, padded if need be.
absl::StatusOr<std::vector<bool>> Taken(Graph graph,
                                        const v1::Capabilities& capabilities) {
  EK_RETURN_IF_ERROR(PadKernels(graph, capabilities).status());
  EK_ASSIGN_OR_RETURN(const PatternMatcher matcher,
                      PatternMatcher::Create(graph, capabilities));
  std::vector<bool> taken;
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    taken.push_back(FirstPattern(graph, i, capabilities, matcher) != nullptr);
  }
  return taken;
}

void MakeConvolutions(const std::vector<bool>& which, Graph& graph) {
  FreshNames names(graph);
  std::vector<int> uses = UsesOf(graph);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (which[i]) MakeConvolution(names, uses, graph.ops[i], graph);
  }
}

}  // namespace

absl::Status ConvolveOneChannel(const v1::Capabilities& capabilities,
                                Graph& graph) {
  std::vector<bool> which;
  bool any = false;
  for (const Op& op : graph.ops) {
    which.push_back(IsOfOneChannel(graph, op));
    any = any || which.back();
  }
  if (!any) return absl::OkStatus();
  Graph convolutions = graph;  // Constants stay shared.
  MakeConvolutions(which, convolutions);
  EK_ASSIGN_OR_RETURN(const std::vector<bool> as_it_is,
                      Taken(graph, capabilities));
  EK_ASSIGN_OR_RETURN(const std::vector<bool> as_convolution,
                      Taken(std::move(convolutions), capabilities));
  for (size_t i = 0; i < which.size(); ++i) {
    which[i] = which[i] && !as_it_is[i] && as_convolution[i];
  }
  MakeConvolutions(which, graph);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
