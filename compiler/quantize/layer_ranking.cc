#include "compiler/quantize/layer_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "compiler/ir/buffer_layout.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/clamps.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/noise.h"
#include "compiler/quantize/sample_batch.h"
#include "ops/converter.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kMostSamples = 32;
// Runs of the whole network, together: about as many as fitting the layers
// takes.
constexpr int64_t kRuns = 1600;
constexpr int64_t kSampleBytes = int64_t{64} << 20;

// What the integers of `tensor`, a constant, stand for.
template <typename Integer>
ConstantData RealValues(const Tensor& tensor) {
  const Quantization& quantization = *tensor.quantization;
  const std::vector<float>& scales = quantization.scale;
  int64_t inner = 1;
  for (size_t i = quantization.axis + 1; i < tensor.shape.size(); ++i) {
    inner *= tensor.shape[i];
  }
  const auto count = static_cast<size_t>(tensor.num_elements());
  std::string bytes(count * sizeof(float), '\0');
  for (size_t i = 0; i < count; ++i) {
    Integer integer;
    std::memcpy(&integer, tensor.data->data() + i * sizeof(Integer),
                sizeof(Integer));
    const size_t channel = i / static_cast<size_t>(inner) % scales.size();
    // In double: a bias has more bits than a float.
    const auto real = static_cast<float>(
        double{scales[channel]} *
        (static_cast<double>(integer) -
         static_cast<double>(quantization.zero_point[channel])));
    std::memcpy(bytes.data() + i * sizeof(float), &real, sizeof(real));
  }
  return ConstantData(std::move(bytes));
}

// The values that `bytes`, of floats, have once they are integers of `type`.
// `rounding`: what the op that makes them adds before it rounds down.
void RoundToSteps(const Tensor& type, float rounding, char* bytes,
                  int64_t size) {
  const float scale = type.quantization->scale[0];
  const auto zero = static_cast<float>(type.quantization->zero_point[0]);
  const float low = type.type == v1::UINT8   ? 0.0f
                    : type.type == v1::INT16 ? -32768.0f
                                             : -128.0f;
  const float high = type.type == v1::UINT8   ? 255.0f
                     : type.type == v1::INT16 ? 32767.0f
                                              : 127.0f;
  constexpr float kBeyondAll = 1e6f;
  auto* values = reinterpret_cast<float*>(bytes);
  for (int64_t i = 0; i < size / static_cast<int64_t>(sizeof(float)); ++i) {
    const float steps = std::clamp(values[i] / scale, -kBeyondAll, kBeyondAll);
    const float rounded = std::floor(steps + rounding) + zero;
    values[i] = scale * (std::clamp(rounded, low, high) - zero);
  }
}

