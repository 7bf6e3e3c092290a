#ifndef EK_TESTS_BENCH_DIANA_SPEED_H_
#define EK_TESTS_BENCH_DIANA_SPEED_H_

#include <optional>
#include <vector>

#include "tests/bench/diana/published.h"

namespace edgekiln::bench {

// Cycles of a network in the columns of Table I; nothing where there are none.
struct NetworkCycles {
  const Published* published = nullptr;
  double htvm = 0;  // Digital, full.
  double best = 0;  // The same with recipe default.
  std::optional<double> cpu;
  std::optional<double> analog;
  std::optional<double> mixed;
};

// The speed-ups in HTVM's text, Table II's ratios and MATCH's gain, each beside
// the published one.
void PrintSpeed(const std::vector<NetworkCycles>& networks);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_SPEED_H_
