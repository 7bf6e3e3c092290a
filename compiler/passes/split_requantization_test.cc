#include "compiler/passes/split_requantization.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "base/rng.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/testing/random_graph.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"
#include "ops/requantize.h"

namespace edgekiln::compiler {
namespace {

TEST(SplitRequantizationTest, PutsARequantizeBehindTheSums) {
  const auto graph = ParseGraph(R"(
%x : int8[1,1,2,1] scale 0.5 zero -4 = input
%w : int8[2,1,1,1] axis 0 scale [0.25, 0.5] zero [0, 0] = constant [3, -5]
%y : int8[1,1,2,2] scale 1 zero 3 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0} rounding HALF_EVEN} id c name "first"
%z : int8[1,1,2,2] scale 1 zero 3 = clip(%y) {clamp {max 4}} id z
return %y, %z
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph split = *graph;
  const absl::Status status = SplitRequantization(split, {0});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(VerifyGraph(split).ok()) << VerifyGraph(split);
  // 0.5 * 0.25 / 1 = 2^-3, 0.5 * 0.5 / 1 = 2^-2.
  EXPECT_EQ(PrintGraph(split), R"(%x : int8[1,1,2,1] scale 0.5 zero -4 = input
%w : int8[2,1,1,1] axis 0 scale [0.25, 0.5] zero [0, 0] = constant [3, -5]
%y.accumulator : int32[1,1,2,2] axis 3 scale [0.125, 0.25] zero [0, 0] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c name "first"
%y : int8[1,1,2,2] scale 1 zero 3 = requantize(%y.accumulator) {multiplier [1073741824, 1073741824] shift [-2, -1] clamp {min 0} rounding HALF_EVEN} id c.requantize name "first"
%z : int8[1,1,2,2] scale 1 zero 3 = clip(%y) {clamp {max 4}} id z
return %y, %z
)");
}

TEST(SplitRequantizationTest, GivesTheConverterToTheRequantize) {
  constexpr char kWhole[] =
      R"(%x : int8[3,2] scale 0.5 zero -4 = input
%w : int8[2,2] axis 0 scale [0.25, 0.5] zero [0, 0] = constant [1, -1, 0, 1]
%y : int8[3,2] scale 1 zero 0 = fully_connected(%x, %w) {clamp {min 0} rounding FLOOR converter {gain 7 min -32 max 31 scale [9, -5] offset [100, 3] shift 2}} id f
return %y
)";
  const auto graph = ParseGraph(kWhole);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(PrintGraph(*graph), kWhole);
  Graph split = *graph;
  const absl::Status status = SplitRequantization(split, {0});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(VerifyGraph(split).ok()) << VerifyGraph(split);
  EXPECT_EQ(PrintGraph(split), R"(%x : int8[3,2] scale 0.5 zero -4 = input
%w : int8[2,2] axis 0 scale [0.25, 0.5] zero [0, 0] = constant [1, -1, 0, 1]
%y.accumulator : int32[3,2] axis 1 scale [0.125, 0.25] zero [0, 0] = fully_connected(%x, %w) id f
%y : int8[3,2] scale 1 zero 0 = requantize(%y.accumulator) {clamp {min 0} rounding FLOOR converter {gain 7 min -32 max 31 scale [9, -5] offset [100, 3] shift 2}} id f.requantize
return %y
)");
  ExpectSameOutputs(*graph, split, 1);
  JoinRequantization(split);
  EXPECT_EQ(PrintGraph(split), kWhole);
}

// Every tensor of `before`, with its id, has the same bytes in `after`.
void ExpectSameValues(const Graph& before, const Graph& after, uint64_t seed) {
  using Keep = InterpreterOptions::Keep;
  const auto a = Interpreter::Create(before, {.keep = Keep::kAllTensors});
  const auto b = Interpreter::Create(after, {.keep = Keep::kAllTensors});
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  Rng rng(seed);
  std::vector<std::string> samples;
  for (const TensorId input : before.inputs) {
    const Tensor& tensor = before.tensors[input];
    std::string& sample = samples.emplace_back();
    for (int64_t i = 0; i < tensor.num_elements() * ElementBytes(tensor.type);
         ++i) {
      sample.push_back(static_cast<char>(rng.Next()));
    }
  }
  const std::vector<absl::string_view> inputs(samples.begin(), samples.end());
  ASSERT_TRUE((*a)->Run(inputs).ok());
  ASSERT_TRUE((*b)->Run(inputs).ok());
  for (size_t i = 0; i < before.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    EXPECT_EQ(before.tensors[i].name, after.tensors[i].name);
    EXPECT_EQ((*a)->value(id), (*b)->value(id)) << before.tensors[i].name;
  }
}

