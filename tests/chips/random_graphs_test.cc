// Random networks on every chip, from ample scratchpads down to the smallest
// that suffices.

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/partition/partition.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "target/layout.h"
#include "target/pattern_ops.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/chips/smallest_scratchpad.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int kEvenSeed = 40;  // From here on, graphs round half to even.

// A chip, one of its kinds of networks, and a seed.
struct GraphCase {
  const ChipCase* chip;
  GraphKind kind;
  int seed;

  QuantizedGraphBuilder Builder() const {
    QuantizedGraphBuilder builder =
        BuilderFor(*chip, kind.first_seed + static_cast<uint64_t>(seed));
    if (seed >= kEvenSeed) builder.RoundHalfEven();
    if (chip->weight_zero_points && seed % 3 == 1) {
      builder.GiveWeightsZeroPoints();
    }
    return builder;
  }
};

void PrintTo(const GraphCase& c, std::ostream* out) {
  *out << c.chip->name << " " << c.kind.name << " " << c.seed;
}

// Of each kind at most `most` seeds.
std::vector<GraphCase> Graphs(int most) {
  std::vector<GraphCase> cases;
  for (const ChipCase* chip : AllChips()) {
    for (const GraphKind& kind : chip->graphs) {
      for (int seed = 0; seed < std::min(most, chip->seeds); ++seed) {
        cases.push_back({chip, kind, seed});
      }
      const int even =
          chip->rounds_half_even && most >= chip->seeds ? chip->even_seeds : 0;
      for (int seed = 0; seed < even; ++seed) {
        cases.push_back({chip, kind, kEvenSeed + seed});
      }
    }
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<GraphCase>& info) {
  return absl::StrCat(info.param.chip->name, "_", info.param.kind.name, "_",
                      info.param.seed);
}

class RandomGraphTest : public testing::TestWithParam<GraphCase> {};

TEST_P(RandomGraphTest, IsBitExactAtAllSizes) {
  const ChipCase& chip = *GetParam().chip;
  QuantizedGraphBuilder builder = GetParam().Builder();
  const Graph graph = GetParam().kind.make(builder);
  const int64_t smallest = SmallestScratchpad(chip, graph);
  ASSERT_GT(smallest, 1);
  Rng& rng = builder.rng();
  const std::vector<std::string> samples = {builder.Sample(), builder.Sample()};
  for (const int64_t bytes :
       {smallest, smallest + rng.InRange(1, 200),
        smallest * 2 + rng.InRange(0, 500), smallest * 6, int64_t{1} << 20}) {
    SCOPED_TRACE(testing::Message() << "scratchpad " << bytes);
    ExpectBitExact(graph, chip.random_target(rng, bytes), samples);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraphTest,
                         testing::ValuesIn(Graphs(kEvenSeed)), CaseName);

class SmallestScratchpadTest : public testing::TestWithParam<GraphCase> {};

TEST_P(SmallestScratchpadTest, IsExactAndAnythingAboveCompiles) {
  const ChipCase& chip = *GetParam().chip;
  QuantizedGraphBuilder builder = GetParam().Builder();
  const Graph graph = GetParam().kind.make(builder);
  const int64_t smallest = SmallestScratchpad(chip, graph);
  const auto fits = CompileQuantized(graph, chip.target(smallest));
  EXPECT_TRUE(fits.ok()) << fits.status();
  const auto below = CompileQuantized(graph, chip.target(smallest - 1));
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(SmallestSramOf(below.status()), smallest);
  Rng rng(static_cast<uint64_t>(GetParam().seed));
  for (int i = 0; i < 6; ++i) {
    const int64_t bytes = smallest + rng.InRange(0, smallest * 4);
    const auto compiled =
        CompileQuantized(graph, chip.random_target(rng, bytes));
    ASSERT_TRUE(compiled.ok()) << bytes << ": " << compiled.status();
    EXPECT_LE(compiled->program.sram_peak_bytes(), bytes);
  }
}

// More with `tools/test --full`.
INSTANTIATE_TEST_SUITE_P(
    All, SmallestScratchpadTest,
    testing::ValuesIn(Graphs(getenv("EK_MORE_NETWORKS") == nullptr ? 3 : 12)),
    CaseName);

// What a run shows: taps, then outputs.
struct Shown {
  std::string report;
  std::vector<std::string> values;
  bool operator==(const Shown&) const = default;
};

class ChipTest : public testing::TestWithParam<const ChipCase*> {
 protected:
  // The first networks of each kind, not too tight.
  template <typename Check>
  void ForSomeGraphs(const Check& check) {
    for (const GraphKind& kind : GetParam()->graphs) {
      for (int seed = 0; seed < 4; ++seed) {
        SCOPED_TRACE(absl::StrCat(kind.name, " ", seed));
        QuantizedGraphBuilder builder =
            GraphCase{GetParam(), kind, seed}.Builder();
        const Graph graph = kind.make(builder);
        const v1::ResolvedTarget target = GetParam()->target(
            SmallestScratchpad(*GetParam(), graph) * (seed + 1));
        const auto compiled = CompileQuantized(graph, target);
        ASSERT_TRUE(compiled.ok()) << compiled.status();
        check(builder, graph, target, *compiled);
      }
    }
  }
};

// Again, in another order, in a clone, on other paths of the processor, without
// values: neither values nor cycles depend on it, nor cycles on values.
TEST_P(ChipTest, ShowsTheSameHoweverItIsRun) {
  ForSomeGraphs([&](QuantizedGraphBuilder& builder, const Graph& graph,
                    const v1::ResolvedTarget& target,
                    const compiler::EmitResult& compiled) {
    const std::vector<std::string> samples = {
        builder.Sample(), builder.Sample(), builder.Sample()};
    simfarm::SessionOptions options = OptionsOf(graph);
    const auto counted =
        simfarm::CountCycles(compiled.program, target.machine(), options);
    ASSERT_TRUE(counted.ok()) << counted.status();
    std::vector<Shown> first(samples.size());
    for (const auto path :
         {simfarm::CpuPath::kBest, simfarm::CpuPath::kPortable}) {
      options.cpu_path = path;
      const auto session = simfarm::LoadSession(
          compiled.program, compiled.constants, target.machine(), options);
      ASSERT_TRUE(session.ok()) << session.status();
      const std::unique_ptr<simfarm::Session> clone = (*session)->Clone();
      for (const size_t s : {0, 1, 2, 2, 0, 1}) {
        for (simfarm::Session* each : {session->get(), clone.get()}) {
          Shown shown;
          const auto visit = [&](const v1::Program::Tap&,
                                 absl::string_view values) {
            shown.values.emplace_back(values);
            return absl::OkStatus();
          };
          std::vector<std::string> outputs;
          const auto report = each->RunChecked({samples[s]}, visit, &outputs);
          ASSERT_TRUE(report.ok()) << report.status();
          EXPECT_EQ(report->SerializeAsString(), counted->SerializeAsString());
          shown.report = report->SerializeAsString();
          shown.values.insert(shown.values.end(), outputs.begin(),
                              outputs.end());
          if (first[s].values.empty()) first[s] = shown;
          EXPECT_TRUE(shown == first[s]) << "sample " << s;
        }
      }
    }
    EXPECT_FALSE(first[0] == first[1]);  // The comparison can fail.
  });
}

TEST_P(ChipTest, ItsProgramsLayoutsAreLegal) {
  ForSomeGraphs([&](QuantizedGraphBuilder&, const Graph&,
                    const v1::ResolvedTarget&,
                    const compiler::EmitResult& compiled) {
    EXPECT_GT(compiled.program.layouts_size(), 0);
    for (const v1::Layout& message : compiled.program.layouts()) {
      const auto layout = target::Layout::Create(message);
      ASSERT_TRUE(layout.ok()) << layout.status();
      std::string dense(static_cast<size_t>(layout->dense_bytes()), '\0');
      for (size_t i = 0; i < dense.size(); ++i) {
        dense[i] = static_cast<char>(i * 7 + i / 256);
      }
      std::string memory(static_cast<size_t>(layout->size_bytes()), '\0');
      layout->Scatter(dense.data(), memory.data());
      std::string again(dense.size(), '\0');
      layout->Gather(memory.data(), again.data());
      EXPECT_EQ(again, dense) << message.ShortDebugString();
    }
  });
}

TEST_P(ChipTest, EveryPatternIsHit) {
  std::set<std::string> hit;
  const auto add = [&](const Graph& graph,
                       const compiler::EmitResult& compiled) {
    for (const v1::Program::Layer& layer : compiled.program.layers()) {
      if (layer.engine() < 0) continue;
      hit.insert(layer.op());
      for (const compiler::Op& op : graph.ops) {
        if (op.id != layer.id()) continue;
        hit.insert(target::PatternOpName(op.attributes));
      }
    }
  };
  ForSomeGraphs([&](QuantizedGraphBuilder&, const Graph& graph,
                    const v1::ResolvedTarget&,
                    const compiler::EmitResult& compiled) {
    add(graph, compiled);
    // With requantization in layers of its own where engines can.
    v1::ResolvedTarget target = GetParam()->target(1 << 20);
    v1::PartitionRecipe sums;
    for (int e = 0; e < target.capabilities().engines_size(); ++e) {
      sums.add_separate_requantization(e);
    }
    auto ordered =
        compiler::InOrderOf(sums, std::move(*target.mutable_capabilities()));
    ASSERT_TRUE(ordered.ok()) << ordered.status();
    *target.mutable_capabilities() = *std::move(ordered);
    const auto apart = CompileQuantized(graph, target);
    ASSERT_TRUE(apart.ok()) << apart.status();
    add(graph, *apart);
  });
  int patterns = 0;
  const v1::ResolvedTarget target = GetParam()->target(1 << 20);
  for (const auto& engine : target.capabilities().engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      for (const std::string& op : pattern.ops()) {
        EXPECT_EQ(hit.count(op), 1u) << op;
      }
      ++patterns;
    }
  }
  EXPECT_GT(patterns, 0);
}

INSTANTIATE_TEST_SUITE_P(Chips, ChipTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
