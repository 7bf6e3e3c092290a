#ifndef EK_TESTS_BENCH_DIANA_BUDGETS_H_
#define EK_TESTS_BENCH_DIANA_BUDGETS_H_

#include "absl/status/statusor.h"
#include "tests/bench/diana/compile.h"

namespace edgekiln::bench {

// Fig. 4: cycles while the activations' memory shrinks from 256 to 4 KiB, of
// HTVM's tiler without heuristics, with (3) and (4), with (3) to (5), and of
// recipe default: one `edgekiln sweep`. Returns in how many places `default` is
// above another, or above itself with less memory.
absl::StatusOr<int> PrintBudgets(const DianaCompiler& compiler);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_BUDGETS_H_
