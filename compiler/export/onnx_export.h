#ifndef EK_COMPILER_EXPORT_ONNX_EXPORT_H_
#define EK_COMPILER_EXPORT_ONNX_EXPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// A quantized graph as an ONNX model in QDQ form: every op computes real values
// between DequantizeLinear and QuantizeLinear; weights are int8 initializers
// and biases int32 ones behind a DequantizeLinear, with one scale per channel
// where the graph has one. Weights of fewer bits are int8 in the graph and
// here. Takes what QuantizeGraph() makes: float ports, int8 ops, and float ops
// in between. Op set 17, and Gelu of domain com.microsoft.
//
// Ports keep name, shape and order. Convolutions and pools are NCHW, and what
// follows them stays so; Transpose nodes stand only where the order matters.
//
// Imported and simplified again, the model has the same int8 layers with the
// same weights, biases, scales and zero points, bit for bit. What may differ:
// - Rounding. QuantizeGraph() makes HALF_UP ops, ONNX rounds half to even: a
//   layer comes back with HALF_EVEN if one of its results can lie in the middle
//   between two steps, and then those results differ, by one step. No others
//   do, but for average pools.
// - Average pools whose windows have an even number of values come back as
//   float ops between the same scales, unless floats are certain to agree with
//   integers (docs/numerics.md section 7): again by one step, at ties.
// - Functions that ONNX spells with several operators come back as these, in
//   float: RSQRT, AFFINE, SCALED_TANH, GELU_TANH, SQUARED_DIFFERENCE. SQUARE is
//   a product, a depthwise convolution of one channel a convolution, a fully
//   connected layer of pixels one behind a reshape.
// - Types. uint8 comes back as int8, as of every model.
// - Form. A clamp at 0 appears where the zero point forbids less anyway;
//   constants of additions and the like get leading extents of 1; tensors
//   inside the graph, and transposes, get other names.
// - Layer ids above 48 characters are cut, as the importer cuts them.
//
// The same graph gives the same bytes on every machine. UNIMPLEMENTED, naming
// layer, op and a fix, for what op set 17 has no operator for, for recurrent
// cells, for integers that its QuantizeLinear does not make (16 bits), and for
// graphs with states; INVALID_ARGUMENT for ports that the caller converts
// (UseSourcePorts() undoes that); RESOURCE_EXHAUSTED above 2 GiB.
absl::StatusOr<std::string> ExportQdqOnnx(const Graph& quantized);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_EXPORT_ONNX_EXPORT_H_
