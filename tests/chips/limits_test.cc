// Networks whose layers end at limits that engines do not have: the host clips
// what they give, where it lies.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/rng.h"
#include "compiler/codegen/placement.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/clamps.h"
#include "gtest/gtest.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int64_t kScratchpadBytes = 64 << 10;

bool HasPlainClamps(const v1::ResolvedTarget& target) {
  const auto& engines = target.capabilities().engines();
  return std::any_of(engines.begin(), engines.end(), [](const auto& engine) {
    return std::any_of(engine.patterns().begin(), engine.patterns().end(),
                       [](const v1::OpPattern& pattern) {
                         return pattern.numerics().plain_clamps();
                       });
  });
}

std::vector<const ChipCase*> ChipsWithPlainClamps() {
  std::vector<const ChipCase*> chips;
  for (const ChipCase* chip : AllChips()) {
    if (HasPlainClamps(chip->target(kScratchpadBytes))) chips.push_back(chip);
  }
  return chips;
}

// Most layers of the network end somewhere between the ends of their type, but
// for those with a converter.
void LimitLayers(Rng& rng, Graph& graph) {
  for (compiler::Op& op : graph.ops) {
    v1::Clamp* const clamp = compiler::MutableClamp(op.attributes);
    if (clamp == nullptr || op.attributes.has_converter() ||
        rng.Below(4) == 0) {
      continue;
    }
    const float scale = graph.tensors[op.outputs[0]].quantization->scale[0];
    const int64_t least = clamp->has_min() ? 1 : -20;
    clamp->set_max(scale * static_cast<float>(rng.InRange(least, 110)));
    if (rng.Below(3) == 0) {
      clamp->set_min(scale * static_cast<float>(rng.InRange(-120, -21)));
    }
  }
}

// Moves by the host's code between two layouts.
int Rearranged(const v1::Program& program) {
  int moves = 0;
  for (const v1::Program::Step& step : program.steps()) {
    moves += step.has_move() && step.move().link() < 0;
  }
  return moves;
}

int ClipsInPlace(const v1::Program& program) {
  int clips = 0;
  for (const v1::Program::Step& step : program.steps()) {
    if (!step.host_op().attributes().has_clip()) continue;
    const v1::Program::HostOp& op = step.host_op();
    clips +=
        op.inputs(0).location().address() == op.outputs(0).location().address();
  }
  return clips;
}

class LimitsTest : public testing::TestWithParam<const ChipCase*> {
 protected:
  compiler::EmitResult Compiled(const Graph& graph) const {
    const auto compiled = CompileQuantized(graph, target_);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return compiled.value_or(compiler::EmitResult());
  }

  const v1::ResolvedTarget target_ = GetParam()->target(kScratchpadBytes);
};

TEST_P(LimitsTest, RandomNetworksAreBitExact) {
  int clips = 0;
  int in_place = 0;
  for (const GraphKind& kind : GetParam()->graphs) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(testing::Message() << kind.name << " " << seed);
      QuantizedGraphBuilder builder =
          BuilderFor(*GetParam(), kind.first_seed + 100 + seed);
      Graph graph = kind.make(builder);
      LimitLayers(builder.rng(), graph);
      ExpectBitExact(graph, target_, {builder.Sample(), builder.Sample()});
      const v1::Program program = Compiled(graph).program;
      // What the host reads anyway is in its own layout.
      if (!kind.needs_host) {
        clips += program.accumulators_size();
        in_place += ClipsInPlace(program);
      }
      // Nothing but clips, averages, what only other layers of the chip convert
      // and what brings images into phases is the host's.
      for (const v1::Program::Layer& layer : program.layers()) {
        EXPECT_TRUE(layer.engine() >= 0 || layer.op() == "clip" ||
                    layer.op() == "reshape" || layer.op() == "average_pool2d" ||
                    absl::StrContains(layer.reason(), "here a converter") ||
                    absl::StrContains(layer.reason(), "rearranges the image"))
            << layer.ShortDebugString();
      }
    }
  }
  EXPECT_GT(clips, 10);
  EXPECT_EQ(in_place, clips);
}

// A block with a skip, an average over the image, a dense layer: ROWS, COLUMNS,
// and limits of the convolutions and of the sum.
constexpr char kNet[] = R"(
%x : int8[1,ROWS,COLUMNS,4] scale 0.0625 zero 0 = input
%w : int8[4,1,1,4] scale 0.5 zero 0 = constant [1, 2, -3, 1, 5, 0, 2, -1, 1, 1, 1, 1, 3, 0, -2, 1]
%d : int8[2,4] scale 0.5 zero 0 = constant [1, 2, 3, -1, 0, 2, -3, 1]
%a : int8[1,ROWS,COLUMNS,4] scale 0.0625 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {LIMITS} rounding FLOOR} id a
%b : int8[1,ROWS,COLUMNS,4] scale 0.0625 zero 0 = conv2d(%a, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {LIMITS} rounding FLOOR} id b
%c : int8[1,ROWS,COLUMNS,4] scale 0.0625 zero 0 = add(%a, %b) {clamp {LIMITS} rounding FLOOR} id c
%e : int8[1,1,1,4] scale 0.0625 zero 0 = average_pool2d(%c) {kernel_h ROWS kernel_w COLUMNS window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id e
%f : int8[1,4] scale 0.0625 zero 0 = reshape(%e) id f
%g : int8[1,2] scale 0.125 zero 0 = fully_connected(%f, %d) {rounding FLOOR} id g
return %g
)";

