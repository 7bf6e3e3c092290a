#include "tests/bench/diana/fit.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "absl/strings/str_format.h"

namespace edgekiln::bench {
namespace {

constexpr const char* kNames[kFitted] = {"job_cycles", "depthwise_cycles",
                                         "tile_cycles", "dma_setup_cycles"};
// Standard deviations, in cycles, and of a relative error.
constexpr double kPriors[kFitted] = {60, 150, 25, 15};
constexpr double kErrorPrior = 0.1;
constexpr size_t kAlwaysHeld = 2;  // From this one on.

// One published figure: what is predicted, and how that depends on the
// parameters.
struct Equation {
  double predicted = 0;
  double published = 0;
  Change slope = {};
};

std::array<Equation, 2> EquationsOf(const Measured& network) {
  const LayerFigures& sum = network.figures.sum;
  const auto jobs = static_cast<double>(sum.jobs);
  const auto depthwise = static_cast<double>(network.figures.depthwise_jobs);
  const auto moves = static_cast<double>(sum.moves);
  const Published& published = *network.published;
  return {Equation{static_cast<double>(sum.full),
                   published.full_ms * kCyclesPerMs,
                   {jobs, depthwise, jobs - depthwise, moves}},
          Equation{static_cast<double>(sum.peak()),
                   published.peak_ms * kCyclesPerMs,
                   {jobs, depthwise, 0, 0}}};
}

// Of a regular system, by Gauss's elimination with pivots.
Change Solve(std::array<std::array<double, kFitted>, kFitted> a, Change b) {
  for (size_t k = 0; k < kFitted; ++k) {
    size_t pivot = k;
    for (size_t r = k + 1; r < kFitted; ++r) {
      if (std::abs(a[r][k]) > std::abs(a[pivot][k])) pivot = r;
    }
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (size_t r = k + 1; r < kFitted; ++r) {
      const double factor = a[r][k] / a[k][k];
      for (size_t c = k; c < kFitted; ++c) a[r][c] -= factor * a[k][c];
      b[r] -= factor * b[k];
    }
  }
  Change x = {};
  for (size_t k = kFitted; k-- > 0;) {
    x[k] = b[k];
    for (size_t c = k + 1; c < kFitted; ++c) x[k] -= a[k][c] * x[c];
    x[k] /= a[k][k];
  }
  return x;
}

double Predicted(const Equation& equation, const Change& change) {
  double predicted = equation.predicted;
  for (size_t p = 0; p < kFitted; ++p) {
    predicted += equation.slope[p] * change[p];
  }
  return predicted;
}

double PercentOff(const Equation& equation, const Change& change) {
  return 100 * (Predicted(equation, change) / equation.published - 1);
}

}  // namespace

Change FitOf(const std::vector<Measured>& networks, size_t left_out,
             bool priors) {
  std::array<std::array<double, kFitted>, kFitted> a = {};
  Change b = {};
  for (size_t i = 0; i < networks.size(); ++i) {
    if (i == left_out) continue;
    for (const Equation& equation : EquationsOf(networks[i])) {
      const double whole = equation.published;
      const double error = equation.predicted / whole - 1;
      for (size_t r = 0; r < kFitted; ++r) {
        const double slope = equation.slope[r] / whole;
        for (size_t c = 0; c < kFitted; ++c) {
          a[r][c] += slope * equation.slope[c] / whole;
        }
        b[r] -= slope * error;
      }
    }
  }
  for (size_t p = priors ? 0 : kAlwaysHeld; p < kFitted; ++p) {
    a[p][p] += kErrorPrior * kErrorPrior / (kPriors[p] * kPriors[p]);
  }
  return Solve(a, b);
}

int PrintFit(const std::vector<Measured>& networks) {
  int beyond = 0;
  const Change all = FitOf(networks, networks.size(), /*priors=*/false);
  std::cout << "\nleast squares of all networks, beside the descriptor:";
  for (size_t p = 0; p < kFitted; ++p) {
    std::cout << absl::StreamFormat(" %s %+.0f", kNames[p], all[p]);
  }
  std::cout << absl::StreamFormat(
      "\nwith it, and with each network left out (standard deviations of the "
      "priors %.0f, %.0f, %.0f, %.0f cycles)\n%-10s %12s %8s %14s %8s\n",
      kPriors[0], kPriors[1], kPriors[2], kPriors[3], "network", "accelerator",
      "full", "left out", "full");
  for (size_t i = 0; i < networks.size(); ++i) {
    const Change without = FitOf(networks, i, /*priors=*/true);
    const auto [full, peak] = EquationsOf(networks[i]);
    for (const Equation& equation : {full, peak}) {
      beyond += std::abs(PercentOff(equation, {})) > kColumnLimit;
      beyond += std::abs(PercentOff(equation, without)) > kLeftOutLimit;
    }
    std::cout << absl::StreamFormat(
        "%-10s %+11.1f%% %+7.1f%% %+13.1f%% %+7.1f%%\n",
        networks[i].published->name, PercentOff(peak, all),
        PercentOff(full, all), PercentOff(peak, without),
        PercentOff(full, without));
  }
  return beyond;
}

}  // namespace edgekiln::bench
