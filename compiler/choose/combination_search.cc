#include "compiler/choose/combination_search.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
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
  std::vector<size_t> by_noise(candidates.size());
  std::iota(by_noise.begin(), by_noise.end(), 0);
  std::stable_sort(by_noise.begin(), by_noise.end(), [&](size_t a, size_t b) {
    return candidates[a].noise < candidates[b].noise;
  });
  // Of candidates, as far as they were looked at.
  std::vector<double> expected(candidates.size());
  size_t allowed = 0;  // Of by_noise.
  size_t known = 0;
  std::optional<Turn> last;
  FoundCombination found;
  int measured = 0;
  double excess = kExcess;
  while (true) {
    for (; allowed < by_noise.size(); ++allowed) {
      const size_t i = by_noise[allowed];
      const Candidate& candidate = candidates[i];
      if (known == allowed) {
        expected[i] = search.expected(candidate.noise);
        ++known;
      }
      if (expected[i] > kMargin * excess * search.budget) break;
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
    const size_t at = std::get<2>(*last);
    const Candidate& candidate = candidates[at];
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
    excess = std::max(excess, expected[at] / disagreement);
  }
}

}  // namespace edgekiln::compiler
