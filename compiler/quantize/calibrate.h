#ifndef EK_COMPILER_QUANTIZE_CALIBRATE_H_
#define EK_COMPILER_QUANTIZE_CALIBRATE_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// No scale spans such values together with others: inside a network they are
// masks, as infinities are; in the data they are a mistake.
inline constexpr float kBeyondScales = 1e30f;

// Called after each sample; must not throw.
using CalibrationProgress = std::function<void(int64_t done, int64_t total)>;

// Runs the samples through a float graph, once, and returns what it saw of
// every activation tensor, graph inputs and results of ops: extremes, moving
// averages of them, a histogram. That is a few KiB per tensor, however many
// samples there are. Tensors that take infinities, and masks, have no
// histogram.
//
// Samples are taken in the order of their content, so that their order in the
// data set does not matter. States that the chunks do not give are carried from
// sample to sample, the first begins with zero: there the order is that of the
// data. The result never depends on chunk borders or on the machine; `cpu_path`
// changes speed only.
//
// INVALID_ARGUMENT if a chunk does not fit the graph's inputs, if there is no
// sample, or if a tensor takes a value that is no number, or an input one of
// kBeyondScales; the error names it.
// Tensors that take infinities have infinite ranges; graph inputs may not.
absl::StatusOr<v1::CalibrationStatistics> Calibrate(
    const Graph& float_graph, absl::Span<const v1::Chunk> chunks,
    const CalibrationProgress& progress = nullptr,
    ops::CpuPath cpu_path = ops::CpuPath::kAuto);

// The same of a graph that differs in constants and attributes from `before`,
// of which `known` are the statistics on the same samples. Only tensors that
// depend on what differs are looked at.
absl::StatusOr<v1::CalibrationStatistics> Recalibrate(
    const Graph& float_graph, const Graph& before,
    const v1::CalibrationStatistics& known, absl::Span<const v1::Chunk> chunks,
    ops::CpuPath cpu_path = ops::CpuPath::kAuto);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_CALIBRATE_H_
