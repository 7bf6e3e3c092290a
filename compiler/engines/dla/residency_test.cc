#include "compiler/engines/dla/residency.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "compiler/engines/dla/testing/small_networks.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

Chip TestChip() {
  const auto target = target::ResolveTarget("extends: \"dla-64-o-512k\"");
  return Chip::Create(target->machine(), 0, 1 << 19).value();
}

Layer RandomLayer(Rng& rng, const ImageExtent& in, bool channelwise) {
  Layer layer;
  layer.op = channelwise ? LayerOp::kDepthwise : LayerOp::kConv;
  layer.in = in;
  const int64_t kernel = rng.InRange(0, 1) == 0 ? 1 : 3;
  layer.vertical = layer.horizontal = {kernel, 1, 1, kernel / 2};
  layer.out = {in.h, in.w, channelwise ? in.c : rng.InRange(1, 40)};
  return layer;
}

// Two of the tensors, or one twice, that have the same extents.
Layer RandomAddition(Rng& rng, const std::vector<ImageExtent>& extents,
                     int64_t from) {
  Layer layer;
  layer.op = LayerOp::kAdd;
  layer.in = layer.out = extents[from];
  layer.vertical = layer.horizontal = {1, 1, 1, 0};
  layer.input = static_cast<TensorId>(from);
  layer.input2 = layer.input;
  for (size_t t = 0; t < extents.size(); ++t) {
    if (extents[t] == extents[from] && rng.InRange(0, 1) == 0) {
      layer.input2 = static_cast<TensorId>(t);
    }
  }
  return layer;
}

// A chain with skips: each layer reads one of the last three tensors, additions
// any other one as well. Some tensors are read outside.
SubgraphInput RandomNet(Rng& rng, int layers) {
  SubgraphInput input;
  std::vector<ImageExtent> extents = {
      {rng.InRange(4, 20), rng.InRange(4, 20), rng.InRange(1, 40)}};
  input.external = {0, static_cast<TensorId>(layers)};
  for (int l = 0; l < layers; ++l) {
    const auto last = std::ssize(extents) - 1;
    const int64_t from = std::max<int64_t>(last - rng.InRange(0, 2), 0);
    Layer layer = rng.InRange(0, 3) == 0
                      ? RandomAddition(rng, extents, from)
                      : RandomLayer(rng, extents[from], rng.InRange(0, 2) == 0);
    layer.op_index = l;
    layer.input = static_cast<TensorId>(from);
    layer.output = l + 1;
    if (rng.InRange(0, 3) == 0) input.external.insert(layer.output);
    extents.push_back(layer.out);
    input.layers.push_back(layer);
  }
  for (size_t t = 0; t < extents.size(); ++t) {
    input.storage.push_back(static_cast<TensorId>(t));
  }
  return input;
}

// Ten tensors of one image, all of which are read after the last one was made.
SubgraphInput RandomNetOfManyTensors(Rng& rng) {
  constexpr TensorId kTensors = 10;
  SubgraphInput input;
  const int64_t extent = rng.InRange(4, 24);
  const ImageExtent image = {extent, extent, rng.InRange(1, 128)};
  const int64_t channels = rng.InRange(1, 128);
  for (TensorId l = 0; l < 2 * kTensors; ++l) {
    Layer layer = RandomLayer(rng, image, /*channelwise=*/false);
    layer.out.c = channels;
    layer.input = 0;
    if (l >= kTensors) {
      layer.op = LayerOp::kMaxPool;
      layer.input = l - kTensors + 1;
      layer.in = layer.out;
      layer.vertical = layer.horizontal = {1, 1, 1, 0};
    }
    layer.op_index = l;
    layer.output = l + 1;
    input.layers.push_back(layer);
  }
  for (TensorId t = 0; t <= 2 * kTensors; ++t) input.storage.push_back(t);
  input.external = {0};
  for (TensorId l = kTensors; l < 2 * kTensors; ++l) {
    input.external.insert(l + 1);
  }
  return input;
}

// By which choices are compared.
struct Total {
  int64_t cycles = 0;
  int64_t dma_bytes = 0;
  auto operator<=>(const Total&) const = default;
};

// An estimate if exactly the outputs of the layers in `kept` stay.
std::optional<Total> TotalOf(const SubgraphInput& input,
                             std::vector<TilingSearch>& searches,
                             int64_t sram_bytes, unsigned kept,
                             Estimate estimate = {}) {
  const auto stays = [&](TensorId tensor) {
    return tensor > 0 && (kept >> (tensor - 1) & 1) != 0;
  };
  Total total;
  for (int l = 0; l < std::ssize(input.layers); ++l) {
    int64_t held = 0;
    for (int made = 0; made <= l; ++made) {
      int last = made;
      for (int reader = made; reader < std::ssize(input.layers); ++reader) {
        const Layer& layer = input.layers[reader];
        if (layer.input == made + 1 || layer.input2 == made + 1) last = reader;
      }
      if (!stays(made + 1)) continue;
      if (last == made) return std::nullopt;  // Nobody reads it.
      if (last >= l) held += input.layers[made].out.elements();
    }
    if (held > sram_bytes) return std::nullopt;
    const Layer& layer = input.layers[l];
    const auto cost = searches[l].Best({.input = stays(layer.input),
                                        .input2 = stays(layer.input2),
                                        .output = stays(layer.output)},
                                       sram_bytes - held, estimate);
    if (!cost.value()) return std::nullopt;
    total.cycles += (*cost)->cycles;
    total.dma_bytes += (*cost)->dma_bytes;
    if (stays(layer.output) && input.external.contains(layer.output)) {
      total.dma_bytes += layer.out.elements();
    }
  }
  return total;
}

