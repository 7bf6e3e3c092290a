#ifndef EK_COMPILER_EXPORT_ONNX_EXPORT_H_
#define EK_COMPILER_EXPORT_ONNX_EXPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// A quantized graph as an ONNX model in QDQ form: every op computes real values
// between DequantizeLinear and QuantizeLinear; weights are int8 initializers
// and biases int32 ones behind a DequantizeLinear, with one scale per channel
// where the graph has one. Takes what QuantizeGraph() makes: float ports, int8
// ops, and float ops in between. Op set 17, and Gelu of domain com.microsoft.
//
// Ports keep name, shape and order. A node is named so that ImportOnnx() gives
// its op the layer id that it has here. Convolutions and pools are NCHW, and
// ops behind them stay so; Transpose nodes stand only where the order matters.
//
// Imported and simplified again, the model has the same int8 ops, weights,
// biases, scales and zero points. Two things differ:
// - Rounding. ONNX rounds ties to even, so ops come back with HALF_EVEN where a
//   result can lie in the middle between two steps; QuantizeGraph() makes
//   HALF_UP. Average pools round as floats do, and where these are not certain
//   to agree with the integers they come back as a depthwise convolution with
//   weights of 1, or as a float op (AverageFormOf() in
//   compiler/passes/integer_rounding.h). Results differ at ties alone.
// - Form. A clamp at 0 is added where the zero point already forbids less;
//   a depthwise convolution of one channel is a convolution; functions that
//   ONNX spells with several operators (square root's inverse, products with a
//   constant and an addend) stay float; tensors inside the graph get other
//   names.
//
// The same graph gives the same bytes on every machine. UNIMPLEMENTED, naming
// the op and a fix, for ops that op set 17 has no operator for, for recurrent
// cells, for element types that QuantizeLinear of op set 17 does not make, and
// for graphs with states; INVALID_ARGUMENT for ports that the caller converts
// (UseSourcePorts() undoes that); RESOURCE_EXHAUSTED for models above 2 GiB.
absl::StatusOr<std::string> ExportQdqOnnx(const Graph& quantized);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_EXPORT_ONNX_EXPORT_H_
