#include "compiler/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/float32_form.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/converter_fit.h"
#include "compiler/quantize/equalize.h"
#include "compiler/quantize/equalize_activations.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/layer_ranking.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/layer_weights.h"
#include "compiler/quantize/quantize_report.h"
#include "compiler/quantize/range_search.h"
#include "compiler/quantize/refine.h"
#include "compiler/quantize/scales.h"
#include "compiler/quantize/tensor_quantizations.h"

namespace edgekiln::compiler {
namespace {

absl::Status Unsupported(const Op& op, std::string what, std::string limit,
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

absl::Status CheckOpIsFloat(const Op& op) {
  if (op.attributes.has_quantize() || op.attributes.has_dequantize()) {
    return Unsupported(op, "the model is quantized already", "float models",
                       "compile it without calibration data");
  }
  return absl::OkStatus();
}

// Tensors of values that no scale spans together with others: masks of
// infinities, or of what stands for them.
std::vector<bool> UnboundedTensors(
    const Graph& graph, const v1::CalibrationStatistics& statistics) {
  const auto is_mask = [](float value) {
    return std::abs(value) >= kBeyondScales;
  };
  std::set<std::string> names;
  for (const auto& range : statistics.ranges()) {
    if (is_mask(range.min()) || is_mask(range.max())) {
      names.insert(range.tensor());
    }
  }
  std::vector<bool> unbounded;
  for (const Tensor& tensor : graph.tensors) {
    const auto values = FloatConstantValues(tensor);
    unbounded.push_back(
        names.contains(tensor.name) ||
        (values && std::any_of(values->begin(), values->end(), is_mask)));
  }
  return unbounded;
}

ConstantData FormOf(const ConstantData& data, int64_t bytes) {
  return ConstantData::Borrowed(data->substr(0, bytes));
}

// Whether the op makes its results of sums by factors, as engines that round
// down do.
bool HasRounding(const Op& op) {
  return WeightAxis(op) >= 0 || op.attributes.has_add();
}

std::vector<bool> KeptFloat(const std::vector<v1::LayerScheme>& schemes) {
  std::vector<bool> kept;
  for (const v1::LayerScheme& scheme : schemes) {
    kept.push_back(scheme.keep_float() == v1::ON);
  }
  return kept;
}

// Of 16 bits nothing is worth cutting off.
v1::CalibrateOptions MethodFor(v1::CalibrateOptions method,
                               const ScaleRules& rules) {
  if (method.method() == v1::CalibrateOptions::METHOD_UNSPECIFIED &&
      rules.activations == v1::INT16) {
    method.set_method(v1::CalibrateOptions::MIN_MAX);
  }
  return method;
}

class Quantizer {
 public:
  // Without statistics only the form is made.
  // `schemes`: by op.
  Quantizer(const Graph& graph, const v1::CalibrationStatistics* statistics,
            const v1::QuantizeOptions& options,
            std::vector<v1::LayerScheme> schemes)
      : source_(graph),
        schemes_(std::move(schemes)),
        needs_(options.needs()),
        rules_(RulesFor(options.config(), options.needs())),
        method_(MethodFor(options.config().ranges(), rules_)),
        rounds_down_(options.needs().rounding() == v1::FLOOR),
        statistics_(statistics),
        form_only_(statistics == nullptr),
        unbounded_(form_only_ ? std::vector<bool>(graph.tensors.size(), false)
                              : UnboundedTensors(graph, *statistics)),
        integer_(ChooseIntegerOps(graph, unbounded_, KeptFloat(schemes_),
                                  rules_.activations)),
        quantizations_(graph, integer_, rules_),
        names_(graph),
        float_(graph.tensors.size(), kNoTensor) {
    result_.name = graph.name;
    result_.tensors = graph.tensors;
    result_.outputs = graph.outputs;
    result_.inputs = graph.inputs;
    result_.states = graph.states;
    for (const TensorId id : graph.outputs) is_output_.insert(id);
  }

  // By op.
  std::vector<LayerFacts> Facts() const {
    std::vector<LayerFacts> facts;
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      const Op& op = source_.ops[i];
      facts.push_back({.is_integer = integer_[i],
                       .at_mask = IsAtMask(op),
                       .seen = integer_[i]
                                   ? quantizations_.SeenOf(op.outputs[0])
                                   : nullptr});
    }
    return facts;
  }

  // With `samples`, ranges may be chosen by them.
  absl::StatusOr<Graph> Run(const CalibrationSamples* samples = nullptr,
                            ops::CpuPath cpu_path = ops::CpuPath::kAuto) {
    for (const Op& op : source_.ops) {
      EK_RETURN_IF_ERROR(CheckOpIsFloat(op));
    }
    EK_RETURN_IF_ERROR(
        quantizations_.Choose(statistics_, method_, ConvertedResults()));
    const bool search =
        method_.method() == v1::CalibrateOptions::METHOD_UNSPECIFIED ||
        method_.method() == v1::CalibrateOptions::OUTPUT_MSE;
    if (search && samples != nullptr) {
      EK_RETURN_IF_ERROR(
          SearchRanges(source_, integer_, *samples, cpu_path, quantizations_));
    }
    if (!form_only_) quantizations_.RaiseResults(LargestWeightScales());
    for (const TensorId input : source_.inputs) float_[input] = input;
    for (const TensorId input : source_.inputs) {
      if (ReadByIntegers(input)) Quantized(input);
    }
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      if (integer_[i]) {
        EK_RETURN_IF_ERROR(
            QuantizeOp(source_.ops[i], schemes_[i], ConverterOfOp(i)));
      } else {
        KeepFloat(source_.ops[i]);
        // With the inputs, not between layers: there it would cut what an
        // engine runs in two.
        const TensorId result = source_.ops[i].outputs[0];
        if (IsCastOfFloats(source_, source_.ops[i]) && ReadByIntegers(result)) {
          Quantized(result);
        }
      }
    }
    for (const TensorId output : source_.outputs) Real(output);
    RemoveUnusedTensors(result_);
    MergeFloat16Casts(result_);
    if (form_only_) return std::move(result_);
    EK_RETURN_IF_ERROR(VerifyGraph(result_), "after quantization");
    return std::move(result_);
  }

