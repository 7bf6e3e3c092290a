// Random graphs of every op on every element type: C computes what the
// interpreter does, to the bit.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/codegen/c/testing/op_cases.h"
#include "compiler/ir/text.h"
#include "compiler/passes/testing/random_graph.h"
#include "gtest/gtest.h"
#include "tests/support/golden.h"

namespace edgekiln::compiler {
namespace {

constexpr int kAttempts = 60;

absl::StatusOr<CNetwork> NetworkOf(Graph graph, const std::string& name,
                                   CRecipe recipe, int invocations) {
  COptions options;
  options.name = name;
  options.recipe = recipe;
  auto sources = EmitC(graph, options);
  if (!sources.ok()) return sources.status();
  CNetwork network{std::move(graph), *std::move(sources), {}};
  for (int i = 0; i < invocations; ++i) {
    network.invocations.push_back(
        RandomInputs(network.graph, static_cast<uint64_t>(i) * 7919 + 1));
  }
  return network;
}

std::vector<Graph> GraphsOfAllPairs(int ops_per_graph, uint64_t seed) {
  absl::StatusOr<std::vector<Graph>> graphs =
      GraphsOfAllCases(ops_per_graph, seed);
  EXPECT_TRUE(graphs.ok()) << graphs.status();
  return graphs.ok() ? *std::move(graphs) : std::vector<Graph>();
}

// Outputs of a network keep the order of the graph in every recipe: all but the
// first and those that states need go.
void KeepFewOutputs(Graph& graph) {
  std::vector<TensorId> kept = {graph.outputs[0]};
  for (const State& state : graph.states) {
    if (state.output != kept[0]) kept.push_back(state.output);
  }
  graph.outputs = std::move(kept);
}

// `shift`: which recipe the first graphs get; four in a row have the same.
void ExpectEqual(std::vector<Graph> graphs, const CCompiler& compiler,
                 size_t shift = 0) {
  std::vector<CNetwork> networks;
  for (size_t i = 0; i < graphs.size(); ++i) {
    constexpr CRecipe kRecipes[] = {CRecipe::kDefault, CRecipe::kPlain,
                                    CRecipe::kTable,   CRecipe::kSize,
                                    CRecipe::kUma,     CRecipe::kDefault};
    const CRecipe recipe = kRecipes[(i / 4 + shift) % std::size(kRecipes)];
    if (recipe == CRecipe::kUma) KeepFewOutputs(graphs[i]);
    auto network =
        NetworkOf(std::move(graphs[i]), absl::StrCat("g", i), recipe, 3);
    ASSERT_TRUE(network.ok()) << network.status();
    networks.push_back(*std::move(network));
  }
  const absl::Status same = CompareWithInterpreter(networks, compiler);
  EXPECT_TRUE(same.ok()) << same;
}

// "FLOAT32 INT8 ..." by kind.
std::string TypesText(const std::set<v1::ElementType>& types) {
  std::vector<std::string> names;
  for (const v1::ElementType type : types) {
    names.push_back(v1::ElementType_Name(type));
  }
  return absl::StrJoin(names, " ");
}

// What the graphs below cover is what ops/ takes: a new type of an op changes
// the file.
TEST(COpsTest, EveryKindIsAcceptedOnItsTypes) {
  const auto accepted = AcceptedCases(kAttempts);
  std::string text;
  for (const std::string& kind : OpCases::Kinds()) {
    ASSERT_TRUE(accepted.contains(kind)) << kind;
    absl::StrAppend(&text, kind, ": ", TypesText(accepted.at(kind)), "\n");
  }
  tests::ExpectMatchesGolden("compiler/codegen/c/testing/op_types.golden",
                             text);
}

TEST(COpsTest, EveryOpOnEveryTypeEqualsTheInterpreter) {
  ExpectEqual(GraphsOfAllPairs(6, 1000), {});
}

using Kinds = std::set<std::string>;

// The graphs above and below reach the kernels of these recipes.
TEST(COpsTest, RecipesHaveKernelsOfTheirOwn) {
  const std::vector<Graph> graphs = GraphsOfAllPairs(6, 1000);
  const auto kinds_of = [&graphs](CRecipe recipe, const std::string& kernel) {
    Kinds kinds;
    for (const Graph& graph : graphs) {
      const auto sources = EmitC(graph, {.name = "g", .recipe = recipe});
      EXPECT_TRUE(sources.ok()) << sources.status();
      if (!sources.ok()) continue;
      for (size_t i = 0; i < graph.ops.size(); ++i) {
        if (sources->manifest.layers[i].kernel != kernel) continue;
        kinds.emplace(graph.ops[i].kind());
      }
    }
    return kinds;
  };
  EXPECT_EQ(kinds_of(CRecipe::kTable, "table"),
            (Kinds{"add", "average_pool2d", "conv2d", "depthwise_conv2d",
                   "fully_connected", "max_pool2d", "softmax"}));
  EXPECT_EQ(kinds_of(CRecipe::kUma, "nchw"),
            (Kinds{"conv2d", "depthwise_conv2d"}));
}

// Kinds that these recipes have kernels for, many times.
TEST(COpsTest, KernelsOfRecipesEqualTheInterpreter) {
  const char* const kKinds[] = {"conv2d", "depthwise_conv2d", "fully_connected",
                                "add",    "average_pool2d",   "max_pool2d",
                                "softmax"};
  std::vector<CNetwork> networks;
  for (const CRecipe recipe :
       {CRecipe::kSize, CRecipe::kTable, CRecipe::kUma}) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      OpCases cases(seed + 77);
      for (const char* kind : kKinds) {
        for (const v1::ElementType type :
             {v1::INT8, v1::INT8, v1::UINT8, v1::FLOAT32}) {
          while (!cases.Add(kind, type)) continue;
        }
      }
      Graph graph = cases.Take();
      KeepFewOutputs(graph);
      auto network = NetworkOf(
          std::move(graph),
          absl::StrCat("r", static_cast<int>(recipe), "_", seed), recipe, 2);
      ASSERT_TRUE(network.ok()) << network.status();
      networks.push_back(*std::move(network));
    }
  }
  const absl::Status same = CompareWithInterpreter(networks, {});
  EXPECT_TRUE(same.ok()) << same;
}

