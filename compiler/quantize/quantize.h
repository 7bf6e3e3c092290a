#ifndef EK_COMPILER_QUANTIZE_QUANTIZE_H_
#define EK_COMPILER_QUANTIZE_QUANTIZE_H_

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The int8 form of a simplified float graph: weights symmetric per output
// channel, biases int32, activations asymmetric per tensor with a zero that is
// exact. Op ids, op order and tensor names stay. Ops without an integer form
// (integer_choice.h) stay float, between a Dequantize and a Quantize. Graph
// inputs and outputs stay float: each input that integers read goes through a
// Quantize op, each output that they make comes from a Dequantize op (the int8
// tensors are called "<name>.int8"), so that users feed and read what their
// model expects.
//
// Ranges are those between percentile_low and percentile_high. All scales are
// computed in double, exactly alike on every machine.
//
// `needs` are those of the target (target/quantization_needs.h): ops of the
// kinds listed get one weight scale; all activations, those of host ops and
// constant operands included, zero point 0; activations and weights scales that
// are powers of two, rounded up.
//
// UNIMPLEMENTED naming the op for a graph that is quantized already or has
// weights that are not finite; INVALID_ARGUMENT if the statistics have no
// usable range for a tensor.
absl::StatusOr<Graph> QuantizeGraph(
    const Graph& float_graph, const v1::CalibrationStatistics& statistics,
    const v1::QuantizationNeeds& needs =
        v1::QuantizationNeeds::default_instance());

// What QuantizeGraph makes of the graph, before anything is calibrated: the
// same ops, tensors, shapes and element types, with made-up scales, and
// constants of the right size whose bytes mean nothing. They are borrowed from
// `float_graph`, which must outlive the result; no weight is read. Where
// constants or the calibration data hold what no scale spans (masks),
// QuantizeGraph leaves more ops float. Ops that share weights or a bias still
// do here, as they would then.
absl::StatusOr<Graph> QuantizedForm(
    const Graph& float_graph, const v1::QuantizationNeeds& needs =
                                  v1::QuantizationNeeds::default_instance());

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_QUANTIZE_H_
