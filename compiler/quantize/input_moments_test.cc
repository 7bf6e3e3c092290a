#include "compiler/quantize/input_moments.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/rng.h"
#include "compiler/quantize/testing/splat.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Sums of products of what each pair of weights is multiplied by, over all
// patches: found by computing the layer with one weight 1 and all others 0.
std::vector<double> Naive(const SampleBatch& batch, const Graph& graph,
                          const Op& op, int64_t channel, bool centred,
                          double trust) {
  const std::vector<int64_t> weights = WeightsOfChannel(graph, op, channel);
  const size_t depth = weights.size();
  std::vector<std::vector<double>> elements(depth);
  Graph probe = graph;
  Op& layer = probe.ops[0];
  Tensor& constant = probe.tensors[layer.inputs[1]];
  const size_t bytes = constant.data->size();
  Tensor sums = probe.tensors[layer.outputs[0]];
  sums.type = v1::INT32;
  sums.quantization = Quantization{.scale = {1}, .zero_point = {0}, .axis = 0};
  const int64_t channels = sums.shape.back();
  for (size_t j = 0; j < depth; ++j) {
    std::string one(bytes, '\0');
    one[weights[j]] = 1;
    constant.data = ConstantData(one);
    SampleBatch run(probe, batch.samples(), ops::CpuPath::kAuto);
    for (int64_t s = 0; s < batch.samples(); ++s) {
      const Tensor& input = graph.tensors[layer.inputs[0]];
      EXPECT_TRUE(
          run.SetInput(layer.inputs[0], s,
                       absl::string_view(batch.value(layer.inputs[0], s),
                                         input.num_elements()))
              .ok());
    }
    const absl::Status ran =
        run.RunApart(layer, sums, 1, [&](int64_t, const char* values) {
          const auto* out = reinterpret_cast<const int32_t*>(values);
          for (int64_t i = channel; i < sums.num_elements(); i += channels) {
            elements[j].push_back(out[i]);
          }
        });
    EXPECT_TRUE(ran.ok()) << ran;
  }
  std::vector<double> moments;
  const auto n = static_cast<double>(elements[0].size());
  const auto mean = [&](size_t j) {
    double sum = 0;
    for (const double value : elements[j]) sum += value;
    return sum / n;
  };
  for (size_t i = 0; i < depth; ++i) {
    for (size_t j = 0; j < depth; ++j) {
      double sum = 0;
      for (size_t k = 0; k < elements[i].size(); ++k) {
        sum += elements[i][k] * elements[j][k];
      }
      const double moment = sum / n - (centred ? mean(i) * mean(j) : 0);
      moments.push_back(i == j ? moment : moment * trust);
    }
  }
  return moments;
}

constexpr const char* kLayers[] = {
    R"(
%x : int8[1,5,4,3] scale 1 zero -5 = input
%w : int8[4,3,2,3] scale 1 zero 0 = constant splat 1
%y : int8[1,3,3,4] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 2 stride_w 1 dilation_h 1 dilation_w 2 pad_top 1 pad_bottom 1 pad_left 1}} id y
return %y
)",
    R"(
%x : uint8[1,4,4,4] scale 1 zero 7 = input
%w : uint8[4,1,1,2] scale 1 zero 0 = constant splat 1
%y : uint8[1,4,4,4] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id y
return %y
)",
    R"(
%x : int8[1,4,4,2] scale 1 zero 3 = input
%w : int8[1,3,3,4] scale 1 zero 0 = constant splat 1
%y : int8[1,4,4,4] scale 1 zero 0 = depthwise_conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} depth_multiplier 2} id y
return %y
)",
    // More channels than are read at once.
    R"(
%x : uint8[1,2,3,70] scale 1 zero 7 = input
%w : uint8[1,2,2,140] scale 1 zero 0 = constant splat 1
%y : uint8[1,2,3,140] scale 1 zero 0 = depthwise_conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_left 1} depth_multiplier 2} id y
return %y
)",
    R"(
%x : int8[3,40] scale 1 zero 3 = input
%w : int8[2,40] scale 1 zero 0 = constant splat 1
%y : int8[3,2] scale 1 zero 0 = fully_connected(%x, %w) id y
return %y
)",
    // More patches, and more elements, than are multiplied at once.
    R"(
%x : int8[151,70] scale 1 zero 3 = input
%w : int8[2,70] scale 1 zero 0 = constant splat 1
%y : int8[151,2] scale 1 zero 0 = fully_connected(%x, %w) id y
return %y
)"};

