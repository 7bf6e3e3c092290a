#include "compiler/quantize/input_rows.h"

#include <cstddef>
#include <cstdint>

#include "compiler/quantize/activation_range.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

// What `input` is quantized to; null if only floats read it.
const Tensor* IntegersOf(const Graph& quantized, TensorId input) {
  for (const Op& op : quantized.ops) {
    if (op.attributes.has_quantize() && op.inputs[0] == input) {
      return &quantized.tensors[op.outputs[0]];
    }
  }
  return nullptr;
}

v1::QuantizedLayer RowOf(const Tensor& input, const Tensor& integers,
                         const v1::CalibrationStatistics& statistics) {
  v1::QuantizedLayer row;
  row.set_id(input.name);
  row.set_op("input");
  const Quantization& quantization = *integers.quantization;
  const double scale = quantization.scale[0];
  const int32_t zero = quantization.zero_point[0];
  const auto [low, high] = ops::RangeOf(integers.type);
  row.set_scale(scale);
  row.set_zero_point(zero);
  row.set_range_low(scale * (low - zero));
  row.set_range_high(scale * (high - zero));
  for (const auto& range : statistics.ranges()) {
    if (range.tensor() != input.name) continue;
    row.set_seen_low(range.min());
    row.set_seen_high(range.max());
    SeenValues seen;
    seen.Include(range);
    row.set_saturated(seen.ShareOutside(quantization, integers.type));
  }
  return row;
}

}  // namespace

void AddInputRows(const Graph& float_graph, const Graph& quantized,
                  const v1::CalibrationStatistics& statistics,
                  v1::QuantizationReport& report) {
  google::protobuf::RepeatedPtrField<v1::QuantizedLayer> rows;
  for (size_t i = 0; i < float_graph.inputs.size(); ++i) {
    const Tensor* const integers = IntegersOf(quantized, quantized.inputs[i]);
    if (integers == nullptr || !integers->quantization) continue;
    *rows.Add() = RowOf(float_graph.tensors[float_graph.inputs[i]], *integers,
                        statistics);
  }
  rows.MergeFrom(report.layers());
  report.mutable_layers()->Swap(&rows);
}

}  // namespace edgekiln::compiler
