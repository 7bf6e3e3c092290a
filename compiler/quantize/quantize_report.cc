#include "compiler/quantize/quantize_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_format.h"
#include "compiler/ir/buffer_layout.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/noise.h"
#include "compiler/quantize/scales.h"
#include "compiler/quantize/weight_fit.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

// Samples whose values of both networks fit this.
constexpr int64_t kSampleBytes = int64_t{64} << 20;

// Of a layer with weights: how far its integers are from them.
void DescribeWeights(const Graph& float_graph, const Op& real_op,
                     const Graph& quantized, const Op& op,
                     v1::QuantizedLayer& layer) {
  const Tensor& weights = quantized.tensors[op.inputs[1]];
  const std::vector<float> values =
      *FloatConstantValues(float_graph.tensors[real_op.inputs[1]]);
  const auto* integers = reinterpret_cast<const int8_t*>(weights.data->data());
  const std::vector<float>& scales = weights.quantization->scale;
  const int axis = WeightAxis(op);
  size_t inner = 1;
  for (size_t i = axis + 1; i < weights.shape.size(); ++i) {
    inner *= static_cast<size_t>(weights.shape[i]);
  }
  const auto channels = static_cast<size_t>(weights.shape[axis]);
  const int32_t limit = LargestInteger(layer.weights());
  Noise all;
  std::vector<Noise> by_channel(channels);
  int64_t clipped = 0;
  int64_t adapted = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / inner % channels;
    const double scale = scales[scales.size() == 1 ? 0 : c];
    const double real = values[i];
    all.AddPair(real, scale * integers[i]);
    by_channel[c].AddPair(real, scale * integers[i]);
    const double steps = std::clamp(real / scale, -1e6, 1e6);
    clipped += std::abs(steps) > limit + 0.5 ? 1 : 0;
    adapted +=
        std::clamp<int64_t>(RoundHalfAway(steps), -limit, limit) != integers[i]
            ? 1
            : 0;
  }
  layer.set_per_tensor(scales.size() == 1 && channels > 1);
  if (values.empty()) return;
  const auto count = static_cast<double>(values.size());
  layer.set_clipped_weights(static_cast<double>(clipped) / count);
  layer.set_adapted_weights(static_cast<double>(adapted) / count);
  if (const auto ratio = all.decibels()) layer.set_weight_sqnr_db(*ratio);
  for (size_t c = 0; c < channels; ++c) {
    const auto ratio = by_channel[c].decibels();
    if (!ratio || (layer.optional_worst_channel_sqnr_db_case() ==
                       v1::QuantizedLayer::kWorstChannelSqnrDb &&
                   *ratio >= layer.worst_channel_sqnr_db())) {
      continue;
    }
    layer.set_worst_channel(static_cast<int32_t>(c));
    layer.set_worst_channel_sqnr_db(*ratio);
  }
}

// What a user should know of layers whose weights have larger scales because
// of accumulators.
void NoteGrowth(v1::QuantizationReport& report) {
  int layers = 0;
  const v1::QuantizedLayer* most = nullptr;
  for (const v1::QuantizedLayer& layer : report.layers()) {
    if (layer.scale_growth() <= 1) continue;
    ++layers;
    if (most == nullptr || layer.scale_growth() > most->scale_growth()) {
      most = &layer;
    }
  }
  if (most == nullptr) return;
  report.add_notes(absl::StrFormat(
      "weights of %d %s have larger scales, so that no input makes a sum "
      "exceed the accumulator; the most in layer %s: x%.2f, for %d bits. "
      "`accumulator_bits: 32` in a quantization file keeps a layer's scales; "
      "it then runs where its sums fit",
      layers, layers == 1 ? "layer" : "layers", most->id(),
      most->scale_growth(), most->accumulator_bits()));
}

void DescribeResult(const Tensor& result, const SeenValues& seen,
                    v1::QuantizedLayer& layer) {
  const Quantization& quantization = *result.quantization;
  const double scale = quantization.scale[0];
  const int32_t zero = quantization.zero_point[0];
  layer.set_seen_low(seen.all().low);
  layer.set_seen_high(seen.all().high);
  layer.set_scale(scale);
  layer.set_zero_point(zero);
  const auto [least, most] = ops::RangeOf(result.type);
  layer.set_range_low(scale * (least - zero));
  layer.set_range_high(scale * (most - zero));
  layer.set_saturated(seen.ShareOutside(quantization, result.type));
}

}  // namespace

void DescribeLayers(const Graph& float_graph, const Graph& quantized,
                    const std::vector<v1::LayerScheme>& schemes,
                    const std::vector<LayerFacts>& facts,
                    v1::QuantizationReport& report) {
  std::map<std::string, const Op*> ops;
  for (const Op& op : quantized.ops) ops[op.id] = &op;
  for (size_t i = 0; i < float_graph.ops.size(); ++i) {
    const Op& real_op = float_graph.ops[i];
    const v1::LayerScheme& scheme = schemes[i];
    v1::QuantizedLayer& layer = *report.mutable_layers(static_cast<int>(i));
    const auto found = ops.find(real_op.id);
    layer.set_is_float(!facts[i].is_integer);
    if (layer.is_float()) {
      layer.set_reason(
          scheme.keep_float() == v1::ON ? "asked for by the quantization file"
          : facts[i].at_mask ? "no scale spans the scores and the mask"
                             : "it has no integer form here");
      continue;
    }
    if (found == ops.end()) continue;
    const Op& op = *found->second;
    if (WeightAxis(real_op) >= 0) {
      layer.set_weights(scheme.weights());
      layer.set_rounding(scheme.rounding());
      layer.set_converter(op.attributes.has_converter());
      layer.set_channels_per_scale(scheme.channels_per_scale());
      layer.set_accumulator_bits(scheme.accumulator_bits());
      if (layer.scale_growth() == 0) {
        layer.set_scale_growth(facts[i].scale_growth);
      }
      if (layer.scale_growth() <= 1) layer.clear_scale_growth();
      DescribeWeights(float_graph, real_op, quantized, op, layer);
    }
    const SeenValues* seen = facts[i].seen;
    const Tensor& result = quantized.tensors[op.outputs[0]];
    if (seen != nullptr && result.quantization) {
      DescribeResult(result, *seen, layer);
    }
  }
  NoteGrowth(report);
}

int64_t SamplesThatFit(const Graph& float_graph, const Graph& quantized) {
  const int64_t one = LayOutBuffers(float_graph, /*keep_all=*/false).bytes +
                      LayOutBuffers(quantized, /*keep_all=*/false).bytes;
  return std::max<int64_t>(1, kSampleBytes / std::max<int64_t>(one, 1));
}

}  // namespace edgekiln::compiler
