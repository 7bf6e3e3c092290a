// Why engines leave layers to the host: every condition of every pattern of
// every chip is broken by layers made for it, and what is said names it.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/pattern_match.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "target/expression.h"
#include "target/pattern_ops.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/numerics_conditions.h"
#include "tests/chips/pattern_conditions.h"
#include "tests/pipeline/chip_run.h"
#include "tests/support/user_error.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr int kLayers = 20;  // Of each pattern and condition.
// Layers of more elements along an axis take too long to make.
constexpr int64_t kMostElements = 70000;

// A chip of one engine with one pattern.
v1::Capabilities ChipOf(const std::string& engine,
                        const v1::OpPattern& pattern) {
  v1::Capabilities capabilities;
  capabilities.add_engines()->set_name(engine);
  *capabilities.mutable_engines(0)->add_patterns() = pattern;
  return capabilities;
}

compiler::Match MatchOf(const Graph& graph, const v1::OpPattern& pattern) {
  const v1::Capabilities capabilities = ChipOf("e", pattern);
  const auto matcher = compiler::PatternMatcher::Create(graph, capabilities);
  EXPECT_TRUE(matcher.ok()) << matcher.status();
  return matcher->MatchChain(0, 0);
}

// Why the pattern does not take the layer, or not all of it; "" if it does.
std::string WhyNot(const Graph& graph, const v1::OpPattern& pattern) {
  const compiler::Match match = MatchOf(graph, pattern);
  if (match.split != compiler::OpSplit::kClamp && !match.ops.empty()) {
    EXPECT_EQ(std::ssize(match.ops), pattern.ops_size());
    return "";
  }
  EXPECT_EQ(match.failed.size(), 1u);
  return match.failed.empty() ? "?" : match.failed[0];
}

// The report says the same, if the graph is one that can be compiled.
// Convolutions in groups are rewritten before, and kernels would be padded.
bool IsReported(const Graph& graph, v1::OpPattern pattern,
                const std::string& failed) {
  pattern.clear_most_kernel_padding();
  const auto partition =
      compiler::PartitionGraph(graph, ChipOf("npu", pattern));
  if (!partition.ok() || graph.ops[0].attributes.conv2d().groups() > 1) {
    return false;
  }
  const std::string needs = absl::StrCat("npu needs ", failed);
  const std::string& reason = partition->placements(0).reason();
  if (partition->placements_size() > 1) {
    // The engine has all but the layer's limits.
    EXPECT_TRUE(
        absl::EndsWith(reason, absl::StrCat(" up to its limits: ", needs)))
        << reason;
    EXPECT_EQ(partition->placements(0).engine(), 0);
    EXPECT_EQ(partition->placements(1).engine(), -1);
    return true;
  }
  EXPECT_EQ(partition->placements(0).engine(), -1);
  EXPECT_EQ(reason, needs);
  return true;
}

// Its operand is what another op makes: tests/chips/accumulators_test.cc has
// such layers.
bool NeedsSums(const v1::OpPattern& pattern) {
  return pattern.ops(0) == "requantize";
}

// All patterns of the chip's engines, as described and tightened.
template <typename Check>
void ForPatterns(const ChipCase& chip, int layers, const Check& check) {
  Rng rng(1);
  const v1::ResolvedTarget target = chip.target(1 << 20);
  for (const auto& engine : target.capabilities().engines()) {
    for (const v1::OpPattern& described : engine.patterns()) {
      if (NeedsSums(described)) continue;
      for (int i = 0; i < layers; ++i) {
        const v1::OpPattern pattern =
            i % 2 == 0 ? described : Tightened(described, rng);
        SCOPED_TRACE(pattern.ShortDebugString());
        check(pattern, rng);
      }
    }
  }
}

class NumericsTest : public testing::TestWithParam<
                         std::tuple<const ChipCase*, NumericsCondition>> {};

TEST_P(NumericsTest, ARefusalNamesTheCondition) {
  const auto& [chip, condition] = GetParam();
  int reported = 0;
  int broken = 0;
  ForPatterns(*chip, kLayers, [&](const v1::OpPattern& pattern, Rng& rng) {
    if (!condition.applies(pattern)) return;
    v1::OpPattern only = pattern;
    only.clear_where();
    QuantizedGraphBuilder builder(rng.Next());
    LayerSizes sizes = RandomSizes(pattern, rng);
    if (condition.enlarge != nullptr) condition.enlarge(pattern, sizes);
    Graph graph = LayerOf(pattern, sizes, builder);
    if (condition.spoil != nullptr) condition.spoil(pattern, graph, rng);
    const std::string why = WhyNot(graph, only);
    EXPECT_TRUE(absl::StrContains(why, condition.says(pattern))) << why;
    reported += IsReported(graph, only, why);
    ++broken;
    if (condition.field[0] == '\0') return;
    // Whether a slope is one multiplication is known of 8 bits only.
    if (pattern.ops(0) == "leaky_relu" &&
        absl::StrContains(condition.field, "activations")) {
      return;
    }
    // Without the condition there is nothing to refuse.
    EXPECT_EQ(WhyNot(graph, Lifted(only, condition)), "");
  });
  EXPECT_GT(broken, 0);
  // Sizes alone make no graph illegal.
  EXPECT_TRUE(reported > 0 || condition.enlarge == nullptr);
}

