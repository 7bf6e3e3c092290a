#ifndef EK_COMPILER_CODEGEN_C_KERNELS_H_
#define EK_COMPILER_CODEGEN_C_KERNELS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/step_writer.h"

// The choice of kernels: of those in the table whose conditions a step meets
// and that the recipe allows, the one with the fewest predicted instructions
// (recipe kSize: bytes of code). With kTable and kUma their own where they fit.
namespace edgekiln::compiler {

struct KernelChoice {
  std::string name;
  int64_t instructions = 0;  // Predicted for one invocation, RV32IM.
  int64_t code_bytes = 0;    // Estimated.
};

// Writes the step with the kernel that was chosen.
absl::StatusOr<KernelChoice> EmitCheapest(StepWriter& w, CRecipe recipe);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_KERNELS_H_
