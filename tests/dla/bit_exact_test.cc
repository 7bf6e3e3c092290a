// The compiled program on the simulated chip against the interpreter: every
// value of every layer, on published networks and on random ones, from ample
// SRAM down to the smallest that suffices.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/frontend/import.h"
#include "compiler/frontend/tflite/tflite_import.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/dla/graph_builder.h"
#include "tests/dla/pipeline.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::TensorId;

// Every tensor lies inside its memory; in RAM, two that live at one time share
// no byte.
void ExpectTensorsApart(const v1::Program& program,
                        const v1::Machine& machine) {
  EXPECT_GT(program.tensors_size(), 0);
  for (const v1::TensorUse& a : program.tensors()) {
    EXPECT_LE(a.first_layer(), a.last_layer()) << a.name();
    EXPECT_LT(a.last_layer(), program.layers_size()) << a.name();
    const auto memory =
        std::find_if(machine.memories().begin(), machine.memories().end(),
                     [&](const auto& m) { return m.name() == a.memory(); });
    ASSERT_NE(memory, machine.memories().end()) << a.memory();
    EXPECT_GE(a.address(), memory->base_address());
    EXPECT_LE(
        a.address() - memory->base_address() + static_cast<uint64_t>(a.bytes()),
        static_cast<uint64_t>(memory->capacity_bytes()));
    for (const v1::TensorUse& b : program.tensors()) {
      if (&a == &b || a.memory() != "ram" || b.memory() != "ram") continue;
      const bool at_one_time = a.first_layer() <= b.last_layer() &&
                               b.first_layer() <= a.last_layer();
      EXPECT_FALSE(at_one_time && a.address() < b.address() + b.bytes() &&
                   b.address() < a.address() + a.bytes())
          << a.ShortDebugString() << " and " << b.ShortDebugString();
    }
  }
}

void ExpectBitExact(const Graph& graph, const v1::ResolvedTarget& target,
                    const std::vector<std::string>& samples) {
  const auto compiled = CompileQuantized(graph, target);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto result = CompareWithInterpreter(graph, target, *compiled, samples);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->compared, 0);
  EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
  EXPECT_EQ(result->uncovered, 0);
  // The compiler predicts what the simulator counts.
  EXPECT_EQ(result->report.cycles(), compiled->program.predicted_cycles());
  int64_t cycles = 0;
  for (const auto& layer : result->report.layers()) {
    EXPECT_EQ(layer.cycles(),
              compiled->program.layers(layer.layer()).predicted_cycles());
    EXPECT_EQ(layer.cycles(), layer.compute_cycles() + layer.stall_cycles());
    cycles += layer.cycles();
  }
  EXPECT_EQ(cycles, result->report.cycles());
  ExpectTensorsApart(compiled->program, target.machine());
}

// Runs a random net at its smallest SRAM, a little above, and amply.
void ExpectBitExactAtAllSizes(QuantizedGraphBuilder& builder,
                              const Graph& graph) {
  Rng& rng = builder.rng();
  int64_t smallest = 0;
  // Each subgraph asks for its own.
  for (int64_t need = 1; need > 0; smallest = std::max(smallest, need)) {
    need = SmallestSramOf(
        CompileQuantized(graph, DlaTarget(64, true, std::max<int64_t>(need, 1)))
            .status());
  }
  ASSERT_GT(smallest, 1);
  const std::vector<std::string> samples = {builder.Sample(), builder.Sample()};
  for (const int64_t sram :
       {smallest, smallest + rng.InRange(1, 200),
        smallest * 2 + rng.InRange(0, 500), smallest * 6, int64_t{1} << 20}) {
    SCOPED_TRACE(testing::Message() << "SRAM " << sram);
    ExpectBitExact(graph,
                   DlaTarget(rng.InRange(1, 130), rng.Below(2) == 0, sram),
                   samples);
  }
}

constexpr int kSeeds = 40;

class RandomLayerTest : public testing::TestWithParam<int> {
 protected:
  // Half to even from kSeeds on.
  static QuantizedGraphBuilder Builder(int first) {
    QuantizedGraphBuilder builder(first + GetParam());
    if (GetParam() >= kSeeds) builder.RoundHalfEven();
    return builder;
  }
};

TEST_P(RandomLayerTest, Conv) {
  QuantizedGraphBuilder builder = Builder(1000);
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(1, 13), w = rng.InRange(1, 13);
  TensorId x = builder.Input({1, h, w, rng.InRange(1, 20)});
  x = builder.Conv(x, rng.InRange(1, 70), RandomWindow(rng, h, w, true),
                   rng.Below(2) == 0);
  ExpectBitExactAtAllSizes(builder, builder.Finish({x}));
}

TEST_P(RandomLayerTest, Depthwise) {
  QuantizedGraphBuilder builder = Builder(2000);
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(1, 13), w = rng.InRange(1, 13);
  TensorId x = builder.Input({1, h, w, rng.InRange(1, 20)});
  x = builder.Depthwise(x, rng.InRange(1, 5), RandomWindow(rng, h, w, true),
                        rng.Below(2) == 0);
  ExpectBitExactAtAllSizes(builder, builder.Finish({x}));
}

