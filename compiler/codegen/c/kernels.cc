#include "compiler/codegen/c/kernels.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/channel_first.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/fast_dot.h"
#include "compiler/codegen/c/fast_elementwise.h"
#include "compiler/codegen/c/kernel_call.h"

namespace edgekiln::compiler {
namespace {

constexpr char kPlain[] = "plain";

// C that is written for the shape of a step. False: its factors do not allow it
// after all, and nothing was written.
struct Generator {
  const char* name;
  bool (*emit)(StepWriter& w, v1::CWeightOrder order);
};

constexpr Generator kGenerators[] = {
    {"block2x4", EmitFastDot},
    {"unrolled", EmitFastDepthwise},
    {"upper_half", EmitFastAdd},
    {"nchw_dot", EmitChannelFirstDot},
    {"nchw_reshape", EmitChannelFirstReshape},
};

const Generator* FindGenerator(absl::string_view name) {
  for (const Generator& generator : kGenerators) {
    if (name == generator.name) return &generator;
  }
  return nullptr;
}

v1::CRecipe::Kernels KernelsOf(CRecipe recipe) {
  switch (recipe) {
    case CRecipe::kSize:
      return v1::CRecipe::SMALL;
    case CRecipe::kTable:
      return v1::CRecipe::TABLE;
    case CRecipe::kUma:
      return v1::CRecipe::UMA;
    default:
      return v1::CRecipe::KERNELS_UNSPECIFIED;
  }
}

bool IsOf(const v1::CKernel& kernel, CRecipe recipe) {
  return recipe != CRecipe::kPlain &&
         std::find(kernel.recipes().begin(), kernel.recipes().end(),
                   KernelsOf(recipe)) != kernel.recipes().end();
}

}  // namespace

bool IsGenerator(absl::string_view name) {
  return name == kPlain || FindGenerator(name) != nullptr;
}

bool KernelEmitter::HasKernel(const StepWriter& w, CRecipe recipe) const {
  const KernelFacts facts = FactsOf(w, processor_);
  return std::any_of(library_.kernels().begin(), library_.kernels().end(),
                     [&](const v1::CKernel& kernel) {
                       return IsOf(kernel, recipe) &&
                              library_.Fits(kernel, w, facts);
                     });
}

absl::StatusOr<KernelChoice> KernelEmitter::Emit(StepWriter& w,
                                                 CRecipe recipe) const {
  KernelFacts facts = FactsOf(w, processor_);
  std::vector<std::pair<KernelCost, const v1::CKernel*>> fitting;
  const v1::CKernel* plain = nullptr;
  for (const v1::CKernel& kernel : library_.kernels()) {
    const bool is_plain = kernel.generator() == kPlain;
    if (is_plain ? plain != nullptr : !IsOf(kernel, recipe)) continue;
    if (!library_.Fits(kernel, w, facts)) continue;
    if (is_plain) {
      plain = &kernel;
    } else {
      fitting.emplace_back(library_.CostOf(kernel, processor_, facts), &kernel);
    }
  }
  if (plain == nullptr) {
    return absl::InternalError("a kernel library without plain loops");
  }
  const KernelCost plain_cost = library_.CostOf(*plain, processor_, facts);
  // Others are taken for what they are, not for what they cost.
  const bool by_cost = recipe == CRecipe::kDefault;
  if (by_cost) {
    std::stable_sort(fitting.begin(), fitting.end(),
                     [](const auto& a, const auto& b) {
                       return a.first.instructions < b.first.instructions;
                     });
  }
  for (const auto& [cost, kernel] : fitting) {
    if (by_cost && cost.instructions >= plain_cost.instructions) break;
    KernelChoice choice = {kernel->name(), cost.instructions, cost.code_bytes};
    if (kernel->has_call()) {
      if (!kernel->call().header().empty()) {
        choice.function = kernel->call().function();
        choice.header = kernel->call().header();
      }
      EK_RETURN_IF_ERROR(EmitCall(w, library_, *kernel, facts));
      return choice;
    }
    if (FindGenerator(kernel->generator())->emit(w, kernel->weight_order())) {
      return choice;
    }
  }
  EK_RETURN_IF_ERROR(EmitStep(w));
  return KernelChoice{plain->name(), plain_cost.instructions,
                      plain_cost.code_bytes};
}

}  // namespace edgekiln::compiler
