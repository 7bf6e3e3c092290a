#include "tests/bench/diana/arrays.h"

#include <cmath>
#include <iostream>
#include <string>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace edgekiln::bench {
namespace {

// "412.2 ( -4.5 %)"; without a published figure the cycles alone.
std::string Beside(int64_t cycles, double ms, int& beyond) {
  const auto value = static_cast<double>(cycles);
  if (ms == 0) return absl::StrFormat("%8.1f %11s", value / 1e3, "");
  const double off = 100 * (value / (ms * kCyclesPerMs) - 1);
  if (std::abs(off) > kOtherLimit) ++beyond;
  return absl::StrFormat("%8.1f (%+6.1f %%)", value / 1e3, off);
}

}  // namespace

absl::StatusOr<int> PrintArrays(const DianaCompiler& compiler,
                                const std::vector<NetworkCycles>& digital) {
  int beyond = 0;
  std::cout << absl::StreamFormat(
      "\nthousands of cycles of the other columns, by recipe htvm; %% is off "
      "the published figure, limit %.0f\n%-10s %18s %18s | %18s %18s | %16s "
      "%9s | %s\n",
      kOtherLimit, "network", "analog, arrays", "analog", "mixed, arrays",
      "mixed", "mixed, default", "/digital", "array MAC");
  for (const NetworkCycles& network : digital) {
    const Published& published = *network.published;
    std::cout << absl::StreamFormat("%-10s ", published.name);
    if (compiler.HasModel(published, kAnalog)) {
      EK_ASSIGN_OR_RETURN(
          const ProgramFigures analog,
          compiler.Figures(published, kAnalog, kAnalog.target, "htvm"));
      std::cout << Beside(analog.sum.peak(), published.analog_peak_ms, beyond)
                << " " << Beside(analog.sum.full, published.analog_ms, beyond);
    } else {
      std::cout << absl::StreamFormat("%18s %18s", "no model", "");
    }
    EK_ASSIGN_OR_RETURN(
        const ProgramFigures mixed,
        compiler.Figures(published, kMixed, kMixed.target, "htvm"));
    EK_ASSIGN_OR_RETURN(
        const ProgramFigures best,
        compiler.Figures(published, kMixed, kMixed.target, "default"));
    const double ratio = static_cast<double>(best.sum.full) / network.best;
    if (ratio > 1) ++beyond;
    std::cout << " | "
              << Beside(mixed.sum.peak(), published.mixed_peak_ms, beyond)
              << " " << Beside(mixed.sum.full, published.mixed_ms, beyond)
              << absl::StreamFormat(
                     " | %16.1f %9.3f | %.1f%%\n",
                     static_cast<double>(best.sum.full) / 1e3, ratio,
                     100.0 * static_cast<double>(mixed.macs_on_array) /
                         static_cast<double>(mixed.sum.macs));
  }
  return beyond;
}

}  // namespace edgekiln::bench
