#ifndef EK_TESTS_BENCH_DIANA_ARRAYS_H_
#define EK_TESTS_BENCH_DIANA_ARRAYS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/diana/compile.h"
#include "tests/bench/diana/speed.h"

namespace edgekiln::bench {

// The analog and mixed columns of Table I by recipe htvm, and what recipe
// default makes of the mixed networks beside the digital ones, which `digital`
// has. Returns how many figures are beyond their limits.
absl::StatusOr<int> PrintArrays(const DianaCompiler& compiler,
                                const std::vector<NetworkCycles>& digital);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_ARRAYS_H_
