#ifndef EK_COMPILER_QUANTIZE_RANGE_SEARCH_H_
#define EK_COMPILER_QUANTIZE_RANGE_SEARCH_H_

#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/scales.h"
#include "compiler/quantize/tensor_quantizations.h"
#include "edgekiln/v1/data.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// Chooses ranges of activations by what they do to the outputs of the network:
// what is cut off of one tensor may hardly matter, of another it decides. Each
// activation that an integer op makes is quantized alone, in several ways, and
// the rest of the float network is run on some of the samples; as errors of
// tensors hardly depend on each other, the way that moves the outputs least is
// taken. Outputs that come from a softmax are compared before it, where nothing
// saturates. What a way cuts off of values in `statistics` that these samples
// lack counts, too: half as much as an error of the tensor does with the way
// where errors matter least.
//
// Networks that would take too many runs keep the ranges that `quantizations`
// has: the number of samples falls with the number of layers, down to four.
// `integer`: by op. `statistics` are of this graph.
absl::Status SearchRanges(const Graph& float_graph,
                          const std::vector<bool>& integer,
                          const v1::CalibrationStatistics& statistics,
                          CalibrationSamples samples, ops::CpuPath cpu_path,
                          TensorQuantizations& quantizations);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_RANGE_SEARCH_H_
