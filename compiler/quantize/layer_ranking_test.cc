#include "compiler/quantize/layer_ranking.h"

#include <cmath>
#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

v1::Chunk ChunkOf(const std::vector<float>& values, int64_t samples) {
  v1::Chunk chunk;
  chunk.set_samples(samples);
  chunk.add_arrays()->set_data(
      std::string(reinterpret_cast<const char*>(values.data()),
                  values.size() * sizeof(float)));
  return chunk;
}

// What RankLayers() says of a float graph and an integer one.
v1::QuantizationReport Ranked(const std::string& real,
                              const std::string& integer,
                              const std::vector<float>& values,
                              int64_t samples) {
  v1::QuantizationReport report;
  const absl::StatusOr<Graph> float_graph = ParseGraph(real);
  const absl::StatusOr<Graph> quantized = ParseGraph(integer);
  EXPECT_TRUE(float_graph.ok()) << float_graph.status();
  EXPECT_TRUE(quantized.ok()) << quantized.status();
  if (!float_graph.ok() || !quantized.ok()) return report;
  for (const Op& op : float_graph->ops) report.add_layers()->set_id(op.id);
  const std::vector<v1::Chunk> chunks = {ChunkOf(values, samples)};
  const auto of = CalibrationSamples::Create(*float_graph, chunks);
  EXPECT_TRUE(of.ok()) << of.status();
  if (!of.ok()) return report;
  int64_t done = 0;
  const absl::Status status = RankLayers(
      *float_graph, *quantized, *of, ops::CpuPath::kAuto,
      [&](int64_t now) { done = now; }, report);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(done, report.layers_size());
  return report;
}

double RatioOf(double signal, double noise) {
  return 10 * std::log10(signal / noise);
}

TEST(RankLayersTest, EachLayersStepsCountAlone) {
  // x = 1 and 3. Alone, `d` makes 4 and 8 of 2 and 6, so that the output is 8
  // and 16 instead of 4 and 12; `s` makes 3 of 4. `r` only passes on what `s`
  // gives it.
  const v1::QuantizationReport report = Ranked(R"(
%x : float32[1,1] = input
%d : float32[1,1] = add(%x, %x) id d
%s : float32[1,1] = add(%d, %d) id s
%y : float32[1] = reshape(%s) id r
return %y
)",
                                               R"(
%x : float32[1,1] = input
%x.int8 : int8[1,1] scale 1 zero 0 = quantize(%x) id quantize_x
%d : int8[1,1] scale 4 zero 0 = add(%x.int8, %x.int8) id d
%s : int8[1,1] scale 3 zero 0 = add(%d, %d) id s
%y.int8 : int8[1] scale 3 zero 0 = reshape(%s) id r
%y : float32[1] = dequantize(%y.int8) id dequantize_y
return %y
)",
                                               {1, 3}, 2);
  ASSERT_EQ(report.layers_size(), 3);
  EXPECT_NEAR(report.layers(0).network_sqnr_db(), RatioOf(160, 32), 1e-6);
  EXPECT_NEAR(report.layers(1).network_sqnr_db(), RatioOf(160, 1), 1e-6);
  EXPECT_FALSE(report.layers(2).has_network_sqnr_db());
}

TEST(RankLayersTest, WeightsAndBiasAreWhatTheIntegersStandFor) {
  // 2 * 1 + 5 * 0.6 + 0.25 = 5.25 in float; 2 * 1 + 5 * 0.5 = 4.5 with the
  // integers, a multiple of the result's steps.
  const v1::QuantizationReport report = Ranked(R"(
%x : float32[1,2] = input
%w : float32[1,2] = constant [1, 0.6]
%b : float32[1] = constant [0.25]
%y : float32[1,1] = fully_connected(%x, %w, %b) id f
return %y
)",
                                               R"(
%x : float32[1,2] = input
%x.int8 : int8[1,2] scale 1 zero 0 = quantize(%x) id quantize_x
%w.int : int8[1,2] axis 0 scale [0.5] zero [0] = constant [2, 1]
%b.int : int32[1] axis 0 scale [0.5] zero [0] = constant [0]
%y.int8 : int8[1,1] scale 0.125 zero 0 = fully_connected(%x.int8, %w.int, %b.int) id f
%y : float32[1,1] = dequantize(%y.int8) id dequantize_y
return %y
)",
                                               {2, 5}, 1);
  ASSERT_EQ(report.layers_size(), 1);
  EXPECT_NEAR(report.layers(0).network_sqnr_db(),
              RatioOf(5.25 * 5.25, 0.75 * 0.75), 1e-4);
}

// Biases that fitting has given to layers which had none, and layers of equal
// weights: what one layer gets must not reach another.
TEST(RankLayersTest, SharedWeightsAndNewBiasesStayWithTheirLayer) {
  const v1::QuantizationReport report = Ranked(R"(
%x : float32[1,1] = input
%w : float32[1,1] = constant [1]
%f : float32[1,1] = fully_connected(%x, %w) id f
%g : float32[1,1] = fully_connected(%f, %w) id g
return %g
)",
                                               R"(
%x : float32[1,1] = input
%x.int8 : int8[1,1] scale 1 zero 0 = quantize(%x) id quantize_x
%w.int : int8[1,1] axis 0 scale [0.5] zero [0] = constant [4]
%b.int : int32[1] axis 0 scale [0.5] zero [0] = constant [2]
%f : int8[1,1] scale 1 zero 0 = fully_connected(%x.int8, %w.int, %b.int) id f
%v.int : int8[1,1] axis 0 scale [0.5] zero [0] = constant [2]
%g.int8 : int8[1,1] scale 1 zero 0 = fully_connected(%f, %v.int) id g
%g : float32[1,1] = dequantize(%g.int8) id dequantize_g
return %g
)",
                                               {8}, 1);
  ASSERT_EQ(report.layers_size(), 2);
  // 8 becomes 2 * 8 + 1 = 17 in the first layer; the second one is exact.
  EXPECT_NEAR(report.layers(0).network_sqnr_db(), RatioOf(64, 81), 1e-6);
  EXPECT_FALSE(report.layers(1).has_network_sqnr_db());
}

// Of a float16 model, the layer before the cast that its output comes from.
TEST(SetOutputRatioTest, IsThatOfTheLayerThatMakesTheOutput) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : float32[1,1] = input
%d : float32[1,1] = add(%x, %x) id d
%s : float32[1,1] = add(%d, %d) id s
%y : float16[1,1] = cast(%d) id cast_y
return %y, %s
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::QuantizationReport report;
  for (size_t i = 0; i < graph->ops.size(); ++i) report.add_layers();
  SetOutputRatio(*graph, report);
  EXPECT_FALSE(report.has_output_sqnr_db());
  report.mutable_layers(0)->set_output_sqnr_db(31);
  report.mutable_layers(1)->set_output_sqnr_db(22);
  SetOutputRatio(*graph, report);
  EXPECT_EQ(report.output_sqnr_db(), 31);
}

}  // namespace
}  // namespace edgekiln::compiler
