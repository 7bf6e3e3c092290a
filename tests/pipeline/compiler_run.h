#ifndef EK_TESTS_PIPELINE_COMPILER_RUN_H_
#define EK_TESTS_PIPELINE_COMPILER_RUN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "ops/cpu_path.h"

// The whole compiler in one process, stage by stage as the workers run it.
namespace edgekiln::tests {

struct FloatModel {
  std::string model;        // Bytes of the file.
  std::string calibration;  // Bytes of an .npz.
  int64_t samples = 0;      // Of the calibration set.
};

// Import and simplify.
absl::StatusOr<compiler::Graph> SimplifiedGraph(absl::string_view model);

// Import, simplify, convert the data, calibrate, quantize.
absl::StatusOr<compiler::Graph> QuantizedGraph(const FloatModel& model,
                                               ops::CpuPath path);

// Partition, tile, emit: the program and its constants as they are stored.
absl::StatusOr<std::string> ProgramBytes(const compiler::Graph& graph,
                                         const v1::ResolvedTarget& target);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_PIPELINE_COMPILER_RUN_H_
