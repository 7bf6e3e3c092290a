#ifndef EK_COMPILER_PASSES_PIPELINE_H_
#define EK_COMPILER_PASSES_PIPELINE_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {

// The simplification passes in their order. What a pass leaves unused is
// removed after each, so remove-dead-ops is not among them.
std::vector<std::unique_ptr<Pass>> SimplificationPasses();

// What runs before them on graphs that state quantization by pairs of
// Dequantize and Quantize: until here constants behind a Dequantize stay
// integers.
std::vector<std::unique_ptr<Pass>> IntegerPasses();

// Runs all passes until none changes anything, and verifies the graph after
// each that did. INVALID_ARGUMENT naming the pass if it does not verify.
absl::Status Simplify(Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_PIPELINE_H_
