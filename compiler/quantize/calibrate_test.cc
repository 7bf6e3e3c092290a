#include "compiler/quantize/calibrate.h"

#include <limits>
#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"

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
