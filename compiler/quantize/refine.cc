#include "compiler/quantize/refine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "compiler/passes/clamps.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/bias_correction.h"
#include "compiler/quantize/converter_fit.h"
#include "compiler/quantize/input_moments.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/layer_weights.h"
#include "compiler/quantize/noise.h"
#include "compiler/quantize/sample_batch.h"

namespace edgekiln::compiler {
namespace {

// Layers of which more would have to be kept are rounded to nearest.
constexpr int64_t kMostMoments = int64_t{256} << 20;

// Its sums: without limits, and not rounded.
Op WithoutClamp(Op op) {
  v1::OpAttributes& attributes = op.attributes;
  attributes.clear_rounding();
  attributes.clear_converter();
  if (v1::Clamp* clamp = MutableClamp(attributes)) clamp->Clear();
  return op;
}

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
        real_(float_graph, samples.size(), options.cpu_path),
        names_(quantized) {}

  absl::Status Run(const std::function<void(int64_t done)>& progress) {
    // Biases come as tensors of their own: no op of the batch below reads more
    // than it did.
    AddMissingBiases();
    SampleBatch integers(quantized_, samples_.size(), options_.cpu_path);
    integers_ = &integers;
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
      EK_RETURN_IF_ERROR(RunLayer(next, i));
      progress(++next);
    }
    return absl::OkStatus();
  }

 private:
  bool HasIntegerWeights(const Op& op) const {
    return WeightAxis(op) >= 0 &&
           quantized_.tensors[op.inputs[1]].type == v1::INT8 &&
           quantized_.tensors[op.inputs[1]].is_constant();
  }

