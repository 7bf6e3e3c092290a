#include "compiler/quantize/calibrate.h"

#include <algorithm>
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
    const std::vector<v1::Chunk>& chunks) {
  const absl::StatusOr<Graph> graph = ParseGraph(kGraph);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return Calibrate(*graph, chunks);
}

int64_t Counted(const v1::CalibrationStatistics::TensorRange& range) {
  int64_t count = 0;
  const auto add = [&](const auto& bins) {
    for (int i = 0; i < bins.size(); ++i) {
      if (bins[i] == 0)
        ++i;  // The number of empty ones follows.
      else
        count += bins[i];
    }
  };
  add(range.histogram().positive());
  add(range.histogram().negative());
  return count;
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
    EXPECT_EQ(Counted(range), i == 0 ? 6 : 3);
  }
}

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
  const auto statistics = Calibrate(*graph, chunks);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  ASSERT_EQ(statistics->ranges_size(), 3);
  EXPECT_EQ(statistics->ranges(1).tensor(), "h");
  EXPECT_EQ(statistics->ranges(1).min(), 0);
  EXPECT_EQ(statistics->ranges(1).max(), 6);
  EXPECT_EQ(statistics->ranges(2).max(), 12);
  // Only states can be.
  chunks[0].mutable_arrays(0)->set_carried(true);
  chunks[0].mutable_arrays(0)->clear_data();
  EXPECT_FALSE(Calibrate(*graph, chunks).ok());
}

// Moving averages included, which are of samples one after the other.
TEST(CalibrateTest, ChunksAndOrderDoNotMatter) {
  std::vector<float> values;
  for (int i = 0; i < 400; ++i) {
    values.push_back(static_cast<float>(i * 37 % 101) / 7 - 5);
  }
  const std::vector<float> first(values.begin(), values.begin() + 100);
  const std::vector<float> rest(values.begin() + 100, values.end());
  const auto one = CalibrateTiny({ChunkOf(values, 200)});
  const auto two = CalibrateTiny({ChunkOf(rest, 150), ChunkOf(first, 50)});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->SerializeAsString(), two->SerializeAsString());
  EXPECT_LT(one->ranges(0).average_max(), one->ranges(0).max());
  EXPECT_GT(one->ranges(0).average_max(), one->ranges(0).average_min());
}

TEST(CalibrateTest, EveryCpuPathSeesTheSame) {
  const absl::StatusOr<Graph> graph = ParseGraph(kGraph);
  ASSERT_TRUE(graph.ok());
  const std::vector<v1::Chunk> chunks = {ChunkOf({0.1f, 0.7f, 3, 4e-7f}, 2)};
  const auto want = Calibrate(*graph, chunks);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const ops::CpuPath path :
       {ops::CpuPath::kScalar, ops::CpuPath::kAvx2, ops::CpuPath::kAvx512}) {
    const auto statistics = Calibrate(*graph, chunks, nullptr, path);
    ASSERT_TRUE(statistics.ok()) << statistics.status();
    EXPECT_EQ(statistics->SerializeAsString(), want->SerializeAsString());
  }
}

constexpr char kTwoLayers[] = R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, -1, 2, 1]
%v : float32[1,2] = constant [1, 0.5]
%h : float32[1,2] = fully_connected(%x, %w) id h
%g : float32[1,2] = clip(%h) {clamp {min 0}} id g
%y : float32[1,1] = fully_connected(%g, %v) id y
%z : float32[1,2] = clip(%x) {clamp {min 0}} id z
return %y, %z
)";

