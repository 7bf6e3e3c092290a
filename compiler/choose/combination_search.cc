#include "compiler/choose/combination_search.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>

#include "base/status_macros.h"

namespace edgekiln::compiler {
namespace {

// Expectations add up noise of forms that few samples were fitted to: how far
// they may exceed what is measured, to begin with, and what is allowed on top
// of the largest excess that was seen.
constexpr double kExcess = 2;
constexpr double kMargin = 1.5;

// All other layers are in their most exact forms.
bool IsAlone(const Assignment& assignment) {
  return std::count(assignment.begin(), assignment.end(), 0) + 1 >=
         std::ssize(assignment);
}

}  // namespace

absl::StatusOr<FoundCombination> FindFastest(
    const std::vector<Candidate>& candidates, const CombinationSearch& search) {
  // Cycles, noise and number: the order in which they are looked at.
  using Turn = std::tuple<int64_t, double, size_t>;
  std::set<Turn> turns;
  std::vector<bool> predicted(candidates.size(), false);
  std::optional<Turn> last;
  FoundCombination found;
  int measured = 0;
  double excess = kExcess;
  while (true) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = candidates[i];
      if (predicted[i] ||
          candidate.disagreement > kMargin * excess * search.budget) {
        continue;
      }
      predicted[i] = true;
      EK_ASSIGN_OR_RETURN(const int64_t cycles,
                          search.cycles(candidate.assignment));
      if (cycles >= search.exact_cycles) continue;
      const Turn turn = {cycles, candidate.noise, i};
      // More was allowed too late for it.
      if (!last || turn > *last) turns.insert(turn);
    }
    if (turns.empty()) return found;
    last = *turns.begin();
    turns.erase(turns.begin());
    const Candidate& candidate = candidates[std::get<2>(*last)];
    if (!IsAlone(candidate.assignment) && ++measured > kMostMeasured) {
      found.every = false;
      continue;
    }
    EK_ASSIGN_OR_RETURN(const double disagreement,
                        search.measure(candidate.assignment));
    if (disagreement <= search.budget) {
      found.assignment = candidate.assignment;
      found.disagreement = disagreement;
      return found;
    }
    excess = std::max(excess, candidate.disagreement / disagreement);
  }
}

}  // namespace edgekiln::compiler
