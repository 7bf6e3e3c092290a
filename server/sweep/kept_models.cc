#include "server/sweep/kept_models.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "server/import_call.h"
#include "server/stage_results.h"
#include "server/sweep/cells.h"
#include "server/sweep/meaning.h"

namespace edgekiln::server {
namespace {

// "Does this model keep its integers on this variant?", for a cell.
struct Question {
  int cell = 0;
  std::string model;  // Its bytes.
  int variant = 0;
};

// Whether cells that differ from this one in one key alone may turn out to
// compute the same.
bool IsOpen(const v1::SweepGroup& group, const v1::SweepModel& model,
            const v1::SweepPlan::Cell& cell) {
  if (cell.state() != v1::SweepPlan::VALID) return false;
  const v1::SweepOptions& options = cell.options();
  if (options.offload() == v1::NONE ||
      options.quantization().requantize() != v1::SWITCH_UNSPECIFIED) {
    return false;
  }
  for (int i = 0; i < group.vary_size(); ++i) {
    const auto& dropped = cell.dropped();
    if (group.vary(i).values_size() > 1 &&
        DependsOnImport(group.vary(i).key(), model, group.goal()) &&
        std::find(dropped.begin(), dropped.end(), i) == dropped.end()) {
      return true;
    }
  }
  return false;
}

// None if there are too many.
std::vector<Question> QuestionsOf(const v1::SweepRequest& request,
                                  const v1::SweepGroup& quantized,
                                  const v1::SweepPlan& plan) {
  std::set<std::string> models;
  if (quantized.models().empty()) return {};
  for (const v1::SweepModel& model : quantized.models()) {
    models.insert(model.SerializeAsString());
  }
  // By group and model, to look at each once.
  std::map<std::pair<int, int>, std::string> known;
  std::set<std::pair<std::string, int>> asked;
  std::vector<Question> questions;
  for (int i = 0; i < plan.cells_size(); ++i) {
    const v1::SweepPlan::Cell& cell = plan.cells(i);
    const v1::SweepGroup& group = request.groups(cell.group());
    const v1::SweepModel& model = group.models(cell.model());
    const auto [it, is_new] = known.try_emplace({cell.group(), cell.model()});
    if (is_new) {
      std::string bytes = model.SerializeAsString();
      if (models.contains(bytes)) it->second = std::move(bytes);
    }
    if (it->second.empty() || !IsOpen(group, model, cell)) continue;
    if (!asked.insert({it->second, cell.variant()}).second) continue;
    if (questions.size() == kMaxAsked) return {};
    questions.push_back(
        {.cell = i, .model = it->second, .variant = cell.variant()});
  }
  return questions;
}

using Pending = std::shared_ptr<PendingStage>;

// The compiled graph of each model, by its bytes; none where there is no such.
Task<absl::StatusOr<std::map<std::string, v1::BlobRef>>> GraphsOf(
    const v1::SweepRequest& request, const v1::SweepPlan& plan,
    const std::vector<Question>& questions, JobContext& stages) {
  std::map<std::string, Pending> imports;
  for (const Question& question : questions) {
    Pending& importing = imports[question.model];
    if (importing != nullptr) continue;
    const v1::SweepPlan::Cell& cell = plan.cells(question.cell);
    importing = stages.Start(ImportCall(
        ModelRequest(request.groups(cell.group()).models(cell.model()))));
  }
  std::map<std::string, Pending> simplifying;
  for (const auto& [model, importing] : imports) {
    const auto& imported = co_await ResultOf(importing);
    if (!imported.ok()) continue;
    absl::StatusOr<v1::BlobRef> graph = Only(*imported, "graph");
    if (!graph.ok()) continue;
    simplifying[model] = stages.Start(SimplifyCall(*std::move(graph)));
  }
  std::map<std::string, v1::BlobRef> graphs;
  for (const auto& [model, pending] : simplifying) {
    const auto& simplified = co_await ResultOf(pending);
    if (!simplified.ok()) continue;
    absl::StatusOr<v1::BlobRef> graph = CompiledGraph(*simplified);
    if (graph.ok()) graphs[model] = *std::move(graph);
  }
  co_return graphs;
}

std::map<int, Pending> StartResolving(const v1::SweepPlan& plan,
                                      const std::vector<Question>& questions,
                                      SweepBlobs& blobs, JobContext& stages) {
  std::map<int, Pending> resolving;
  for (const Question& question : questions) {
    if (resolving.contains(question.variant)) continue;
    const absl::StatusOr<v1::Digest> descriptor =
        blobs.Store(DescriptorOf(plan, question.variant));
    if (!descriptor.ok()) continue;
    resolving[question.variant] = stages.Start(ResolveCall(*descriptor));
  }
  return resolving;
}

}  // namespace

Task<absl::StatusOr<v1::SweepPlan>> KeptModels(const v1::SweepRequest& request,
                                               const v1::SweepGroup& quantized,
                                               const v1::SweepPlan& plan,
                                               SweepBlobs& blobs,
                                               JobContext& stages) {
  const std::vector<Question> questions = QuestionsOf(request, quantized, plan);
  const std::map<int, Pending> resolving =
      StartResolving(plan, questions, blobs, stages);
  EK_CO_ASSIGN_OR_RETURN(const auto graphs,
                         co_await GraphsOf(request, plan, questions, stages));
  std::vector<Pending> deciding;  // By question; null: cannot be asked.
  for (const Question& question : questions) {
    deciding.emplace_back();
    const auto graph = graphs.find(question.model);
    const auto pending = resolving.find(question.variant);
    if (graph == graphs.end() || pending == resolving.end()) continue;
    const auto& resolved = co_await ResultOf(pending->second);
    if (!resolved.ok()) continue;
    const auto capabilities = Only(*resolved, "capabilities");
    if (!capabilities.ok()) continue;
    StageCall call =
        UnquantizeCall(graph->second, &*capabilities, v1::SWITCH_UNSPECIFIED);
    const auto& parts = resolved->summary().target().parts();
    call.parts = {parts.begin(), parts.end()};
    deciding.back() = stages.Start(std::move(call));
  }
  v1::SweepPlan kept;
  for (size_t i = 0; i < questions.size(); ++i) {
    if (deciding[i] == nullptr) continue;
    const auto& decided = co_await ResultOf(deciding[i]);
    if (!decided.ok() || !All(*decided, "graph").empty()) continue;
    const v1::SweepPlan::Cell& asked = plan.cells(questions[i].cell);
    v1::SweepPlan::Cell& cell = *kept.add_cells();
    cell.set_group(asked.group());
    cell.set_model(asked.model());
    cell.set_variant(kept.variants_size());
    kept.add_variants()->set_name(plan.variants(asked.variant()).name());
  }
  co_return kept;
}

}  // namespace edgekiln::server
