#include "compiler/quantize/layer_fit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/passes/clamps.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/converter_fit.h"
#include "compiler/quantize/input_moments.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/layer_schemes.h"

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

}  // namespace

absl::Status LayerFit::Fit(int32_t real_index, Op& op) {
  EK_RETURN_IF_ERROR(FitWeightsAndBias(real_index, op));
  return op.attributes.has_converter() ? FitConverter(real_index, op)
                                       : absl::OkStatus();
}

absl::Status LayerFit::FitWeightsAndBias(int32_t real_index, Op& op) {
  const Op& real_op = float_graph_.ops[real_index];
  const v1::LayerScheme& scheme = options_.schemes[real_index];
  Tensor& weights = quantized_.tensors[op.inputs[1]];
  const bool real_bias =
      real_op.inputs.size() > 2 && real_op.inputs[2] != kNoTensor;
  const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
  const bool converts = op.attributes.has_converter();
  const int axis = WeightAxis(op);
  std::vector<float> bias;
  if (real_bias) {
    bias = *FloatConstantValues(float_graph_.tensors[real_op.inputs[2]]);
  } else if (has_bias) {
    bias.assign(static_cast<size_t>(weights.shape[axis]), 0);
  }
  RealWeights real = {
      .channels = weights.shape[axis],
      .bias = converts ? absl::Span<const float>() : bias,
      .axis = axis,
      .input_scale = quantized_.tensors[op.inputs[0]].quantization->scale[0],
      .activations = quantized_.tensors[op.inputs[0]].type,
      .may_be_wide =
          MayBeWide(quantized_.tensors[op.inputs[0]].type, options_.needs),
      .accumulator_bits = scheme.accumulator_bits()};
  if (real.accumulator_bits > 0) {
    ranges_.Update();
    real.inputs = ranges_.LessZero(op.inputs[0]);
  }
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
  const bool takes_mean = converts || (has_bias && options_.bias_correction);
  const bool wanted = fit.adaptive || fit.range == v1::LEAST_OUTPUT_ERROR;
  const bool has_moments =
      wanted && MomentBytes(quantized_, op) <= kMostMoments;
  const auto weights_for = [&](const RealWeights& whole, bool centred) {
    std::vector<InputMoments> moments;
    std::vector<const InputMoments*> by_channel;
    if (has_moments) {
      const std::vector<ChannelGroup> groups = ChannelGroupsOf(quantized_, op);
      moments = MomentsOf(integers_, op, centred);
      for (size_t i = 0; i < groups.size(); ++i) {
        by_channel.insert(by_channel.end(), groups[i].channels, &moments[i]);
      }
    }
    return QuantizeWeights(whole, scheme.per_tensor() == v1::ON, fit,
                           by_channel);
  };
  const auto fit_weights = [&] {
    const std::vector<float> values =
        *FloatConstantValues(float_graph_.tensors[real_op.inputs[1]]);
    RealWeights whole = real;
    whole.weights = values;
    LayerWeights fitted = weights_for(whole, takes_mean);
    // Of wide sums nothing corrects a bias: weights make up for the mean.
    // That may make sums fit int32 just so.
    if (fitted.bias_type == v1::INT64 && takes_mean && has_moments) {
      fitted = weights_for(whole, false);
    }
    return fitted;
  };
  LayerWeights fitted = WeightsOf(real_index, op, fit_weights);
  scale_growth_ = fitted.scale_growth;
  const bool is_wide = fitted.bias_type == v1::INT64;
  weights.quantization = std::move(fitted.weights);
  weights.data = ConstantData(std::move(fitted.weight_data));
  if (converts || !has_bias) return absl::OkStatus();
  Tensor& integer_bias = quantized_.tensors[op.inputs[2]];
  integer_bias.type = fitted.bias_type;
  integer_bias.quantization = std::move(fitted.bias);
  integer_bias.data = ConstantData(std::move(fitted.bias_data));
  if (!options_.bias_correction || is_wide) return absl::OkStatus();
  if (memo_ == nullptr) return CorrectBias(real_index, op, real.half_step);
  const Fingerprint key = FormKey(real_index, op);
  if (const auto known = memo_->biases().find(key);
      known != memo_->biases().end()) {
    integer_bias.data = known->second;
    return absl::OkStatus();
  }
  EK_RETURN_IF_ERROR(CorrectBias(real_index, op, real.half_step));
  memo_->biases().emplace(key, integer_bias.data);
  return absl::OkStatus();
}