// A chip without weights, say, cannot break what is about them.
std::vector<std::tuple<const ChipCase*, NumericsCondition>> Breakable() {
  std::vector<std::tuple<const ChipCase*, NumericsCondition>> cases;
  for (const ChipCase* chip : AllChips()) {
    for (const NumericsCondition& condition : NumericsConditions()) {
      bool applies = false;
      ForPatterns(*chip, kLayers, [&](const v1::OpPattern& pattern, Rng&) {
        applies = applies || condition.applies(pattern);
      });
      if (applies) cases.emplace_back(chip, condition);
    }
  }
  return cases;
}

TEST(BreakableTest, EveryConditionIsSomeChips) {
  std::set<std::string> broken;
  for (const auto& [chip, condition] : Breakable()) {
    broken.insert(condition.name);
  }
  EXPECT_EQ(broken.size(), NumericsConditions().size());
}

INSTANTIATE_TEST_SUITE_P(All, NumericsTest, testing::ValuesIn(Breakable()),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param)->name,
                                               "_",
                                               std::get<1>(info.param).name);
                         });

class ConditionsTest : public testing::TestWithParam<const ChipCase*> {};

// Numbers in an expression, and those next to them.
std::set<int64_t> Thresholds(const std::string& expr) {
  std::set<int64_t> values = {2, 3};
  for (size_t at = 0; at < expr.size(); ++at) {
    const bool inside =
        at > 0 && (absl::ascii_isalnum(expr[at - 1]) || expr[at - 1] == '_');
    int64_t value = 0;
    if (!absl::ascii_isdigit(expr[at]) || inside) continue;
    const size_t end = expr.find_first_not_of("0123456789", at);
    if (!absl::SimpleAtoi(expr.substr(at, end - at), &value)) continue;
    values.insert({value, value + 1});
  }
  values.erase(values.upper_bound(kMostElements), values.end());
  values.erase(0);
  return values;
}

std::vector<std::string> VariablesIn(const v1::OpPattern& pattern,
                                     const std::string& expr) {
  const std::vector<std::string> names = target::ChainVariableNames(pattern);
  const auto expression = target::Expression::Compile(expr, {}, names);
  EXPECT_TRUE(expression.ok()) << expression.status();
  std::vector<std::string> variables;
  for (const int32_t used : expression->UsedVariables()) {
    variables.push_back(names[used]);
  }
  return variables;
}

// Layers of which a variable of the condition is at one of its thresholds, or
// beyond it.
template <typename Check>
void ForThresholds(const v1::OpPattern& pattern,
                   const v1::OpPattern::Condition& condition, Rng& rng,
                   const Check& check) {
  for (const std::string& variable : VariablesIn(pattern, condition.expr())) {
    LayerSizes sizes = RandomSizes(pattern, rng);
    QuantizedGraphBuilder plain(rng.Next());
    Graph spoilt = LayerOf(pattern, sizes, plain);
    if (SpoilVariable(variable, spoilt)) check(spoilt);
    for (const int64_t value : Thresholds(condition.expr())) {
      sizes = RandomSizes(pattern, rng);
      if (!SetVariable(pattern, variable, value, sizes)) continue;
      QuantizedGraphBuilder builder(rng.Next());
      check(LayerOf(pattern, sizes, builder));
    }
  }
  // What is about both counts of channels.
  const std::vector<std::string> variables =
      VariablesIn(pattern, condition.expr());
  if (std::count(variables.begin(), variables.end(), "in_c") == 0 ||
      std::count(variables.begin(), variables.end(), "out_c") == 0) {
    return;
  }
  for (const int64_t value : Thresholds(condition.expr())) {
    LayerSizes sizes = RandomSizes(pattern, rng);
    sizes.c = sizes.channels = value;
    QuantizedGraphBuilder builder(rng.Next());
    check(LayerOf(pattern, sizes, builder));
  }
}

