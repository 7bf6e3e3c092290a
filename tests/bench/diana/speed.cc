#include "tests/bench/diana/speed.h"

#include <iostream>
#include <string>

#include "absl/strings/str_format.h"

namespace edgekiln::bench {
namespace {

const NetworkCycles& Of(const std::vector<NetworkCycles>& networks,
                        const std::string& name) {
  for (const NetworkCycles& network : networks) {
    if (network.published->name == name) return network;
  }
  return networks.front();
}

std::string Ratio(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return "no model";
  return absl::StrFormat("%.1fx", *a / *b);
}

}  // namespace

void PrintSpeed(const std::vector<NetworkCycles>& networks) {
  const NetworkCycles& resnet = Of(networks, "ResNet");
  const NetworkCycles& dscnn = Of(networks, "DS-CNN");
  std::cout << absl::StreamFormat(
      "\nspeed-ups of the text, by recipe htvm: ResNet, host to digital %s "
      "(published 112x), host to mixed %s (120x); DS-CNN, analog to mixed %s "
      "(8x)\nby recipe default: ResNet, host to digital %s\n",
      Ratio(resnet.cpu, resnet.htvm), Ratio(resnet.cpu, resnet.mixed),
      Ratio(dscnn.analog, dscnn.mixed), Ratio(resnet.cpu, resnet.best));
  std::cout << absl::StreamFormat(
      "\nTable II: times faster than others, by recipe htvm (published) and "
      "default\n%-10s %24s %24s %24s\n",
      "network", "STM32L4R5, TVM", "STM32L4R5, CMSIS-NN", "GAP9");
  double gain = 0;
  for (const NetworkCycles& network : networks) {
    const Published& published = *network.published;
    std::cout << absl::StreamFormat("%-10s", published.name);
    for (const double ms :
         {published.stm_tvm_ms, published.stm_cmsis_ms, published.gap9_ms}) {
      std::cout << absl::StreamFormat(
          " %7.2f (%6.2f) %7.2f", ms * kCyclesPerMs / network.htvm,
          ms / published.full_ms, ms * kCyclesPerMs / network.best);
    }
    std::cout << "\n";
    gain += network.best / network.htvm / static_cast<double>(networks.size());
  }
  std::cout << absl::StreamFormat(
      "latency of recipe htvm, on average over the networks: %.2f with "
      "default, "
      "%.2f with MATCH\n",
      gain, kMatchOfHtvm);
}

}  // namespace edgekiln::bench