 private:
  // Reads or makes values that no scale spans.
  bool IsAtMask(const Op& op) const {
    const auto is_mask = [this](TensorId id) {
      return id != kNoTensor && unbounded_[id];
    };
    return std::any_of(op.inputs.begin(), op.inputs.end(), is_mask) ||
           std::any_of(op.outputs.begin(), op.outputs.end(), is_mask);
  }

  const Quantization& QuantizationOf(TensorId id) {
    return quantizations_.Of(id);
  }

  // Null: factors make its results.
  const v1::Numerics::Converter* ConverterOfOp(size_t op) const {
    if (!integer_[op] || WeightAxis(source_.ops[op]) < 0) return nullptr;
    return ConverterOf(needs_, source_.ops[op], schemes_[op].weights());
  }

  std::set<TensorId> ConvertedResults() const {
    std::set<TensorId> results;
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      if (ConverterOfOp(i) != nullptr) {
        results.insert(source_.ops[i].outputs[0]);
      }
    }
    return results;
  }

  // By op; 0 where factors do not make results of products.
  std::vector<double> LargestWeightScales() const {
    std::vector<double> scales(source_.ops.size(), 0);
    for (size_t i = 0; i < scales.size(); ++i) {
      const Op& op = source_.ops[i];
      if (!integer_[i] || WeightAxis(op) < 0 || ConverterOfOp(i) != nullptr) {
        continue;
      }
      const std::vector<float> weights =
          *FloatConstantValues(source_.tensors[op.inputs[1]]);
      double largest = 0;
      for (const float value : weights) {
        largest = std::max(largest, std::abs(double{value}));
      }
      if (!(largest > 0) || !std::isfinite(largest)) continue;
      scales[i] =
          RoundedScale(largest / LargestInteger(schemes_[i].weights()), rules_);
    }
    return scales;
  }

  TensorId AddTensor(Tensor tensor) {
    result_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(result_.tensors.size()) - 1;
  }

  bool IsFloat(TensorId id) const {
    return id != kNoTensor && source_.tensors[id].type == v1::FLOAT32;
  }

