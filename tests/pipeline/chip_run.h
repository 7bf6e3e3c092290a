#ifndef EK_TESTS_PIPELINE_CHIP_RUN_H_
#define EK_TESTS_PIPELINE_CHIP_RUN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/session/session.h"

// The back half of the compiler and the simulator, called as the worker does.
namespace edgekiln::tests {

// The target of that descriptor's text, with so many bytes in each memory of
// activations that its first engine reaches and the host does not: any number.
// The text must be good.
v1::ResolvedTarget TargetWithScratchpad(absl::string_view descriptor,
                                        int64_t scratchpad_bytes);

// Partition, tile, emit. `recipe` is one of the target's.
absl::StatusOr<compiler::EmitResult> CompileQuantized(
    const compiler::Graph& graph, const v1::ResolvedTarget& target,
    const v1::TileRecipe& recipe = v1::TileRecipe());

// The N of "N bytes" in a SRAM_TOO_SMALL error; -1 for another status.
int64_t SmallestSramOf(const absl::Status& status);

// For a session whose runs visit taps.
simfarm::SessionOptions OptionsOf(const compiler::Graph& graph);

struct Comparison {
  v1::SimReport report;
  int64_t compared = 0;
  int64_t mismatches = 0;
  std::string first_mismatch;
  // Bytes of layer outputs that no tap covers, over all engine layers.
  int64_t uncovered = 0;
};

// Runs the program (first checked, then fast) on each sample of its only input
// besides states, which are carried from sample to sample, and compares every
// tap, those of accumulators included, and the outputs with the interpreter.
absl::StatusOr<Comparison> CompareWithInterpreter(
    const compiler::Graph& graph, const v1::ResolvedTarget& target,
    const compiler::EmitResult& compiled,
    absl::Span<const std::string> samples);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_PIPELINE_CHIP_RUN_H_
