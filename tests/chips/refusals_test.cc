// Why engines leave layers to the host: every condition of every pattern of
// every chip is broken by random layers, and what is said names it.

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/pattern_match.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/pattern_conditions.h"
#include "tests/pipeline/chip_run.h"
#include "tests/support/user_error.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int kLayers = 20;  // Of each pattern and condition.

// An engine of one pattern.
v1::Capabilities::Engine EngineOf(const v1::Capabilities::Engine& engine,
                                  const v1::OpPattern& pattern) {
  v1::Capabilities::Engine only = engine;
  only.clear_patterns();
  *only.add_patterns() = pattern;
  return only;
}

// The same pattern of a chip that can do little of it.
v1::OpPattern Tightened(v1::OpPattern pattern, Rng& rng) {
  pattern.set_max_kernel(static_cast<int32_t>(rng.InRange(2, 4)));
  pattern.set_max_stride(static_cast<int32_t>(rng.InRange(1, 3)));
  pattern.set_max_dilation(static_cast<int32_t>(rng.InRange(1, 3)));
  pattern.set_max_extent(rng.InRange(6, 12));
  pattern.set_per_channel(false);
  pattern.set_asymmetric_weights(false);
  pattern.set_rounds_half_even(false);
  return pattern;
}

// A chip that does not have the condition.
v1::OpPattern Lifted(v1::OpPattern pattern, const PatternCondition& condition) {
  const auto* field =
      v1::OpPattern::descriptor()->FindFieldByName(condition.field);
  const auto* reflection = v1::OpPattern::GetReflection();
  if (field->is_repeated()) {
    for (int i = 0; i < field->enum_type()->value_count(); ++i) {
      reflection->AddEnumValue(&pattern, field,
                               field->enum_type()->value(i)->number());
    }
  } else if (field->cpp_type() ==
             google::protobuf::FieldDescriptor::CPPTYPE_BOOL) {
    reflection->SetBool(&pattern, field, true);
  } else {
    reflection->ClearField(&pattern, field);
  }
  return pattern;
}

// The same pattern with a limit that is lower by one.
v1::OpPattern OneLess(v1::OpPattern pattern,
                      const google::protobuf::FieldDescriptor* limit) {
  const auto* reflection = v1::OpPattern::GetReflection();
  if (limit->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT64) {
    reflection->SetInt64(&pattern, limit,
                         reflection->GetInt64(pattern, limit) - 1);
  } else {
    reflection->SetInt32(&pattern, limit,
                         reflection->GetInt32(pattern, limit) - 1);
  }
  return pattern;
}

// The report says the same, if the graph is one that can be compiled.
// Convolutions in groups are rewritten before.
bool IsReported(const Graph& graph, const v1::Capabilities::Engine& engine,
                const std::string& failed) {
  v1::Capabilities capabilities;
  *capabilities.add_engines() = engine;
  const auto partition = compiler::PartitionGraph(graph, capabilities);
  if (!partition.ok() || graph.ops[0].attributes.conv2d().groups() > 1) {
    return false;
  }
  EXPECT_EQ(partition->placements(0).engine(), -1);
  EXPECT_EQ(partition->placements(0).reason(),
            absl::StrCat(engine.name(), " needs ", failed));
  return true;
}

class RefusalTest : public testing::TestWithParam<
                        std::tuple<const ChipCase*, PatternCondition>> {
 protected:
  // All patterns of the chip's engines that have the condition, as described
  // and tightened.
  template <typename Check>
  void ForPatterns(const Check& check) {
    const auto& [chip, condition] = GetParam();
    Rng rng(1);
    const v1::ResolvedTarget target = chip->target(1 << 20);
    for (const auto& engine : target.capabilities().engines()) {
      for (const v1::OpPattern& described : engine.patterns()) {
        for (int i = 0; i < kLayers; ++i) {
          const v1::OpPattern pattern =
              i % 2 == 0 ? described : Tightened(described, rng);
          if (!condition.applies(pattern)) continue;
          SCOPED_TRACE(pattern.ShortDebugString());
          check(engine, pattern, rng);
        }
      }
    }
  }
};