  bool ReadByIntegers(TensorId id) const {
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      const std::vector<TensorId>& inputs = source_.ops[i].inputs;
      if (integer_[i] &&
          std::find(inputs.begin(), inputs.end(), id) != inputs.end()) {
        return IsFloat(id);
      }
    }
    return false;
  }

  // The integer tensor that stands for a float one; where there is none yet, a
  // constant or a Quantize of the real values makes it.
  TensorId Quantized(TensorId id) {
    if (const auto found = quantized_.find(id); found != quantized_.end()) {
      return found->second;
    }
    const TensorId added = AddQuantized(id);
    if (source_.tensors[id].is_constant()) return added;
    Op op;
    op.id = BorderId("quantize_", id);
    op.attributes.mutable_quantize();
    op.inputs = {float_[id]};
    op.outputs = {added};
    result_.ops.push_back(std::move(op));
    return added;
  }

  TensorId AddQuantized(TensorId id) {
    Tensor tensor = source_.tensors[id];
    tensor.type = rules_.activations;
    tensor.quantization = QuantizationOf(id);
    if (tensor.is_constant() && form_only_) {
      tensor.data = FormOf(tensor.data,
                           tensor.num_elements() * ElementBytes(tensor.type));
    } else if (tensor.is_constant()) {
      tensor.data = ConstantData(
          QuantizedValues(*FloatConstantValues(source_.tensors[id]),
                          *tensor.quantization, tensor.type));
    }
    tensor.name = names_.TensorName(
        absl::StrCat(tensor.name, ".",
                     absl::AsciiStrToLower(v1::ElementType_Name(tensor.type))));
    const TensorId added = AddTensor(std::move(tensor));
    quantized_[id] = added;
    return added;
  }

  // The tensor of the real values; where only integers were computed, made of
  // them. Graph outputs keep their tensor.
  TensorId Real(TensorId id) {
    if (!IsFloat(id) || source_.tensors[id].is_constant()) return id;
    if (float_[id] != kNoTensor) return float_[id];
    TensorId real = id;
    if (!is_output_.contains(id)) {
      Tensor tensor = source_.tensors[id];
      tensor.name = names_.TensorName(absl::StrCat(tensor.name, ".float"));
      real = AddTensor(std::move(tensor));
    }
    Op op;
    op.id = BorderId("dequantize_", id);
    op.attributes.mutable_dequantize();
    op.inputs = {quantized_.at(id)};
    op.outputs = {real};
    result_.ops.push_back(std::move(op));
    float_[id] = real;
    return real;
  }

  // Tensors inside the graph change type where they are, those at its border
  // get a second one.
  TensorId QuantizedResult(TensorId id) {
    if (is_output_.contains(id)) return AddQuantized(id);
    result_.tensors[id].type = rules_.activations;
    result_.tensors[id].quantization = QuantizationOf(id);
    quantized_[id] = id;
    return id;
  }

  std::string BorderId(absl::string_view prefix, TensorId id) {
    return names_.OpId(absl::StrCat(
        prefix, LayerIdMaker().Make(source_.tensors[id].name, "tensor")));
  }

  void KeepFloat(const Op& op) {
    Op kept = op;
    for (TensorId& input : kept.inputs) input = Real(input);
    for (const TensorId output : op.outputs) {
      if (output != kNoTensor) float_[output] = output;
    }
    result_.ops.push_back(std::move(kept));
  }

  absl::Status QuantizeOp(const Op& op, const v1::LayerScheme& scheme,
                          const v1::Numerics::Converter* converter) {
    Op quantized = op;
    const int axis = WeightAxis(op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!IsFloat(op.inputs[i]) || (axis >= 0 && i > 0)) continue;
      quantized.inputs[i] = Quantized(op.inputs[i]);
    }
    if (axis >= 0) {
      EK_RETURN_IF_ERROR(SetWeights(op, axis, scheme, converter, quantized));
    }
    if (converter != nullptr || (rounds_down_ && HasRounding(op))) {
      quantized.attributes.set_rounding(v1::FLOOR);
    }
    quantized.outputs = {QuantizedResult(op.outputs[0])};
    result_.ops.push_back(std::move(quantized));
    return absl::OkStatus();
  }

  // New constants for the weights and bias of `op`: its biases depend on the
  // scale of its input, so they are not shared between ops. With a converter
  // there is no bias: its offsets hold it.
  absl::Status SetWeights(const Op& op, int axis, const v1::LayerScheme& scheme,
                          const v1::Numerics::Converter* converter,
                          Op& quantized) {
    const Tensor& weights = source_.tensors[op.inputs[1]];
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
    if (form_only_) {
      SetWeightForm(weights, axis, scheme.per_tensor() == v1::ON,
                    has_bias && converter == nullptr
                        ? &source_.tensors[op.inputs[2]]
                        : nullptr,
                    quantized);
      if (converter != nullptr) SetConverterForm(*converter, quantized);
      return absl::OkStatus();
    }
    const std::vector<float> values = *FloatConstantValues(weights);
    std::vector<float> bias;
    if (has_bias) bias = *FloatConstantValues(source_.tensors[op.inputs[2]]);
    if (!AllFinite(values) || !AllFinite(bias)) {
      return Unsupported(op, "the weights or the bias hold infinity or NaN",
                         "finite weights", "train or export again");
    }
    std::vector<float> offsets;
    if (converter != nullptr) {
      offsets = std::exchange(bias, {});
      offsets.resize(static_cast<size_t>(weights.shape[axis]), 0);
    } else if (rounds_down_ || rules_.activations == v1::INT16) {
      // Without a bias, the sums of int16 are of 64 bits.
      bias.resize(static_cast<size_t>(weights.shape[axis]), 0);
    }
    RealWeights real = {.weights = values,
                        .channels = weights.shape[axis],
                        .bias = bias,
                        .axis = axis,
                        .input_scale = QuantizationOf(op.inputs[0]).scale[0],
                        .activations = rules_.activations,
                        .may_be_wide = MayBeWide(rules_.activations, needs_)};
    if (converter == nullptr) {
      SetResultScale(QuantizationOf(op.outputs[0]), rules_, rounds_down_, real);
    }
    for (size_t i = axis + 1; i < weights.shape.size(); ++i) {
      real.inner *= weights.shape[i];
    }
    // Without moments: nothing has been run yet.
    LayerWeights integers =
        QuantizeWeights(real, scheme.per_tensor() == v1::ON,
                        {.form = scheme.weights(),
                         .range = scheme.weight_range(),
                         .channels_per_scale = scheme.channels_per_scale(),
                         .power_of_two = rules_.power_of_two});
    quantized.inputs[1] =
        AddConstant(weights, v1::INT8, std::move(integers.weights),
                    ConstantData(std::move(integers.weight_data)));
    if (converter != nullptr) {
      SetConverter(*converter, op, real, offsets, quantized);
      return absl::OkStatus();
    }
    if (bias.empty()) return absl::OkStatus();
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
                    ConstantData(std::move(integers.bias_data)));
    return absl::OkStatus();
  }

  static void SetConverterForm(const v1::Numerics::Converter& engine,
                               Op& quantized) {
    quantized.inputs.resize(2);
    v1::Converter& form = *quantized.attributes.mutable_converter();
    form.set_gain(1);
    form.set_min(engine.min());
    form.set_max(engine.max());
    form.add_scale(0);
    form.add_offset(0);
  }

  // Of `quantized`, whose weights are there.
  void SetConverter(const v1::Numerics::Converter& engine, const Op& op,
                    const RealWeights& real, const std::vector<float>& bias,
                    Op& quantized) {
    quantized.inputs.resize(2);
    const ConvertedLayer layer =
        ConvertedLayerOf(engine, op, real.input_scale,
                         *result_.tensors[quantized.inputs[1]].quantization,
                         QuantizationOf(op.outputs[0]), bias);
    const RealRange seen = quantizations_.SeenOf(op.outputs[0])->all();
    *quantized.attributes.mutable_converter() = ConverterWithoutSamples(
        layer, std::max(std::abs(seen.low), std::abs(seen.high)));
  }

  // Ops with the same weights share their form: should a mask keep them all
  // float, they have one constant, too.
  void SetWeightForm(const Tensor& weights, int axis, bool one_scale,
                     const Tensor* bias, Op& quantized) {
    const auto count =
        one_scale ? size_t{1} : static_cast<size_t>(weights.shape[axis]);
    Quantization scales = {.scale = std::vector<float>(count, 1.0f / 128),
                           .zero_point = std::vector<int32_t>(count, 0),
                           .axis = axis};
    quantized.inputs[1] = ConstantForm(weights, v1::INT8, scales, 1);
    if (bias == nullptr) return;
    scales.axis = 0;
    quantized.inputs[2] = ConstantForm(*bias, v1::INT32, std::move(scales), 4);
  }

  TensorId ConstantForm(const Tensor& source, v1::ElementType type,
                        Quantization scales, int64_t element_bytes) {
    const auto [form, is_new] = forms_.try_emplace(
        {source.name, type, scales.axis, scales.scale.size()}, kNoTensor);
    if (is_new) {
      form->second = AddConstant(
          source, type, std::move(scales),
          FormOf(source.data, element_bytes * source.num_elements()));
    }
    return form->second;
  }

  TensorId AddConstant(const Tensor& like, v1::ElementType type,
                       Quantization quantization, ConstantData data) {
    Tensor tensor = like;
    tensor.name = names_.TensorName(absl::StrCat(like.name, ".int"));
    tensor.type = type;
    tensor.quantization = std::move(quantization);
    tensor.data = std::move(data);
    return AddTensor(std::move(tensor));
  }

  const Graph& source_;
  const std::vector<v1::LayerScheme> schemes_;  // By op.
  const v1::QuantizationNeeds needs_;
  const ScaleRules rules_;
  const v1::CalibrateOptions method_;
  const bool rounds_down_;
  const v1::CalibrationStatistics* const statistics_;
  const bool form_only_;
  const std::vector<bool> unbounded_;  // By tensor.
  const std::vector<bool> integer_;    // By op.
  TensorQuantizations quantizations_;
  FreshNames names_;
  std::vector<TensorId> float_;  // By tensor: its real values; none yet.
  std::set<TensorId> is_output_;
  std::map<TensorId, TensorId> quantized_;  // Float tensor -> int8 tensor.
  // Quantized weights and biases, by float tensor, type, axis and number of
  // scales.
  std::map<std::tuple<std::string, v1::ElementType, int32_t, size_t>, TensorId>
      forms_;
  Graph result_;
};

