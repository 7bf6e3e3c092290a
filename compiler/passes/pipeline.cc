#include "compiler/passes/pipeline.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/passes/op_cost.h"

namespace edgekiln::compiler {
namespace {

// Every pass only ever moves or removes, so a few rounds reach the end; the
// bound is for our own mistakes.
constexpr int kMaxRounds = 16;

// A small model stays small and quick, whatever its ops promise.
PassContext ContextFor(const Graph& graph) {
  const int64_t bytes = ConstantBytes(graph);
  return {
      // int8 weights become four times as large as floats, for a while beside
      // their integers.
      .max_constant_bytes = 6 * bytes + (int64_t{8} << 20),
      .max_folding_work = 4 * bytes + (int64_t{1} << 22),
  };
}

absl::Status RunToTheEnd(const std::vector<std::unique_ptr<Pass>>& passes,
                         PassContext context, Graph& graph) {
  // Rewrites leave ops behind that nothing reads any more; as long as they are
  // there, they look like readers of their inputs to the next pass.
  const std::unique_ptr<Pass> cleanup = NewRemoveDeadOpsPass();
  for (int round = 0; round < kMaxRounds; ++round) {
    bool any = false;
    for (const auto& pass : passes) {
      EK_ASSIGN_OR_RETURN(const Changed changed, pass->Run(context, graph),
                          absl::StrCat("pass ", pass->name()));
      if (changed == Changed::kNo) continue;
      any = true;
      EK_RETURN_IF_ERROR(cleanup->Run(context, graph).status());
      EK_RETURN_IF_ERROR(VerifyGraph(graph),
                         absl::StrCat("after pass ", pass->name()));
    }
    if (!any) break;
    context.max_folding_work /= 2;  // All rounds together: twice the first.
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::unique_ptr<Pass>> SimplificationPasses() {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(NewFoldConstantsPass());
  passes.push_back(NewRemoveNoopsPass());
  passes.push_back(NewCanonicalizePass());
  passes.push_back(NewMergeCommonPass());
  // Before clamps and biases move: the formulas are in the exporters' form.
  passes.push_back(NewRecognizeActivationsPass());
  passes.push_back(NewRecognizeNormalizationsPass());
  passes.push_back(NewConvertMatMulPass());
  // Before everything that looks for neighbours: importers put transposes
  // between ops that belong together.
  passes.push_back(NewSinkTransposesPass());
  passes.push_back(NewRemoveNoopsPass());
  passes.push_back(NewPermuteWeightsPass());
  // Needs NHWC, that is, transposes out of the way.
  passes.push_back(NewConvertReduceMeanPass());
  passes.push_back(NewMergePadsPass());
  passes.push_back(NewAttachBiasPass());
  // Before clamps: after a clamp nothing folds into weights any more.
  passes.push_back(NewFoldScaleAndBiasPass());
  passes.push_back(NewFoldIntoFollowingPass());
  passes.push_back(NewLowerBatchNormalizationPass());
  passes.push_back(NewFuseClampsPass());
  return passes;
}

std::vector<std::unique_ptr<Pass>> IntegerPasses() {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(NewFoldConstantsPass());
  passes.push_back(NewRemoveNoopsPass());
  passes.push_back(NewMergeCommonPass());
  passes.push_back(NewShiftToInt8Pass());
  passes.push_back(NewConvertMatMulPass());
  passes.push_back(NewSinkTransposesPass());
  passes.push_back(NewRemoveNoopsPass());
  // What stands between an op and its Quantize becomes part of it.
  passes.push_back(NewAttachBiasPass());
  passes.push_back(NewFuseClampsPass());
  passes.push_back(NewConvertReduceMeanPass());
  passes.push_back(NewHoistQuantizePass());
  passes.push_back(NewMoveIntoIntegersPass());
  return passes;
}

absl::Status Simplify(Graph& graph) {
  EK_RETURN_IF_ERROR(VerifyGraph(graph), "before simplification");
  EK_RETURN_IF_ERROR(NewRemoveDeadOpsPass()->Run({}, graph).status());
  const bool dequantizes =
      std::any_of(graph.ops.begin(), graph.ops.end(),
                  [](const Op& op) { return op.attributes.has_dequantize(); });
  PassContext context = ContextFor(graph);
  if (dequantizes) {
    context.keep_dequantized = true;
    EK_RETURN_IF_ERROR(RunToTheEnd(IntegerPasses(), context, graph));
    context.keep_dequantized = false;
  } else {
    // A model of TensorFlow Lite holds its integers as they are.
    std::vector<std::unique_ptr<Pass>> shift;
    shift.push_back(NewShiftToInt8Pass());
    EK_RETURN_IF_ERROR(RunToTheEnd(shift, context, graph));
  }
  return RunToTheEnd(SimplificationPasses(), context, graph);
}

}  // namespace edgekiln::compiler
