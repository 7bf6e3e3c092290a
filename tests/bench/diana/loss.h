#ifndef EK_TESTS_BENCH_DIANA_LOSS_H_
#define EK_TESTS_BENCH_DIANA_LOSS_H_

#include <vector>

#include "tests/bench/diana/fit.h"

namespace edgekiln::bench {

// What transfers and the host take of the throughput of each layer of the
// networks.
void PrintLosses(const std::vector<Measured>& networks);

// What the cycles of one network are spent on, beside the bound that the
// array's cost model gives.
void PrintSpent(const char* network, const char* recipe,
                const ProgramFigures& figures);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_LOSS_H_
