#ifndef EK_COMPILER_CODEGEN_C_KERNEL_VARIABLES_H_
#define EK_COMPILER_CODEGEN_C_KERNEL_VARIABLES_H_

#include <cstdint>
#include <vector>

#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/firmware.pb.h"
#include "ops/requantize.h"
#include "target/kernel_variables.h"

// What the variables of a kernel's expressions are for a step
// (target/kernel_variables.h).
namespace edgekiln::compiler {

using target::KernelVariable;
using target::KernelVariableNames;

// Position in KernelVariableNames().
int32_t SlotOf(KernelVariable variable);

struct KernelFacts {
  std::vector<int64_t> values;                     // By KernelVariableNames().
  std::vector<ops::FixedPointMultiplier> factors;  // By output channel.

  int64_t& operator[](KernelVariable variable);
  int64_t operator[](KernelVariable variable) const;
};

// Of a step on that processor. Sizes that do not fit 64 bits are 0.
KernelFacts FactsOf(const StepWriter& w, v1::Processor processor);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_KERNEL_VARIABLES_H_
