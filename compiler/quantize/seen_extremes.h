#ifndef EK_COMPILER_QUANTIZE_SEEN_EXTREMES_H_
#define EK_COMPILER_QUANTIZE_SEEN_EXTREMES_H_

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/scales.h"
#include "edgekiln/v1/data.pb.h"

// What the extremes of calibration statistics say of tensors.
namespace edgekiln::compiler {

// By tensor of the float graph: whether its values are ones that no scale spans
// together with others: masks of infinities, or of what stands for them. In
// front of a softmax that may be a number like -10000: values are masked if
// neighbouring integers of type `activations` were e^4 apart in its results,
// and are not the sums of a layer.
std::vector<bool> UnboundedTensors(const Graph& graph,
                                   const v1::CalibrationStatistics& statistics,
                                   v1::ElementType activations);

// By name of a tensor: what the integers of a model that came quantized can
// hold (unquantize.h). Nothing was seen of such values, so that they have no
// histograms.
std::map<std::string, RealRange> HeldRanges(
    const v1::CalibrationStatistics& statistics);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_SEEN_EXTREMES_H_
