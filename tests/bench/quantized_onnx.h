#ifndef EK_TESTS_BENCH_QUANTIZED_ONNX_H_
#define EK_TESTS_BENCH_QUANTIZED_ONNX_H_

#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace edgekiln::bench {

// A quantized graph as an ONNX model of the same layers that ONNX Runtime runs
// as fast as it can: u8 activations, s8 weights per output channel, and ops
// that are quantized from the start, so that nothing depends on whether pairs
// of QuantizeLinear and DequantizeLinear get fused. Shapes are those of the
// graph; values are not: weights and scales are made up. Clamps become the
// saturation of the results. UNIMPLEMENTED for an op that no such network has.
absl::StatusOr<std::string> QuantizedOnnx(const compiler::Graph& graph);

// "QLinearConv 20, QLinearAdd 8": what the model at `path` consists of.
std::string OpsOf(const std::string& model);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_QUANTIZED_ONNX_H_