// The type of the layer's sums; none if its scales are too small for a float:
// nothing is lost with such sums.
std::optional<Tensor> LayerFit::SumsOf(const Op& op) const {
  Tensor sums = quantized_.tensors[op.outputs[0]];
  sums.type = v1::INT32;
  const double input_scale =
      quantized_.tensors[op.inputs[0]].quantization->scale[0];
  sums.quantization = Quantization();
  for (const float scale :
       quantized_.tensors[op.inputs[1]].quantization->scale) {
    sums.quantization->scale.push_back(static_cast<float>(input_scale * scale));
    sums.quantization->zero_point.push_back(0);
    if (!(sums.quantization->scale.back() > 0)) return std::nullopt;
  }
  sums.quantization->axis = static_cast<int32_t>(sums.shape.size()) - 1;
  return sums;
}

absl::Status LayerFit::FitConverter(int32_t real_index, Op& op) {
  const Op& real_op = float_graph_.ops[real_index];
  const v1::Numerics::Converter* engine = ConverterOf(
      options_.needs, real_op, options_.schemes[real_index].weights());
  const Tensor& weights = quantized_.tensors[op.inputs[1]];
  const Tensor& result = quantized_.tensors[op.outputs[0]];
  const Tensor& real_result = float_graph_.tensors[real_op.outputs[0]];
  const int64_t channels = weights.shape[WeightAxis(op)];
  std::vector<float> bias(static_cast<size_t>(channels), 0);
  if (real_op.inputs.size() > 2 && real_op.inputs[2] != kNoTensor) {
    bias = *FloatConstantValues(float_graph_.tensors[real_op.inputs[2]]);
  }
  const int64_t rows = real_result.num_elements() / channels;
  ConverterFit fit(
      ConvertedLayerOf(*engine, real_op,
                       quantized_.tensors[op.inputs[0]].quantization->scale[0],
                       *weights.quantization, *result.quantization, bias),
      rows * integers_.samples(), options_.cpu_path);
  const std::vector<float>* const known =
      memo_ == nullptr ? nullptr : memo_->FindReals(real_index);
  if (known != nullptr) {
    fit.AddTakenReals(*known);
  } else {
    std::vector<float> taken;
    EK_ASSIGN_OR_RETURN(SampleBatch* const reals, RealBefore(real_index));
    EK_RETURN_IF_ERROR(reals->RunApart(
        WithoutClamp(real_op), real_result, /*step=*/1,
        [&](int64_t sample, const char* bytes) {
          const auto* values = reinterpret_cast<const float*>(bytes);
          for (int64_t row = 0; row < rows; ++row) {
            if (!fit.Takes(sample * rows + row)) continue;
            taken.insert(taken.end(), values + row * channels,
                         values + (row + 1) * channels);
          }
        }));
    fit.AddTakenReals(taken);
    if (memo_ != nullptr) memo_->AddReals(real_index, taken);
  }
  const std::optional<Tensor> sums = SumsOf(op);
  if (!sums) return absl::OkStatus();
  EK_RETURN_IF_ERROR(
      integers_.RunApart(WithoutClamp(op), *sums, /*step=*/1,
                         [&](int64_t sample, const char* bytes) {
                           fit.AddSums(sample * rows, rows,
                                       reinterpret_cast<const int32_t*>(bytes));
                         }));
  *op.attributes.mutable_converter() = fit.Best();
  return absl::OkStatus();
}

