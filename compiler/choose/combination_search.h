#ifndef EK_COMPILER_CHOOSE_COMBINATION_SEARCH_H_
#define EK_COMPILER_CHOOSE_COMBINATION_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/choose/scheme_forms.h"

namespace edgekiln::compiler {

// Combinations that are measured, at most; those with only one layer in another
// form do not count.
inline constexpr int kMostMeasured = 24;

// A combination of forms, with what is expected of it.
struct Candidate {
  Assignment assignment;
  double noise = 0;
};

struct CombinationSearch {
  double budget = 0;         // Largest disagreement.
  int64_t exact_cycles = 0;  // Of the most exact combination.
  // The disagreement that noise lets expect, which rises with it.
  std::function<double(double noise)> expected;
  // Predicted, of the network.
  std::function<absl::StatusOr<int64_t>(const Assignment&)> cycles;
  // What its disagreement is.
  std::function<absl::StatusOr<double>(const Assignment&)> measure;
};

struct FoundCombination {
  // None: no faster one within the budget was found.
  std::optional<Assignment> assignment;
  double disagreement = 0;  // Measured.
  bool every = true;        // kMostMeasured left none out.
};

// The fastest candidate that keeps the budget. Those that are faster than the
// most exact combination are measured, the fastest first, until one does.
// Neither measured nor asked for cycles are those whose expected disagreement
// exceeds the budget by more than expectations have exceeded measurements.
// Errors: those of the functions.
absl::StatusOr<FoundCombination> FindFastest(
    const std::vector<Candidate>& candidates, const CombinationSearch& search);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_COMBINATION_SEARCH_H_