  void AddMissingBiases() {
    if (!options_.bias_correction && !options_.rounds_down) return;
    for (Op& op : quantized_.ops) {
      if (!HasIntegerWeights(op) || op.attributes.has_converter()) continue;
      if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) continue;
      const Tensor& weights = quantized_.tensors[op.inputs[1]];
      const int64_t channels = weights.shape[WeightAxis(op)];
      Tensor bias;
      bias.name = names_.TensorName(weights.name + ".bias");
      bias.type = v1::INT32;
      bias.shape = {channels};
      const size_t scales = weights.quantization->scale.size();
      bias.quantization = {.scale = std::vector<float>(scales, 1),
                           .zero_point = std::vector<int32_t>(scales, 0),
                           .axis = 0};
      bias.data = ConstantData(
          std::string(static_cast<size_t>(channels) * sizeof(int32_t), '\0'));
      op.inputs.resize(3);
      op.inputs[2] = static_cast<TensorId>(quantized_.tensors.size());
      quantized_.tensors.push_back(std::move(bias));
    }
  }

  absl::Status RunLayer(int32_t real_index, int32_t index) {
    const Op& real_op = float_graph_.ops[real_index];
    Op& op = quantized_.ops[index];
    v1::QuantizedLayer& layer = *report_.mutable_layers(real_index);
    if (HasIntegerWeights(op) && HasMoments(quantized_, op)) {
      EK_RETURN_IF_ERROR(FitLayer(real_index, op));
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
                quantized_.tensors[result], integers_->value(result, sample));
    }
    if (const auto ratio = noise.decibels()) layer.set_output_sqnr_db(*ratio);
  }

  // Sets weights and bias, or converter, of `op`.
  absl::Status FitLayer(int32_t real_index, Op& op) {
    const Op& real_op = float_graph_.ops[real_index];
    const v1::LayerScheme& scheme = options_.schemes[real_index];
    Tensor& weights = quantized_.tensors[op.inputs[1]];
    const std::vector<float> values =
        *FloatConstantValues(float_graph_.tensors[real_op.inputs[1]]);
    const bool real_bias =
        real_op.inputs.size() > 2 && real_op.inputs[2] != kNoTensor;
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
    const bool converts = op.attributes.has_converter();
    const int axis = WeightAxis(op);
    std::vector<float> bias;
    if (real_bias) {
      bias = *FloatConstantValues(float_graph_.tensors[real_op.inputs[2]]);
    } else if (has_bias || converts) {
      bias.assign(static_cast<size_t>(weights.shape[axis]), 0);
    }
    RealWeights real = {
        .weights = values,
        .channels = weights.shape[axis],
        .bias = converts ? absl::Span<const float>() : bias,
        .axis = axis,
        .input_scale = quantized_.tensors[op.inputs[0]].quantization->scale[0],
        .activations = quantized_.tensors[op.inputs[0]].type,
        .may_be_wide =
            MayBeWide(quantized_.tensors[op.inputs[0]].type, options_.needs)};
    for (size_t i = axis + 1; i < weights.shape.size(); ++i) {
      real.inner *= weights.shape[i];
    }
    if (!converts) {
      SetResultScale(*quantized_.tensors[op.outputs[0]].quantization,
                     {.power_of_two = options_.power_of_two},
                     options_.rounds_down, real);
    }
    const WeightFitOptions fit = {
        .form = scheme.weights(),
        .range = scheme.weight_range(),
        .adaptive = scheme.rounding() == v1::ADAPTIVE,
        .channels_per_scale = scheme.channels_per_scale(),
        .power_of_two = options_.power_of_two};
    const std::vector<ChannelGroup> groups = ChannelGroupsOf(quantized_, op);
    const bool takes_mean = converts || (has_bias && options_.bias_correction);
    const bool wanted = fit.adaptive || fit.range == v1::LEAST_OUTPUT_ERROR;
    const bool has_moments =
        wanted && MomentBytes(quantized_, op) <= kMostMoments;
    const auto weights_for = [&](bool centred) {
      std::vector<InputMoments> moments;
      std::vector<const InputMoments*> by_channel;
      if (has_moments) {
        moments.reserve(groups.size());
        for (const ChannelGroup& group : groups) {
          moments.push_back(MomentsOf(*integers_, op, group, centred));
          by_channel.insert(by_channel.end(), group.channels, &moments.back());
        }
      }
      return QuantizeWeights(real, scheme.per_tensor() == v1::ON, fit,
                             by_channel);
    };
    LayerWeights fitted = weights_for(takes_mean);
    // Of wide sums nothing corrects a bias: weights make up for the mean. That
    // may make sums fit int32 just so.
    if (fitted.bias_type == v1::INT64 && takes_mean && has_moments) {
      fitted = weights_for(false);
    }
    const bool is_wide = fitted.bias_type == v1::INT64;
    weights.quantization = std::move(fitted.weights);
    weights.data = ConstantData(std::move(fitted.weight_data));
    if (converts) return FitConverter(real_op, bias, scheme.weights(), op);
    if (!has_bias) return absl::OkStatus();
    Tensor& integer_bias = quantized_.tensors[op.inputs[2]];
    integer_bias.type = fitted.bias_type;
    integer_bias.quantization = std::move(fitted.bias);
    integer_bias.data = ConstantData(std::move(fitted.bias_data));
    return options_.bias_correction && !is_wide
               ? CorrectBias(real_op, op, real.half_step)
               : absl::OkStatus();
  }

  // The type of the layer's sums; none if its scales are too small for a float:
  // nothing is lost with such sums.
  std::optional<Tensor> SumsOf(const Op& op) const {
    Tensor sums = quantized_.tensors[op.outputs[0]];
    sums.type = v1::INT32;
    const double input_scale =
        quantized_.tensors[op.inputs[0]].quantization->scale[0];
    sums.quantization = Quantization();
    for (const float scale :
         quantized_.tensors[op.inputs[1]].quantization->scale) {
      sums.quantization->scale.push_back(
          static_cast<float>(input_scale * scale));
      sums.quantization->zero_point.push_back(0);
      if (!(sums.quantization->scale.back() > 0)) return std::nullopt;
    }
    sums.quantization->axis = static_cast<int32_t>(sums.shape.size()) - 1;
    return sums;
  }

  absl::Status FitConverter(const Op& real_op, absl::Span<const float> bias,
                            v1::LayerScheme::Weights weights, Op& op) {
    const v1::Numerics::Converter* engine =
        ConverterOf(options_.needs, real_op, weights);
    const Tensor& result = quantized_.tensors[op.outputs[0]];
    const Tensor& real_result = float_graph_.tensors[real_op.outputs[0]];
    const int64_t rows = real_result.num_elements() / std::ssize(bias);
    ConverterFit fit(
        ConvertedLayerOf(
            *engine, real_op,
            quantized_.tensors[op.inputs[0]].quantization->scale[0],
            *quantized_.tensors[op.inputs[1]].quantization,
            *result.quantization, bias),
        rows * samples_.size());
    EK_RETURN_IF_ERROR(
        real_.RunApart(WithoutClamp(real_op), real_result, /*step=*/1,
                       [&](int64_t sample, const char* bytes) {
                         fit.AddReal(sample * rows, rows,
                                     reinterpret_cast<const float*>(bytes));
                       }));
    const std::optional<Tensor> sums = SumsOf(op);
    if (!sums) return absl::OkStatus();
    EK_RETURN_IF_ERROR(integers_->RunApart(
        WithoutClamp(op), *sums, /*step=*/1,
        [&](int64_t sample, const char* bytes) {
          fit.AddSums(sample * rows, rows,
                      reinterpret_cast<const int32_t*>(bytes));
        }));
    *op.attributes.mutable_converter() = fit.Best();
    return absl::OkStatus();
  }

  // How far below the largest score a softmax still sees it: probabilities of
  // e^-10 are none in 8 bits.
  double ScoresThatCount(const Op& real_op) const {
    constexpr double kExponents = 10;
    for (const Op& op : float_graph_.ops) {
      if (!op.attributes.has_softmax() || op.inputs[0] != real_op.outputs[0]) {
        continue;
      }
      const v1::Softmax& softmax = op.attributes.softmax();
      const auto rank =
          static_cast<int32_t>(float_graph_.tensors[op.inputs[0]].shape.size());
      if (softmax.axis() == rank - 1 && softmax.beta() > 0) {
        return kExponents / softmax.beta();
      }
    }
    return std::numeric_limits<double>::infinity();
  }

  // `half_step` is not to be corrected.
  absl::Status CorrectBias(const Op& real_op, const Op& op, double half_step) {
    const Tensor& real_result = float_graph_.tensors[real_op.outputs[0]];
    const int64_t channels = real_result.shape.back();
    const int64_t rows = real_result.num_elements() / channels;
    const int64_t step = BiasCorrection::SampleStep(rows, samples_.size());
    const int64_t used = (samples_.size() + step - 1) / step;
    BiasCorrection correction(*ClampOf(real_op.attributes),
                              ScoresThatCount(real_op), channels, rows * used);
    EK_RETURN_IF_ERROR(real_.RunApart(
        WithoutClamp(real_op), real_result, step,
        [&](int64_t sample, const char* bytes) {
          correction.AddReal(sample / step * rows, rows,
                             reinterpret_cast<const float*>(bytes));
        }));
    const Tensor& weights = quantized_.tensors[op.inputs[1]];
    const std::optional<Tensor> sums = SumsOf(op);
    if (!sums) return absl::OkStatus();
    const double input_scale =
        quantized_.tensors[op.inputs[0]].quantization->scale[0];
    std::vector<double> steps;
    for (const float scale : weights.quantization->scale) {
      steps.push_back(input_scale * scale);
    }
    steps.resize(static_cast<size_t>(channels), steps[0]);
    std::vector<double> half_steps;
    for (const double sum_step : steps) {
      half_steps.push_back(HalfStepInBias(half_step, sum_step));
    }
    EK_RETURN_IF_ERROR(integers_->RunApart(
        WithoutClamp(op), *sums, step, [&](int64_t sample, const char* bytes) {
          correction.AddSums(sample / step * rows, rows,
                             reinterpret_cast<const int32_t*>(bytes), steps,
                             half_steps);
        }));
    Tensor& bias = quantized_.tensors[op.inputs[2]];
    std::vector<int32_t> corrected(static_cast<size_t>(channels));
    std::memcpy(corrected.data(), bias.data->data(), bias.data->size());
    const std::vector<double> missing = correction.Missing();
    for (size_t c = 0; c < corrected.size(); ++c) {
      std::vector<int8_t> integers;
      for (const int64_t i :
           WeightsOfChannel(quantized_, op, static_cast<int64_t>(c))) {
        integers.push_back(static_cast<int8_t>((*weights.data)[i]));
      }
      const double most = std::max(
          LargestBias(integers,
                      LargestActivation(quantized_.tensors[op.inputs[0]].type)),
          0.0);
      const auto change = static_cast<double>(RoundHalfAway(
          std::clamp(missing[c] / steps[c], -kLargestBias, kLargestBias)));
      corrected[c] =
          static_cast<int32_t>(std::clamp(corrected[c] + change, -most, most));
    }
    bias.data = ConstantData(
        std::string(reinterpret_cast<const char*>(corrected.data()),
                    corrected.size() * sizeof(int32_t)));
    return absl::OkStatus();
  }

  const Graph& float_graph_;
  const CalibrationSamples& samples_;
  const RefineOptions& options_;
  Graph& quantized_;
  v1::QuantizationReport& report_;
  SampleBatch real_;
  SampleBatch* integers_ = nullptr;
  FreshNames names_;
};

}  // namespace

absl::Status Refine(const Graph& float_graph, const CalibrationSamples& samples,
                    const RefineOptions& options, Graph& quantized,
                    v1::QuantizationReport& report,
                    const std::function<void(int64_t done)>& progress) {
  return Refinement(float_graph, samples, options, quantized, report)
      .Run(progress);
}

}  // namespace edgekiln::compiler
