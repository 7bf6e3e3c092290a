#include "compiler/codegen/c/kernels.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/channel_first.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/fast_dot.h"
#include "compiler/codegen/c/fast_elementwise.h"
#include "compiler/codegen/c/shared_kernels.h"
#include "compiler/codegen/c/table_kernels.h"
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
      {"table", FitsTableDot, CostOfTableDot, EmitTableDot, CRecipe::kTable},
      {"table", FitsTableAdd, CostOfTableAdd, EmitTableAdd, CRecipe::kTable},
      {"table", FitsTablePool, CostOfTablePool, EmitTablePool, CRecipe::kTable},
      {"table", FitsTableSoftmax, CostOfTableSoftmax, EmitTableSoftmax,
       CRecipe::kTable},
      {"nchw", FitsChannelFirstDot, CostOfChannelFirstDot, EmitChannelFirstDot,
       CRecipe::kUma},
      {"nchw", FitsChannelFirstReshape, CostOfChannelFirstReshape,
       EmitChannelFirstReshape, CRecipe::kUma},
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

// Positions of the window of a convolution or pool; else 0.
int64_t PositionsOf(const StepWriter& w) {
  const v1::OpAttributes& op = w.op();
  if (op.has_max_pool2d()) {
    return int64_t{op.max_pool2d().kernel_h()} * op.max_pool2d().kernel_w();
  }
  if (op.has_average_pool2d()) {
    return int64_t{op.average_pool2d().kernel_h()} *
           op.average_pool2d().kernel_w();
  }
  if (!op.has_conv2d() && !op.has_depthwise_conv2d()) return 0;
  return w.In(1).shape[1] * w.In(1).shape[2];
}

// With gcc -O2 on RV32IMC.
int64_t CodeOfPlain(const StepWriter& w) {
  switch (w.op().op_case()) {
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kDepthwiseConv2D:
      return PositionsOf(w) > 1 ? 500 : 440;
    case v1::OpAttributes::kFullyConnected:
      return 210;
    case v1::OpAttributes::kAveragePool2D:
    case v1::OpAttributes::kMaxPool2D:
      return 100;
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
      return 170;
    default:
      return 400;
  }
}

// Measured with gcc -O2 on RV32IM: 8 instructions per product and per position
// of a window, about 30 per result.
KernelChoice CostOfPlain(const StepWriter& w) {
  const bool wide =
      ElementBytes(w.Out(0).type) > 4 || w.Out(0).type == v1::FLOAT32;
  const int64_t each = 30 + 8 * PositionsOf(w);
  return {"plain", MacsOf(w) * (wide ? 60 : 8) + each * w.Out(0).num_elements(),
          CodeOfPlain(w)};
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
  // These are taken for what they are, not for what they cost.
  const bool fixed = recipe == CRecipe::kTable || recipe == CRecipe::kUma;
  const auto cost = [recipe](const KernelChoice& choice) {
    return recipe == CRecipe::kSize ? choice.code_bytes : choice.instructions;
  };
  std::stable_sort(fitting.begin(), fitting.end(),
                   [&](const auto& a, const auto& b) {
                     return cost(a.first) < cost(b.first);
                   });
  for (const auto& [choice, kernel] : fitting) {
    if (!fixed && cost(choice) >= cost(plain)) break;
    if (kernel->emit(w)) return choice;
  }
  EK_RETURN_IF_ERROR(EmitStep(w));
  return plain;
}

}  // namespace edgekiln::compiler