Graph NetOf(int rows, int columns, const std::string& limits) {
  const auto graph = compiler::ParseGraph(
      absl::StrReplaceAll(kNet, {{"ROWS", absl::StrCat(rows)},
                                 {"COLUMNS", absl::StrCat(columns)},
                                 {"LIMITS", limits}}));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.value_or(Graph());
}

std::string SampleOf(const Graph& graph) {
  Rng rng(3);
  std::string sample;
  for (int64_t i = graph.tensors[graph.inputs[0]].num_elements(); i > 0; --i) {
    sample += static_cast<char>(rng.InRange(-128, 127));
  }
  return sample;
}

// Nothing is rearranged that would not be without the clips: elements lie in
// the engine's order, of which clip and average are independent. Planes of 9
// elements are not whole words, so that the average cannot read them.
TEST_P(LimitsTest, ClipsWorkInTheEnginesLayout) {
  for (const auto& [rows, columns] : {std::pair{4, 4}, {2, 6}, {3, 3}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    const Graph graph = NetOf(rows, columns, "min 0 max 6");
    const compiler::EmitResult compiled = Compiled(graph);
    EXPECT_EQ(ClipsInPlace(compiled.program), 3);
    // What an average reads behind a clip is dense.
    EXPECT_LE(Rearranged(compiled.program),
              Rearranged(Compiled(NetOf(rows, columns, "min 0")).program) + 1);
    ExpectBitExact(graph, target_, {SampleOf(graph)});
  }
}

// The last word of 27 elements has a gap: the host clips the dense tensor.
TEST_P(LimitsTest, GapsOfTheLayoutAreNotRead) {
  const auto graph = compiler::ParseGraph(R"(
%x : int8[1,3,3,3] scale 0.0625 zero 0 = input
%a : int8[1,3,3,3] scale 0.0625 zero 0 = add(%x, %x) {clamp {max 6} rounding FLOOR} id a
%b : int8[1,3,3,3] scale 0.0625 zero 0 = add(%a, %a) {clamp {max 7} rounding FLOOR} id b
return %b
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const compiler::EmitResult compiled = Compiled(*graph);
  EXPECT_EQ(ClipsInPlace(compiled.program), 2);
  ExpectBitExact(*graph, target_, {SampleOf(*graph)});
}

// The caller sees the clipped tensor, and another layer reads what a clip of
// the model's own reads: that is not written over.
TEST_P(LimitsTest, InputsThatOthersReadStay) {
  const auto graph = compiler::ParseGraph(R"(
%x : int8[1,4,4,4] scale 0.0625 zero 0 = input
%a : int8[1,4,4,4] scale 0.0625 zero 0 = add(%x, %x) {clamp {max 6} rounding FLOOR} id a
%b : int8[1,4,4,4] scale 0.0625 zero 0 = clip(%a) {clamp {min 1 max 5}} id b
%c : int8[1,4,4,4] scale 0.0625 zero 0 = clip(%b) {clamp {min 2 max 5}} id c
%d : int8[1,4,4,4] scale 0.0625 zero 0 = add(%a, %c) {rounding FLOOR} id d
return %d, %a
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const compiler::EmitResult compiled = Compiled(*graph);
  EXPECT_EQ(ClipsInPlace(compiled.program), 2);  // Of a's limits, and c.
  ExpectBitExact(*graph, target_, {SampleOf(*graph)});
}

// What a clip reads is compared, too: an engine that limits less is found
// although the clip hides it.
TEST_P(LimitsTest, WhatTheEngineGivesIsCompared) {
  const Graph graph = NetOf(4, 4, "min 0 max 6");
  const compiler::EmitResult compiled = Compiled(graph);
  ASSERT_EQ(compiled.program.accumulators_size(), 3);
  // The reference limits the first layer from below as well.
  const auto result = CompareWithInterpreter(
      NetOf(4, 4, "min -0.1 max 6"), target_, compiled, {SampleOf(graph)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->mismatches, 0);
  EXPECT_TRUE(absl::StartsWith(result->first_mismatch, "a.unclipped["))
      << result->first_mismatch;
}

// Whether host ops are free or take forever: the host gets layers whole, and
// clips where the engine runs the rest.
TEST_P(LimitsTest, TheHostGetsLayersWholeOrTheirLimits) {
  const Graph graph = NetOf(4, 4, "min 0 max 6");
  const auto partition =
      compiler::PartitionGraph(graph, target_.capabilities());
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(partition->graph().ops_size(), std::ssize(graph.ops) + 3);
  for (const int cost : {1, 1'000'000}) {
    v1::Machine machine = target_.machine();
    for (auto& host : *machine.mutable_host_costs()) {
      const bool clip = host.op() == "clip";
      host.set_cycles_expr(absl::StrCat(clip ? 1 : cost));
    }
    const auto placed = compiler::PlaceByCycles(
        *partition, target_.capabilities(), machine, v1::PAYING);
    ASSERT_TRUE(placed.ok()) << placed.status();
    EXPECT_EQ(placed->graph().ops_size(),
              std::ssize(graph.ops) + (cost > 1 ? 3 : 0));
    EXPECT_EQ(placed->placements(0).engine(), cost > 1 ? 0 : -1)
        << placed->placements(0).reason();
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, LimitsTest,
                         testing::ValuesIn(ChipsWithPlainClamps()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
