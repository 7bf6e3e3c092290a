#include "compiler/codegen/c/fit_limits.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct Kernel {
  const char* name;
  int64_t instructions, bytes, ram;
};

// A layer with a fast kernel, a shared one and plain loops.
struct Layer {
  Kernel fast, shared, plain;
  int kind = 0;
};

constexpr int64_t kSharedBytes = 300;  // Of a function that a kind shares.

class Network {
 public:
  explicit Network(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  absl::StatusOr<NetworkNeed> Measure(const Recipes& recipes) const {
    ++measurements_;
    NetworkNeed need;
    std::set<int> shared;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      const Kernel& kernel = recipes[i] == CRecipe::kDefault ? layer.fast
                             : recipes[i] == CRecipe::kSize  ? layer.shared
                                                             : layer.plain;
      if (recipes[i] == CRecipe::kSize) shared.insert(layer.kind);
      CLayer& made = need.manifest.layers.emplace_back();
      made.kernel = kernel.name;
      made.predicted_instructions = kernel.instructions;
      made.code_bytes = kernel.bytes;
      need.manifest.code_bytes += kernel.bytes;
      need.layer_ram_bytes.push_back(kernel.ram);
      need.manifest.arena_bytes =
          std::max(need.manifest.arena_bytes, kernel.ram);
    }
    need.manifest.code_bytes += kSharedBytes * std::ssize(shared);
    return need;
  }

  // The kernels by name, "f", "s" or "p".
  std::string Fit(const Limits& limits) const {
    return Names(FitLimits(Kinds(), limits,
                           [this](const Recipes& r) { return Measure(r); }));
  }
  std::string Least(const Limits& limits) const {
    return Names(Smallest(Kinds(), limits,
                          [this](const Recipes& r) { return Measure(r); }));
  }

  int measurements() const { return measurements_; }

 private:
  static std::string Names(const absl::StatusOr<Fitting>& fitting) {
    EXPECT_TRUE(fitting.ok()) << fitting.status();
    std::string names;
    for (const CLayer& layer : fitting->need.manifest.layers) {
      names += layer.kernel;
    }
    return names;
  }

  std::vector<int> Kinds() const {
    std::vector<int> kinds;
    for (const Layer& layer : layers_) kinds.push_back(layer.kind);
    return kinds;
  }

  std::vector<Layer> layers_;
  mutable int measurements_ = 0;
};

Layer Of(int64_t fast, int64_t slow, int64_t bytes = 500) {
  return {{"f", fast, bytes, 100}, {"s", slow, 50, 100}, {"p", slow, 200, 80}};
}

TEST(FitLimitsTest, LayersThatLoseLeastBecomeSmallerFirst) {
  // Losses of 10, 900 and 90 for 300 bytes each.
  const Network network({Of(100, 110), Of(100, 1000), Of(10, 100)});
  const struct {
    int64_t flash;
    const char* names;
  } kCases[] = {{1500, "fff"}, {1499, "pff"}, {1200, "pff"}, {1199, "pfp"},
                {900, "pfp"},  {899, "sss"},  {450, "sss"}};
  for (const auto& row : kCases) {
    EXPECT_EQ(network.Fit({.flash_bytes = row.flash}), row.names) << row.flash;
  }
}

TEST(FitLimitsTest, WhatNeedNotBeSmallIsFastAgain) {
  // The first loses least per byte, but the last one alone suffices.
  const Network network({Of(100, 130, 300), Of(100, 900), Of(100, 500, 700)});
  EXPECT_EQ(network.Fit({.flash_bytes = 1499}), "pff");
  EXPECT_EQ(network.Fit({.flash_bytes = 1000}), "ffp");
}

TEST(FitLimitsTest, CodeMayBeLargerThanEstimated) {
  const Network network({Of(100, 110), Of(100, 1000)});
  EXPECT_EQ(network.Fit({.flash_bytes = 1000}), "ff");
  EXPECT_EQ(network.Fit({.flash_bytes = 1000, .code_allowance_percent = 1}),
            "pf");
}

TEST(FitLimitsTest, OnlyLayersWithoutTheRamLoseTheirKernels) {
  Layer large = Of(100, 900);
  large.fast.ram = 200;
  const Network network({Of(100, 110), large, Of(100, 1000)});
  EXPECT_EQ(network.Fit({.ram_bytes = 200}), "fff");
  EXPECT_EQ(network.Fit({.ram_bytes = 199}), "fpf");
  EXPECT_EQ(network.Fit({.flash_bytes = 1100, .ram_bytes = 199}), "ppf");
}

TEST(FitLimitsTest, SharedKernelsAreSmallestOnlyForEnoughLayers) {
  EXPECT_EQ(Network({Of(1, 2)}).Least({}), "p");
  EXPECT_EQ(Network({Of(1, 2), Of(1, 2)}).Least({}), "ss");
  EXPECT_EQ(Network({Of(1, 2), Of(1, 2), Of(1, 2, 40)}).Least({}), "ppf");
}

// Each kind has a function of its own.
TEST(FitLimitsTest, FunctionsAreSharedByTheKindsThatGainByIt) {
  Layer other = Of(1, 2);
  other.kind = 1;
  EXPECT_EQ(Network({Of(1, 2), Of(1, 2), Of(1, 2), other}).Least({}), "sssp");
  EXPECT_EQ(
      Network({Of(1, 2), Of(1, 2), Of(1, 2), other, other, other}).Least({}),
      "ssssss");
}

// Each measurement makes the code of the whole network.
TEST(FitLimitsTest, KindsWithoutSharedFunctionsAreNotTried) {
  std::vector<Layer> layers;
  for (int kind = 0; kind < 20; ++kind) {
    layers.push_back(Of(1, 2, 40));
    layers.back().shared = layers.back().plain;
    layers.back().kind = kind;
  }
  // As recipes, and as the three choices to begin with.
  const Network network(layers);
  EXPECT_EQ(network.Least({}), std::string(20, 'f'));
  EXPECT_LE(network.measurements(), 6);
}

}  // namespace
}  // namespace edgekiln::compiler