// Biases, weights of any scale, and other roundings here and there.
void Vary(Graph& graph, Rng& rng) {
  for (Op& op : graph.ops) {
    if (!CheckSplitsRequantization(graph, op).ok()) continue;
    for (float& scale : graph.tensors[op.inputs[1]].quantization->scale) {
      scale *= 1 + static_cast<float>(rng.Next() % 1000) / 1000;
    }
    const bool floors = op.attributes.has_conv2d() ||
                        op.attributes.has_depthwise_conv2d() ||
                        op.attributes.has_fully_connected();
    if (rng.Next() % 2 == 0) op.attributes.set_rounding(v1::HALF_EVEN);
    if (floors && rng.Next() % 4 == 0) op.attributes.set_rounding(v1::FLOOR);
    if (rng.Next() % 3 == 0) continue;
    Tensor bias;
    bias.name = op.id + ".bias";
    bias.type = v1::INT32;
    bias.shape = {graph.tensors[op.outputs[0]].shape.back()};
    std::string data;
    for (int64_t i = 0; i < bias.num_elements(); ++i) {
      const auto value = static_cast<int32_t>(rng.Next() % 8001) - 4000;
      data.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    bias.data = ConstantData(std::move(data));
    op.inputs.push_back(static_cast<TensorId>(graph.tensors.size()));
    graph.tensors.push_back(std::move(bias));
  }
}

// `requantize` has the factors of `fused`, which few sums could tell from those
// of the accumulator's rounded scale.
void ExpectFactorsOf(const Graph& graph, const Op& fused,
                     const Op& requantize) {
  const auto& x = graph.tensors[fused.inputs[0]].quantization;
  const auto& w = graph.tensors[fused.inputs[1]].quantization;
  const auto& y = graph.tensors[fused.outputs[0]].quantization;
  const v1::Requantize& attributes = requantize.attributes.requantize();
  ASSERT_EQ(attributes.multiplier_size(), std::ssize(w->scale));
  ASSERT_EQ(attributes.shift_size(), std::ssize(w->scale));
  for (int c = 0; c < attributes.multiplier_size(); ++c) {
    const ops::FixedPointMultiplier factor = ops::QuantizeMultiplier(
        double{x->scale[0]} * double{w->scale[static_cast<size_t>(c)]} /
        double{y->scale[0]});
    EXPECT_EQ(attributes.multiplier(c), factor.multiplier);
    EXPECT_EQ(attributes.shift(c), factor.shift);
  }
  EXPECT_EQ(requantize.attributes.rounding(), fused.attributes.rounding());
}

// A clamp without bounds is none.
std::string Text(const Graph& graph) {
  return absl::StrReplaceAll(PrintGraph(graph),
                             {{" {clamp {}}", ""}, {" clamp {}", ""}});
}

TEST(SplitRequantizationTest, KeepsEveryValueOfRandomGraphs) {
  int split_ops = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Graph graph = RandomGraph(seed, /*quantized=*/true).Make();
    Rng rng(seed);
    Vary(graph, rng);
    ASSERT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
    std::vector<int32_t> ops;
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      if (CheckSplitsRequantization(graph, graph.ops[i]).ok() &&
          rng.Next() % 4 != 0) {
        ops.push_back(static_cast<int32_t>(i));
      }
    }
    if (ops.empty()) continue;
    split_ops += static_cast<int>(ops.size());
    Graph split = graph;
    const absl::Status status = SplitRequantization(split, ops);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(VerifyGraph(split).ok()) << VerifyGraph(split);
    ASSERT_EQ(split.ops.size(), graph.ops.size() + ops.size());
    ASSERT_EQ(split.tensors.size(), graph.tensors.size() + ops.size());
    ExpectSameValues(graph, split, seed);
    const std::vector<int32_t> producers = Producers(split);
    for (const int32_t op : ops) {
      const Op& fused = graph.ops[op];
      ExpectFactorsOf(graph, fused, split.ops[producers[fused.outputs[0]]]);
    }
    Graph joined = split;
    const std::vector<bool> was_split = JoinRequantization(joined);
    EXPECT_EQ(std::count(was_split.begin(), was_split.end(), true),
              std::ssize(ops));
    EXPECT_EQ(Text(joined), Text(graph));
    // The stored form and the text hold what a Requantize is.
    const auto stored = GraphFromProto(GraphToProto(split));
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(PrintGraph(*stored), PrintGraph(split));
    const auto parsed = ParseGraph(PrintGraph(split));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(PrintGraph(*parsed), PrintGraph(split));
    // Other passes know what it is, or leave it alone.
    Graph simplified = split;
    const absl::Status simple = Simplify(simplified);
    ASSERT_TRUE(simple.ok()) << simple;
    ExpectSameOutputs(graph, simplified, seed);
    if (HasFailure()) FAIL() << PrintGraph(graph) << PrintGraph(split);
  }
  EXPECT_GT(split_ops, 300);
}

