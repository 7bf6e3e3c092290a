#include "compiler/quantize/refine.h"

#include <set>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/input_moments.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/layer_fit.h"
#include "compiler/quantize/noise.h"
#include "compiler/quantize/sample_batch.h"

namespace edgekiln::compiler {
namespace {

class Refinement {
 public:
  Refinement(const Graph& float_graph, const CalibrationSamples& samples,
             const RefineOptions& options, Graph& quantized,
             v1::QuantizationReport& report)
      : float_graph_(float_graph),
        samples_(samples),
        options_(options),
        quantized_(quantized),
        report_(report),
        real_(float_graph, samples.size(), options.cpu_path) {}

  absl::Status Run(const std::function<void(int64_t done)>& progress) {
    // Biases come as tensors of their own: no op of the batch below reads more
    // than it did.
    AddMissingBiases(options_, quantized_);
    SampleBatch integers(quantized_, samples_.size(), options_.cpu_path);
    integers_ = &integers;
    LayerFit fit(float_graph_, options_, quantized_, integers, &real_,
                 /*memo=*/nullptr);
    EK_RETURN_IF_ERROR(real_.SetInputs(samples_));
    EK_RETURN_IF_ERROR(integers.SetInputs(samples_));
    std::set<std::string> ids;
    for (const Op& op : quantized_.ops) ids.insert(op.id);
    int32_t next = 0;
    for (int32_t i = 0; i < std::ssize(quantized_.ops); ++i) {
      // Casts of other floats have become part of a conversion.
      while (next < std::ssize(float_graph_.ops) &&
             !ids.contains(float_graph_.ops[next].id)) {
        EK_RETURN_IF_ERROR(real_.Run(next));
        real_.Release(next);
        progress(++next);
      }
      const bool is_layer = next < std::ssize(float_graph_.ops) &&
                            float_graph_.ops[next].id == quantized_.ops[i].id;
      if (!is_layer) {
        EK_RETURN_IF_ERROR(integers.Run(i));
        integers.Release(i);
        continue;
      }
      EK_RETURN_IF_ERROR(RunLayer(fit, next, i));
      progress(++next);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunLayer(LayerFit& fit, int32_t real_index, int32_t index) {
    const Op& real_op = float_graph_.ops[real_index];
    Op& op = quantized_.ops[index];
    v1::QuantizedLayer& layer = *report_.mutable_layers(real_index);
    if (IsFitted(quantized_, op)) {
      EK_RETURN_IF_ERROR(fit.Fit(real_index, op));
      layer.set_scale_growth(fit.scale_growth());
    }
    EK_RETURN_IF_ERROR(real_.Run(real_index));
    EK_RETURN_IF_ERROR(integers_->Run(index));
    const TensorId result = op.outputs.empty() ? kNoTensor : op.outputs[0];
    if (result != kNoTensor) Measure(real_op.outputs[0], result, layer);
    real_.Release(real_index);
    integers_->Release(index);
    return absl::OkStatus();
  }

  void Measure(TensorId real, TensorId result, v1::QuantizedLayer& layer) {
    const Tensor& of = float_graph_.tensors[real];
    if (of.type != v1::FLOAT32 || of.is_constant()) return;
    Noise noise;
    for (int64_t sample = 0; sample < samples_.size(); ++sample) {
      noise.Add(of.num_elements(),
                reinterpret_cast<const float*>(real_.value(real, sample)),
                quantized_.tensors[result], integers_->value(result, sample),
                options_.cpu_path);
    }
    if (const auto ratio = noise.decibels()) layer.set_output_sqnr_db(*ratio);
  }

  const Graph& float_graph_;
  const CalibrationSamples& samples_;
  const RefineOptions& options_;
  Graph& quantized_;
  v1::QuantizationReport& report_;
  SampleBatch real_;
  SampleBatch* integers_ = nullptr;
};

bool HasIntegerWeights(const Graph& graph, const Op& op) {
  return WeightAxis(op) >= 0 && graph.tensors[op.inputs[1]].type == v1::INT8 &&
         graph.tensors[op.inputs[1]].is_constant();
}

}  // namespace

RefineOptions RefineOptionsOf(const v1::QuantizeOptions& options,
                              std::vector<v1::LayerScheme> schemes,
                              ops::CpuPath cpu_path) {
  return {.schemes = std::move(schemes),
          .needs = options.needs(),
          .bias_correction = options.config().bias_correction() != v1::OFF,
          .power_of_two = options.needs().power_of_two_scales(),
          .rounds_down = options.needs().rounding() == v1::FLOOR,
          .cpu_path = cpu_path};
}

bool IsFitted(const Graph& quantized, const Op& op) {
  return HasIntegerWeights(quantized, op) && HasMoments(quantized, op);
}

void AddMissingBiases(const RefineOptions& options, Graph& quantized) {
  if (!options.bias_correction && !options.rounds_down) return;
  FreshNames names(quantized);
  for (Op& op : quantized.ops) {
    if (!HasIntegerWeights(quantized, op) || op.attributes.has_converter()) {
      continue;
    }
    if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) continue;
    const Tensor& weights = quantized.tensors[op.inputs[1]];
    const int64_t channels = weights.shape[WeightAxis(op)];
    Tensor bias;
    bias.name = names.TensorName(weights.name + ".bias");
    bias.type = v1::INT32;
    bias.shape = {channels};
    const size_t scales = weights.quantization->scale.size();
    bias.quantization = {.scale = std::vector<float>(scales, 1),
                         .zero_point = std::vector<int32_t>(scales, 0),
                         .axis = 0};
    bias.data = ConstantData(
        std::string(static_cast<size_t>(channels) * sizeof(int32_t), '\0'));
    op.inputs.resize(3);
    op.inputs[2] = static_cast<TensorId>(quantized.tensors.size());
    quantized.tensors.push_back(std::move(bias));
  }
}

absl::Status Refine(const Graph& float_graph, const CalibrationSamples& samples,
                    const RefineOptions& options, Graph& quantized,
                    v1::QuantizationReport& report,
                    const std::function<void(int64_t done)>& progress) {
  return Refinement(float_graph, samples, options, quantized, report)
      .Run(progress);
}

}  // namespace edgekiln::compiler
