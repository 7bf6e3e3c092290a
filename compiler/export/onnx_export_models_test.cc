// Published networks, quantized, exported and imported again: the same layers
// with the same integers, and the same results but for the rounding of ties.

#include <algorithm>
#include <cstring>
#include <fstream>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/rng.h"
#include "compiler/dataset/convert.h"
#include "compiler/export/onnx_export.h"
#include "compiler/export/testing/onnx_checker.h"
#include "compiler/export/testing/round_trip.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

// Whether average pools come back as integer ops. If not, values in the middle
// between two steps fall as floats round.
enum class Pools { kInteger, kFloat };

struct ModelCase {
  const char* name;
  const char* model;
  const char* data;  // "": values between offset and offset + scale.
  double scale;
  double offset;
  int64_t samples;
  Pools pools = Pools::kInteger;
  // Lines of IntegerDifferences().
  const char* differences = "";
};

void PrintTo(const ModelCase& row, std::ostream* out) { *out << row.name; }

std::vector<v1::Chunk> RandomChunks(const Graph& graph, const ModelCase& row) {
  v1::Chunk chunk;
  chunk.set_samples(row.samples);
  Rng rng(1);
  for (const TensorId id : graph.inputs) {
    v1::Chunk::Array& array = *chunk.add_arrays();
    *array.mutable_type() = TypeOf(graph.tensors[id]);
    const int64_t count = graph.tensors[id].num_elements() * row.samples;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
      value = static_cast<float>(
          row.offset +
          row.scale * (static_cast<double>(rng.Next() >> 40) * 0x1p-24));
    }
    array.set_data(std::string(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(float)));
  }
  return {chunk};
}

absl::StatusOr<std::vector<v1::Chunk>> Samples(const Graph& graph,
                                               const ModelCase& row) {
  if (*row.data == '\0') return RandomChunks(graph, row);
  v1::ConvertDataOptions options;
  options.set_limit(row.samples);
  options.set_chunk_samples(row.samples);
  v1::InputTransform* transform = options.add_transforms();
  transform->add_scale(row.scale);
  transform->add_offset(row.offset);
  const std::string bytes = tests::ReadWholeFile(tests::SharedPath(row.data));
  auto converted =
      ConvertDataSet(options, {bytes}, InputsOf(GraphToProto(graph)));
  if (!converted.ok()) return converted.status();
  return std::move(converted->chunks);
}

std::vector<std::string> SampleOf(const v1::Chunk& chunk, int64_t index) {
  std::vector<std::string> inputs;
  for (const v1::Chunk::Array& array : chunk.arrays()) {
    const size_t one =
        array.data().size() / static_cast<size_t>(chunk.samples());
    inputs.push_back(array.data().substr(static_cast<size_t>(index) * one, one));
  }
  return inputs;
}

int64_t Largest(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return std::max_element(values.begin(), values.end()) - values.begin();
}

class OnnxExportModelsTest : public testing::TestWithParam<ModelCase> {};

TEST_P(OnnxExportModelsTest, ComesBackWithTheSameIntegers) {
  const ModelCase& row = GetParam();
  EK_REQUIRE_SHARED(row.model);
  if (*row.data != '\0') EK_REQUIRE_SHARED(row.data);
  absl::StatusOr<Graph> graph =
      ImportModel(tests::ReadWholeFile(tests::SharedPath(row.model)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status simplified = Simplify(*graph);
  ASSERT_TRUE(simplified.ok()) << simplified;
  const auto chunks = Samples(*graph, row);
  ASSERT_TRUE(chunks.ok()) << chunks.status();
  const auto statistics = Calibrate(*graph, *chunks, {});
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  const auto quantized = QuantizeGraph(*graph, *statistics);
  ASSERT_TRUE(quantized.ok()) << quantized.status();

  const auto bytes = ExportQdqOnnx(*quantized);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  if (const char* d = getenv("DUMP")) {
    std::ofstream(std::string(d) + "/" + row.name + ".onnx") << *bytes;
  }
  const absl::Status checked = CheckedByOnnx(*bytes);
  EXPECT_TRUE(checked.ok()) << checked;
  const auto again = ExportedAndImported(*quantized);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(absl::StrJoin(IntegerDifferences(*quantized, *again), "\n"),
            row.differences);
  if (*row.differences == '\0') {
    EXPECT_EQ(again->ops.size(), quantized->ops.size());
  }

  const Graph same_rounding = WithRoundingsOf(*quantized, *again);
  for (int64_t i = 0; i < row.samples; ++i) {
    const std::vector<std::string> sample = SampleOf((*chunks)[0], i);
    const auto expected = OutputsOf(*quantized, sample);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto bits = OutputsOf(same_rounding, sample);
    ASSERT_TRUE(bits.ok()) << bits.status();
    if (row.pools == Pools::kInteger) {
      EXPECT_TRUE(*bits == *expected) << "sample " << i;
    }
    const auto even = OutputsOf(*again, sample);
    ASSERT_TRUE(even.ok()) << even.status();
    EXPECT_EQ(Largest(*even), Largest(*expected)) << "sample " << i;
  }
}

const ModelCase kModels[] = {
    {"mnist_cnn", "models/mnist_cnn_fp32.onnx", "data/mnist_2k.npz", 1, 0, 20},
    {"lenet", "models/lenet_fp32.onnx", "data/mnist_2k.npz", 1 / (255 * 0.3081),
     -0.1307 / 0.3081, 20},
    {"mnist_mlp", "models/mnist_mlp_fp32.onnx", "data/mnist_2k.npz",
     1 / (255 * 0.3081), -0.1307 / 0.3081, 20},
    {"dscnn", "models/dscnn_fp32.onnx", "data/kws_500.npz", 1, 0, 20},
    {"resnet8", "models/resnet8_fp32.onnx", "data/cifar10_ic_100.npz", 1, 0,
     20, Pools::kFloat,
     "average_pooling2d.avgpool: no such layer any more\n"
     "average_pooling2d.avgpool.quantize: new quantize"},
    {"resnet8_tflite", "models/resnet8_fp32.tflite", "data/cifar10_ic_100.npz",
     1, 0, 20, Pools::kFloat,
     "average_pooling2d.avgpool: no such layer any more\n"
     "average_pooling2d.avgpool.quantize: new quantize"},
    {"mobilenet", "models/mobilenet_v1_0.25_224_fp32.tflite",
     "data/photos_4.npz", 1 / 127.5, -1, 4},
    {"microkws", "models/microkws_fp32.onnx", "", 25.9, 0, 4,
     Pools::kFloat,
     "average_pooling2d.avgpool: no such layer any more\n"
     "average_pooling2d_1.avgpool: no such layer any more\n"
     "average_pooling2d.avgpool.quantize: new quantize\n"
     "average_pooling2d_1.avgpool.quantize: new quantize"},
    {"ultraface", "models/ultraface_slim_fp32.onnx", "", 2, -1, 1},
    {"yunet", "models/yunet_s_fp32.onnx", "", 255, 0, 1},
    {"cct", "models/cct_1_32_32_32_fp32.onnx", "", 1, 0, 2,
     Pools::kInteger,
     // A transpose of integers that floats read as well, and one of a pool.
     "node_19_classifier_add.transpose: no such layer any more\n"
     "node_9_tokenizer_conv_layers_conv_layers_0_conv_: no such layer any "
     "more\n"
     "dequantize-3.transpose: new transpose\n"
     "node_19_classifier_add.transpose.int8: new transpose"},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxExportModelsTest, testing::ValuesIn(kModels),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
