#include "compiler/dataset/model_inputs.h"

#include <algorithm>
#include <iterator>

namespace edgekiln::compiler {
namespace {

// The IR is NHWC: inputs of NCHW models are turned to it first, which is a
// reshape if there is one channel.
bool TurnsToNhwc(const v1::Graph& graph, const v1::Op& op) {
  constexpr int32_t kToNhwc[] = {0, 2, 3, 1};
  if (op.attributes().has_transpose()) {
    const auto& order = op.attributes().transpose().permutation();
    return std::equal(order.begin(), order.end(), std::begin(kToNhwc),
                      std::end(kToNhwc));
  }
  if (!op.attributes().has_reshape() || op.outputs_size() != 1) return false;
  const auto& from = graph.tensors(op.inputs(0)).type().shape();
  const auto& to = graph.tensors(op.outputs(0)).type().shape();
  if (from.size() != 4 || to.size() != 4 || from[1] != 1) return false;
  for (int d = 0; d < 4; ++d) {
    if (to[d] != from[kToNhwc[d]]) return false;
  }
  return true;
}

// What has a notion of height, width and channels.
bool TakesNhwc(const v1::Graph&, const v1::Op& op) {
  const v1::OpAttributes& attributes = op.attributes();
  return attributes.has_conv2d() || attributes.has_depthwise_conv2d() ||
         attributes.has_average_pool2d() || attributes.has_max_pool2d();
}

// Whether everything that reads a tensor does as `does` says; perhaps after
// quantizing it.
bool AllReaders(const v1::Graph& graph, int32_t tensor,
                bool (*does)(const v1::Graph&, const v1::Op&),
                bool may_quantize = true) {
  bool readers = false;
  for (const v1::Op& op : graph.ops()) {
    if (std::find(op.inputs().begin(), op.inputs().end(), tensor) ==
        op.inputs().end()) {
      continue;
    }
    readers = true;
    const bool later =
        may_quantize && op.attributes().has_quantize() &&
        op.outputs_size() == 1 &&
        AllReaders(graph, op.outputs(0), does, /*may_quantize=*/false);
    if (!does(graph, op) && !later) return false;
  }
  return readers;
}

}  // namespace

ModelInputs InputsOf(const v1::Graph& graph) {
  ModelInputs inputs;
  for (int port = 0; port < graph.inputs_size(); ++port) {
    const int32_t input = graph.inputs(port);
    inputs.is_state.push_back(
        std::any_of(graph.states().begin(), graph.states().end(),
                    [&](const v1::State& s) { return s.input() == input; }));
    inputs.grids.push_back(GridOfInput(graph, port));
    inputs.types.push_back(graph.tensors(input).type());
    inputs.is_nchw.push_back(AllReaders(graph, input, TurnsToNhwc));
    inputs.is_nhwc.push_back(AllReaders(graph, input, TakesNhwc));
  }
  return inputs;
}

}  // namespace edgekiln::compiler