constexpr int64_t kDefaultSamples = 256;

std::vector<bool> PerTensor(const std::vector<v1::LayerScheme>& schemes) {
  std::vector<bool> per_tensor;
  for (const v1::LayerScheme& scheme : schemes) {
    per_tensor.push_back(scheme.per_tensor() == v1::ON);
  }
  return per_tensor;
}

v1::QuantizeOptions WithHeldNeeds(v1::QuantizeOptions options) {
  const v1::ElementType activations =
      ActivationsOf(options.config(), options.needs());
  *options.mutable_needs() = NeedsWith(activations, options.needs());
  return options;
}

// No samples: nothing is measured.
absl::StatusOr<QuantizedNetwork> QuantizeEqualized(
    const Graph& float_graph, const v1::CalibrationStatistics& statistics,
    const std::vector<v1::LayerScheme>& schemes, CalibrationSamples samples,
    const v1::QuantizeOptions& options, const QuantizeInputs& inputs) {
  const bool measures = samples.size() > 0;
  Quantizer quantizer(float_graph, &statistics, options, schemes);
  QuantizedNetwork network;
  EK_ASSIGN_OR_RETURN(
      network.graph,
      quantizer.Run(measures ? &samples : nullptr, inputs.cpu_path));
  for (const Op& op : float_graph.ops) {
    v1::QuantizedLayer& layer = *network.report.add_layers();
    layer.set_id(op.id);
    layer.set_op(std::string(op.kind()));
  }
  if (measures) {
    const int64_t wanted = options.config().samples() > 0
                               ? options.config().samples()
                               : kDefaultSamples;
    samples.Limit(std::min(wanted, SamplesThatFit(float_graph, network.graph)));
    network.report.set_samples(samples.size());
    const auto ops = static_cast<int64_t>(float_graph.ops.size());
    const int64_t total = ops * (options.rank() ? 2 : 1);
    EK_RETURN_IF_ERROR(Refine(
        float_graph, samples,
        {.schemes = schemes,
         .needs = options.needs(),
         .bias_correction = options.config().bias_correction() != v1::OFF,
         .power_of_two = options.needs().power_of_two_scales(),
         .rounds_down = options.needs().rounding() == v1::FLOOR,
         .cpu_path = inputs.cpu_path},
        network.graph, network.report, [&](int64_t done) {
          if (inputs.progress != nullptr) inputs.progress(done, total);
        }));
    EK_RETURN_IF_ERROR(VerifyGraph(network.graph), "after quantization");
    SetOutputRatio(float_graph, network.report);
    if (options.rank()) {
      EK_RETURN_IF_ERROR(RankLayers(
          float_graph, network.graph, samples, inputs.cpu_path,
          [&](int64_t done) {
            if (inputs.progress != nullptr) inputs.progress(ops + done, total);
          },
          network.report));
    }
  }
  DescribeLayers(float_graph, network.graph, schemes, quantizer.Facts(),
                 network.report);
  return network;
}

}  // namespace

