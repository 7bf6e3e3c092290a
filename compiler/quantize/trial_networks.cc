#include "compiler/quantize/trial_networks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/layer_fit.h"
#include "compiler/quantize/layer_schemes.h"
#include "compiler/quantize/noise.h"
#include "compiler/quantize/sample_batch.h"

namespace edgekiln::compiler {
namespace {

// Of the memo's bytes, one of so many.
constexpr int64_t kShareOfConstants = 4;

void AppendInteger(int64_t value, std::string& text) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendType(const Tensor& tensor, std::string& text) {
  AppendInteger(tensor.type, text);
  AppendKey(tensor.quantization, text);
}

// From layer to layer through one combination.
class TrialWalk {
 public:
  TrialWalk(const Graph& float_graph, const RefineOptions& options,
            const CalibrationSamples& fitted, FitMemo& memo, Graph& quantized)
      : options_(options),
        memo_(memo),
        quantized_(quantized),
        integers_(quantized, fitted.size(), options.cpu_path),
        judged_(quantized, memo.judged().size(), options.cpu_path),
        fit_(float_graph, options, quantized, integers_, nullptr, &memo),
        keys_(quantized.tensors.size()) {
    for (size_t i = 0; i < float_graph.ops.size(); ++i) {
      real_index_[float_graph.ops[i].id] = static_cast<int32_t>(i);
    }
  }

  // Fits what further networks take over of quantized.ops[index], and does not
  // run it.
  absl::Status Fit(const CalibrationSamples& fitted, int32_t index) {
    EK_RETURN_IF_ERROR(RunBefore(fitted, index));
    Op& op = quantized_.ops[index];
    const auto real = real_index_.find(op.id);
    if (real == real_index_.end() || !IsFitted(quantized_, op)) {
      return absl::OkStatus();
    }
    return fit_.FitWeightsAndBias(real->second, op);
  }

  // Up to the op that makes `last`, whose real values on the judged samples
  // are appended to `values`; ops behind it are fitted by nothing.
  absl::Status Run(const CalibrationSamples& fitted, TensorId last,
                   std::vector<float>& values) {
    const int32_t end = Producers(quantized_)[last];
    EK_RETURN_IF_ERROR(RunBefore(fitted, end));
    EK_RETURN_IF_ERROR(RunOp(end));
    for (int64_t sample = 0; sample < judged_.samples(); ++sample) {
      AppendRealValues(quantized_.tensors[last], judged_.value(last, sample),
                       values);
    }
    return absl::OkStatus();
  }

 private:
  // Of all that decides what the op becomes: its form before it is fitted, its
  // scheme, what it reads, and the samples that a converter is fitted to.
  Fingerprint KeyOf(const Op& op, const v1::LayerScheme* scheme) {
    std::string text = op.id;
    text.push_back('\0');
    op.attributes.AppendToString(&text);
    if (scheme != nullptr) scheme->AppendToString(&text);
    // The first so many: what follows the op is not shared, either.
    if (op.attributes.has_converter()) {
      AppendInteger(integers_.samples(), text);
    }
    for (const TensorId id : op.inputs) {
      if (id == kNoTensor) {
        text.push_back('-');
        continue;
      }
      const Tensor& tensor = quantized_.tensors[id];
      text.push_back(tensor.is_constant() ? 'c' : 'v');
      // Weights and biases follow from the scheme.
      const bool follows = tensor.is_constant() && scheme != nullptr;
      if (!follows) AppendType(tensor, text);
      if (!tensor.is_constant()) {
        text.append(keys_[id].begin(), keys_[id].end());
      }
    }
    for (const TensorId id : op.outputs) {
      AppendType(quantized_.tensors[id], text);
    }
    return memo_.KeyOf(text);
  }

  absl::Status RunBefore(const CalibrationSamples& fitted, int32_t index) {
    EK_RETURN_IF_ERROR(integers_.SetInputs(fitted));
    EK_RETURN_IF_ERROR(judged_.SetInputs(memo_.judged()));
    for (int32_t i = 0; i < index; ++i) {
      EK_RETURN_IF_ERROR(RunOp(i));
      integers_.Release(i);
      judged_.Release(i);
    }
    return absl::OkStatus();
  }

  absl::Status RunOp(int32_t index) {
    Op& op = quantized_.ops[index];
    const auto real = real_index_.find(op.id);
    const bool fits = real != real_index_.end() && IsFitted(quantized_, op);
    const Fingerprint key =
        KeyOf(op, fits ? &options_.schemes[real->second] : nullptr);
    FitMemo::Entry entry;
    const FitMemo::Entry* known = memo_.Find(key);
    if (known != nullptr) {
      entry = *known;
      if (fits) op.attributes = entry.attributes;
      for (const auto& [input, constant] : entry.constants) {
        Tensor& tensor = quantized_.tensors[op.inputs[input]];
        tensor.type = constant.type;
        tensor.quantization = constant.quantization;
        tensor.data = constant.data;
      }
    } else if (fits) {
      EK_RETURN_IF_ERROR(fit_.Fit(real->second, op));
      entry.attributes = op.attributes;
      for (size_t i = 1; i < op.inputs.size(); ++i) {
        if (op.inputs[i] == kNoTensor) continue;
        entry.constants.emplace_back(i, quantized_.tensors[op.inputs[i]]);
      }
    }
    if (known != nullptr) {
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        integers_.Adopt(op.outputs[i], entry.fitted[i]);
        judged_.Adopt(op.outputs[i], entry.judged[i]);
      }
    } else {
      EK_RETURN_IF_ERROR(SampleBatch::RunAll({&integers_, &judged_}, index));
      for (const TensorId id : op.outputs) {
        entry.fitted.push_back(integers_.Share(id));
        entry.judged.push_back(judged_.Share(id));
      }
    }
    for (const TensorId id : op.outputs) keys_[id] = key;
    if (known == nullptr) memo_.Add(key, std::move(entry));
    return absl::OkStatus();
  }

