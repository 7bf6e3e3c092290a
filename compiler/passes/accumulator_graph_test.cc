#include "compiler/passes/accumulator_graph.h"

#include <string>
#include <tuple>
#include <vector>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kTwoLayers[] = R"(
%x : int8[3,2] scale 0.5 zero 1 = input
%w : int8[2,2] scale 0.5 zero 0 = constant [1, 2, 3, 4]
%a : int8[3,2] scale 0.25 zero 0 = fully_connected(%x, %w) id a
%b : int8[3,2] scale 0.125 zero 0 = fully_connected(%a, %w) id b
%c : int8[3,2] scale 0.125 zero 0 = add(%a, %b) id c
return %c
)";

std::vector<Intermediate> Accumulator(int32_t tensor, int32_t result) {
  return {{.tensor = tensor, .result = result}};
}

TensorId Named(const Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].name == name) return static_cast<TensorId>(i);
  }
  return kNoTensor;
}

TEST(AccumulatorGraphTest, HasTheAccumulatorsThatAProgramShows) {
  const auto graph = ParseGraph(kTwoLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const TensorId b = Named(*graph, "b");
  // By whatever number, not the one that the split gives.
  const auto with =
      AccumulatorGraph::Create(*graph, Accumulator(1'000'000'000, b));
  ASSERT_TRUE(with.ok()) << with.status();
  const TensorId accumulator = with->Find(1'000'000'000);
  ASSERT_NE(accumulator, kNoTensor);
  EXPECT_EQ(with->graph().tensors[accumulator].name, "b.accumulator");
  EXPECT_EQ(with->graph().ops.size(), graph->ops.size() + 1);
  EXPECT_EQ(with->Find(b), b);
  EXPECT_EQ(with->Find(-1), kNoTensor);
  EXPECT_EQ(with->Find(static_cast<int32_t>(graph->tensors.size())), kNoTensor);
}

// Of the other kind, beside sums.
TEST(AccumulatorGraphTest, HasResultsWithPlainLimits) {
  const auto graph = ParseGraph(R"(
%x : int8[3,2] scale 0.5 zero 1 = input
%w : int8[2,2] scale 0.5 zero 0 = constant [1, 2, 3, 4]
%a : int8[3,2] scale 0.25 zero 0 = fully_connected(%x, %w) {clamp {min 0 max 6}} id a
%b : int8[3,2] scale 0.125 zero 0 = fully_connected(%a, %w) {clamp {min 0 max 6}} id b
return %b
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::Program program;
  program.add_layouts()->set_element_bits(32);
  program.add_layouts()->set_element_bits(8);
  for (const auto& [tensor, name, layout] :
       {std::tuple{70, "a", 0}, std::tuple{71, "b", 1}}) {
    program.add_accumulators()->set_tensor(tensor);
    program.mutable_accumulators()->rbegin()->set_result(Named(*graph, name));
    program.add_taps()->set_tensor(tensor);
    program.mutable_taps()->rbegin()->set_layout(layout);
  }
  const auto with = AccumulatorGraph::Create(*graph, IntermediatesOf(program));
  ASSERT_TRUE(with.ok()) << with.status();
  ASSERT_EQ(with->graph().ops.size(), 4u);
  EXPECT_EQ(with->graph().tensors[with->Find(70)].name, "a.accumulator");
  EXPECT_EQ(with->graph().tensors[with->Find(71)].name, "b.unclipped");
}

TEST(AccumulatorGraphTest, IsTheGraphWhereNothingIsAdded) {
  const auto graph = ParseGraph(kTwoLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto none = AccumulatorGraph::Create(*graph, {});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(PrintGraph(none->graph()), PrintGraph(*graph));
  // One that the graph has already.
  const auto own = AccumulatorGraph::Create(
      *graph, Accumulator(Named(*graph, "a"), Named(*graph, "b")));
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(PrintGraph(own->graph()), PrintGraph(*graph));
}

TEST(AccumulatorGraphTest, RefusesResultsWithoutOne) {
  const auto graph = ParseGraph(kTwoLayers);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const TensorId result :
       {Named(*graph, "x"), Named(*graph, "w"), Named(*graph, "c"), -1, 99}) {
    std::vector<Intermediate> list = Accumulator(100, result);
    for (const bool sums : {true, false}) {
      list[0].sums = sums;
      EXPECT_EQ(AccumulatorGraph::Create(*graph, list).status().code(),
                absl::StatusCode::kInvalidArgument)
          << result;
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