class Ranking {
 public:
  Ranking(const Graph& float_graph, const Graph& quantized, TensorId output)
      : graph_(float_graph), quantized_(quantized), output_(output) {
    for (const Op& op : quantized.ops) integer_ops_[op.id] = &op;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      counterparts_.push_back(Counterpart(graph_.ops[i]));
      if (counterparts_.back() != nullptr) ++layers_;
      const auto& made = graph_.ops[i].outputs;
      if (std::find(made.begin(), made.end(), output_) != made.end()) {
        last_ = static_cast<int32_t>(i);
      }
    }
  }

  int64_t layers() const { return layers_; }
  int64_t SamplesToTake() const {
    const int64_t bytes = 2 * LayOutBuffers(graph_, /*keep_all=*/false).bytes;
    // Half of the network follows a layer, on average.
    return std::min({kMostSamples, 2 * kRuns / std::max<int64_t>(layers_, 1),
                     kSampleBytes / std::max<int64_t>(bytes, 1)});
  }

  absl::Status Run(const CalibrationSamples& samples, ops::CpuPath cpu_path,
                   const std::function<void(int64_t done)>& progress,
                   v1::QuantizationReport& report) {
    SampleBatch batch(graph_, samples.size(), cpu_path, {output_});
    EK_RETURN_IF_ERROR(batch.SetInputs(samples));
    SampleBatch whole = batch;
    for (int32_t i = 0; i <= last_; ++i) {
      EK_RETURN_IF_ERROR(whole.Run(i));
      whole.Release(i);
    }
    for (int32_t i = 0; i <= last_; ++i) {
      if (counterparts_[i] != nullptr) {
        SampleBatch alone = batch;
        EK_RETURN_IF_ERROR(RunQuantized(i, alone));
        const std::optional<double> ratio = Ratio(whole, alone);
        if (ratio) report.mutable_layers(i)->set_network_sqnr_db(*ratio);
      }
      EK_RETURN_IF_ERROR(batch.Run(i));
      batch.Release(i);
      progress(i + 1);
    }
    return absl::OkStatus();
  }

 private:
  // The integer op that `op` became, if it makes values of its own; else null.
  const Op* Counterpart(const Op& op) const {
    const auto found = integer_ops_.find(op.id);
    if (found == integer_ops_.end() || op.outputs.size() != 1 ||
        graph_.tensors[op.outputs[0]].type != v1::FLOAT32) {
      return nullptr;
    }
    const Op& integer = *found->second;
    const Tensor& result = quantized_.tensors[integer.outputs[0]];
    if (!result.quantization) return nullptr;
    if (WeightAxis(op) >= 0) return &integer;
    const bool passes_on = std::any_of(
        integer.inputs.begin(), integer.inputs.end(), [&](TensorId input) {
          return input != kNoTensor &&
                 quantized_.tensors[input].quantization == result.quantization;
        });
    return passes_on ? nullptr : &integer;
  }

  // From graph_.ops[index], quantized, to the output; `alone` has run up to
  // there.
  absl::Status RunQuantized(int32_t index, SampleBatch& alone) {
    const Op& integer = *counterparts_[index];
    const bool converts = integer.attributes.has_converter();
    {
      const Op kept = graph_.ops[index];
      const size_t tensors = graph_.tensors.size();
      if (WeightAxis(kept) >= 0) UseIntegersOf(integer, graph_.ops[index]);
      if (converts) LeaveSums(graph_.ops[index]);
      const absl::Status ran = alone.Run(index);
      graph_.ops[index] = kept;
      graph_.tensors.resize(tensors);
      EK_RETURN_IF_ERROR(ran);
    }
    const Tensor& type = quantized_.tensors[integer.outputs[0]];
    alone.Change(graph_.ops[index].outputs[0], [&](char* bytes, int64_t size) {
      if (converts) return Convert(integer, bytes, size);
      // Biases hold half a step for engines that round down.
      const bool down = integer.attributes.rounding() == v1::FLOOR;
      RoundToSteps(type, down ? 0 : 0.5f, bytes, size);
    });
    alone.Release(index);
    for (int32_t i = index + 1; i <= last_; ++i) {
      EK_RETURN_IF_ERROR(alone.Run(i));
      alone.Release(i);
    }
    return absl::OkStatus();
  }

  // What a converter is given: no bias, no clamp.
  static void LeaveSums(Op& op) {
    op.inputs.resize(2);
    MutableClamp(op.attributes)->Clear();
  }

  // From real sums of `integer` to the real values that its converter makes.
  void Convert(const Op& integer, char* bytes, int64_t size) const {
    const Tensor& type = quantized_.tensors[integer.outputs[0]];
    const std::vector<float>& scales =
        quantized_.tensors[integer.inputs[1]].quantization->scale;
    const double input =
        quantized_.tensors[integer.inputs[0]].quantization->scale[0];
    const ops::QuantizedRange range =
        ops::ClampRange(*ClampOf(integer.attributes), v1::FLOOR,
                        QuantizationOf(type), type.type);
    const int64_t channels = type.shape.back();
    constexpr double kBeyondAll = 1e9;
    auto* values = reinterpret_cast<float*>(bytes);
    for (int64_t i = 0; i < size / static_cast<int64_t>(sizeof(float)); ++i) {
      const int64_t c = i % channels;
      const double step = input * scales[scales.size() == 1 ? 0 : c];
      const double sum = std::clamp(std::floor(values[i] / step + 0.5),
                                    -kBeyondAll, kBeyondAll);
      values[i] =
          type.quantization->scale[0] *
          static_cast<float>(ops::Convert(integer.attributes.converter(), c,
                                          static_cast<int32_t>(sum), range));
    }
  }

  // New constants for `op`: others may read the same weights. The bias, too: it
  // takes up what rounding the weights moved the mean by.
  void UseIntegersOf(const Op& integer, Op& op) {
    const auto add = [&](TensorId from, ConstantData data) {
      Tensor tensor;
      tensor.name = quantized_.tensors[from].name;
      tensor.shape = quantized_.tensors[from].shape;
      tensor.type = v1::FLOAT32;
      tensor.data = std::move(data);
      graph_.tensors.push_back(std::move(tensor));
      return static_cast<TensorId>(graph_.tensors.size()) - 1;
    };
    const TensorId weights = integer.inputs[1];
    op.inputs[1] =
        add(weights, RealValues<int8_t>(quantized_.tensors[weights]));
    if (integer.inputs.size() < 3 || integer.inputs[2] == kNoTensor) return;
    const TensorId bias = integer.inputs[2];
    op.inputs.resize(std::max<size_t>(op.inputs.size(), 3), kNoTensor);
    op.inputs[2] = add(bias, RealValues<int32_t>(quantized_.tensors[bias]));
  }

  std::optional<double> Ratio(const SampleBatch& real,
                              const SampleBatch& changed) const {
    const Tensor& type = graph_.tensors[output_];
    Noise noise;
    for (int64_t sample = 0; sample < real.samples(); ++sample) {
      noise.Add(type.num_elements(),
                reinterpret_cast<const float*>(real.value(output_, sample)),
                type, changed.value(output_, sample));
    }
    return noise.decibels();
  }

  Graph graph_;  // The float one; constants change for a moment.
  const Graph& quantized_;
  const TensorId output_;
  std::map<std::string, const Op*> integer_ops_;  // By id.
  std::vector<const Op*> counterparts_;           // By op; null: not ranked.
  int64_t layers_ = 0;                            // That are ranked.
  int32_t last_ = -1;                             // Makes output_.
};

