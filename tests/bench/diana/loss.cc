#include "tests/bench/diana/loss.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_format.h"

namespace edgekiln::bench {
namespace {

struct Losses {
  double sum = 0;
  double least = 100;
  double most = 0;
  int layers = 0;
  void Add(double loss) {
    sum += loss;
    least = std::min(least, loss);
    most = std::max(most, loss);
    ++layers;
  }
};

// % of the accelerator's throughput.
double LossOf(const LayerFigures& layer) {
  return 100 * (1 - static_cast<double>(layer.peak()) /
                        static_cast<double>(layer.full));
}

double MacsPerCycle(const LayerFigures& layer, int64_t cycles) {
  return static_cast<double>(layer.macs) / static_cast<double>(cycles);
}

}  // namespace

void PrintLosses(const std::vector<Measured>& networks) {
  Losses conv;
  Losses depthwise;
  Losses dense;
  double ceiling = 0;
  std::cout << absl::StreamFormat(
      "\nFig. 5, recipe htvm: MAC a cycle by layer\n%-10s %-28s %10s %8s %8s "
      "%7s\n",
      "network", "layer", "MAC", "alone", "full", "lost");
  for (const Measured& network : networks) {
    for (const LayerFigures& layer : network.figures.layers) {
      if (!layer.on_array || layer.macs == 0) continue;
      const double loss = LossOf(layer);
      if (layer.depthwise) {
        depthwise.Add(loss);
        ceiling = std::max(ceiling, MacsPerCycle(layer, layer.block));
      } else {
        (layer.op == "fully_connected" ? dense : conv).Add(loss);
      }
      std::cout << absl::StreamFormat(
          "%-10s %-28s %10d %8.2f %8.2f %6.1f%%\n", network.published->name,
          layer.id.substr(0, 28), layer.macs, MacsPerCycle(layer, layer.peak()),
          MacsPerCycle(layer, layer.full), loss);
    }
  }
  std::cout << absl::StreamFormat(
      "convolutions: %.2f %% on average (published %.2f), best %.2f %% "
      "(%.2f)\ndense: best %.1f %% (%.1f)\ndepthwise: at most %.1f %% (%.1f), "
      "ceiling %.2f MAC a cycle (%.2f)\n",
      conv.sum / std::max(conv.layers, 1), kConvAverageLoss, conv.least,
      kConvBestLoss, dense.least, kDenseBestLoss, depthwise.most,
      kDepthwiseMostLoss, ceiling, kDepthwiseCeiling);
}

void PrintSpent(const char* network, const char* recipe,
                const ProgramFigures& figures) {
  const LayerFigures& sum = figures.sum;
  const auto thousands = [](int64_t cycles) {
    return static_cast<double>(cycles) / 1e3;
  };
  const int64_t counted = sum.block + sum.weights + sum.job + sum.loop +
                          sum.transfers + sum.relayout + sum.host_op;
  std::cout << absl::StreamFormat(
      "%-10s %-8s %8.1f | %8.1f %8.1f %8.1f %7.1f %9.1f %8.1f %8.1f %7.1f\n",
      network, recipe, thousands(sum.full), thousands(sum.block),
      thousands(sum.weights), thousands(sum.job), thousands(sum.loop),
      thousands(sum.transfers), thousands(sum.relayout), thousands(sum.host_op),
      thousands(sum.full - counted));
}

}  // namespace edgekiln::bench
