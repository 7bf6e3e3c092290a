#include "compiler/export/testing/quantized_models.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"

namespace edgekiln::compiler {
namespace {

v1::Chunk RandomChunk(const Graph& graph, const ModelCase& row) {
  v1::Chunk chunk;
  chunk.set_samples(row.samples);
  Rng rng(1);
  for (const TensorId id : graph.inputs) {
    v1::Chunk::Array& array = *chunk.add_arrays();
    *array.mutable_type() = TypeOf(graph.tensors[id]);
    const int64_t count = graph.tensors[id].num_elements() * row.samples;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
      const double share = static_cast<double>(rng.Next() >> 40) * 0x1p-24;
      value = static_cast<float>(row.offset + row.scale * share);
    }
    array.set_data(std::string(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(float)));
  }
  return chunk;
}

absl::StatusOr<v1::Chunk> ChunkOf(const Graph& graph, const ModelCase& row,
                                  const std::string& data) {
  if (*row.data == '\0') return RandomChunk(graph, row);
  v1::ConvertDataOptions options;
  options.set_limit(row.samples);
  options.set_chunk_samples(row.samples);
  v1::InputTransform* transform = options.add_transforms();
  transform->add_scale(row.scale);
  transform->add_offset(row.offset);
  EK_ASSIGN_OR_RETURN(
      ConvertedData converted,
      ConvertDataSet(options, {data}, InputsOf(GraphToProto(graph))));
  return std::move(converted.chunks.at(0));
}

}  // namespace

const std::vector<ModelCase>& ModelCases() {
  static const auto& cases = *new std::vector<ModelCase>{
      {"mnist_cnn", "models/mnist_cnn_fp32.onnx", "data/mnist_2k.npz", 1, 0,
       20},
      {"lenet", "models/lenet_fp32.onnx", "data/mnist_2k.npz",
       1 / (255 * 0.3081), -0.1307 / 0.3081, 20},
      {"mnist_mlp", "models/mnist_mlp_fp32.onnx", "data/mnist_2k.npz",
       1 / (255 * 0.3081), -0.1307 / 0.3081, 20},
      {"dscnn", "models/dscnn_fp32.onnx", "data/kws_500.npz", 1, 0, 20},
      {"resnet8", "models/resnet8_fp32.onnx", "data/cifar10_ic_100.npz", 1, 0,
       20},
      {"resnet8_tflite", "models/resnet8_fp32.tflite",
       "data/cifar10_ic_100.npz", 1, 0, 20},
      {"mobilenet", "models/mobilenet_v1_0.25_224_fp32.tflite",
       "data/photos_4.npz", 1 / 127.5, -1, 4},
      {"microkws", "models/microkws_fp32.onnx", "", 25.9, 0, 4},
      {"ultraface", "models/ultraface_slim_fp32.onnx", "", 2, -1, 1},
      {"yunet", "models/yunet_s_fp32.onnx", "", 255, 0, 1},
      {"cct", "models/cct_1_32_32_32_fp32.onnx", "", 1, 0, 2},
  };
  return cases;
}

absl::StatusOr<QuantizedModel> QuantizedModelOf(
    const ModelCase& row, const std::string& model, const std::string& data,
    const v1::QuantizationNeeds& needs) {
  EK_ASSIGN_OR_RETURN(Graph graph, ImportModel(model));
  EK_RETURN_IF_ERROR(Simplify(graph));
  EK_ASSIGN_OR_RETURN(const v1::Chunk chunk, ChunkOf(graph, row, data));
  EK_ASSIGN_OR_RETURN(const v1::CalibrationStatistics statistics,
                      Calibrate(graph, {&chunk, 1}, {}));
  QuantizedModel quantized;
  EK_ASSIGN_OR_RETURN(quantized.graph, QuantizeGraph(graph, statistics, needs));
  for (int64_t i = 0; i < row.samples; ++i) {
    std::vector<std::string>& sample = quantized.samples.emplace_back();
    for (const v1::Chunk::Array& array : chunk.arrays()) {
      const size_t one = array.data().size() / static_cast<size_t>(row.samples);
      sample.push_back(array.data().substr(static_cast<size_t>(i) * one, one));
    }
  }
  return quantized;
}

int64_t LargestOf(const std::string& floats) {
  std::vector<float> values(floats.size() / sizeof(float));
  std::memcpy(values.data(), floats.data(), values.size() * sizeof(float));
  return std::max_element(values.begin(), values.end()) - values.begin();
}

}  // namespace edgekiln::compiler
