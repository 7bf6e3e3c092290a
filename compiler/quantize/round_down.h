#ifndef EK_COMPILER_QUANTIZE_ROUND_DOWN_H_
#define EK_COMPILER_QUANTIZE_ROUND_DOWN_H_

#include <optional>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// A quantized graph for engines that shift sums right and round down, with the
// integers that it has: where only its rounding is not theirs.
//
//   %y : int8[1,2] scale 1 zero 0 = fully_connected(%x, %w, %b)
// of sums in steps of 1/16 becomes
//   %y : int8[1,2] scale 1 zero 0 = fully_connected(%x, %w, %b2)
//       {rounding FLOOR}
// with 8 more in each bias: the same results, but for those that were halves
// and went to an even integer. What an addition that shifts leaves out is added
// by a layer that makes one of its operands, if that has no lower limit and
// nothing else reads it; without one, sums are half a step too small on average
// at most. Ports become FLOAT32 (real_ports.h), as those of a graph that
// Quantize() makes.
//
// Empty unless `needs` are those of such engines and every convolution, fully
// connected layer and addition of activations has all the rest of what they
// need: int8, scales whose ratio is a power of two, zero points, weights.
std::optional<Graph> RoundedDown(const Graph& quantized,
                                 const v1::QuantizationNeeds& needs);

// The layers of such a graph as a report has them: nothing was measured.
v1::QuantizationReport ReportOfKept(const Graph& kept);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_ROUND_DOWN_H_
