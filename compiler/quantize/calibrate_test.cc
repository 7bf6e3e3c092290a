#include "compiler/quantize/calibrate.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "tests/support/heap_peak.h"

namespace edgekiln::compiler {
namespace {

constexpr char kGraph[] = R"(
%x : float32[1,2] = input
%w : float32[1,2] = constant [1, -1]
%h : float32[1,1] = fully_connected(%x, %w) id h
%y : float32[1,1] = clip(%h) {clamp {min 0}} id y
return %y
)";

v1::Chunk ChunkOf(const std::vector<float>& values, int64_t samples) {
  v1::Chunk chunk;
  chunk.set_samples(samples);
  chunk.add_arrays()->set_data(
      std::string(reinterpret_cast<const char*>(values.data()),
                  values.size() * sizeof(float)));
  return chunk;
}

absl::StatusOr<v1::CalibrationStatistics> CalibrateTiny(
    const std::vector<v1::Chunk>& chunks,
    v1::CalibrateOptions::Method method = v1::CalibrateOptions::MIN_MAX,
    int32_t ppm = 0) {
  const absl::StatusOr<Graph> graph = ParseGraph(kGraph);
  EXPECT_TRUE(graph.ok()) << graph.status();
  v1::CalibrateOptions options;
  options.set_method(method);
  options.set_percentile_ppm(ppm);
  return Calibrate(*graph, chunks, options);
}

TEST(CalibrateTest, RangesOfEveryActivation) {
  const auto statistics =
      CalibrateTiny({ChunkOf({1, 2, 5, 1}, 2), ChunkOf({0, 9}, 1)});
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(statistics->samples(), 3);
  ASSERT_EQ(statistics->ranges_size(), 3);
  const struct {
    const char* tensor;
    float min, max;
  } kWant[] = {{"x", 0, 9}, {"h", -9, 4}, {"y", 0, 4}};
  for (int i = 0; i < 3; ++i) {
    const auto& range = statistics->ranges(i);
    EXPECT_EQ(range.tensor(), kWant[i].tensor);
    EXPECT_EQ(range.min(), kWant[i].min);
    EXPECT_EQ(range.max(), kWant[i].max);
    EXPECT_EQ(range.percentile_low(), kWant[i].min);
    EXPECT_EQ(range.percentile_high(), kWant[i].max);
  }
}

// Every look at the samples begins with zero, also one that is repeated
// because the histograms of few tensors fit at a time.
TEST(CalibrateTest, StatesAreCarriedFromSampleToSample) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : float32[1,2] = input
%h : float32[1,2] = input
%y : float32[1,2] = add(%x, %h)
return %y states %h = %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<v1::Chunk> chunks = {ChunkOf({1, 2, 5, 1}, 2),
                                   ChunkOf({0, 9}, 1)};
  for (v1::Chunk& chunk : chunks) chunk.add_arrays()->set_carried(true);
  v1::CalibrateOptions options;
  options.set_method(v1::CalibrateOptions::PERCENTILE);
  options.set_percentile_ppm(999'999);
  for (const int64_t bytes : {kHistogramBytes, int64_t{1}}) {
    const auto statistics =
        Calibrate(*graph, chunks, options, nullptr, ops::CpuPath::kAuto, bytes);
    ASSERT_TRUE(statistics.ok()) << statistics.status();
    ASSERT_EQ(statistics->ranges_size(), 3);
    EXPECT_EQ(statistics->ranges(1).tensor(), "h");
    EXPECT_EQ(statistics->ranges(1).min(), 0);
    EXPECT_EQ(statistics->ranges(1).max(), 6);
    EXPECT_EQ(statistics->ranges(2).max(), 12);
    EXPECT_NEAR(statistics->ranges(2).percentile_low(), 1, 0.1);
    EXPECT_NEAR(statistics->ranges(2).percentile_high(), 12, 0.1);
  }
  // Only states can be.
  chunks[0].mutable_arrays(0)->set_carried(true);
  chunks[0].mutable_arrays(0)->clear_data();
  EXPECT_FALSE(Calibrate(*graph, chunks, options).ok());
}

TEST(CalibrateTest, PercentileCutsOutliersOff) {
  std::vector<float> values(2000, 1.0f);
  values[7] = 1000;
  const auto statistics = CalibrateTiny(
      {ChunkOf(values, 1000)}, v1::CalibrateOptions::PERCENTILE, 990'000);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(statistics->ranges(0).max(), 1000);
  EXPECT_LT(statistics->ranges(0).percentile_high(), 1.5);
  EXPECT_GE(statistics->ranges(0).percentile_high(), 1);
}

TEST(CalibrateTest, ChunksAndOrderDoNotMatter) {
  std::vector<float> values;
  for (int i = 0; i < 400; ++i) {
    values.push_back(static_cast<float>(i * 37 % 101) / 7 - 5);
  }
  const std::vector<float> first(values.begin(), values.begin() + 100);
  const std::vector<float> rest(values.begin() + 100, values.end());
  const auto method = v1::CalibrateOptions::PERCENTILE;
  const auto one = CalibrateTiny({ChunkOf(values, 200)}, method, 950'000);
  const auto two =
      CalibrateTiny({ChunkOf(rest, 150), ChunkOf(first, 50)}, method, 950'000);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->SerializeAsString(), two->SerializeAsString());
}

TEST(CalibrateTest, ReportsProgress) {
  const absl::StatusOr<Graph> graph = ParseGraph(kGraph);
  ASSERT_TRUE(graph.ok());
  std::vector<int64_t> done;
  const std::vector<v1::Chunk> chunks = {ChunkOf({1, 2, 3, 4}, 2)};
  ASSERT_TRUE(Calibrate(*graph, chunks, {}, [&](int64_t n, int64_t total) {
                EXPECT_EQ(total, 2);
                done.push_back(n);
              }).ok());
  EXPECT_EQ(done, (std::vector<int64_t>{1, 2}));
}

// A chain of tiny layers: more tensors than there is memory for bins.
Graph TinyLayers(int layers) {
  Graph graph = *ParseGraph(R"(
%x : float32[1,2] = input
%y : float32[1,2] = clip(%x) {clamp {min -3}} id y0
return %y
)");
  for (int i = 1; i < layers; ++i) {
    Op op = graph.ops.back();
    Tensor tensor = graph.tensors[op.outputs[0]];
    tensor.name = absl::StrCat("y", i);
    op.id = tensor.name;
    op.inputs = op.outputs;
    op.outputs = {static_cast<TensorId>(graph.tensors.size())};
    graph.tensors.push_back(tensor);
    graph.ops.push_back(op);
  }
  graph.outputs = graph.ops.back().outputs;
  return graph;
}

v1::CalibrateOptions Percentile(int32_t ppm) {
  v1::CalibrateOptions options;
  options.set_method(v1::CalibrateOptions::PERCENTILE);
  options.set_percentile_ppm(ppm);
  return options;
}

TEST(CalibrateTest, ManyTinyLayersTakeLittleMemory) {
  const Graph graph = TinyLayers(30'000);
  const std::vector<v1::Chunk> chunks = {ChunkOf({1, -2, 5, 1}, 2)};
  const tests::HeapPeak peak;
  const auto statistics = Calibrate(graph, chunks, Percentile(999'900));
  EXPECT_LT(peak.bytes(), int64_t{100} << 20);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  ASSERT_EQ(statistics->ranges_size(), 30'001);
  EXPECT_EQ(statistics->ranges(30'000).percentile_high(), 5);
}

// Each run of the samples does what it has memory for.
TEST(CalibrateTest, SeveralRunsFindTheSame) {
  const Graph graph = TinyLayers(20);
  std::vector<float> values;
  for (int i = 0; i < 2'000; ++i) {
    values.push_back(static_cast<float>(i * 37 % 101) / 7 - 5);
  }
  const std::vector<v1::Chunk> chunks = {ChunkOf(values, 1'000)};
  const auto calibrate = [&](int64_t bytes) {
    return Calibrate(graph, chunks, Percentile(950'000), nullptr,
                     ops::CpuPath::kAuto, bytes);
  };
  const auto one = calibrate(kHistogramBytes);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_NE(one->ranges(20).percentile_high(), one->ranges(20).max());
  for (const int64_t bytes : {1, 300'000, 1'000'000}) {
    const tests::HeapPeak peak;
    const auto some = calibrate(bytes);
    EXPECT_LT(peak.bytes(), bytes + 300'000);
    ASSERT_TRUE(some.ok()) << some.status();
    EXPECT_EQ(some->SerializeAsString(), one->SerializeAsString()) << bytes;
  }
}

// A mask, as in front of a softmax.
TEST(CalibrateTest, InfinitiesInsideTheGraphAreARange) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : float32[1,2] = input
%m : float32[1,2] = constant [-inf, 1]
%h : float32[1,2] = add(%x, %m) id h
%y : float32[1,2] = softmax(%h) {beta 1 axis 1} id y
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::CalibrateOptions options;
  options.set_method(v1::CalibrateOptions::PERCENTILE);
  options.set_percentile_ppm(999'900);
  const auto statistics =
      Calibrate(*graph, {ChunkOf({1, 2, 3, 4}, 2)}, options);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(statistics->ranges(1).tensor(), "h");
  EXPECT_EQ(statistics->ranges(1).percentile_low(),
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(statistics->ranges(1).percentile_high(), 5);
  EXPECT_EQ(statistics->ranges(2).max(), 1);
}

TEST(CalibrateTest, RefusesWhatDoesNotFit) {
  v1::Chunk huge = ChunkOf({1, 2}, std::numeric_limits<int64_t>::max());
  v1::Chunk two_arrays = ChunkOf({1, 2}, 1);
  two_arrays.add_arrays();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    const char* name;
    std::vector<v1::Chunk> chunks;
    int32_t ppm;
    const char* says;
  } kCases[] = {
      {"no sample", {}, 999'900, "no sample"},
      {"half a sample", {ChunkOf({1, 2, 3}, 2)}, 999'900, "12 bytes"},
      {"overflow", {huge}, 999'900, "8 bytes"},
      {"arrays", {two_arrays}, 999'900, "2 arrays"},
      {"not a number", {ChunkOf({1, nan}, 1)}, 999'900, "'x'"},
      {"says what is wrong",
       {ChunkOf({1, nan}, 1)},
       999'900,
       "becomes NaN during calibration"},
      {"says that random inputs may be the cause",
       {ChunkOf({1, nan}, 1)},
       999'900,
       "give real samples with --calibration"},
      {"infinite data",
       {ChunkOf({1, std::numeric_limits<float>::infinity()}, 1)},
       999'900,
       "'x'"},
      {"percentile 0", {ChunkOf({1, 2}, 1)}, 0, "percentile_ppm"},
      {"percentile 2", {ChunkOf({1, 2}, 1)}, 2'000'000, "percentile_ppm"},
  };
  for (const auto& row : kCases) {
    const auto statistics =
        CalibrateTiny(row.chunks, v1::CalibrateOptions::PERCENTILE, row.ppm);
    ASSERT_FALSE(statistics.ok()) << row.name;
    EXPECT_EQ(statistics.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(statistics.status().message().find(row.says),
              absl::string_view::npos)
        << statistics.status();
  }
}

}  // namespace
}  // namespace edgekiln::compiler