  const RefineOptions& options_;
  FitMemo& memo_;
  Graph& quantized_;
  SampleBatch integers_;
  SampleBatch judged_;
  LayerFit fit_;
  std::map<std::string, int32_t> real_index_;  // By id of a float op.
  std::vector<Fingerprint> keys_;  // By tensor: of the op that makes it.
};

}  // namespace

absl::StatusOr<std::unique_ptr<TrialNetworks>> TrialNetworks::Create(
    const Graph& graph, const v1::QuantizeOptions& asked,
    const QuantizeInputs& inputs, CalibrationSamples fitted,
    CalibrationSamples judged, int64_t memo_bytes) {
  EK_RETURN_IF_ERROR(CheckIsFloat(graph));
  std::unique_ptr<TrialNetworks> trials(new TrialNetworks(
      WithHeldNeeds(asked), inputs.cpu_path, std::move(fitted)));
  const v1::QuantizeOptions& options = trials->options_;
  EK_ASSIGN_OR_RETURN(
      const std::vector<v1::LayerScheme> schemes,
      LayerSchemes(graph, options.config(), options.needs(), true));
  trials->graph_ = &graph;
  trials->statistics_ = &inputs.statistics;
  // As Quantize() does.
  trials->clipped_ =
      ClipFills(graph, inputs.statistics, KeptFloat(schemes),
                ActivationsOf(options.config(), options.needs()));
  if (trials->clipped_) {
    trials->graph_ = &trials->clipped_->graph;
    trials->statistics_ = &trials->clipped_->statistics;
  }
  EK_ASSIGN_OR_RETURN(
      trials->equalized_,
      EqualizeNetwork(*trials->graph_,
                      {*trials->statistics_, /*measured=*/!trials->clipped_},
                      options, schemes, trials->fitted_, inputs.samples,
                      inputs.cpu_path));
  if (trials->equalized_) {
    trials->statistics_ = &trials->equalized_->statistics;
  }
  trials->memo_bytes_ = memo_bytes;
  trials->constants_ =
      std::make_shared<RoundedLayers>(memo_bytes / kShareOfConstants);
  trials->memo_.emplace(trials->graph(), trials->fitted_, std::move(judged),
                        inputs.cpu_path, memo_bytes);
  return trials;
}

std::unique_ptr<TrialNetworks> TrialNetworks::WithFewer(int64_t count) {
  CalibrationSamples fitted = fitted_;
  fitted.Limit(count);
  CalibrationSamples judged = memo_->judged();
  judged.Limit(count);
  std::unique_ptr<TrialNetworks> trials(
      new TrialNetworks(options_, cpu_path_, std::move(fitted)));
  trials->graph_ = &graph();
  trials->statistics_ = statistics_;
  trials->memo_bytes_ = memo_bytes_ * trials->fitted_.size() /
                        std::max<int64_t>(fitted_.size(), 1);
  trials->memo_.emplace(trials->graph(), trials->fitted_, std::move(judged),
                        cpu_path_, trials->memo_bytes_);
  trials->memo_->TakeOver(*memo_);
  trials->constants_ = constants_;
  return trials;
}

absl::StatusOr<TrialNetworks::Prepared> TrialNetworks::Prepare(
    const v1::QuantizationConfig& config) const {
  v1::QuantizeOptions options = options_;
  *options.mutable_config() = config;
  EK_ASSIGN_OR_RETURN(std::vector<v1::LayerScheme> schemes,
                      LayerSchemes(graph(), config, options.needs(), true));
  Prepared prepared;
  IntegerGraph integers(graph(), statistics_, options, schemes,
                        constants_.get());
  EK_ASSIGN_OR_RETURN(prepared.graph, integers.Make(&fitted_, cpu_path_));
  prepared.refine = RefineOptionsOf(options, std::move(schemes), cpu_path_);
  AddMissingBiases(prepared.refine, prepared.graph);
  return prepared;
}

absl::Status TrialNetworks::Fit(const v1::QuantizationConfig& config,
                                const std::string& layer) {
  EK_ASSIGN_OR_RETURN(Prepared prepared, Prepare(config));
  for (int32_t i = 0; i < std::ssize(prepared.graph.ops); ++i) {
    if (prepared.graph.ops[i].id != layer) continue;
    return TrialWalk(graph(), prepared.refine, fitted_, *memo_, prepared.graph)
        .Fit(fitted_, i);
  }
  return absl::OkStatus();
}

absl::StatusOr<TrialNetworks::Trial> TrialNetworks::Try(
    const v1::QuantizationConfig& config, const std::string& tensor) {
  EK_ASSIGN_OR_RETURN(Prepared prepared, Prepare(config));
  Trial trial = {.graph = std::move(prepared.graph), .values = {}};
  TensorId looked_at = kNoTensor;
  for (TensorId id = 0; id < std::ssize(trial.graph.tensors); ++id) {
    if (trial.graph.tensors[id].name == tensor) looked_at = id;
  }
  if (looked_at == kNoTensor) {
    return absl::InternalError("no such tensor in a quantized network");
  }
  TrialWalk walk(graph(), prepared.refine, fitted_, *memo_, trial.graph);
  EK_RETURN_IF_ERROR(walk.Run(fitted_, looked_at, trial.values));
  return trial;
}

}  // namespace edgekiln::compiler
