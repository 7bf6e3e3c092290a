#include "tests/bench/diana/loss.h"

#include <iostream>

#include "absl/strings/str_format.h"
#include "tests/bench/diana/losses.h"

namespace edgekiln::bench {
namespace {

double MacsPerCycle(const LayerFigures& layer, int64_t cycles) {
  return static_cast<double>(layer.macs) / static_cast<double>(cycles);
}

}  // namespace

void PrintLosses(const std::vector<Measured>& networks) {
  Losses conv, depthwise, dense;
  std::cout << absl::StreamFormat(
      "\nrecipe htvm: MAC a cycle by layer, by the array, by the accelerator "
      "(with set-up of jobs) and in all, without what the host rearranges\n"
      "%-10s %-28s %10s %8s %8s %8s %7s\n",
      "network", "layer", "MAC", "array", "alone", "full", "lost");
  for (const Measured& network : networks) {
    for (const LayerFigures& layer : network.figures.layers) {
      if (!layer.on_array || layer.macs == 0) continue;
      Losses here;
      here.Add(layer);
      (layer.depthwise                 ? depthwise
       : layer.op == "fully_connected" ? dense
                                       : conv)
          .Add(layer);
      std::cout << absl::StreamFormat(
          "%-10s %-28s %10d %8.2f %8.2f %8.2f %6.1f%%\n",
          network.published->name, layer.id.substr(0, 28), layer.macs,
          MacsPerCycle(layer, layer.array()),
          MacsPerCycle(layer, layer.alone() - layer.loop - layer.transfers),
          MacsPerCycle(layer, layer.alone()), here.moved.mean());
    }
  }
  std::cout << absl::StreamFormat(
      "convolutions: %.1f %% on average, best %.1f %%; dense: fastest %.1f %%; "
      "depthwise: at most %.1f %%; with the set-up of jobs %.1f and %.1f, "
      "%.1f, "
      "%.1f %%\n",
      conv.moved.mean(), conv.moved.least, dense.fastest_moved,
      depthwise.moved.most, conv.all.mean(), conv.all.least, dense.fastest_all,
      depthwise.all.most);
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
