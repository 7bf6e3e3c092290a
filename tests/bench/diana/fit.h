#ifndef EK_TESTS_BENCH_DIANA_FIT_H_
#define EK_TESTS_BENCH_DIANA_FIT_H_

#include <array>
#include <cstddef>
#include <vector>

#include "tests/bench/diana/program_figures.h"
#include "tests/bench/diana/published.h"

// The least squares behind the fitted parameters of the target.
namespace edgekiln::bench {

// A network as recipe htvm has it.
struct Measured {
  const Published* published = nullptr;
  ProgramFigures figures;
};

// By how much job_cycles, depthwise_cycles, tile_cycles and dma_setup_cycles
// should change for the least squares of the relative errors of both columns,
// without network `left_out` (any other number: with all). The latter two are
// held near what the descriptor has; with `priors`, all four are.
inline constexpr size_t kFitted = 4;
using Change = std::array<double, kFitted>;
Change FitOf(const std::vector<Measured>& networks, size_t left_out,
             bool priors);

// Prints the fit of all networks, and what three predict for the fourth.
// Returns how many figures are beyond their limits.
int PrintFit(const std::vector<Measured>& networks);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_FIT_H_