Graph Chain(uint64_t seed) { return RandomGraph(seed, seed % 4 != 0).Make(); }

TEST(COpsTest, ChainsReadChannelsFirst) {
  Kinds readers;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    Graph graph = Chain(seed);
    KeepFewOutputs(graph);
    const auto sources = EmitC(graph, {.name = "g", .recipe = CRecipe::kUma});
    ASSERT_TRUE(sources.ok()) << sources.status();
    std::set<TensorId> channel_first;
    for (const CTensor& tensor : sources->manifest.tensors) {
      const std::vector<int64_t>& strides = tensor.strides;
      if (strides.size() == 4 && strides[3] > strides[2]) {
        channel_first.insert(tensor.id);
      }
    }
    for (const Op& op : graph.ops) {
      for (const TensorId id : op.inputs) {
        if (channel_first.contains(id)) readers.emplace(op.kind());
      }
    }
  }
  EXPECT_EQ(readers,
            (Kinds{"add", "average_pool2d", "clip", "conv2d",
                   "depthwise_conv2d", "fully_connected", "max_pool2d", "mul",
                   "pad", "reduce_mean", "reshape", "transpose"}));
}

std::vector<Graph> Chains() {
  std::vector<Graph> graphs;
  for (uint64_t seed = 0; seed < 80; ++seed) graphs.push_back(Chain(seed));
  return graphs;
}

const CCompiler& Sanitizers() {
  static const auto& compiler =
      *new CCompiler{.flags =
                         "-O1 -fsanitize=address,undefined "
                         "-fno-sanitize-recover=all",
                     .networks_per_unit = 40};
  return compiler;
}

TEST(COpsTest, ChainsEqualTheInterpreter) {
  ExpectEqual(Chains(), Sanitizers());
}

// One channel of the largest weights, one of the least.
Graph LayerOfInt16(int64_t depth) {
  absl::StatusOr<Graph> graph = ParseGraph(absl::StrCat(
      "graph \"net\"\n%x : int16[1,", depth,
      "] scale 0.001 zero 0 = input\n%w : int8[2,", depth,
      "] scale 0.01 zero 0 = input\n%y : int16[1,2] scale 1000 zero 0 = "
      "fully_connected(%x, %w) id y\nreturn %y\n"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  const TensorId weights = graph->inputs[1];
  graph->inputs.pop_back();
  const auto count = static_cast<size_t>(depth);
  graph->tensors[weights].data =
      ConstantData(std::string(count, '\x7f') + std::string(count, '\x81'));
  return *std::move(graph);
}

// 516 products of 127 and 32768 are less than 2^31, one more is not.
TEST(COpsTest, SumsOfInt16AreInt32WhereTheseHoldThem) {
  std::vector<CNetwork> networks;
  for (const int64_t depth : {516, 517}) {
    auto network = NetworkOf(LayerOfInt16(depth), absl::StrCat("n", depth),
                             CRecipe::kPlain, 0);
    ASSERT_TRUE(network.ok()) << network.status();
    std::string code;
    for (const CFile& file : network->sources.files) code += file.text;
    EXPECT_EQ(absl::StrContains(code, "int32_t sum = 0;"), depth == 516);
    EXPECT_EQ(absl::StrContains(code, "int64_t sum = 0;"), depth == 517);
    for (const int16_t value : {-32768, 32767}) {
      const std::vector<int16_t> values(static_cast<size_t>(depth), value);
      network->invocations.push_back(
          {std::string(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(int16_t))});
    }
    networks.push_back(*std::move(network));
  }
  const absl::Status same = CompareWithInterpreter(networks, Sanitizers());
  EXPECT_TRUE(same.ok()) << same;
}

// Every chain with every recipe. `tools/test --full`.
TEST(COpsTest, DISABLED_OtherSeedsEqualTheInterpreter) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ExpectEqual(GraphsOfAllPairs(6, seed * 100'000), {}, seed);
    ExpectEqual(Chains(), Sanitizers(), seed);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
