#ifndef EK_TESTS_BENCH_DIANA_LOSSES_H_
#define EK_TESTS_BENCH_DIANA_LOSSES_H_

#include <algorithm>

#include "tests/bench/diana/program_figures.h"

namespace edgekiln::bench {

// What layers lose of the array's throughput, in %: to transfers and the loop
// around jobs, and to these and the set-up of jobs, which the published
// "accelerator only" of networks counts as the accelerator's.
struct Losses {
  struct Range {
    double least = 100;
    double most = 0;
    double sum = 0;
    int count = 0;
    void Add(double value) {
      least = std::min(least, value);
      most = std::max(most, value);
      sum += value;
      ++count;
    }
    double mean() const { return sum / std::max(count, 1); }
  };

  void Add(const LayerFigures& layer) {
    const auto alone = static_cast<double>(layer.alone());
    const double to_moves =
        100 * static_cast<double>(layer.loop + layer.transfers) / alone;
    const double to_all =
        100 * (1 - static_cast<double>(layer.array()) / alone);
    moved.Add(to_moves);
    all.Add(to_all);
    ++layers;
    const double rate = static_cast<double>(layer.macs) / alone;
    if (rate <= fastest_rate) return;
    fastest_rate = rate;
    fastest_moved = to_moves;
    fastest_all = to_all;
  }

  Range moved, all;
  int layers = 0;
  // Of the layer with the most multiply-accumulates a cycle.
  double fastest_rate = 0;
  double fastest_moved = 0;
  double fastest_all = 0;
};

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_LOSSES_H_
