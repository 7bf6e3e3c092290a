#ifndef EK_COMPILER_QUANTIZE_LIMITS_H_
#define EK_COMPILER_QUANTIZE_LIMITS_H_

// Upper limits of activations, as that of a ReLU6.

#include <map>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/quantize/scales.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// Factors by name of a tensor.
using TensorFactors = std::map<std::string, double>;

// Multiplies activations of a float graph so that their upper limits become the
// largest integer of a scale that is a power of two: 6 becomes 127/16. The
// limit then costs nothing, as integers saturate there, and no integer is left
// unused. The layers that make the values are multiplied, those that read them
// divided (channel_spaces.h): the graph computes the same, up to the rounding
// of floats.
//
// Done where `rules` want powers of two, to values between layers of which some
// are limited from 0 to one and the same number; those without an upper limit,
// such as operands of a sum, are multiplied with them. Gives the factors of the
// tensors that have changed.
TensorFactors FitLimits(ScaleRules rules, Graph& graph);

// Changes the limits alone, whatever the weights hold, which are not read.
void SetFittedLimits(ScaleRules rules, Graph& graph);

// What calibration sees of the graph with such factors, which are at least 1;
// histograms up to half a bin.
v1::CalibrationStatistics Multiplied(v1::CalibrationStatistics statistics,
                                     const TensorFactors& factors);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_LIMITS_H_
