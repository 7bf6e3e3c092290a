// What little SRAM costs MobileNetV1 1.0/224, and how far plans are from what
// no plan can avoid. Cycles are the compiler's prediction, which the simulator
// repeats (tests/e2e/profile_test.cc).

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/codegen/compile.h"
#include "compiler/partition/partition.h"
#include "edgekiln/v1/engines/dla.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "gtest/gtest.h"
#include "tests/dla/stream_walk.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kModel[] = "models/mobilenet_v1_1.0_224_embedding_uint8.tflite";
constexpr int64_t kKiB = 1024;

class MemorySizesTest : public testing::Test {
 protected:
  void SetUp() override {
    EK_REQUIRE_SHARED(kModel);
    auto graph = SimplifiedGraph(ReadWholeFile(SharedPath(kModel)));
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph_ = *std::move(graph);
  }

  // All of it is one region.
  v1::RegionPlan Plan(const std::string& target, int64_t sram_bytes) const {
    const v1::ResolvedTarget chip =
        TargetWithScratchpad("extends: \"" + target + "\"", sram_bytes);
    const auto partition =
        compiler::PartitionGraph(graph_, chip.capabilities());
    EXPECT_TRUE(partition.ok()) << partition.status();
    if (!partition.ok()) return {};
    const auto plans = compiler::TilePartition(*partition, chip.machine(), {});
    EXPECT_TRUE(plans.ok()) << plans.status();
    if (!plans.ok()) return {};
    EXPECT_EQ(plans->regions_size(), 1);
    return plans->regions(0);
  }

  // The network for this much of it.
  v1::Program Compiled(int64_t sram_bytes) const {
    const v1::ResolvedTarget chip =
        TargetWithScratchpad("extends: \"dla-64-o-512k\"", sram_bytes);
    const auto partition =
        compiler::PartitionGraph(graph_, chip.capabilities());
    EXPECT_TRUE(partition.ok()) << partition.status();
    if (!partition.ok()) return {};
    v1::RegionPlans plans;
    *plans.add_regions() = Plan("dla-64-o-512k", sram_bytes);
    const auto emitted =
        compiler::EmitProgram(*partition, plans, chip.machine());
    EXPECT_TRUE(emitted.ok()) << emitted.status();
    return emitted.ok() ? emitted->program : v1::Program();
  }

  compiler::Graph graph_;
};

TEST_F(MemorySizesTest, LittleOfItCostsLittle) {
  const v1::RegionPlan most = Plan("dla-64-o-512k", 256 * kKiB * kKiB);
  const struct {
    int64_t kib;
    double at_most;  // Of the cycles with 256 MiB.
  } kSizes[] = {{1024, 1.001}, {128, 1.02}, {48, 1.03}, {32, 1.03}, {16, 1.06}};
  for (const auto& size : kSizes) {
    const v1::RegionPlan plan = Plan("dla-64-o-512k", size.kib * kKiB);
    EXPECT_LE(static_cast<double>(plan.predicted_cycles()),
              size.at_most * static_cast<double>(most.predicted_cycles()))
        << size.kib << " KiB";
    EXPECT_GE(plan.predicted_cycles(), most.predicted_cycles());
  }
}

TEST_F(MemorySizesTest, PlansAreNearWhatNoneCanAvoid) {
  const struct {
    const char* target;
    double at_most;  // Of the bound, from 32 KiB on.
  } kTargets[] = {{"dla-64-o-512k", 1.02},
                  {"dla-64-i-512k", 1.02},
                  {"dla-128-o-512k", 1.055},
                  {"dla-128-i-512k", 1.025}};
  for (const auto& [target, at_most] : kTargets) {
    for (const int64_t kib : {32, 64, 512, 1 << 18}) {
      const v1::RegionPlan plan = Plan(target, kib * kKiB);
      ASSERT_GT(plan.bound_cycles(), 0);
      EXPECT_GE(plan.predicted_cycles(), plan.bound_cycles());
      EXPECT_LE(static_cast<double>(plan.predicted_cycles()),
                at_most * static_cast<double>(plan.bound_cycles()))
          << target << " with " << kib << " KiB";
    }
  }
}

// With 128 PEs a row less in the last tile of a layer costs as much as it saves
// elsewhere.
TEST_F(MemorySizesTest, LastTilesAreLargeEnough) {
  const v1::RegionPlan plan = Plan("dla-128-o-512k", 128 * kKiB);
  EXPECT_LE(static_cast<double>(plan.predicted_cycles()),
            1.02 * static_cast<double>(plan.bound_cycles()));
}

