#include "tests/bench/diana/layers.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "target/resolve.h"
#include "tests/bench/diana/losses.h"
#include "tests/bench/diana/published.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::bench {
namespace {

using tests::QuantizedGraphBuilder;
using tests::WindowCase;

// What a row of the digital array's weight memory holds of one block of output
// channels, and the analog array of a sum.
constexpr int64_t kWeightBytes = 64'000;
constexpr int64_t kRows = 1152;

enum class Kind { kConv, kAnalog, kDepthwise, kDense };

struct Geometry {
  Kind kind;
  int64_t channels, outputs, image, kernel;
};

std::vector<Geometry> Geometries(Kind kind) {
  std::vector<Geometry> all;
  if (kind == Kind::kDense) {
    for (const int64_t channels : {64, 128, 256, 512, 1024, 2048}) {
      for (const int64_t outputs : {64, 128, 256, 512, 1024, 2048}) {
        // The host's memory has the weights, too.
        if (channels * outputs > 300'000) continue;
        all.push_back({kind, channels, outputs, 1, 1});
      }
    }
    return all;
  }
  for (const int64_t kernel : {1, 3, 5, 7}) {
    for (const int64_t image : {8, 16, 32, 64}) {
      for (const int64_t channels : {16, 32, 64, 128}) {
        const int64_t taps = channels * kernel * kernel;
        const bool fits = kind == Kind::kConv     ? 16 * taps <= kWeightBytes
                          : kind == Kind::kAnalog ? taps <= kRows
                                                  : kernel > 1;
        // Operand and result lie in system memory with the weights.
        const int64_t bytes = 2 * image * image * channels +
                              (kind == Kind::kConv ? taps * channels : 0);
        if (fits && bytes <= 300'000) {
          all.push_back({kind, channels, channels, image, kernel});
        }
      }
    }
  }
  return all;
}

compiler::Graph GraphOf(const Geometry& geometry) {
  QuantizedGraphBuilder builder(1);
  builder.UseShifts(v1::FLOOR);
  builder.ShareScale();
  if (geometry.kind == Kind::kDense) {
    const auto x = builder.Input({1, geometry.channels});
    return builder.Finish({builder.FullyConnected(x, geometry.outputs)});
  }
  if (geometry.kind == Kind::kAnalog) {
    builder.UseConverters(100);
    builder.LeaveOutConvertedBiases();
  }
  const auto x =
      builder.Input({1, geometry.image, geometry.image, geometry.channels});
  WindowCase window;
  for (const int axis : {0, 1}) window.kernel[axis] = geometry.kernel;
  for (int32_t& pad : window.pad) {
    pad = static_cast<int32_t>(geometry.kernel / 2);
  }
  if (geometry.kind == Kind::kDepthwise) {
    return builder.Finish({builder.Depthwise(x, 1, window, true)});
  }
  return builder.Finish({builder.Conv(x, geometry.outputs, window, true)});
}

// The layer of the array; nothing else is there.
absl::StatusOr<LayerFigures> LayerOf(const Geometry& geometry,
                                     const v1::ResolvedTarget& target,
                                     const DianaCompiler& compiler) {
  v1::TileRecipe recipe;
  for (const v1::ResolvedRecipe& each : target.recipes()) {
    if (each.name() == "htvm") recipe = each.tile();
  }
  EK_ASSIGN_OR_RETURN(
      const compiler::EmitResult compiled,
      tests::CompileQuantized(GraphOf(geometry), target, recipe));
  EK_ASSIGN_OR_RETURN(
      const ProgramFigures figures,
      FiguresOf(compiled.program, target.machine(), compiler.tile_cycles()));
  for (const LayerFigures& layer : figures.layers) {
    if (layer.on_array && layer.macs > 0) return layer;
  }
  return absl::InternalError("the array has no layer");
}

void PrintRow(const std::string& what, const Losses& losses,
              const std::string& published) {
  const auto range = [](const Losses::Range& range) {
    return absl::StrFormat("%5.1f %5.1f %5.1f", range.least, range.mean(),
                           range.most);
  };
  std::cout << absl::StreamFormat(
      "%-22s %4d  %19s  %19s  %6.1f %5.1f %5.1f  %s\n", what, losses.layers,
      range(losses.moved), range(losses.all), losses.fastest_rate,
      losses.fastest_moved, losses.fastest_all, published);
}

}  // namespace

absl::Status PrintLayers(const DianaCompiler& compiler) {
  EK_ASSIGN_OR_RETURN(const v1::ResolvedTarget target,
                      target::ResolveTarget("extends: \"diana\""));
  std::cout << absl::StreamFormat(
      "\nFig. 5 by geometry, recipe htvm: %% of the throughput lost to "
      "transfers and the loop around jobs, then to the set-up of jobs, too\n"
      "%-22s %4s  %19s  %19s  %18s  %s\n",
      "layers", "", "least, mean, most", "with set-up", "fastest: MAC/cycle, %",
      "published");
  const struct {
    Kind kind;
    const char* name;
    std::string published;
  } kRows[] = {{Kind::kConv, "convolutions",
                absl::StrFormat("%.2f on average, best %.2f", kConvAverageLoss,
                                kConvBestLoss)},
               {Kind::kAnalog, "the same, analog",
                absl::StrFormat("%.2f on average, best %.2f",
                                kAnalogAverageLoss, kAnalogBestLoss)},
               {Kind::kDense, "dense",
                absl::StrFormat("fastest %.1f", kDenseFastestLoss)},
               {Kind::kDepthwise, "depthwise",
                absl::StrFormat("at most %.1f, ceiling %.2f MAC a cycle",
                                kDepthwiseMostLoss, kDepthwiseCeiling)}};
  for (const auto& row : kRows) {
    Losses losses;
    std::map<int64_t, Losses> of_image;  // By its columns.
    double ceiling = 0;
    for (const Geometry& geometry : Geometries(row.kind)) {
      EK_ASSIGN_OR_RETURN(
          const LayerFigures layer, LayerOf(geometry, target, compiler),
          absl::StrCat(row.name, " of ", geometry.channels, " channels, ",
                       geometry.image, " columns, kernel ", geometry.kernel));
      losses.Add(layer);
      of_image[geometry.image].Add(layer);
      if (geometry.kernel == 3) {
        ceiling = std::max(ceiling, static_cast<double>(layer.macs) /
                                        static_cast<double>(layer.block));
      }
    }
    PrintRow(
        row.name, losses,
        row.kind == Kind::kDepthwise
            ? absl::StrFormat("%s (3 x 3 here: %.2f)", row.published, ceiling)
            : row.published);
    if (of_image.size() == 1) continue;
    for (const auto& [columns, some] : of_image) {
      PrintRow(absl::StrCat("  of ", columns, " columns"), some, "");
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::bench
