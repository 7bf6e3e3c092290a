#include "compiler/quantize/layer_constants.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/text.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/testing/random_samples.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

RoundedLayer OfBytes(size_t weights, size_t bias) {
  RoundedLayer layer;
  layer.weight_data = ConstantData(std::string(weights, 'w'));
  layer.bias_data = ConstantData(std::string(bias, 'b'));
  return layer;
}

TEST(RoundedLayersTest, KeepNoMoreThanTheirBytes) {
  constexpr int64_t kMost = 10'000;
  RoundedLayers memo(kMost);
  for (int i = 0; i < 100; ++i) {
    memo.Add(memo.KeyOf(absl::StrCat(i)), OfBytes(2000, 400));
    EXPECT_LE(memo.bytes(), kMost);
  }
  ASSERT_GT(memo.size(), 1);
  EXPECT_LT(memo.size(), 5);
  // The first ones.
  const RoundedLayer* first = memo.Find(memo.KeyOf("0"));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->weight_data->size(), 2000u);
  EXPECT_EQ(memo.Find(memo.KeyOf("99")), nullptr);
  // Scales count, too.
  RoundedLayers small(2000);
  RoundedLayer scales = OfBytes(0, 0);
  scales.weights.scale.assign(600, 1);
  small.Add(small.KeyOf("scales"), scales);
  EXPECT_EQ(small.size(), 0);
}

TEST(RoundedLayersTest, TheSameLayerCountsOnce) {
  RoundedLayers memo(10'000);
  memo.Add(memo.KeyOf("a"), OfBytes(100, 4));
  const int64_t bytes = memo.bytes();
  memo.Add(memo.KeyOf("a"), OfBytes(100, 4));
  EXPECT_EQ(memo.bytes(), bytes);
}

// The same layer with the same scales, whose sums may be wide and may not.
TEST(RoundedLayersTest, NetworksOfOtherNeedsHaveTheirOwn) {
  std::string weights = "0.25";
  for (int i = 1; i < 9000; ++i) weights += ", 0.25";
  const auto parsed = ParseGraph(absl::StrCat(
      "%x : float32[1,3000] = input\n%w : float32[3,3000] = constant [",
      weights,
      "]\n%y : float32[1,3] = fully_connected(%x, %w) id dense\n"
      "return %y\n"));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Graph graph = WithRandomWeights(*parsed);
  const std::vector<v1::Chunk> chunks = RandomSamples(graph, InOrder(8), 8);
  const v1::CalibrationStatistics statistics = *Calibrate(graph, chunks);
  RoundedLayers memo(int64_t{1} << 20);
  const auto made = [&](const char* needs, RoundedLayers* with) {
    v1::QuantizeOptions options;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "activations: ACTIVATIONS_INT16", options.mutable_config()));
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        needs, options.mutable_needs()));
    const auto schemes =
        LayerSchemes(graph, options.config(), options.needs(), true);
    EXPECT_TRUE(schemes.ok()) << schemes.status();
    const auto network =
        IntegerGraph(graph, &statistics, options, *schemes, with).Make();
    EXPECT_TRUE(network.ok()) << network.status();
    return GraphToProto(*network).SerializeAsString();
  };
  const std::string wide = made("", &memo);
  const std::string narrow = made("activations: INT16", &memo);
  EXPECT_EQ(wide, made("", nullptr));
  EXPECT_EQ(narrow, made("activations: INT16", nullptr));
  EXPECT_NE(wide, narrow);
}

}  // namespace
}  // namespace edgekiln::compiler
