#include "compiler/quantize/range_search.h"

#include <cstring>
#include <string>
#include <vector>

#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/testing/random_samples.h"
#include "compiler/quantize/testing/splat.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNetwork[] = R"(
%x : float32[1,1,16,8] = input
%w : float32[8,1,1,8] = constant splat 0.3
%h : float32[1,1,16,8] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id hidden
%v : float32[8,1,1,8] = constant splat 0.3
%y : float32[1,1,16,8] = conv2d(%h, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id y
return %y
)";

class RangeSearchTest : public testing::Test {
 protected:
  RangeSearchTest()
      : graph_(WithRandomWeights(ParseWithSplats(kNetwork))),
        usual_(RandomSamples(graph_, InOrder(120), 120)) {}

  // One sample, of values that are `factor` times as large.
  v1::Chunk Larger(float factor) const {
    v1::Chunk chunk = RandomSamples(graph_, InOrder(1), 1)[0];
    std::string& data = *chunk.mutable_arrays(0)->mutable_data();
    std::vector<float> values(data.size() / sizeof(float));
    std::memcpy(values.data(), data.data(), data.size());
    for (float& value : values) value *= factor;
    std::memcpy(data.data(), values.data(), data.size());
    return chunk;
  }

  // The scale of the hidden tensor.
  float Scale(const std::vector<v1::Chunk>& counted,
              const std::vector<v1::Chunk>& tried,
              v1::CalibrateOptions::Method method) const {
    const v1::CalibrationStatistics statistics = *Calibrate(graph_, counted);
    const std::vector<bool> integer(graph_.ops.size(), true);
    TensorQuantizations quantizations(graph_, integer, {});
    v1::CalibrateOptions options;
    options.set_method(method);
    EXPECT_TRUE(quantizations.Choose(&statistics, options).ok());
    const TensorId hidden = graph_.ops[0].outputs[0];
    if (method == v1::CalibrateOptions::OUTPUT_MSE) {
      const absl::Status searched = SearchRanges(
          graph_, integer, statistics,
          *CalibrationSamples::Create(graph_, tried), {}, quantizations);
      EXPECT_TRUE(searched.ok()) << searched;
    }
    return quantizations.Of(hidden).scale[0];
  }

  const Graph graph_;
  const std::vector<v1::Chunk> usual_;
};

// One of 121 samples, eight times as large, is not among those that are tried.
TEST_F(RangeSearchTest, ValuesOfSamplesThatAreNotTriedAreNotFreeToCutOff) {
  std::vector<v1::Chunk> all = usual_;
  all.push_back(Larger(8));
  const float whole = Scale(all, usual_, v1::CalibrateOptions::MIN_MAX);
  const float usual = Scale(usual_, usual_, v1::CalibrateOptions::MIN_MAX);
  ASSERT_GT(whole, 4 * usual);
  EXPECT_GT(Scale(all, usual_, v1::CalibrateOptions::OUTPUT_MSE), 2 * usual);
}

}  // namespace
}  // namespace edgekiln::compiler
