#ifndef EK_COMPILER_CODEGEN_C_KERNELS_H_
#define EK_COMPILER_CODEGEN_C_KERNELS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/kernel_library.h"
#include "compiler/codegen/c/step_writer.h"

// The choice of a step's kernel: of those of a library that fit and that the
// recipe allows, the one with the fewest predicted instructions. With kSize,
// kTable and kUma their own where they fit.
namespace edgekiln::compiler {

struct KernelChoice {
  std::string name;
  int64_t instructions = 0;  // Predicted for one inference.
  int64_t code_bytes = 0;    // Estimated.
  // Of a call of a function that is not built in.
  std::string function = {};
  std::string header = {};
};

// Writes steps of a network. Not thread-safe.
class KernelEmitter {
 public:
  // `library` must outlive it.
  KernelEmitter(const KernelLibrary& library, v1::Processor processor)
      : library_(library), processor_(processor) {}

  // Writes the step with the kernel that was chosen.
  absl::StatusOr<KernelChoice> Emit(StepWriter& w, CRecipe recipe) const;
  // Whether a kernel of the recipe fits.
  bool HasKernel(const StepWriter& w, CRecipe recipe) const;

 private:
  const KernelLibrary& library_;
  const v1::Processor processor_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_KERNELS_H_
