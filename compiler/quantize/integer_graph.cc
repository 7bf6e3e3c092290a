#include "compiler/quantize/integer_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/layer_id.h"
#include "compiler/passes/clamps.h"
#include "compiler/passes/float32_form.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/accumulator_fit.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/layer_constants.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/range_search.h"
#include "compiler/quantize/scales.h"
#include "compiler/quantize/seen_extremes.h"
#include "compiler/quantize/tensor_quantizations.h"
#include "compiler/quantize/weight_fit.h"

namespace edgekiln::compiler {
namespace {

// Whether the op makes its results of sums by factors, as engines that round
// down do.
bool HasRounding(const Op& op) {
  return WeightAxis(op) >= 0 || op.attributes.has_add();
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

}  // namespace

absl::Status CheckIsFloat(const Graph& graph) {
  for (const Op& op : graph.ops) {
    if (op.attributes.has_quantize() || op.attributes.has_dequantize()) {
      return NotQuantizable(op, "the model is quantized already",
                            "float models",
                            "compile it without calibration data");
    }
  }
  return absl::OkStatus();
}

class IntegerGraph::Maker {
 public:
  // Without statistics only the form is made.
  // `schemes`: by op.
  Maker(const Graph& graph, const v1::CalibrationStatistics* statistics,
        const v1::QuantizeOptions& options,
        std::vector<v1::LayerScheme> schemes, RoundedLayers* memo)
      : source_(graph),
        schemes_(std::move(schemes)),
        needs_(options.needs()),
        rules_(RulesFor(options.config(), options.needs())),
        method_(MethodFor(options.config().ranges(), rules_)),
        rounds_down_(options.needs().rounding() == v1::FLOOR),
        statistics_(statistics),
        form_only_(statistics == nullptr),
        unbounded_(form_only_ ? std::vector<bool>(graph.tensors.size(), false)
                              : UnboundedTensors(graph, *statistics,
                                                 rules_.activations)),
        integer_(ChooseIntegerOps(graph, unbounded_, KeptFloat(schemes_),
                                  rules_.activations)),
        quantizations_(graph, integer_, rules_),
        names_(graph),
        constants_(source_, needs_, rules_, quantizations_, names_, memo,
                   result_),
        float_(graph.tensors.size(), kNoTensor),
        held_(rules_.activations == v1::INT16 && !form_only_
                  ? HeldRanges(*statistics)
                  : std::map<std::string, RealRange>()) {
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
      facts.push_back(
          {.is_integer = integer_[i],
           .at_mask = IsAtMask(op),
           .seen = integer_[i] ? quantizations_.SeenOf(op.outputs[0]) : nullptr,
           .scale_growth = constants_.ScaleGrowth(op.id)});
    }
    return facts;
  }

  // With `samples`, ranges may be chosen by them.
  absl::StatusOr<Graph> Make(const CalibrationSamples* samples,
                             ops::CpuPath cpu_path) {
    EK_RETURN_IF_ERROR(CheckIsFloat(source_));
    EK_RETURN_IF_ERROR(
        quantizations_.Choose(statistics_, method_, ConvertedResults()));
    const bool search =
        method_.method() == v1::CalibrateOptions::METHOD_UNSPECIFIED ||
        method_.method() == v1::CalibrateOptions::OUTPUT_MSE;
    if (search && samples != nullptr) {
      EK_RETURN_IF_ERROR(SearchRanges(source_, integer_, *statistics_, *samples,
                                      cpu_path, quantizations_));
    }
    if (!form_only_) quantizations_.RaiseResults(LargestWeightScales());
    for (const TensorId input : source_.inputs) float_[input] = input;
    for (const TensorId input : source_.inputs) {
      if (ReadByIntegers(input)) Quantized(input);
    }
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      if (integer_[i]) {
        v1::LayerScheme scheme = schemes_[i];
        // Fitting to samples chooses another one.
        if (samples != nullptr) scheme.set_weight_range(v1::LARGEST_WEIGHT);
        EK_RETURN_IF_ERROR(
            QuantizeOp(source_.ops[i], scheme, ConverterOfOp(i)));
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
      if (rules_.power_of_two && schemes_[i].accumulator_bits() > 0) {
        scales[i] = std::max(
            scales[i],
            LargestScaleForSums({.weights = weights,
                                 .shape = source_.tensors[op.inputs[1]].shape,
                                 .axis = WeightAxis(op),
                                 .inputs = quantizations_.Of(op.inputs[0]),
                                 .activations = rules_.activations},
                                schemes_[i]));
      }
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
    if (axis >= 0 && form_only_) {
      constants_.SetForm(op, axis, scheme, converter, quantized);
    } else if (axis >= 0) {
      EK_RETURN_IF_ERROR(
          constants_.Set(op, axis, scheme, converter, quantized));
    }
    if (converter != nullptr || (rounds_down_ && HasRounding(op))) {
      quantized.attributes.set_rounding(v1::FLOOR);
    }
    KeepSaturation(source_.tensors[op.outputs[0]].name, quantized.attributes);
    quantized.outputs = {QuantizedResult(op.outputs[0])};
    result_.ops.push_back(std::move(quantized));
    return absl::OkStatus();
  }

  // Integers of a model that came quantized saturate at both ends of their
  // range, those of int16 only at the one that is further from 0.
  void KeepSaturation(const std::string& result, v1::OpAttributes& attributes) {
    const auto found = held_.find(result);
    // It makes one where there is none.
    v1::Clamp* clamp =
        found == held_.end() ? nullptr : MutableClamp(attributes);
    if (clamp == nullptr) return;
    const RealRange& held = found->second;
    if (!clamp->has_min() || clamp->min() < held.low) {
      clamp->set_min(static_cast<float>(held.low));
    }
    if (!clamp->has_max() || clamp->max() > held.high) {
      clamp->set_max(static_cast<float>(held.high));
    }
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
  LayerConstants constants_;
  std::vector<TensorId> float_;  // By tensor: its real values; none yet.
  std::set<TensorId> is_output_;
  std::map<TensorId, TensorId> quantized_;       // Float tensor -> int8 tensor.
  const std::map<std::string, RealRange> held_;  // HeldRanges(), for int16.
  Graph result_;
};

IntegerGraph::IntegerGraph(const Graph& graph,
                           const v1::CalibrationStatistics* statistics,
                           const v1::QuantizeOptions& options,
                           std::vector<v1::LayerScheme> schemes,
                           RoundedLayers* memo)
    : maker_(std::make_unique<Maker>(graph, statistics, options,
                                     std::move(schemes), memo)) {}

IntegerGraph::~IntegerGraph() = default;

absl::StatusOr<Graph> IntegerGraph::Make(const CalibrationSamples* samples,
                                         ops::CpuPath cpu_path) {
  return maker_->Make(samples, cpu_path);
}

std::vector<LayerFacts> IntegerGraph::Facts() const { return maker_->Facts(); }

}  // namespace edgekiln::compiler