// A mark shows whose ranges were taken over.
TEST(RecalibrateTest, LooksAtWhatDependsOnTheChange) {
  absl::StatusOr<Graph> before = ParseGraph(kTwoLayers);
  ASSERT_TRUE(before.ok()) << before.status();
  const std::vector<v1::Chunk> chunks = {
      ChunkOf({1, 2, 3, 4, -5, 1, 0.5f, 0}, 4)};
  absl::StatusOr<v1::CalibrationStatistics> known = Calibrate(*before, chunks);
  ASSERT_TRUE(known.ok()) << known.status();
  constexpr float kMark = -77;
  for (auto& range : *known->mutable_ranges()) range.set_average_min(kMark);
  struct {
    const char* op;
    bool attributes;  // Or a constant.
    std::vector<std::string> looked_at;
  } const cases[] = {{"y", false, {"y"}},
                     {"h", false, {"h", "g", "y"}},
                     {"g", true, {"g", "y"}},
                     {"", false, {}}};
  for (const auto& one : cases) {
    Graph changed = *before;
    for (Op& op : changed.ops) {
      if (op.id != one.op) continue;
      if (one.attributes) {
        op.attributes.mutable_clip()->mutable_clamp()->set_max(1);
        continue;
      }
      Tensor weights = changed.tensors[op.inputs[1]];
      const std::vector<float> values(weights.num_elements(), 0.75f);
      weights.name += "2";
      weights.data =
          ConstantData(std::string(reinterpret_cast<const char*>(values.data()),
                                   values.size() * sizeof(float)));
      op.inputs[1] = static_cast<TensorId>(changed.tensors.size());
      changed.tensors.push_back(weights);
    }
    const auto got = Recalibrate(changed, *before, *known, chunks);
    const auto want = Calibrate(changed, chunks);
    ASSERT_TRUE(got.ok() && want.ok()) << got.status() << want.status();
    EXPECT_EQ(got->samples(), 4);
    ASSERT_EQ(got->ranges_size(), want->ranges_size());
    for (int i = 0; i < got->ranges_size(); ++i) {
      const std::string& name = want->ranges(i).tensor();
      const bool looked_at =
          std::find(one.looked_at.begin(), one.looked_at.end(), name) !=
          one.looked_at.end();
      EXPECT_EQ(got->ranges(i).average_min() != kMark, looked_at)
          << one.op << " " << name;
      v1::CalibrationStatistics::TensorRange range = got->ranges(i);
      if (!looked_at) range.set_average_min(want->ranges(i).average_min());
      EXPECT_EQ(range.SerializeAsString(), want->ranges(i).SerializeAsString())
          << one.op << " " << name;
    }
  }
  // Of other samples nothing is taken over.
  known->set_samples(3);
  const auto anew = Recalibrate(*before, *before, *known, chunks);
  ASSERT_TRUE(anew.ok());
  for (const auto& range : anew->ranges()) {
    EXPECT_NE(range.average_min(), kMark);
  }
}

TEST(CalibrateTest, ReportsProgress) {
  const absl::StatusOr<Graph> graph = ParseGraph(kGraph);
  ASSERT_TRUE(graph.ok());
  std::vector<int64_t> done;
  const std::vector<v1::Chunk> chunks = {ChunkOf({1, 2, 3, 4}, 2)};
  ASSERT_TRUE(Calibrate(*graph, chunks, [&](int64_t n, int64_t total) {
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

TEST(CalibrateTest, ManyTinyLayersTakeLittleMemory) {
  const Graph graph = TinyLayers(30'000);
  const std::vector<v1::Chunk> chunks = {ChunkOf({1, -2, 5, 1}, 2)};
  const tests::HeapPeak peak;
  const auto statistics = Calibrate(graph, chunks);
  EXPECT_LT(peak.bytes(), int64_t{100} << 20);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  ASSERT_EQ(statistics->ranges_size(), 30'001);
  EXPECT_EQ(statistics->ranges(30'000).max(), 5);
}

// A few KiB per tensor, whatever it holds: values of both signs here.
TEST(CalibrateTest, ManyLargeLayersTakeLittleMemory) {
  Graph graph = TinyLayers(3'200);
  for (Tensor& tensor : graph.tensors) tensor.shape = {1, 2'000};
  std::vector<float> values;
  for (int i = 0; i < 2'000; ++i) {
    values.push_back(static_cast<float>(i * 37 % 101) / 7 - 5);
  }
  const tests::HeapPeak peak;
  const auto statistics = Calibrate(graph, {ChunkOf(values, 1)});
  EXPECT_LT(peak.bytes(), int64_t{100} << 20);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(Counted(statistics->ranges(3'200)), 2'000);
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
  const auto statistics = Calibrate(*graph, {ChunkOf({1, 2, 3, 4}, 2)});
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(statistics->ranges(1).tensor(), "h");
  EXPECT_FALSE(statistics->ranges(1).has_histogram());
  EXPECT_EQ(statistics->ranges(1).min(),
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(statistics->ranges(1).max(), 5);
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
    const char* says;
  } kCases[] = {
      {"no sample", {}, "no sample"},
      {"half a sample", {ChunkOf({1, 2, 3}, 2)}, "12 bytes"},
      {"overflow", {huge}, "8 bytes"},
      {"arrays", {two_arrays}, "2 arrays"},
      {"not a number", {ChunkOf({1, nan}, 1)}, "'x'"},
      {"says what is wrong",
       {ChunkOf({1, nan}, 1)},
       "becomes NaN during calibration"},
      {"says that random inputs may be the cause",
       {ChunkOf({1, nan}, 1)},
       "give real samples with --calibration"},
      {"infinite data",
       {ChunkOf({1, std::numeric_limits<float>::infinity()}, 1)},
       "'x'"},
  };
  for (const auto& row : kCases) {
    const auto statistics = CalibrateTiny(row.chunks);
    ASSERT_FALSE(statistics.ok()) << row.name;
    EXPECT_EQ(statistics.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(statistics.status().message().find(row.says),
              absl::string_view::npos)
        << statistics.status();
  }
}

}  // namespace
}  // namespace edgekiln::compiler
