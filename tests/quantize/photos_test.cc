// A network of 28 layers on real pictures without labels: how often its
// integers agree with its floats.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/dataset/convert.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"
#include "tests/quantize/augmented_photos.h"
#include "tests/support/npz_writer.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using Scores = std::vector<std::vector<float>>;

constexpr char kModel[] = "models/mobilenet_v1_0.25_224_fp32.tflite";
constexpr char kPhotos[] = "data/photos_4.npz";

// Before the softmax.
Scores LogitsOf(compiler::Graph graph, const std::vector<v1::Chunk>& chunks) {
  for (const compiler::Op& op : graph.ops) {
    if (op.attributes.has_softmax()) graph.outputs = {op.inputs[0]};
  }
  const compiler::Tensor logits = graph.tensors[graph.outputs[0]];
  const auto interpreter = compiler::Interpreter::Create(
      graph, {.keep = compiler::InterpreterOptions::Keep::kAllTensors});
  Scores scores;
  if (!interpreter.ok()) {
    ADD_FAILURE() << interpreter.status();
    return scores;
  }
  for (const v1::Chunk& chunk : chunks) {
    const absl::string_view bytes = chunk.arrays(0).data();
    const size_t one = bytes.size() / static_cast<size_t>(chunk.samples());
    for (int64_t i = 0; i < chunk.samples(); ++i) {
      EXPECT_TRUE((*interpreter)->Run({bytes.substr(i * one, one)}).ok());
      const absl::string_view out = (*interpreter)->value(graph.outputs[0]);
      std::vector<float>& row = scores.emplace_back();
      for (int64_t c = 0; c < logits.num_elements(); ++c) {
        if (logits.type == v1::FLOAT32) {
          float value = 0;
          std::memcpy(&value, out.data() + c * sizeof(float), sizeof(float));
          row.push_back(value);
        } else {
          row.push_back(logits.quantization->scale[0] *
                        static_cast<float>(static_cast<int8_t>(out[c]) -
                                           logits.quantization->zero_point[0]));
        }
      }
    }
  }
  return scores;
}

TEST(PhotosTest, MobileNetAgreesWithItsFloats) {
  EK_REQUIRE_SHARED(kModel);
  EK_REQUIRE_SHARED(kPhotos);
  auto graph = compiler::ImportModel(ReadWholeFile(SharedPath(kModel)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(compiler::Simplify(*graph).ok());
  const auto photos = ReadNpz(SharedPath(kPhotos));
  ASSERT_TRUE(photos.ok()) << photos.status();
  v1::ConvertDataOptions convert;
  convert.set_chunk_samples(64);
  v1::InputTransform* transform = convert.add_transforms();
  transform->add_scale(1 / 127.5);
  transform->add_offset(-1);
  const std::string npz =
      NpzBytes({{"x", AugmentedPhotos(photos->at("x"), 48, 1)}});
  const auto data = compiler::ConvertDataSet(
      convert, {npz}, compiler::InputsOf(compiler::GraphToProto(*graph)));
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->samples, 192);
  const auto statistics = compiler::Calibrate(*graph, data->chunks);
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  const auto network = compiler::Quantize(
      *graph, {}, {.statistics = *statistics, .samples = data->chunks});
  ASSERT_TRUE(network.ok()) << network.status();
  const Scores real = LogitsOf(*graph, data->chunks);
  const Scores ours = LogitsOf(network->graph, data->chunks);
  int agree = 0;
  double signal = 0;
  double noise = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    agree +=
        std::max_element(real[i].begin(), real[i].end()) - real[i].begin() ==
                std::max_element(ours[i].begin(), ours[i].end()) -
                    ours[i].begin()
            ? 1
            : 0;
    for (size_t c = 0; c < real[i].size(); ++c) {
      const double difference = double{real[i][c]} - ours[i][c];
      signal += double{real[i][c]} * real[i][c];
      noise += difference * difference;
    }
  }
  RecordProperty("agree", agree);
  const double decibels = 10 * std::log10(signal / noise);
  RecordProperty("decibels", std::to_string(decibels));
  EXPECT_GE(agree, 169);  // 88 % of 192.
  EXPECT_GE(decibels, 16);
}

}  // namespace
}  // namespace edgekiln::tests
