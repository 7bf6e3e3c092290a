#ifndef EK_COMPILER_PASSES_FLOAT32_FORM_H_
#define EK_COMPILER_PASSES_FLOAT32_FORM_H_

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

// Networks in FLOAT16 or FLOAT64, as ONNX exporters write them to halve files:
// what they compute in FLOAT32. Quantization starts from that form; every
// rewrite and every integer kernel knows FLOAT32 only.
namespace edgekiln::compiler {

// Whether a tensor of the graph is FLOAT16 or FLOAT64.
bool HasOtherFloats(const Graph& graph);

// The graph with all floats as FLOAT32, simplified. FLOAT16 constants keep
// their values; those of FLOAT64 are rounded, and limited to finite values if
// they are finite. Graph inputs and outputs keep names and types: those of
// another float type have a Cast of their own, inputs in front of all other
// ops, outputs behind them.
absl::StatusOr<Graph> Float32Form(Graph graph);

// Whether the op changes nothing but the width of floats.
bool IsCastOfFloats(const Graph& graph, const Op& op);

// Lets each Quantize read FLOAT16 itself instead of a Cast of it, and each
// Dequantize make FLOAT16 instead of a Cast behind it. Changes no value.
void MergeFloat16Casts(Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_FLOAT32_FORM_H_
