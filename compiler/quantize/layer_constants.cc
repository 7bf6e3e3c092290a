#include "compiler/quantize/layer_constants.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/quantize/converter_fit.h"
#include "compiler/quantize/layer_schemes.h"

namespace edgekiln::compiler {
namespace {

void SetConverterForm(const v1::Numerics::Converter& engine, Op& quantized) {
  quantized.inputs.resize(2);
  v1::Converter& form = *quantized.attributes.mutable_converter();
  form.set_gain(1);
  form.set_min(engine.min());
  form.set_max(engine.max());
  form.add_scale(0);
  form.add_offset(0);
}

}  // namespace

absl::Status NotQuantizable(const Op& op, std::string what, std::string limit,
                            std::string fix) {
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.fault = Fault::kUser,
       .reason = "OP_NOT_QUANTIZABLE",
       .what = std::move(what),
       .where = absl::StrCat("layer ", op.id, " (", op.kind(),
                             op.name.empty() ? "" : ", ", op.name, ")"),
       .limit = std::move(limit),
       .fix = std::move(fix)});
}

ConstantData FormOf(const ConstantData& data, int64_t bytes) {
  const absl::string_view form = data->substr(0, static_cast<size_t>(bytes));
  if (data.is_borrowed()) return ConstantData(std::string(form));
  return ConstantData(std::make_shared<const ConstantData>(data), form);
}

const RoundedLayer* RoundedLayers::Find(const Fingerprint& key) const {
  const auto found = layers_.find(key);
  return found == layers_.end() ? nullptr : &found->second;
}

void RoundedLayers::Add(const Fingerprint& key, const RoundedLayer& layer) {
  int64_t bytes = sizeof(key) + sizeof(layer);
  for (const ConstantData* data : {&layer.weight_data, &layer.bias_data}) {
    bytes += static_cast<int64_t>((*data)->size());
  }
  for (const Quantization* of : {&layer.weights, &layer.bias}) {
    bytes += static_cast<int64_t>(of->scale.size() * sizeof(float) +
                                  of->zero_point.size() * sizeof(int32_t));
  }
  if (bytes > most_bytes_ - bytes_) return;
  if (layers_.emplace(key, layer).second) bytes_ += bytes;
}

// All that a layer's integers depend on, of one graph. With a memo.
Fingerprint LayerConstants::KeyOf(const Op& op, const v1::LayerScheme& scheme,
                                  bool converts,
                                  const RealWeights& real) const {
  std::string key =
      absl::StrCat(op.id, std::string(1, '\0'), converts, rounds_down_,
                   rules_.power_of_two, real.may_be_wide, real.activations, "/",
                   real.inputs.low, "/", real.inputs.high, "/");
  for (const double number :
       {real.input_scale, real.least_scale, real.half_step}) {
    key.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  scheme.AppendToString(&key);
  return memo_->KeyOf(key);
}

absl::StatusOr<RoundedLayer> LayerConstants::FindOrRound(
    const Op& op, const v1::LayerScheme& scheme, bool converts,
    const RealWeights& real) const {
  if (memo_ == nullptr) return Rounded(op, scheme, converts, real);
  const Fingerprint key = KeyOf(op, scheme, converts, real);
  if (const RoundedLayer* known = memo_->Find(key)) return *known;
  EK_ASSIGN_OR_RETURN(RoundedLayer rounded,
                      Rounded(op, scheme, converts, real));
  memo_->Add(key, rounded);
  return rounded;
}

// Of weights and bias that `real` lacks.
absl::StatusOr<RoundedLayer> LayerConstants::Rounded(
    const Op& op, const v1::LayerScheme& scheme, bool converts,
    RealWeights real) const {
  const std::vector<float> values =
      *FloatConstantValues(source_.tensors[op.inputs[1]]);
  std::vector<float> bias;
  if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
    bias = *FloatConstantValues(source_.tensors[op.inputs[2]]);
  }
  if (!AllFinite(values) || !AllFinite(bias)) {
    return NotQuantizable(op, "the weights or the bias hold infinity or NaN",
                          "finite weights", "train or export again");
  }
  if (converts) {
    bias.clear();
  } else if (rounds_down_ || rules_.activations == v1::INT16) {
    // Without a bias, the sums of int16 are of 64 bits.
    bias.resize(static_cast<size_t>(real.channels), 0);
  }
  real.weights = values;
  real.bias = bias;
  // Without moments: nothing has been run yet.
  LayerWeights integers =
      QuantizeWeights(real, scheme.per_tensor() == v1::ON,
                      {.form = scheme.weights(),
                       .range = scheme.weight_range(),
                       .channels_per_scale = scheme.channels_per_scale(),
                       .power_of_two = rules_.power_of_two});
  return RoundedLayer{
      .weights = std::move(integers.weights),
      .weight_data = ConstantData(std::move(integers.weight_data)),
      .bias = std::move(integers.bias),
      .bias_type = integers.bias_type,
      .bias_data = ConstantData(std::move(integers.bias_data)),
      .scale_growth = integers.scale_growth};
}