absl::StatusOr<QuantizedNetwork> Quantize(const Graph& float_graph,
                                          const v1::QuantizeOptions& asked,
                                          const QuantizeInputs& inputs) {
  const v1::QuantizeOptions options = WithHeldNeeds(asked);
  EK_ASSIGN_OR_RETURN(CalibrationSamples samples,
                      CalibrationSamples::Create(float_graph, inputs.samples));
  samples.Keep(0, inputs.sample_step);
  const bool measures =
      samples.size() > 0 && !samples.sequential() && float_graph.states.empty();
  EK_ASSIGN_OR_RETURN(
      const std::vector<v1::LayerScheme> schemes,
      LayerSchemes(float_graph, options.config(), options.needs(), measures));
  for (const Op& op : float_graph.ops) {
    EK_RETURN_IF_ERROR(CheckOpIsFloat(op));
  }
  if (measures && options.config().equalization() != v1::OFF) {
    Graph equalized = float_graph;  // Constants stay shared.
    bool changed = Equalize(equalized, PerTensor(schemes));
    EK_ASSIGN_OR_RETURN(
        const bool evened,
        EqualizeActivations(schemes, samples,
                            RulesFor(options.config(), options.needs()),
                            inputs.cpu_path, equalized));
    if (changed || evened) {
      EK_ASSIGN_OR_RETURN(
          const v1::CalibrationStatistics statistics,
          Calibrate(equalized, inputs.samples, nullptr, inputs.cpu_path));
      return QuantizeEqualized(equalized, statistics, schemes,
                               std::move(samples), options, inputs);
    }
  }
  if (!measures) samples.Limit(0);
  return QuantizeEqualized(float_graph, inputs.statistics, schemes,
                           std::move(samples), options, inputs);
}

absl::StatusOr<Graph> QuantizeGraph(const Graph& float_graph,
                                    const v1::CalibrationStatistics& statistics,
                                    const v1::QuantizationNeeds& needs) {
  v1::QuantizeOptions options;
  *options.mutable_needs() = needs;
  EK_ASSIGN_OR_RETURN(
      QuantizedNetwork network,
      Quantize(float_graph, options, {.statistics = statistics}));
  return std::move(network.graph);
}

absl::StatusOr<Graph> QuantizedForm(const Graph& float_graph,
                                    const v1::QuantizationNeeds& needs,
                                    const v1::QuantizationConfig& config) {
  v1::QuantizeOptions options;
  *options.mutable_config() = config;
  *options.mutable_needs() = needs;
  options = WithHeldNeeds(std::move(options));
  EK_ASSIGN_OR_RETURN(
      std::vector<v1::LayerScheme> schemes,
      LayerSchemes(float_graph, options.config(), options.needs(), false));
  return Quantizer(float_graph, nullptr, options, std::move(schemes)).Run();
}

}  // namespace edgekiln::compiler
