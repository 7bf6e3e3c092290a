#include "compiler/passes/accumulator_graph.h"

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

AccumulatorGraph::Accumulators Accumulator(int32_t tensor, int32_t result) {
  AccumulatorGraph::Accumulators list;
  list.Add()->set_tensor(tensor);
  list[0].set_result(result);
  return list;
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
    EXPECT_EQ(AccumulatorGraph::Create(*graph, Accumulator(100, result))
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument)
        << result;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