TEST_P(RandomLayerTest, FullyConnected) {
  QuantizedGraphBuilder builder = Builder(3000);
  Rng& rng = builder.rng();
  TensorId x = builder.Input({rng.InRange(1, 9), rng.InRange(1, 60)});
  x = builder.FullyConnected(x, rng.InRange(1, 90));
  ExpectBitExactAtAllSizes(builder, builder.Finish({x}));
}

TEST_P(RandomLayerTest, Pools) {
  QuantizedGraphBuilder builder = Builder(4000);
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(1, 13), w = rng.InRange(1, 13);
  const TensorId x = builder.Input({1, h, w, rng.InRange(1, 40)});
  const WindowCase window = RandomWindow(rng, h, w, false);
  const TensorId y = rng.Below(2) == 0 ? builder.AveragePool(x, window)
                                       : builder.MaxPool(x, window);
  ExpectBitExactAtAllSizes(builder, builder.Finish({y}));
}

// Residual blocks: tensors with two readers, additions of differently tiled
// operands, a reshape on the way to the classifier.
TEST_P(RandomLayerTest, ResidualNet) {
  QuantizedGraphBuilder builder = Builder(5000);
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(5, 13), w = rng.InRange(5, 13);
  WindowCase same;
  same.kernel[0] = same.kernel[1] = 3;
  for (int32_t& pad : same.pad) pad = 1;
  TensorId x = builder.Input({1, h, w, rng.InRange(1, 4)});
  x = builder.Conv(x, rng.InRange(4, 30), same, true);
  for (int block = 0; block < 2; ++block) {
    TensorId y = builder.Depthwise(x, 1, same, true);
    y = builder.Conv(y, builder.shape(x)[3], {}, false);
    x = builder.Add(x, y);
    if (rng.Below(3) == 0) x = builder.Add(x, x);
  }
  WindowCase pool;
  pool.kernel[0] = builder.shape(x)[1];
  pool.kernel[1] = builder.shape(x)[2];
  const TensorId features = builder.AveragePool(x, pool);
  TensorId y = builder.Reshape(features, {1, builder.shape(features)[3]});
  y = builder.FullyConnected(y, 10);
  ExpectBitExactAtAllSizes(builder, builder.Finish({y, x}));
}

// A reshape moves no bytes: its readers, its taps and its place in memory all
// see what its producer wrote, whatever the two shapes are.
TEST_P(RandomLayerTest, Reshapes) {
  QuantizedGraphBuilder builder = Builder(6000);
  ExpectBitExactAtAllSizes(builder, RandomReshapeNet(builder));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLayerTest,
                         testing::Range(0, kSeeds + 20));

class PublishedNetTest : public testing::TestWithParam<const char*> {};

TEST_P(PublishedNetTest, EveryLayerIsBitExact) {
  const std::string model = std::string("models/") + GetParam();
  EK_REQUIRE_SHARED(model);
  const auto graph = compiler::ImportTflite(ReadWholeFile(SharedPath(model)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Rng rng(5);
  std::vector<std::string> samples(3);
  for (std::string& sample : samples) {
    sample.resize(graph->tensors[graph->inputs[0]].num_elements());
    for (char& value : sample)
      value = static_cast<char>(rng.InRange(-128, 127));
  }
  ExpectBitExact(*graph, DlaTarget(64, true, 512 << 10), samples);
  ExpectBitExact(*graph, DlaTarget(128, false, 1 << 20), samples);
  ExpectBitExact(*graph, DlaTarget(96, true, 192 << 10), samples);
  ExpectBitExact(*graph, DlaTarget(64, true, 24 << 10), samples);
}

// Networks of ONNX that quantize by powers of two: half of all ties differ if
// anything rounds them the other way.
class OnnxNetTest : public testing::TestWithParam<const char*> {};

TEST_P(OnnxNetTest, EveryLayerIsBitExact) {
  const std::string model = std::string("models/") + GetParam();
  EK_REQUIRE_SHARED(model);
  auto graph = compiler::ImportModel(ReadWholeFile(SharedPath(model)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status simplified = compiler::Simplify(*graph);
  ASSERT_TRUE(simplified.ok()) << simplified;
  int even = 0;
  for (const compiler::Op& op : graph->ops) {
    even += op.attributes.rounding() == v1::HALF_EVEN &&
            !op.attributes.has_quantize();
  }
  EXPECT_GT(even, 0);
  Rng rng(6);
  std::vector<float> values(graph->tensors[graph->inputs[0]].num_elements());
  for (float& value : values) {
    value = static_cast<float>(rng.InRange(-2000, 2000)) / 256;
  }
  const std::string sample(reinterpret_cast<const char*>(values.data()),
                           values.size() * sizeof(float));
  ExpectBitExact(*graph, DlaTarget(64, true, 512 << 10), {sample});
  ExpectBitExact(*graph, DlaTarget(96, false, 48 << 10), {sample});
}

INSTANTIATE_TEST_SUITE_P(Htvm, OnnxNetTest,
                         testing::Values("htvm_resnet8_digital.onnx",
                                         "htvm_dscnn_digital.onnx",
                                         "htvm_ad_digital.onnx"));

INSTANTIATE_TEST_SUITE_P(Tiny, PublishedNetTest,
                         testing::Values("resnet8_int8.tflite",
                                         "dscnn_int8.tflite", "ad_int8.tflite",
                                         "person_detect_int8.tflite"));

}  // namespace
}  // namespace edgekiln::tests