// Whether no layer here may break it: a parameter lifts it, a register holds
// more than any size or part of one, or subtracts what may always be there, or
// it is about a product of sizes (StagedConstantsTest breaks that one).
bool MayAlwaysHold(const v1::OpPattern::Condition& condition) {
  return absl::StartsWith(condition.expr(), "max(1, ") ||
         absl::StartsWith(condition.need(), "at most 4294967295 ") ||
         absl::StartsWith(condition.need(),
                          "constants of an output channel ") ||
         (absl::StartsWith(condition.need(), "at most 65535 ") &&
          absl::StrContains(condition.expr(), "ceildiv")) ||
         absl::StartsWith(condition.need(), "at least ");
}

TEST_P(ConditionsTest, EachIsBrokenByALayerAndNamed) {
  int broken = 0;
  ForPatterns(*GetParam(), 2, [&](const v1::OpPattern& pattern, Rng& rng) {
    for (const v1::OpPattern::Condition& condition : pattern.where()) {
      v1::OpPattern with = pattern;
      with.clear_where();
      // Large layers would need more anyway.
      v1::Numerics& numerics = *with.mutable_numerics();
      if (numerics.accumulator_bits() > 0) numerics.set_accumulator_bits(32);
      const v1::OpPattern without = with;
      *with.add_where() = condition;
      int refused = 0;
      ForThresholds(pattern, condition, rng, [&](const Graph& graph) {
        EXPECT_EQ(WhyNot(graph, without), "");
        const std::string why = WhyNot(graph, with);
        if (why.empty()) return;
        ++refused;
        const std::string begin = absl::StrCat(condition.need(), " (here ");
        EXPECT_TRUE(absl::StartsWith(why, begin)) << why;
        for (const std::string& name : VariablesIn(with, condition.expr())) {
          EXPECT_TRUE(absl::StrContains(why, absl::StrCat(name, " "))) << why;
        }
        IsReported(graph, with, why);
      });
      if (MayAlwaysHold(condition)) continue;
      EXPECT_GT(refused, 0) << condition.ShortDebugString();
      broken += refused;
    }
  });
  EXPECT_GT(broken, 0);
}

// Small layers that meet all conditions are taken, and most small layers do.
TEST_P(ConditionsTest, LayersThatMeetThemAreTaken) {
  ForPatterns(*GetParam(), 60, [&](const v1::OpPattern& pattern, Rng& rng) {
    v1::OpPattern without = pattern;
    without.clear_where();
    QuantizedGraphBuilder builder(rng.Next());
    const Graph graph = LayerOf(pattern, RandomSizes(pattern, rng), builder);
    EXPECT_EQ(WhyNot(graph, without), "");
    const std::string why = WhyNot(graph, pattern);
    if (why.empty()) return;
    bool named = false;
    for (const auto& condition : pattern.where()) {
      named = named ||
              absl::StartsWith(why, absl::StrCat(condition.need(), " (here "));
    }
    EXPECT_TRUE(named) << why;
  });
}

// What the conditions let through is compiled, or needs more memory than there
// is: no register is too narrow for it.
TEST_P(ConditionsTest, LayersAtThemAreCompiled) {
  Rng rng(3);
  int taken = 0;
  const v1::ResolvedTarget target = GetParam()->target(1 << 20);
  for (const auto& engine : target.capabilities().engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      if (NeedsSums(pattern)) continue;
      for (const v1::OpPattern::Condition& condition : pattern.where()) {
        SCOPED_TRACE(
            absl::StrCat(condition.ShortDebugString(), " of ", pattern.ops(0)));
        ForThresholds(pattern, condition, rng, [&](const Graph& graph) {
          if (!WhyNot(graph, pattern).empty()) return;
          ++taken;
          const auto compiled = CompileQuantized(graph, target);
          if (!compiled.ok()) ExpectUserError(compiled.status());
        });
      }
    }
  }
  EXPECT_GT(taken, 0);
}

INSTANTIATE_TEST_SUITE_P(Chips, ConditionsTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

TEST(NumericsConditionsTest, EveryFieldOfNumericsIsOne) {
  std::set<std::string> broken;
  for (const NumericsCondition& condition : NumericsConditions()) {
    broken.insert(condition.field);
  }
  const auto* numerics = v1::Numerics::descriptor();
  for (int i = 0; i < numerics->field_count(); ++i) {
    EXPECT_EQ(broken.count(numerics->field(i)->name()), 1u)
        << numerics->field(i)->name() << " is in no NumericsCondition";
  }
}

}  // namespace
}  // namespace edgekiln::tests
