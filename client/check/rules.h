#ifndef EK_CLIENT_CHECK_RULES_H_
#define EK_CLIENT_CHECK_RULES_H_

// What `check` can find, as a list: the rules of CheckFinding and CheckNote.

#include <string>
#include <vector>

namespace edgekiln::client {

struct CheckRule {
  std::string id;    // Stable: "budget.cycles".
  std::string name;  // For viewers: "CyclesBudget".
  std::string text;  // One sentence.
  // "error": the check fails; "warning", "note".
  std::string level;
};

// In the order of docs/check.md.
const std::vector<CheckRule>& CheckRules();
// Of a rule in the list; -1 otherwise.
int RuleIndex(const std::string& id);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_RULES_H_