// What no split made stays: another factor, another reader, an output, or an
// accumulator with an id that somebody may know.
TEST(JoinRequantizationTest, LeavesOtherPairs) {
  constexpr char kPair[] = R"(
%x : int8[1,2] scale 0.5 zero 1 = input
%w : int8[2,2] scale 0.5 zero 0 = constant [1, 2, 3, 4]
$0%y : int8[1,2] scale 0.25 zero 0 = requantize(%s) {multiplier [$1] shift [1]} id r
$2return $3
)";
  constexpr char kSums[] =
      "%s : int32[1,2] scale 0.25 zero 0 = fully_connected(%x, %w) id s\n";
  const auto joined = [&](const char* factor, const char* more,
                          const char* outputs) {
    auto graph =
        ParseGraph(absl::Substitute(kPair, kSums, factor, more, outputs));
    EXPECT_TRUE(graph.ok()) << graph.status();
    // As a split leaves them: accumulators last.
    if (*more == '\0') {
      std::swap(graph->tensors[2], graph->tensors[3]);
      for (Op& op : graph->ops) {
        for (auto* ids : {&op.inputs, &op.outputs}) {
          for (TensorId& id : *ids) id = id == 2 ? 3 : id == 3 ? 2 : id;
        }
      }
      for (TensorId& id : graph->outputs) id = id == 2 ? 3 : id == 3 ? 2 : id;
    }
    EXPECT_TRUE(VerifyGraph(*graph).ok()) << VerifyGraph(*graph);
    const std::string before = PrintGraph(*graph);
    const auto was_joined = JoinRequantization(*graph);
    EXPECT_EQ(was_joined.size(), graph->ops.size());
    EXPECT_TRUE(VerifyGraph(*graph).ok()) << VerifyGraph(*graph);
    return PrintGraph(*graph) != before;
  };
  EXPECT_TRUE(joined("1073741824", "", "%y"));
  EXPECT_FALSE(joined("1073741825", "", "%y"));
  EXPECT_FALSE(joined("1073741824", "", "%y, %s"));
  EXPECT_FALSE(joined("1073741824",
                      "%z : int32[2,1] scale 0.25 zero 0 = reshape(%s) id z\n",
                      "%y, %z"));
}

struct TypeCase {
  const char* name;
  const char* graph;
};

