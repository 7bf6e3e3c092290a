#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/fit_limits.h"
#include "compiler/codegen/c/network.h"

namespace edgekiln::compiler {
namespace {

absl::Status CheckConstants(const Graph& graph, int64_t limit) {
  int64_t total = 0;
  const Tensor* largest = nullptr;
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.is_constant()) continue;
    total += std::ssize(*tensor.data);
    if (largest == nullptr || tensor.data->size() > largest->data->size()) {
      largest = &tensor;
    }
  }
  if (total <= limit) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kUser,
       .reason = "C_CONSTANTS_TOO_LARGE",
       .what = absl::StrCat("constants of ", total, " bytes as C"),
       .where = absl::StrCat("the largest is tensor ", largest->name, " of ",
                             largest->data->size(), " bytes"),
       .limit = absl::StrCat(limit, " bytes"),
       .need = absl::StrCat(total, " bytes"),
       .fix = "quantize the network to int8, or take a smaller one"});
}

// The layers that have other kernels than `fastest`, and lose by it.
std::vector<CGivenUp> GivenUp(const CManifest& fastest,
                              const CManifest& chosen) {
  std::vector<CGivenUp> given_up;
  for (size_t i = 0; i < chosen.layers.size(); ++i) {
    const int64_t more = chosen.layers[i].predicted_instructions -
                         fastest.layers[i].predicted_instructions;
    if (more <= 0 || chosen.layers[i].kernel == fastest.layers[i].kernel) {
      continue;
    }
    given_up.push_back({i, fastest.layers[i].kernel, more});
  }
  return given_up;
}

// Layers of one op share functions.
std::vector<int> KindsOf(const Graph& graph) {
  std::vector<int> kinds;
  for (const Op& op : graph.ops) {
    kinds.push_back(static_cast<int>(op.attributes.op_case()));
  }
  return kinds;
}

// Recipe kDefault where its kernels, the fastest, do not fit.
absl::StatusOr<CSources> EmitFitting(const Graph& graph,
                                     const COptions& options,
                                     const Recipes& fastest,
                                     const Limits& limits, Measure measure) {
  EK_ASSIGN_OR_RETURN(const NetworkNeed before, measure(fastest));
  EK_ASSIGN_OR_RETURN(const Fitting fitting,
                      FitLimits(KindsOf(graph), limits, measure));
  const int64_t flash =
      FlashOf(fitting.need.manifest, limits.code_allowance_percent);
  if (limits.flash_bytes > 0 && flash > limits.flash_bytes) {
    return TooLarge("flash", "constants and code", flash, limits.flash_bytes);
  }
  EK_ASSIGN_OR_RETURN(CSources sources,
                      EmitNetwork(graph, options, fitting.recipes));
  sources.manifest.given_up = GivenUp(before.manifest, sources.manifest);
  return sources;
}

}  // namespace

absl::StatusOr<CSources> EmitC(const Graph& graph, const COptions& options) {
  EK_RETURN_IF_ERROR(CheckConstants(graph, options.max_constant_bytes));
  const Limits limits = {options.flash_limit_bytes, options.ram_limit_bytes,
                         options.code_allowance_percent};
  const auto measure = [&](const Recipes& recipes) {
    return MeasureNetwork(graph, options, recipes);
  };
  Recipes recipes(graph.ops.size(), options.recipe);
  if (options.recipe == CRecipe::kSize) {
    EK_ASSIGN_OR_RETURN(Fitting smallest,
                        Smallest(KindsOf(graph), limits, measure));
    recipes = std::move(smallest.recipes);
  }
  absl::StatusOr<CSources> sources = EmitNetwork(graph, options, recipes);
  if (!sources.ok() && !absl::IsResourceExhausted(sources.status())) {
    return sources;
  }
  const auto flash = [&] {
    return FlashOf(sources->manifest, options.code_allowance_percent);
  };
  if (sources.ok() &&
      (limits.flash_bytes == 0 || flash() <= limits.flash_bytes)) {
    return sources;
  }
  if (options.recipe == CRecipe::kDefault) {
    return EmitFitting(graph, options, recipes, limits, measure);
  }
  if (!sources.ok()) return sources;
  return TooLarge("flash", "constants and code", flash(), limits.flash_bytes);
}

}  // namespace edgekiln::compiler