// Even where plans have so many commands that few of them are timed.
TEST_F(MemorySizesTest, MoreOfItNeverCostsCycles) {
  const v1::RegionPlan less = Plan("dla-64-i-512k", 80 * kKiB);
  const v1::RegionPlan more = Plan("dla-64-i-512k", 96 * kKiB);
  EXPECT_LE(more.predicted_cycles(), less.predicted_cycles());
}

// DMA bytes, in parts of what the layers read and make, each once: depth-first,
// below what layer after layer would have to move.
TEST_F(MemorySizesTest, ChainsSaveTransfers) {
  const struct {
    int64_t kib;
    double at_most;
  } kSizes[] = {{1024, 0.4}, {512, 0.45}, {128, 1}};
  for (const auto& [kib, at_most] : kSizes) {
    SCOPED_TRACE(kib);
    const v1::Program program = Compiled(kib * kKiB);
    int64_t once = 0;
    for (const v1::Program::Layer& layer : program.layers()) {
      once += layer.compulsory_bytes();
    }
    EXPECT_LE(static_cast<double>(DmaBytes(program)),
              at_most * static_cast<double>(once));
    const v1::RegionPlan plan = Plan("dla-64-o-512k", kib * kKiB);
    EXPECT_EQ(plan.chains_size() > 0, kib < 1024);
  }
}

// Nothing but the input, the output and constants, and each of them once.
TEST_F(MemorySizesTest, WithEnoughOfItNothingMovesTwice) {
  const v1::Program program = Compiled(256 * kKiB * kKiB);
  ASSERT_EQ(program.layers_size(), std::ssize(graph_.ops));
  const auto bytes_of = [&](const std::vector<compiler::TensorId>& tensors) {
    int64_t bytes = 0;
    for (const compiler::TensorId id : tensors) {
      if (id != compiler::kNoTensor && !graph_.tensors[id].is_constant()) {
        bytes += graph_.tensors[id].num_elements();  // All are int8.
      }
    }
    return bytes;
  };
  int64_t once = bytes_of(graph_.inputs) + bytes_of(graph_.outputs);
  for (int i = 0; i < program.layers_size(); ++i) {
    if (program.layers(i).engine() < 0) continue;
    // Its constants.
    once += program.layers(i).compulsory_bytes() -
            bytes_of(graph_.ops[i].inputs) - bytes_of(graph_.ops[i].outputs);
  }
  EXPECT_EQ(DmaBytes(program), once);
}

// 64 PEs, each for one of the output channels, which need not be a multiple of
// 64: so many cycles at least, plus those of filling the array.
TEST_F(MemorySizesTest, WithEnoughOfItLayersTakeWhatTheirShapeAsksFor) {
  constexpr int64_t kPes = 64;
  const v1::Program program = Compiled(256 * kKiB * kKiB);
  ASSERT_EQ(program.layers_size(), std::ssize(graph_.ops));
  for (int i = 0; i < program.layers_size(); ++i) {
    const v1::Program::Layer& layer = program.layers(i);
    if (layer.engine() < 0) continue;
    SCOPED_TRACE(layer.id());
    const int64_t channels =
        graph_.tensors[graph_.ops[i].outputs[0]].shape.back();
    const int64_t array =
        layer.macs() / channels * ((channels + kPes - 1) / kPes);
    EXPECT_GE(layer.predicted_cycles(), array);
    EXPECT_LE(0.95 * static_cast<double>(layer.predicted_cycles()),
              static_cast<double>(layer.bound_cycles()));
    // A pool has no multiplications.
    if (array > 0) {
      EXPECT_LE(0.95 * static_cast<double>(layer.predicted_cycles()),
                static_cast<double>(array));
    }
  }
}

// Each way of cutting is used where it helps.
TEST_F(MemorySizesTest, LayersAreCutAlongEveryAxis) {
  int columns = 0;
  int inputs = 0;
  int whole = 0;
  for (const int64_t kib : {16, 24, 112, 256, 512, 1024}) {
    v1::dla::RegionDecisions decisions;
    const v1::RegionPlan plan = Plan("dla-64-o-512k", kib * kKiB);
    ASSERT_TRUE(plan.decisions().UnpackTo(&decisions));
    for (const auto& layer : decisions.layers()) {
      const auto& op = graph_.ops[layer.op()];
      const auto& out = graph_.tensors[op.outputs[0]].shape;
      const auto& in = graph_.tensors[op.inputs[0]].shape;
      if (out.size() == 4 && layer.columns() < out[2]) ++columns;
      if (op.attributes.has_conv2d() && layer.inputs() < in[3]) ++inputs;
      if (layer.whole_input()) ++whole;
    }
  }
  EXPECT_GT(columns, 0);
  EXPECT_GT(inputs, 0);
  EXPECT_GT(whole, 0);
}

}  // namespace
}  // namespace edgekiln::tests