TEST_P(RefusalTest, NamesTheCondition) {
  const PatternCondition& condition = std::get<1>(GetParam());
  int reported = 0;
  int broken = 0;
  ForPatterns([&](const v1::Capabilities::Engine& engine,
                  const v1::OpPattern& pattern, Rng& rng) {
    QuantizedGraphBuilder builder(rng.Next());
    LayerSizes sizes = RandomSizes(pattern, rng);
    if (condition.enlarge != nullptr) condition.enlarge(pattern, sizes, rng);
    Graph graph = LayerOf(pattern, sizes, builder);
    if (condition.spoil != nullptr) condition.spoil(pattern, graph, rng);
    const v1::Capabilities::Engine only = EngineOf(engine, pattern);
    const compiler::Match match = compiler::MatchChain(graph, 0, only);
    EXPECT_TRUE(match.ops.empty());
    ASSERT_EQ(match.failed.size(), 1u);
    EXPECT_TRUE(absl::StrContains(match.failed[0], condition.says(pattern)))
        << match.failed[0];
    reported += IsReported(graph, only, match.failed[0]);
    ++broken;
    if (condition.field[0] == '\0') return;
    // Without the condition there is nothing to refuse.
    const v1::Capabilities::Engine without =
        EngineOf(engine, Lifted(pattern, condition));
    const compiler::Match lifted = compiler::MatchChain(graph, 0, without);
    EXPECT_EQ(lifted.ops.size(), 1u) << testing::PrintToString(lifted.failed);
  });
  EXPECT_GT(broken, 0);
  // Sizes alone make no graph illegal.
  EXPECT_TRUE(reported > 0 || condition.enlarge == nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    testing::Combine(testing::ValuesIn(AllChips()),
                     testing::ValuesIn(PatternConditions())),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param)->name, "_",
                          std::get<1>(info.param).name);
    });

class LimitsTest : public testing::TestWithParam<const ChipCase*> {};

// Layers within all limits, often at them, are taken.
TEST_P(LimitsTest, LayersWithinThemAreTaken) {
  Rng rng(2);
  const v1::ResolvedTarget target = GetParam()->target(1 << 20);
  for (const auto& engine : target.capabilities().engines()) {
    for (const v1::OpPattern& described : engine.patterns()) {
      for (int i = 0; i < 100; ++i) {
        const v1::OpPattern pattern =
            i % 2 == 0 ? described : Tightened(described, rng);
        QuantizedGraphBuilder builder(rng.Next());
        const Graph graph =
            LayerOf(pattern, RandomSizes(pattern, rng), builder);
        const compiler::Match match =
            compiler::MatchChain(graph, 0, EngineOf(engine, pattern));
        EXPECT_EQ(match.ops, std::vector<int32_t>{0})
            << pattern.ShortDebugString() << ": "
            << testing::PrintToString(match.failed);
      }
    }
  }
}

// What the described limits let through is compiled, or needs more memory than
// there is: no register is too narrow for it.
TEST_P(LimitsTest, LayersAtThemAreCompiled) {
  Rng rng(3);
  const v1::ResolvedTarget target = GetParam()->target(1 << 20);
  for (const auto& engine : target.capabilities().engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      for (const PatternCondition& condition : PatternConditions()) {
        const auto* limit =
            v1::OpPattern::descriptor()->FindFieldByName(condition.field);
        if (condition.enlarge == nullptr || limit == nullptr ||
            !condition.applies(pattern)) {
          continue;
        }
        SCOPED_TRACE(
            absl::StrCat(condition.name, " of ", pattern.ShortDebugString()));
        LayerSizes sizes = RandomSizes(pattern, rng);
        condition.enlarge(OneLess(pattern, limit), sizes, rng);
        QuantizedGraphBuilder builder(rng.Next());
        const auto compiled =
            CompileQuantized(LayerOf(pattern, sizes, builder), target);
        if (!compiled.ok()) ExpectUserError(compiled.status());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, LimitsTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

TEST(PatternConditionsTest, EveryFieldOfAPatternIsOne) {
  std::set<std::string> broken = {"pattern"};  // Says which op it is.
  for (const PatternCondition& condition : PatternConditions()) {
    broken.insert(condition.field);
  }
  const auto* pattern = v1::OpPattern::descriptor();
  for (int i = 0; i < pattern->field_count(); ++i) {
    EXPECT_EQ(broken.count(pattern->field(i)->name()), 1u)
        << pattern->field(i)->name() << " is in no PatternCondition";
  }
}

}  // namespace
}  // namespace edgekiln::tests