unsigned KeptBy(const SubgraphPlan& plan) {
  unsigned kept = 0;
  for (const TensorId tensor : plan.resident) kept |= 1u << (tensor - 1);
  return kept;
}

TEST(ChooseResidencyTest, NoChoiceIsCheaper) {
  const Chip chip = TestChip();
  Rng rng(16);
  int impossible = 0;
  int additions_of_kept = 0;
  int kept_and_external = 0;
  for (int round = 0; round < 150; ++round) {
    const int layers = static_cast<int>(rng.InRange(1, 7));
    const SubgraphInput input = RandomNet(rng, layers);
    const int64_t sram_bytes =
        rng.InRange(0, 3) == 0 ? rng.InRange(10, 100) : rng.InRange(200, 40000);
    const Estimate estimate = {.early_blocks = round % 3 == 0,
                               .small_tiles = round % 4 == 0};
    std::vector<TilingSearch> searches = SearchesOf(chip, input);
    std::optional<Total> best;
    for (unsigned kept = 0; kept < (1u << layers); ++kept) {
      const auto total = TotalOf(input, searches, sram_bytes, kept, estimate);
      if (total && (!best || *total < *best)) best = total;
    }
    const auto choice = ChooseResidency(input, searches, sram_bytes, estimate);
    ASSERT_TRUE(choice.ok()) << choice.status();
    ASSERT_EQ(choice->has_value(), best.has_value()) << "round " << round;
    if (!best) {
      ++impossible;
      continue;
    }
    EXPECT_EQ((*choice)->cycles, best->cycles) << "round " << round;
    EXPECT_TRUE((*choice)->proven);
    const SubgraphPlan& plan = (*choice)->plan;
    EXPECT_EQ(TotalOf(input, searches, sram_bytes, KeptBy(plan), estimate),
              best)
        << "round " << round;
    // What it needs is enough for it.
    EXPECT_LE((*choice)->sram_bytes, sram_bytes);
    const auto smaller =
        ChooseResidency(input, searches, (*choice)->sram_bytes, estimate);
    ASSERT_TRUE(smaller.ok() && *smaller);
    EXPECT_EQ(TotalOf(input, searches, (*choice)->sram_bytes,
                      KeptBy((*smaller)->plan), estimate),
              best)
        << "round " << round;
    for (const Layer& layer : input.layers) {
      if (layer.op == LayerOp::kAdd && plan.resident.contains(layer.input)) {
        ++additions_of_kept;
      }
    }
    for (const TensorId tensor : plan.resident) {
      if (input.external.contains(tensor)) ++kept_and_external;
    }
  }
  EXPECT_GT(impossible, 0);
  EXPECT_LT(impossible, 100);
  EXPECT_GT(additions_of_kept, 0);
  EXPECT_GT(kept_and_external, 0);
}

// Of more states than are kept, the cheapest up to some layer may be dear
// later.
TEST(ChooseResidencyTest, OfTooManyTensorsToTryThemAllOneChoiceIsFound) {
  const Chip chip = TestChip();
  Rng rng(5);
  int unproven = 0;
  for (int round = 0; round < 40; ++round) {
    const SubgraphInput input = RandomNetOfManyTensors(rng);
    int64_t sram_bytes = rng.InRange(200, 20000);
    unsigned all = 0;
    for (size_t l = 0; l < input.layers.size() / 2; ++l) {
      sram_bytes += input.layers[l].all_out_bytes();
      all |= 1u << l;
    }
    std::vector<TilingSearch> searches = SearchesOf(chip, input);
    std::optional<Total> known = TotalOf(input, searches, sram_bytes, all);
    const auto none = TotalOf(input, searches, sram_bytes, 0);
    if (!known || (none && *none < *known)) known = none;
    const auto choice = ChooseResidency(input, searches, sram_bytes);
    ASSERT_TRUE(choice.ok()) << choice.status();
    if (!known) continue;
    ASSERT_TRUE(choice->has_value()) << "round " << round;
    EXPECT_LE((*choice)->cycles, known->cycles) << "round " << round;
    if (!(*choice)->proven) ++unproven;
  }
  EXPECT_GT(unproven, 20);
}

// Or may leave too little for a later layer: here one whose window needs almost
// all of an SRAM that holds the tensors before and after it.
TEST(ChooseResidencyTest, OfTooManyTensorsToTryThemAllNoneMayStay) {
  const Chip chip = TestChip();
  Rng rng(6);
  int fitting = 0;
  for (int round = 0; round < 20; ++round) {
    SubgraphInput input = RandomNetOfManyTensors(rng);
    const size_t tensors = input.layers.size() / 2;
    int64_t bytes = 0;
    for (size_t l = 0; l < tensors; ++l) {
      bytes += input.layers[l].all_out_bytes();
    }
    Layer pool;
    pool.op = LayerOp::kMaxPool;
    pool.in = {bytes, 1, 1};
    pool.out = {1, 1, 1};
    pool.vertical = {bytes, 1, 1, 0};
    pool.horizontal = {1, 1, 1, 0};
    pool.input = static_cast<TensorId>(input.storage.size());
    pool.output = pool.input + 1;
    for (const TensorId tensor : {pool.input, pool.output}) {
      input.storage.push_back(tensor);
      input.external.insert(tensor);
    }
    input.layers.insert(input.layers.begin() + tensors, pool);
    const int64_t sram_bytes = bytes + 8;
    std::vector<TilingSearch> searches = SearchesOf(chip, input);
    if (!TotalOf(input, searches, sram_bytes, 0)) continue;
    ++fitting;
    const auto choice = ChooseResidency(input, searches, sram_bytes);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_TRUE(choice->has_value()) << "round " << round;
  }
  EXPECT_GT(fitting, 10);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
