#include "client/check/rules.h"

#include <cstddef>

#include "client/check/describe.h"

namespace edgekiln::client {

const std::vector<CheckRule>& CheckRules() {
  static const auto* const rules = new std::vector<CheckRule>{
      {"budget.cycles", "CyclesBudget",
       "One inference takes more cycles than max_cycles.", "error"},
      {"budget.latency", "LatencyBudget",
       "One inference takes longer than max_latency_ms.", "error"},
      {"budget.memory", "MemoryBudget",
       "More of a memory is used than max_memory.", "error"},
      {"budget.ram", "RamBudget", "More RAM is used than max_ram_bytes.",
       "error"},
      {"budget.accuracy", "AccuracyBudget",
       "Accuracy on the simulated chip is below min_accuracy.", "error"},
      {"budget.error", "ErrorBudget",
       "The error on the simulated chip is above max_error.", "error"},
      {"budget.disagreement", "DisagreementBudget",
       "More classes than max_disagreement are not those of the reference.",
       "error"},
      {"regression.cycles", "CyclesRegression",
       "Cycles grew since the baseline by more than max_cycles_growth.",
       "error"},
      {"regression.memory", "MemoryRegression",
       "A memory grew since the baseline by more than max_memory_growth.",
       "error"},
      {"regression.accuracy", "AccuracyRegression",
       "Accuracy fell since the baseline by more than max_accuracy_drop.",
       "error"},
      {"values.mismatch", "ValuesMismatch",
       "The simulated chip computes other values than the reference.", "error"},
      {"baseline.unreadable", "BaselineUnreadable",
       "The file of a baseline does not hold the report of one target.",
       "error"},
      {kModelRule, "ModelFailed",
       "A model, its data, a target or the project cannot be used.", "error"},
      {kServiceRule, "ServiceFailed",
       "The service failed; the check can be tried again.", "error"},
      {kSkippedRule, "CellSkipped",
       "The target has no such recipe, or does not take these values.",
       "warning"},
      {kStaleRule, "BaselineStale",
       "A baseline is of a cell that the project does not have any more.",
       "warning"},
      {kPlanRule, "SweepWarning", "What the service says about the project.",
       "warning"},
      {kMissingRule, "BaselineMissing", "A cell has no baseline.", "note"},
      {kUnlimitedRule, "BaselineUnlimited",
       "There are baselines, and no allowed regression limits a change.",
       "note"},
  };
  return *rules;
}

int RuleIndex(const std::string& id) {
  const std::vector<CheckRule>& rules = CheckRules();
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace edgekiln::client
