#ifndef EK_COMPILER_QUANTIZE_CALIBRATE_H_
#define EK_COMPILER_QUANTIZE_CALIBRATE_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// Called after each sample; must not throw.
using CalibrationProgress = std::function<void(int64_t done, int64_t total)>;

// Of all tensors together: 2000 with many values each, 65000 with few. Networks
// of more run their samples again, for the tensors that are left.
inline constexpr int64_t kHistogramBytes = int64_t{256} << 20;

// Runs the samples through a float graph and returns the range of every
// activation tensor: graph inputs and results of ops. The percentile range
// keeps the share `percentile_ppm` of the values, what is cut off divided
// equally between both ends; without METHOD PERCENTILE it is the whole range.
//
// States that the chunks do not give are carried from sample to sample, the
// first begins with zero. Without carried states the result does not depend on
// the order of samples. It never depends on chunk borders or on the machine.
// `cpu_path` and `histogram_bytes` (but for one tensor) change speed only.
// Progress is that of the first run.
//
// INVALID_ARGUMENT if a chunk does not fit the graph's inputs, if there is no
// sample, if percentile_ppm is not in 1 .. 1000000, or if a tensor takes a
// value that is no number; the error names it. Tensors that take infinities
// have infinite ranges; graph inputs may not.
absl::StatusOr<v1::CalibrationStatistics> Calibrate(
    const Graph& float_graph, absl::Span<const v1::Chunk> chunks,
    const v1::CalibrateOptions& options,
    const CalibrationProgress& progress = nullptr,
    ops::CpuPath cpu_path = ops::CpuPath::kAuto,
    int64_t histogram_bytes = kHistogramBytes);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_CALIBRATE_H_
