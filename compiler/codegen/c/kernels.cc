#include "compiler/codegen/c/kernels.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/fast_dot.h"
#include "compiler/codegen/c/fast_elementwise.h"
#include "compiler/codegen/c/shared_kernels.h"
#include "target/macs.h"

namespace edgekiln::compiler {
namespace {

// One kernel: when it can be used, what it costs, how it is written.
struct Kernel {
  const char* name;
  bool (*fits)(const StepWriter& w);
  KernelChoice (*cost)(const StepWriter& w);
  // False: its factors do not allow it after all; nothing was written.
  bool (*emit)(StepWriter& w);
  CRecipe recipe;
};

// The kernels beside the plain loops. A new one is a row.
const std::vector<Kernel>& KernelTable() {
  static const auto& table = *new std::vector<Kernel>{
      {"block2x4", FitsFastDot, CostOfFastDot, EmitFastDot, CRecipe::kDefault},
      {"unrolled", FitsFastDepthwise, CostOfFastDepthwise, EmitFastDepthwise,
       CRecipe::kDefault},
      {"upper_half", FitsFastAdd, CostOfFastAdd, EmitFastAdd,
       CRecipe::kDefault},
      {"shared", FitsSharedConv, CostOfSharedConv, EmitSharedConv,
       CRecipe::kSize},
      {"shared", FitsSharedAdd, CostOfSharedAdd, EmitSharedAdd, CRecipe::kSize},
  };
  return table;
}

int64_t MacsOf(const StepWriter& w) {
  std::vector<target::ShapeSpan> inputs;
  for (size_t i = 0; i < w.inputs(); ++i) {
    inputs.push_back(w.Has(i) ? target::ShapeSpan(w.In(i).shape)
                              : target::ShapeSpan());
  }
  std::vector<target::ShapeSpan> outputs;
  for (size_t i = 0; i < w.outputs(); ++i) {
    outputs.push_back(target::ShapeSpan(w.Out(i).shape));
  }
  return target::MultiplyAccumulates(w.op(), inputs, outputs).value_or(0);
}

// Measured with gcc -O2 on RV32IM: 7 to 10 instructions per product, about 30
// per result.
KernelChoice CostOfPlain(const StepWriter& w) {
  const bool wide =
      ElementBytes(w.Out(0).type) > 4 || w.Out(0).type == v1::FLOAT32;
  return {"plain", MacsOf(w) * (wide ? 60 : 8) + 30 * w.Out(0).num_elements(),
          400};
}

}  // namespace

absl::StatusOr<KernelChoice> EmitCheapest(StepWriter& w, CRecipe recipe) {
  const KernelChoice plain = CostOfPlain(w);
  std::vector<std::pair<KernelChoice, const Kernel*>> fitting;
  for (const Kernel& kernel : KernelTable()) {
    if (kernel.recipe == recipe && kernel.fits(w)) {
      fitting.emplace_back(kernel.cost(w), &kernel);
    }
  }
  const auto cost = [recipe](const KernelChoice& choice) {
    return recipe == CRecipe::kSize ? choice.code_bytes : choice.instructions;
  };
  std::stable_sort(fitting.begin(), fitting.end(),
                   [&](const auto& a, const auto& b) {
                     return cost(a.first) < cost(b.first);
                   });
  for (const auto& [choice, kernel] : fitting) {
    if (cost(choice) >= cost(plain)) break;
    if (kernel->emit(w)) return choice;
  }
  EK_RETURN_IF_ERROR(EmitStep(w));
  return plain;
}

}  // namespace edgekiln::compiler