TEST(InputMomentsTest, AreThoseOfWhatWeightsAreMultipliedBy) {
  for (const char* text : kLayers) {
    const Graph graph = ParseWithSplats(text);
    ASSERT_EQ(graph.ops.size(), 1u);
    const Op& op = graph.ops[0];
    ASSERT_TRUE(HasMoments(graph, op));
    constexpr int64_t kSamples = 7;
    SampleBatch batch(graph, kSamples, ops::CpuPath::kAuto);
    Rng rng(1);
    const int64_t bytes = graph.tensors[op.inputs[0]].num_elements();
    for (int64_t s = 0; s < kSamples; ++s) {
      std::string sample;
      for (int64_t i = 0; i < bytes; ++i) {
        sample.push_back(static_cast<char>(rng.Next()));
      }
      ASSERT_TRUE(batch.SetInput(op.inputs[0], s, sample).ok());
    }
    int64_t channels = 0;
    const std::vector<ChannelGroup> groups = ChannelGroupsOf(graph, op);
    for (size_t g = 0; g < groups.size(); ++g) {
      const ChannelGroup& group = groups[g];
      EXPECT_EQ(group.first, channels);
      channels += group.channels;
      for (const bool centred : {false, true}) {
        const std::vector<InputMoments> all = MomentsOf(batch, op, centred);
        ASSERT_EQ(all.size(), groups.size());
        const InputMoments& moments = all[g];
        ASSERT_EQ(moments.blocks.size(), 1u);
        const InputMoments::Block& block = moments.blocks[0];
        const Tensor& out = graph.tensors[op.outputs[0]];
        const double patches =
            static_cast<double>(kSamples * out.num_elements()) /
            static_cast<double>(out.shape.back());
        const std::vector<double> want =
            Naive(batch, graph, op, group.first + group.channels - 1, centred,
                  patches / (patches + static_cast<double>(block.size)));
        ASSERT_EQ(block.moments.size(), want.size());
        double trace = 0;
        for (int64_t i = 0; i < block.size; ++i) {
          trace += want[i * block.size + i];
        }
        for (int64_t i = 0; i < block.size; ++i) {
          for (int64_t j = 0; j < block.size; ++j) {
            const double ridge =
                i == j ? 0.01 * trace / static_cast<double>(block.size) : 0;
            EXPECT_NEAR(block.moments[i * block.size + j],
                        want[i * block.size + j] + ridge, 1e-6 * trace)
                << text << i << " " << j;
          }
        }
      }
    }
    EXPECT_EQ(channels, graph.tensors[op.outputs[0]].shape.back());
  }
}

constexpr const char* kWideLayers[] = {
    R"(
%x : $type[1,5,4,3] scale 1 zero 0 = input
%w : int8[4,3,2,3] scale 1 zero 0 = constant splat 1
%y : $type[1,3,3,4] scale 1 zero 0 = conv2d(%x, %w) {window {stride_h 2 stride_w 1 dilation_h 1 dilation_w 2 pad_top 1 pad_bottom 1 pad_left 1}} id y
return %y
)",
    R"(
%x : $type[1,4,4,70] scale 1 zero 0 = input
%w : int8[1,3,3,140] scale 1 zero 0 = constant splat 1
%y : $type[1,4,4,140] scale 1 zero 0 = depthwise_conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} depth_multiplier 2} id y
return %y
)",
    R"(
%x : $type[3,40] scale 1 zero 0 = input
%w : int8[2,40] scale 1 zero 0 = constant splat 1
%y : $type[3,2] scale 1 zero 0 = fully_connected(%x, %w) id y
return %y
)"};

// The upper bytes, rounded, stand for int16.
TEST(InputMomentsTest, OfInt16AreThoseOfItsUpperBytes) {
  constexpr int64_t kSamples = 7;
  for (const char* text : kWideLayers) {
    const Graph bytes =
        ParseWithSplats(absl::StrReplaceAll(text, {{"$type", "int8"}}));
    const Graph wide =
        ParseWithSplats(absl::StrReplaceAll(text, {{"$type", "int16"}}));
    ASSERT_TRUE(HasMoments(wide, wide.ops[0]));
    SampleBatch byte_batch(bytes, kSamples, ops::CpuPath::kAuto);
    SampleBatch wide_batch(wide, kSamples, ops::CpuPath::kAuto);
    Rng rng(1);
    for (int64_t s = 0; s < kSamples; ++s) {
      std::string of_bytes;
      std::string of_wide;
      for (int64_t i = 0; i < bytes.tensors[bytes.inputs[0]].num_elements();
           ++i) {
        const auto upper = static_cast<int8_t>(rng.Next());
        // 127 is what rounds to 128, too.
        const int32_t lower = static_cast<int32_t>(rng.Next() % 256) - 128;
        const auto value =
            static_cast<int16_t>(std::max(256 * upper + lower, -32768));
        of_bytes.push_back(static_cast<char>(upper));
        of_wide.append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
      ASSERT_TRUE(byte_batch.SetInput(bytes.inputs[0], s, of_bytes).ok());
      ASSERT_TRUE(wide_batch.SetInput(wide.inputs[0], s, of_wide).ok());
    }
    for (const bool centred : {false, true}) {
      const auto want = MomentsOf(byte_batch, bytes.ops[0], centred);
      const auto got = MomentsOf(wide_batch, wide.ops[0], centred);
      ASSERT_EQ(got.size(), want.size()) << text;
      for (size_t g = 0; g < want.size(); ++g) {
        ASSERT_EQ(got[g].blocks.size(), 1u);
        EXPECT_EQ(got[g].blocks[0].moments, want[g].blocks[0].moments)
            << text << g;
      }
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
