// Small random int8 networks behind float inputs and outputs, their conversions
// pushed into the network as far as ops that choose values allow: the integer
// form finds all of them, and the float form computes the same.

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/text.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/integer_io.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/testing/random_graph.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr int kGraphs = 1000;

bool IsConvertible(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  return !tensor.is_constant() && tensor.type == v1::INT8 &&
         tensor.quantization.has_value() && !tensor.quantization->per_channel();
}

// Floats at all inputs and outputs.
void AddConversions(Graph& graph) {
  std::vector<bool> is_input(graph.tensors.size(), false);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    is_input[graph.inputs[i]] = true;
    if (IsConvertible(graph, graph.inputs[i])) {
      graph.converted_inputs.push_back(
          {static_cast<int32_t>(i), v1::FLOAT32, v1::HALF_EVEN});
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorId id = graph.outputs[i];
    if (IsConvertible(graph, id) && !is_input[id]) {
      graph.converted_outputs.push_back(
          {static_cast<int32_t>(i), v1::FLOAT32, v1::HALF_UP});
    }
  }
  UseSourcePorts(graph);
}

// choose(quantize(x)) -> quantize(choose(x)), wherever an op reads what a
// Quantize makes.
void PushQuantizesDown(Graph& graph) {
  FreshNames names(graph);
  std::vector<Op> ops;
  for (Op& op : graph.ops) {
    const std::vector<int32_t> producers = [&] {
      Graph so_far;
      so_far.tensors = graph.tensors;
      so_far.ops = ops;
      return Producers(so_far);
    }();
    const int32_t before = op.inputs.empty() ? -1 : producers[op.inputs[0]];
    if (before < 0 || !ops[before].attributes.has_quantize() ||
        !ChoosesValues(op)) {
      ops.push_back(std::move(op));
      continue;
    }
    Op quantize = ops[before];
    quantize.id = names.OpId("pushed");
    quantize.outputs = op.outputs;
    Tensor real = graph.tensors[op.outputs[0]];
    real.name = names.TensorName("real");
    real.type = v1::FLOAT32;
    real.quantization.reset();
    graph.tensors.push_back(std::move(real));
    op.inputs[0] = quantize.inputs[0];
    op.outputs = {static_cast<TensorId>(graph.tensors.size()) - 1};
    quantize.inputs = op.outputs;
    ops.push_back(std::move(op));
    ops.push_back(std::move(quantize));
  }
  graph.ops = std::move(ops);
  ASSERT_TRUE(NewRemoveDeadOpsPass()->Run(PassContext{}, graph).ok());
}

TEST(IntegerIoRandomTest, FindsEveryConversion) {
  int64_t pushed = 0;
  int64_t converted = 0;
  for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
    Graph graph = RandomGraph(seed, /*quantized=*/true).Make();
    if (graph.ops.empty()) continue;
    AddConversions(graph);
    Graph deep = graph;
    PushQuantizesDown(deep);
    pushed += PrintGraph(deep) != PrintGraph(graph) ? 1 : 0;
    const absl::Status valid = VerifyGraph(deep);
    ASSERT_TRUE(valid.ok()) << "seed " << seed << ": " << valid;
    Graph integer = deep;
    UseIntegerPorts(integer);
    const absl::Status verified = VerifyGraph(integer);
    ASSERT_TRUE(verified.ok()) << "seed " << seed << ": " << verified << "\n"
                               << PrintGraph(deep);
    converted += std::ssize(integer.converted_inputs);
    for (const TensorId input : integer.inputs) {
      for (const Op& op : integer.ops) {
        EXPECT_FALSE(op.attributes.has_quantize() && op.inputs[0] == input)
            << "seed " << seed << "\n"
            << PrintGraph(deep);
      }
    }
    Graph source = integer;
    UseSourcePorts(source);
    ExpectSameOutputs(deep, source, seed);
    if (HasFailure()) {
      FAIL() << "seed " << seed << "\n"
             << PrintGraph(deep) << "\nbecame\n"
             << PrintGraph(integer);
    }
  }
  // Or there was nothing to find.
  EXPECT_GT(pushed, kGraphs / 10);
  EXPECT_GT(converted, kGraphs / 2);
}

}  // namespace
}  // namespace edgekiln::compiler