// How far below the largest score a softmax still sees it: probabilities of
// e^-10 are none in 8 bits.
double LayerFit::ScoresThatCount(const Op& real_op) const {
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
absl::Status LayerFit::CorrectBias(int32_t real_index, const Op& op,
                                   double half_step) {
  const Op& real_op = float_graph_.ops[real_index];
  const Tensor& real_result = float_graph_.tensors[real_op.outputs[0]];
  const int64_t channels = real_result.shape.back();
  const int64_t rows = real_result.num_elements() / channels;
  const int64_t step = BiasCorrection::SampleStep(rows, integers_.samples());
  EK_ASSIGN_OR_RETURN(BiasCorrection correction,
                      CorrectionOf(real_index, rows, step));
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
  EK_RETURN_IF_ERROR(integers_.RunApart(
      WithoutClamp(op), *sums, step, [&](int64_t sample, const char* bytes) {
        correction.AddSums(sample / step * rows, rows,
                           reinterpret_cast<const int32_t*>(bytes), steps,
                           half_steps);
      }));
  Tensor& bias = quantized_.tensors[op.inputs[2]];
  std::vector<int32_t> corrected(static_cast<size_t>(channels));
  std::memcpy(corrected.data(), bias.data->data(), bias.data->size());
  const std::vector<double> missing = correction.Missing(options_.cpu_path);
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
  bias.data =
      ConstantData(std::string(reinterpret_cast<const char*>(corrected.data()),
                               corrected.size() * sizeof(int32_t)));
  return absl::OkStatus();
}

// With the real results of every `step`-th sample of `rows` each.
absl::StatusOr<BiasCorrection> LayerFit::CorrectionOf(int32_t real_index,
                                                      int64_t rows,
                                                      int64_t step) {
  if (memo_ != nullptr) {
    const auto found = memo_->corrections().find(real_index);
    if (found != memo_->corrections().end()) return found->second;
  }
  const Op& real_op = float_graph_.ops[real_index];
  const Tensor& result = float_graph_.tensors[real_op.outputs[0]];
  const int64_t used = (integers_.samples() + step - 1) / step;
  BiasCorrection correction(*ClampOf(real_op.attributes),
                            ScoresThatCount(real_op), result.shape.back(),
                            rows * used);
  const auto look = [&](int64_t sample, const char* bytes) {
    correction.AddReal(sample / step * rows, rows,
                       reinterpret_cast<const float*>(bytes));
  };
  const Op before = WithoutClamp(real_op);
  if (memo_ == nullptr) {
    EK_RETURN_IF_ERROR(real_->RunApart(before, result, step, look));
    return correction;
  }
  EK_RETURN_IF_ERROR(memo_->LookAtReals(
      real_index, before, *ClampOf(real_op.attributes), step, look));
  memo_->corrections().emplace(real_index, correction);
  return correction;
}

absl::StatusOr<SampleBatch*> LayerFit::RealBefore(int32_t real_index) {
  return memo_ != nullptr ? memo_->RealBefore(real_index) : real_;
}

// Those of `fit`, or of an earlier network.
LayerWeights LayerFit::WeightsOf(int32_t real_index, const Op& op,
                                 const std::function<LayerWeights()>& fit) {
  if (memo_ == nullptr) return fit();
  const auto [at, is_new] =
      memo_->weights().try_emplace(FormKey(real_index, op));
  if (is_new) at->second = fit();
  return at->second;
}

// With a memo. What a layer's weights and bias depend on, but for the values
// that it reads.
Fingerprint LayerFit::FormKey(int32_t real_index, const Op& op) const {
  std::string key = op.id;
  const v1::LayerScheme& scheme = options_.schemes[real_index];
  scheme.AppendToString(&key);
  if (scheme.accumulator_bits() > 0) {
    const SumRange inputs = ranges_.LessZero(op.inputs[0]);
    absl::StrAppend(&key, "/", inputs.low, "/", inputs.high, "/");
  }
  key.push_back(op.attributes.has_converter() ? 1 : 0);
  AppendKey(quantized_.tensors[op.inputs[0]].quantization, key);
  AppendKey(quantized_.tensors[op.outputs[0]].quantization, key);
  return memo_->KeyOf(key);
}

void AppendKey(const std::optional<Quantization>& quantization,
               std::string& text) {
  if (!quantization) {
    text.push_back('-');
    return;
  }
  const auto append = [&text](const void* data, size_t bytes) {
    text.append(static_cast<const char*>(data), bytes);
  };
  const uint64_t count = quantization->scale.size();
  append(&count, sizeof(count));
  append(quantization->scale.data(), count * sizeof(float));
  append(quantization->zero_point.data(),
         quantization->zero_point.size() * sizeof(int32_t));
  append(&quantization->axis, sizeof(quantization->axis));
}

}  // namespace edgekiln::compiler
