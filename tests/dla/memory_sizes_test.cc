// What little SRAM costs MobileNetV1 1.0/224, and how far plans are from what
// no plan can avoid. Cycles are the compiler's prediction, which the simulator
// repeats (tests/e2e/profile_test.cc).

#include <cstdint>
#include <string>

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

  // DMA bytes, in parts of what the layers read and make, each once.
  double Moved(int64_t sram_bytes, int& chains) const {
    const v1::ResolvedTarget chip =
        TargetWithScratchpad("extends: \"dla-64-o-512k\"", sram_bytes);
    const auto partition =
        compiler::PartitionGraph(graph_, chip.capabilities());
    EXPECT_TRUE(partition.ok()) << partition.status();
    if (!partition.ok()) return 0;
    v1::RegionPlans plans;
    *plans.add_regions() = Plan("dla-64-o-512k", sram_bytes);
    chains = plans.regions(0).chains_size();
    const auto emitted =
        compiler::EmitProgram(*partition, plans, chip.machine());
    EXPECT_TRUE(emitted.ok()) << emitted.status();
    if (!emitted.ok()) return 0;
    int64_t once = 0;
    for (const v1::Program::Layer& layer : emitted->program.layers()) {
      once += layer.compulsory_bytes();
    }
    return static_cast<double>(DmaBytes(emitted->program)) /
           static_cast<double>(once);
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
                  {"dla-128-o-512k", 1.07},
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

// Depth-first, below what layer after layer would have to move.
TEST_F(MemorySizesTest, ChainsSaveTransfers) {
  const struct {
    int64_t kib;
    double at_most;
  } kSizes[] = {{1024, 0.4}, {512, 0.45}, {128, 1}};
  for (const auto& size : kSizes) {
    int chains = 0;
    EXPECT_LE(Moved(size.kib * kKiB, chains), size.at_most)
        << size.kib << " KiB";
    EXPECT_EQ(chains > 0, size.kib < 1024) << size.kib << " KiB";
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