TEST(SplitRequantizationTest, KeepsEveryValueOfOtherTypesAndOps) {
  const TypeCase cases[] = {
      {"uint8", R"(
%x : uint8[3,2] scale 0.3 zero 120 = input
%w : uint8[2,2] scale 0.07 zero 131 = constant [3, 255, 0, 140]
%b : int32[2] = constant [900, -77]
%y : uint8[3,2] scale 0.9 zero 128 = fully_connected(%x, %w, %b) {clamp {max 60}} id f
return %y
)"},
      {"int16 with an int32 bias", R"(
%x : int16[3,2] scale 0.003 zero 0 = input
%w : int8[2,2] axis 0 scale [0.07, 0.011] zero [0, 0] = constant [3, 127, -128, 14]
%b : int32[2] = constant [2000000000, -77]
%y : int16[3,2] scale 0.009 zero 0 = fully_connected(%x, %w, %b) id f
return %y
)"},
      {"groups", R"(
%x : int8[1,2,2,4] scale 0.3 zero 20 = input
%w : int8[2,1,1,2] axis 0 scale [0.07, 0.2] zero [0, 0] = constant [3, 127, -128, 14]
%y : int8[1,2,2,2] scale 0.9 zero -3 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id f
return %y
)"},
      {"transposed", R"(
%x : int8[1,2,2,1] scale 0.3 zero 20 = input
%w : int8[2,2,1,1] axis 0 scale [0.07, 0.2] zero [0, 0] = constant [3, 127, -128, 14]
%y : int8[1,4,2,2] scale 0.9 zero -3 = transposed_conv(%x, %w) {window {stride [2, 1] dilation [1, 1] pad_before [0, 0] pad_after [0, 0]} clamp {min 0}} id f
return %y
)"},
      {"matmul of two activations", R"(
%x : int8[3,2] scale 0.3 zero 20 = input
%w : int8[2,4] scale 0.7 zero -20 = input
%y : int8[3,4] scale 0.9 zero -3 = mat_mul(%x, %w) id f
return %y
)"},
  };
  for (const TypeCase& c : cases) {
    SCOPED_TRACE(c.name);
    const auto graph = ParseGraph(c.graph);
    ASSERT_TRUE(graph.ok()) << graph.status();
    Graph split = *graph;
    const absl::Status status = SplitRequantization(split, {0});
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(VerifyGraph(split).ok()) << VerifyGraph(split);
    EXPECT_EQ(split.ops.size(), 2u);
    Graph simplified = split;
    ASSERT_TRUE(Simplify(simplified).ok());
    ExpectSameOutputs(*graph, simplified, /*seed=*/1);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      ExpectSameValues(*graph, split, seed);
    }
  }
}

TEST(SplitRequantizationTest, SaysWhyAnOpHasNoAccumulator) {
  const TypeCase cases[] = {
      {"no sum of products", R"(
%x : int8[2] scale 1 zero 0 = input
%y : int8[2] scale 1 zero 0 = add(%x, %x) id f
return %y
)"},
      {"nothing is requantized", R"(
%x : float32[3,2] = input
%w : float32[2,2] = constant [1, 2, 3, 4]
%y : float32[3,2] = fully_connected(%x, %w) id f
return %y
)"},
      {"nothing is requantized", R"(
%x : int8[3,2] scale 0.5 zero 1 = input
%w : int8[2,2] scale 0.5 zero 0 = constant [1, 2, 3, 4]
%y : int32[3,2] scale 0.25 zero 0 = fully_connected(%x, %w) id f
return %y
)"},
      {"INT16 without an INT32 bias", R"(
%x : int16[3,2] scale 0.5 zero 0 = input
%w : int8[2,2] scale 0.5 zero 0 = constant [1, 2, 3, 4]
%y : int16[3,2] scale 0.25 zero 0 = fully_connected(%x, %w) id f
return %y
)"},
      // 1e-30 * 1e-30 is no float.
      {"scale 0", R"(
%x : int8[3,2] scale 1e-30 zero 0 = input
%w : int8[2,2] scale 1e-30 zero 0 = constant [1, 2, 3, 4]
%y : int8[3,2] scale 0.25 zero 0 = fully_connected(%x, %w) id f
return %y
)"},
  };
  for (const TypeCase& c : cases) {
    const auto graph = ParseGraph(c.graph);
    ASSERT_TRUE(graph.ok()) << graph.status();
    Graph split = *graph;
    const absl::Status status = SplitRequantization(split, {0});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), c.name)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "f (")) << status;
    EXPECT_EQ(PrintGraph(split), PrintGraph(*graph));
  }
}

}  // namespace
}  // namespace edgekiln::compiler