absl::Status LayerConstants::Set(const Op& op, int axis,
                                 const v1::LayerScheme& scheme,
                                 const v1::Numerics::Converter* converter,
                                 Op& quantized) {
  const Tensor& weights = source_.tensors[op.inputs[1]];
  const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
  RealWeights real = {.channels = weights.shape[axis],
                      .axis = axis,
                      .input_scale = quantizations_.Of(op.inputs[0]).scale[0],
                      .activations = rules_.activations,
                      .may_be_wide = MayBeWide(rules_.activations, needs_),
                      .accumulator_bits = scheme.accumulator_bits()};
  if (real.accumulator_bits > 0) {
    ranges_.Update();
    real.inputs = ranges_.LessZero(quantized.inputs[0]);
  }
  if (converter == nullptr) {
    SetResultScale(quantizations_.Of(op.outputs[0]), rules_, rounds_down_,
                   real);
  }
  for (size_t i = axis + 1; i < weights.shape.size(); ++i) {
    real.inner *= weights.shape[i];
  }
  EK_ASSIGN_OR_RETURN(RoundedLayer integers,
                      FindOrRound(op, scheme, converter != nullptr, real));
  growth_[op.id] = integers.scale_growth;
  quantized.inputs[1] =
      AddConstant(weights, v1::INT8, std::move(integers.weights),
                  std::move(integers.weight_data));
  if (converter != nullptr) {
    std::vector<float> offsets;
    if (has_bias) {
      offsets = *FloatConstantValues(source_.tensors[op.inputs[2]]);
    }
    offsets.resize(static_cast<size_t>(weights.shape[axis]), 0);
    SetConverter(*converter, op, real, offsets, quantized);
    return absl::OkStatus();
  }
  if (integers.bias_data->empty()) return absl::OkStatus();
  Tensor like;
  if (has_bias) {
    like = source_.tensors[op.inputs[2]];
  } else {
    like.name = absl::StrCat(weights.name, ".bias");
    like.shape = {weights.shape[axis]};
    quantized.inputs.resize(3, kNoTensor);
  }
  quantized.inputs[2] =
      AddConstant(like, integers.bias_type, std::move(integers.bias),
                  std::move(integers.bias_data));
  return absl::OkStatus();
}

// Of `quantized`, whose weights are there.
void LayerConstants::SetConverter(const v1::Numerics::Converter& engine,
                                  const Op& op, const RealWeights& real,
                                  absl::Span<const float> bias, Op& quantized) {
  quantized.inputs.resize(2);
  const ConvertedLayer layer =
      ConvertedLayerOf(engine, op, real.input_scale,
                       *result_.tensors[quantized.inputs[1]].quantization,
                       quantizations_.Of(op.outputs[0]), bias);
  const RealRange seen = quantizations_.SeenOf(op.outputs[0])->all();
  *quantized.attributes.mutable_converter() = ConverterWithoutSamples(
      layer, std::max(std::abs(seen.low), std::abs(seen.high)));
}

void LayerConstants::SetForm(const Op& op, int axis,
                             const v1::LayerScheme& scheme,
                             const v1::Numerics::Converter* converter,
                             Op& quantized) {
  const Tensor& weights = source_.tensors[op.inputs[1]];
  const auto count = scheme.per_tensor() == v1::ON
                         ? size_t{1}
                         : static_cast<size_t>(weights.shape[axis]);
  Quantization scales = {.scale = std::vector<float>(count, 1.0f / 128),
                         .zero_point = std::vector<int32_t>(count, 0),
                         .axis = axis};
  quantized.inputs[1] = ConstantForm(weights, v1::INT8, scales, 1);
  const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
  if (converter != nullptr) {
    SetConverterForm(*converter, quantized);
  } else if (has_bias) {
    scales.axis = 0;
    quantized.inputs[2] = ConstantForm(source_.tensors[op.inputs[2]], v1::INT32,
                                       std::move(scales), 4);
  }
}

TensorId LayerConstants::ConstantForm(const Tensor& source,
                                      v1::ElementType type, Quantization scales,
                                      int64_t element_bytes) {
  const auto [form, is_new] = forms_.try_emplace(
      {source.name, type, scales.axis, scales.scale.size()}, kNoTensor);
  if (is_new) {
    form->second =
        AddConstant(source, type, std::move(scales),
                    FormOf(source.data, element_bytes * source.num_elements()));
  }
  return form->second;
}

TensorId LayerConstants::AddConstant(const Tensor& like, v1::ElementType type,
                                     Quantization quantization,
                                     ConstantData data) {
  Tensor tensor = like;
  tensor.name = names_.TensorName(absl::StrCat(like.name, ".int"));
  tensor.type = type;
  tensor.quantization = std::move(quantization);
  tensor.data = std::move(data);
  result_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(result_.tensors.size()) - 1;
}

}  // namespace edgekiln::compiler
