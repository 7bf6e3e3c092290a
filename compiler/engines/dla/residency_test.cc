#include "compiler/engines/dla/residency.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/rng.h"
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

// A chain with skips: each layer reads one of the last three tensors.
SubgraphInput RandomNet(Rng& rng, int layers) {
  SubgraphInput input;
  std::vector<ImageExtent> extents = {
      {rng.InRange(4, 20), rng.InRange(4, 20), rng.InRange(1, 40)}};
  for (int l = 0; l < layers; ++l) {
    const auto last = std::ssize(extents) - 1;
    const int64_t from = std::max<int64_t>(last - rng.InRange(0, 2), 0);
    Layer layer = RandomLayer(rng, extents[from], rng.InRange(0, 2) == 0);
    layer.op_index = l;
    layer.input = static_cast<TensorId>(from);
    layer.output = l + 1;
    extents.push_back(layer.out);
    input.layers.push_back(layer);
  }
  for (size_t t = 0; t < extents.size(); ++t) {
    input.storage.push_back(static_cast<TensorId>(t));
  }
  input.external = {0, static_cast<TensorId>(layers)};
  return input;
}

std::vector<TilingSearch> SearchesOf(const Chip& chip,
                                     const SubgraphInput& input) {
  std::vector<TilingSearch> searches;
  for (const Layer& layer : input.layers) searches.emplace_back(chip, layer);
  return searches;
}

// Estimated cycles if exactly the outputs of the layers in `kept` stay.
std::optional<int64_t> CyclesOf(const SubgraphInput& input,
                                std::vector<TilingSearch>& searches,
                                int64_t sram_bytes, unsigned kept) {
  const auto stays = [&](TensorId tensor) {
    return tensor > 0 && (kept >> (tensor - 1) & 1) != 0;
  };
  int64_t cycles = 0;
  for (int l = 0; l < std::ssize(input.layers); ++l) {
    int64_t held = 0;
    for (int made = 0; made <= l; ++made) {
      int last = made;
      for (int reader = made; reader < std::ssize(input.layers); ++reader) {
        if (input.layers[reader].input == made + 1) last = reader;
      }
      if (!stays(made + 1)) continue;
      if (last == made) return std::nullopt;  // Nobody reads it.
      if (last >= l) held += input.layers[made].out.elements();
    }
    if (held > sram_bytes) return std::nullopt;
    const auto cost =
        searches[l].Best({.input = stays(input.layers[l].input),
                          .output = stays(input.layers[l].output)},
                         sram_bytes - held);
    if (!cost.value()) return std::nullopt;
    cycles += (*cost)->cycles;
  }
  return cycles;
}

TEST(ChooseResidencyTest, NoChoiceIsCheaper) {
  const Chip chip = TestChip();
  Rng rng(16);
  int impossible = 0;
  for (int round = 0; round < 150; ++round) {
    const int layers = static_cast<int>(rng.InRange(1, 7));
    const SubgraphInput input = RandomNet(rng, layers);
    const int64_t sram_bytes =
        rng.InRange(0, 3) == 0 ? rng.InRange(10, 100) : rng.InRange(200, 40000);
    std::vector<TilingSearch> searches = SearchesOf(chip, input);
    std::optional<int64_t> best;
    for (unsigned kept = 0; kept < (1u << layers); ++kept) {
      const auto cycles = CyclesOf(input, searches, sram_bytes, kept);
      if (cycles && (!best || *cycles < *best)) best = cycles;
    }
    const auto choice = ChooseResidency(input, searches, sram_bytes);
    ASSERT_TRUE(choice.ok()) << choice.status();
    ASSERT_EQ(choice->has_value(), best.has_value()) << "round " << round;
    if (!best) {
      ++impossible;
      continue;
    }
    EXPECT_EQ((*choice)->cycles, *best) << "round " << round;
    EXPECT_TRUE((*choice)->proven);
    unsigned kept = 0;
    for (const TensorId tensor : (*choice)->plan.resident) {
      kept |= 1u << (tensor - 1);
    }
    EXPECT_EQ(CyclesOf(input, searches, sram_bytes, kept), best);
  }
  EXPECT_GT(impossible, 0);
  EXPECT_LT(impossible, 100);
}

}  // namespace
}  // namespace edgekiln::compiler::dla