// The network's first output, before it is cast to float16; none if it is of
// another type.
TensorId FloatOutput(const Graph& graph) {
  if (graph.outputs.empty()) return kNoTensor;
  TensorId output = graph.outputs[0];
  const std::vector<int32_t> producers = Producers(graph);
  if (const int32_t by = producers[output];
      by >= 0 && graph.ops[by].attributes.has_cast()) {
    output = graph.ops[by].inputs[0];
  }
  return graph.tensors[output].type == v1::FLOAT32 ? output : kNoTensor;
}

}  // namespace

void SetOutputRatio(const Graph& float_graph, v1::QuantizationReport& report) {
  const TensorId output = FloatOutput(float_graph);
  if (output == kNoTensor) return;
  const int32_t by = Producers(float_graph)[output];
  if (by < 0 || !report.layers(by).has_output_sqnr_db()) return;
  report.set_output_sqnr_db(report.layers(by).output_sqnr_db());
}

absl::Status RankLayers(const Graph& float_graph, const Graph& quantized,
                        CalibrationSamples samples, ops::CpuPath cpu_path,
                        const std::function<void(int64_t done)>& progress,
                        v1::QuantizationReport& report) {
  const TensorId output = FloatOutput(float_graph);
  if (output == kNoTensor) return absl::OkStatus();
  Ranking ranking(float_graph, quantized, output);
  const int64_t fitting = ranking.SamplesToTake();
  if (fitting < 1) {
    report.add_notes(absl::StrCat(
        "the network is too large to run it once for each of its ",
        ranking.layers(), " layers: what each alone costs is not known"));
    return absl::OkStatus();
  }
  samples.Limit(fitting);
  return ranking.Run(samples, cpu_path, progress, report);
}

}  // namespace edgekiln::compiler
