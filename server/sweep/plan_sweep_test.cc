#include "server/sweep/plan_sweep.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/sweep/pattern.h"
#include "target/builtin.h"
#include "target/resolve.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kManyCells = 20'000;

v1::SweepRequest Parse(const std::string& text) {
  v1::SweepRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request))
      << text;
  for (v1::SweepGroup& group : *request.mutable_groups()) {
    for (v1::SweepModel& model : *group.mutable_models()) {
      // By what the file is called, so that equal files are equal.
      model.mutable_digest()->set_hash(model.file());
    }
  }
  return request;
}

std::string WithModel(const std::string& group) {
  return absl::StrCat("groups { models { file: 'net.onnx' } ", group, " }");
}

std::string ManyGroups(int groups) {
  std::string text;
  for (int i = 0; i < groups; ++i) absl::StrAppend(&text, "groups { } ");
  return text;
}

// What a chip is, whatever it is called; "" if it cannot be.
const std::string& ChipOf(const std::string& text) {
  static auto& known = *new std::map<std::string, std::string>;
  const auto [it, is_new] = known.try_emplace(text);
  const absl::StatusOr<v1::ResolvedTarget> resolved =
      is_new ? target::ResolveTarget(text) : absl::NotFoundError("known");
  if (resolved.ok()) {
    it->second = absl::StrCat(resolved->machine().SerializeAsString(), "|",
                              resolved->capabilities().SerializeAsString());
  }
  return it->second;
}

std::string TextOf(const v1::SweepPlan& plan, int variant) {
  return absl::StrCat(plan.texts(plan.variants(variant).text()),
                      plan.variants(variant).tail());
}

std::string BuiltinText(const std::string& name) {
  for (const target::BuiltinTarget& target : target::BuiltinTargets()) {
    if (target.name == name) return target.text;
  }
  ADD_FAILURE() << name;
  return "";
}

TEST(MatchesPatternTest, Table) {
  const std::string many(10'000, 'a');
  EXPECT_TRUE(MatchesPattern("", ""));
  EXPECT_TRUE(MatchesPattern("", "*"));
  EXPECT_TRUE(MatchesPattern("dla-64-o", "dla-*-o"));
  EXPECT_TRUE(MatchesPattern("dla-64-o", "*"));
  EXPECT_TRUE(MatchesPattern("abcbc", "a*bc"));
  EXPECT_FALSE(MatchesPattern("abcbd", "a*bc"));
  EXPECT_FALSE(MatchesPattern("a", ""));
  EXPECT_FALSE(MatchesPattern("", "a"));
  EXPECT_FALSE(MatchesPattern("ab", "a"));
  EXPECT_TRUE(MatchesPattern(many, "*a*a*a*a*a*a*a*a*"));
  EXPECT_FALSE(MatchesPattern(many, "*a*a*a*a*a*a*a*a*b"));
}

TEST(PlanSweepTest, RefusesWhatNobodyCanMean) {
  struct Case {
    std::string request;
    std::string reason;
    std::string part;  // Of limit, need or fix.
  };
  const std::string chip = "targets { name: 'dla-64-o-512k' } ";
  for (const Case& c : std::vector<Case>{
           {"", "SWEEP_EMPTY", "add a group"},
           {ManyGroups(65), "SWEEP_TOO_LARGE", "in one group"},
           {"groups { " + chip + "}", "SWEEP_EMPTY", "name a model"},
           {WithModel(""), "SWEEP_EMPTY", "name a target"},
           {"groups { models { } " + chip + "}", "SWEEP_NAME_INVALID", "name"},
           {"groups { models { file: 'a/net' } models { file: 'b/net' } " +
                chip + "}",
            "SWEEP_NAME_USED_TWICE", "name"},
           {WithModel("targets { name: 'dla-64-o-512' }"), "TARGET_UNKNOWN",
            "dla-64-o-512k"},
           {WithModel("targets { name: 'none-*' }"), "TARGET_UNKNOWN", "list"},
           {WithModel(chip + "vary { key: 'pess' values: '1' }"),
            "SWEEP_KEY_UNKNOWN", "\"pes\""},
           {WithModel(chip + "vary { key: 'ofload' values: '1' }"),
            "SWEEP_KEY_UNKNOWN", "\"offload\""},
           {WithModel(chip + "vary { key: 'pes' }"), "SWEEP_VALUE_INVALID",
            "values"},
           {WithModel(chip + "vary { key: 'pes' values: 'x' }"),
            "SWEEP_VALUE_INVALID", "64KiB"},
           {WithModel(chip + "vary { key: 'io' values: 'both' }"),
            "SWEEP_VALUE_INVALID", "int or float"},
           {WithModel(chip + "vary { key: 'limit' values: '-1' }"),
            "SWEEP_VALUE_INVALID", "0 for all"},
           {WithModel(chip + "vary { key: 'calibration-method' "
                             "values: 'percentile:40' }"),
            "SWEEP_VALUE_INVALID", "percentile"},
           {WithModel(chip + "vary { key: 'quantization' values: 'a' }"),
            "SWEEP_VALUE_INVALID", "that key"},
           {WithModel(chip + "vary { key: 'io' values: 'int' "
                             "quantizations { samples: 1 } }"),
            "SWEEP_VALUE_INVALID", "that key"},
           {WithModel(chip + "options { quantization { layers { layer: '" +
                      std::string(5000, 'x') + "' } } }"),
            "SWEEP_TOO_LARGE", "4096 bytes"},
           {WithModel(chip + "vary { key: 'pes' values: ['1', '2000'] }"),
            "SWEEP_VALUE_OUT_OF_RANGE", "1 to 1024"},
           {WithModel(chip + "vary { key: 'pes' values: '1' } "
                             "vary { key: 'pes' values: '2' }"),
            "SWEEP_KEY_TWICE", "at once"},
           {WithModel(chip + "options { quantization { samples: 9 } } vary { "
                             "key: 'quantization' values: 'q.txtpb' "
                             "quantizations { samples: 1 } }"),
            "SWEEP_KEY_TWICE", "`options`"},
           {WithModel(chip + "options { calibrate { method: MSE } } vary { "
                             "key: 'calibration-method' values: 'kl' }"),
            "SWEEP_KEY_TWICE", "`options`"},
           {WithModel(chip + "options { seed: 3 } "
                             "vary { key: 'seed' values: ['1', '2'] }"),
            "SWEEP_KEY_TWICE", "`options`"},
           {WithModel(chip + "recipes: 'seriall'"), "RECIPE_UNKNOWN", "serial"},
           {WithModel(chip + "exclude { }"), "SWEEP_EXCLUDE_INVALID", "key"},
           {WithModel(chip + "exclude { when { key: 'modell' value: '' } }"),
            "SWEEP_KEY_UNKNOWN", "\"model\""},
           {WithModel(chip + "options { metric: METRIC_MSE }"),
            "SWEEP_OPTION_INVALID", "SWEEP_VALIDATE"},
           {WithModel(chip + "options { limit: -1 }"), "SWEEP_OPTION_INVALID",
            "limit"}}) {
    const absl::Status status =
        PlanSweep(Parse(c.request), {}, kManyCells).status();
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << c.request << ": " << status;
    EXPECT_EQ(detail->reason, c.reason) << c.request;
    EXPECT_NE(detail->fix, "") << c.request;
    EXPECT_NE(
        absl::StrCat(detail->limit, detail->need, detail->fix).find(c.part),
        std::string::npos)
        << c.request << ": " << status;
  }
}

TEST(PlanSweepTest, TheProductIsCheckedBeforeItIsMade) {
  std::string group = "targets { name: 'dla-64-o-512k' } ";
  for (const char* key : {"sram_bytes", "flash_bytes", "ram_bytes", "seed"}) {
    absl::StrAppend(&group, "vary { key: '", key, "' ");
    for (int i = 0; i < 4096; ++i) {
      absl::StrAppend(&group, "values: '", 100'000 + i, "' ");
    }
    group += "} ";
  }
  const absl::Status status =
      PlanSweep(Parse(WithModel(group)), {}, kManyCells).status();
  EXPECT_EQ(GetErrorDetail(status)->reason, "SWEEP_TOO_LARGE") << status;
  EXPECT_NE(status.message().find("281474976710656 cells"), std::string::npos)
      << status;
}

TEST(PlanSweepTest, AVariantWithoutSettingsIsTheTargetItself) {
  const std::string own = absl::StrCat(
      "extends: \"dla-64-o-512k\"\nset { name: \"pes\" value: 32 } # mine");
  const v1::SweepRequest request =
      Parse(WithModel("targets { name: 'toy-array' } "
                      "targets { name: 'mine' digest { hash: 'x' } }"));
  const auto plan = PlanSweep(request, {own}, kManyCells);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->cells_size(), 2);
  EXPECT_EQ(TextOf(*plan, 0), BuiltinText("toy-array"));
  EXPECT_EQ(TextOf(*plan, 1), own);
}

TEST(PlanSweepTest, VariantsAreTheChipsThatTheyAreCalled) {
  const std::string own =
      "extends: \"dla-64-o-512k\"\nset { name: \"fill_cycles\" value: 7 }";
  const std::string whole = BuiltinText("toy-array");
  const v1::SweepRequest request = Parse(WithModel(
      "targets { name: 'dla-128-i-1m' } targets { name: 'toy-array' } "
      "targets { name: 'own' digest { hash: 'x' } } "
      "targets { name: 'copy' digest { hash: 'y' } } "
      "vary { key: 'fill_cycles' values: ['3', '5'] } "
      "vary { key: 'flash_bytes' values: ['1MiB', '300000'] }"));
  const auto plan = PlanSweep(request, {own, whole}, kManyCells);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->cells_size(), 16);
  const std::vector<std::string> bases = {"dla-128-i-1m", "toy-array",
                                          "dla-64-o-512k"};
  std::set<std::string> names;
  for (int cell = 0; cell < 12; ++cell) {
    ASSERT_EQ(plan->cells(cell).state(), v1::SweepPlan::VALID) << cell;
    const std::string want = absl::StrCat(
        "name: \"x\" extends: \"", bases[cell / 4],
        "\" set { name: \"fill_cycles\" value: ", cell / 2 % 2 == 0 ? 3 : 5,
        " } set { name: \"flash_bytes\" value: ",
        cell % 2 == 0 ? 1 << 20 : 300'000, " }");
    const std::string text = TextOf(*plan, plan->cells(cell).variant());
    ASSERT_NE(ChipOf(want), "");
    EXPECT_EQ(ChipOf(text), ChipOf(want)) << text;
    const auto resolved = target::ResolveTarget(text);
    EXPECT_EQ(resolved->name(),
              plan->variants(plan->cells(cell).variant()).name());
    EXPECT_TRUE(names.insert(resolved->name()).second);
  }
  // The copy of a built-in descriptor is that chip.
  for (int cell = 12; cell < 16; ++cell) {
    EXPECT_EQ(plan->cells(cell).state(), v1::SweepPlan::MERGED);
    EXPECT_EQ(plan->cells(cell).same_as(), cell - 8);
  }
}

TEST(PlanSweepTest, WhatOnlySomeTargetsRefuseIsARow) {
  const std::string narrow =
      absl::StrCat(BuiltinText("dla-64-o-512k"),
                   "\nconstraints { expr: \"pes <= 32\" message: \"stay small\""
                   " }\n");
  const v1::SweepRequest request =
      Parse(WithModel("targets { name: 'dla-64-o-512k' } "
                      "targets { name: 'narrow' digest { hash: 'x' } } "
                      "targets { name: 'toy-array' } recipes: 'serial' "
                      "vary { key: 'pes' values: ['16', '64'] }"));
  const auto plan = PlanSweep(request, {narrow}, kManyCells);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->cells_size(), 6);
  EXPECT_EQ(plan->cells(0).state(), v1::SweepPlan::VALID);
  EXPECT_EQ(plan->cells(2).state(), v1::SweepPlan::VALID);
  EXPECT_EQ(plan->cells(3).state(), v1::SweepPlan::REFUSED);
  EXPECT_EQ(plan->cells(3).error().fix(), "stay small");
  EXPECT_EQ(plan->cells(4).state(), v1::SweepPlan::REFUSED);
  EXPECT_EQ(plan->cells(4).error().reason(), "RECIPE_UNKNOWN");
  EXPECT_EQ(plan->cells(4).dropped_size(), 1);
}

TEST(PlanSweepTest, ExcludesHitByPatternAndByNumber) {
  const auto excluded = [](const std::string& when) {
    const auto plan = PlanSweep(
        Parse(WithModel(absl::StrCat(
            "targets { name: 'dla-64-o-512k' } targets { name: 'toy-array' } "
            "vary { key: 'flash_bytes' values: ['64KiB', '1MiB'] } "
            "exclude { ",
            when, " }"))),
        {}, kManyCells);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return std::pair<int64_t, int>(plan->excluded(), plan->warnings_size());
  };
  using Found = std::pair<int64_t, int>;
  EXPECT_EQ(excluded("when { key: 'target' value: 'dla*' }"), Found(2, 0));
  EXPECT_EQ(excluded("when { key: 'flash_bytes' value: '65536' }"),
            Found(2, 0));
  EXPECT_EQ(excluded("when { key: 'flash_bytes' value: '64*' } "
                     "when { key: 'target' value: 'toy-array' }"),
            Found(1, 0));
  EXPECT_EQ(excluded("when { key: 'model' value: '*' }"), Found(4, 0));
  EXPECT_EQ(excluded("when { key: 'recipe' value: 'serial' }"), Found(0, 1));
}

// A cell as loops over everything make it.
struct NaiveCell {
  bool refused = false;
  std::vector<int> dropped{};
  std::string chip{};
  std::string computes{};  // What is equal for equal cells.
};

bool HasParameter(const std::string& target, const std::string& key) {
  static auto& known = *new std::map<std::string, std::set<std::string>>;
  std::set<std::string>& keys = known[target];
  if (keys.empty()) {
    const auto resolved = target::ResolveTarget(BuiltinText(target));
    for (const auto& parameter : resolved->machine().parameters()) {
      keys.insert(parameter.name());
    }
  }
  return keys.count(key) > 0;
}

NaiveCell NaiveOf(const std::string& model, const std::string& target,
                  const std::string& recipe, const v1::SweepGroup& group,
                  const std::vector<std::string>& values) {
  static const auto& options = *new std::set<std::string>{
      "calibration-method", "io", "limit", "offload", "seed"};
  NaiveCell cell;
  std::string text = absl::StrCat("name: \"x\" extends: \"", target, "\"");
  std::map<std::string, std::string> chosen;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& key = group.vary(static_cast<int>(i)).key();
    if (options.count(key) > 0) {
      chosen[key] = values[i];
    } else if (HasParameter(target, key)) {
      const std::string number = values[i] == "4KiB" ? "4096" : values[i];
      absl::StrAppend(&text, " set { name: \"", key, "\" value: ", number,
                      " }");
    } else {
      cell.dropped.push_back(static_cast<int>(i));
    }
  }
  cell.chip = ChipOf(text);
  const bool has_recipe = recipe == "default" || target.substr(0, 3) == "dla";
  cell.refused = cell.chip.empty() || !has_recipe;
  cell.computes =
      absl::StrCat(model, "|", recipe, "|", group.goal(), "|", cell.chip);
  for (const auto& [key, value] : chosen) {
    absl::StrAppend(&cell.computes, "|", key, "=", value);
  }
  return cell;
}

TEST(PlanSweepTest, EveryCombinationIsPlannedAsANaiveEnumerationSays) {
  const std::vector<std::string> targets = {"dla-64-o-512k", "dla-128-o-512k",
                                            "toy-array", "toy-two-array"};
  const std::vector<std::pair<std::string, std::vector<std::string>>> axes = {
      {"pes", {"16", "64", "128"}},
      {"fill_cycles", {"0", "4", "500"}},
      {"flash_bytes", {"4KiB", "4096", "70000"}},
      {"block", {"4", "16"}},
      {"offload", {"all", "none"}},
      {"io", {"int", "float"}},
      {"seed", {"1", "2"}}};
  std::mt19937 random(11);
  int valid = 0;
  int refused = 0;
  int merged = 0;
  for (int round = 0; round < 120; ++round) {
    v1::SweepRequest request;
    const int groups = static_cast<int>(random() % 2) + 1;
    for (int g = 0; g < groups; ++g) {
      v1::SweepGroup& group = *request.add_groups();
      group.set_goal(random() % 2 == 0 ? v1::SWEEP_TIMING : v1::SWEEP_PROFILE);
      for (const char* name : {"a", "b"}) {
        if (group.models_size() > 0 && random() % 2 == 0) continue;
        v1::SweepModel& model = *group.add_models();
        model.set_name(name);
        model.mutable_digest()->set_hash(name);
      }
      for (const std::string& target : targets) {
        if (group.targets_size() > 0 && random() % 2 == 0) continue;
        group.add_targets()->set_name(target);
      }
      const bool has_serial = group.targets(0).name()[0] == 'd';
      if (has_serial && random() % 2 == 0) {
        group.add_recipes("default");
        group.add_recipes("serial");
      }
      for (const auto& [key, values] : axes) {
        if (random() % 3 != 0) continue;
        const bool known =
            key == "offload" || key == "io" || key == "seed" ||
            std::any_of(group.targets().begin(), group.targets().end(),
                        [&](const auto& target) {
                          return HasParameter(target.name(), key);
                        });
        if (!known) continue;
        v1::SweepVary& vary = *group.add_vary();
        vary.set_key(key);
        for (const std::string& value : values) {
          if (vary.values_size() == 0 || random() % 3 != 0) {
            vary.add_values(value);
          }
        }
      }
      if (group.vary_size() > 0 && random() % 3 == 0) {
        v1::SweepExclude::Condition& when = *group.add_exclude()->add_when();
        when.set_key(group.vary(0).key());
        when.set_value(group.vary(0).values(0));
      }
    }
    const auto plan = PlanSweep(request, {}, kManyCells);
    ASSERT_TRUE(plan.ok()) << plan.status() << request.DebugString();
    int cell = 0;
    int64_t excluded = 0;
    std::map<std::string, int> first;
    for (const v1::SweepGroup& group : request.groups()) {
      std::vector<std::string> recipes(group.recipes().begin(),
                                       group.recipes().end());
      if (recipes.empty()) recipes = {"default"};
      int64_t combinations = 1;
      for (const auto& vary : group.vary()) combinations *= vary.values_size();
      for (const auto& model : group.models()) {
        for (const auto& target : group.targets()) {
          for (const std::string& recipe : recipes) {
            for (int64_t n = 0; n < combinations; ++n) {
              std::vector<std::string> values(group.vary_size());
              int64_t rest = n;
              for (int i = group.vary_size(); i-- > 0;) {
                const auto& vary = group.vary(i);
                values[i] =
                    vary.values(static_cast<int>(rest % vary.values_size()));
                rest /= vary.values_size();
              }
              // "4096" is 4KiB, too.
              const auto number = [](const std::string& text) {
                return text == "4KiB" ? std::string("4096") : text;
              };
              if (group.exclude_size() > 0 &&
                  number(group.exclude(0).when(0).value()) ==
                      number(values[0])) {
                ++excluded;
                continue;
              }
              ASSERT_LT(cell, plan->cells_size());
              const v1::SweepPlan::Cell& planned = plan->cells(cell);
              const NaiveCell naive =
                  NaiveOf(model.name(), target.name(), recipe, group, values);
              EXPECT_EQ(plan->targets(planned.target()), target.name());
              EXPECT_EQ(planned.recipe(), recipe);
              for (int i = 0; i < group.vary_size(); ++i) {
                EXPECT_EQ(group.vary(i).values(planned.values(i)), values[i]);
              }
              EXPECT_EQ(std::vector<int>(planned.dropped().begin(),
                                         planned.dropped().end()),
                        naive.dropped);
              if (naive.refused) {
                ++refused;
                ASSERT_EQ(planned.state(), v1::SweepPlan::REFUSED)
                    << request.DebugString() << cell;
              } else if (const auto [it, is_new] =
                             first.try_emplace(naive.computes, cell);
                         is_new) {
                ++valid;
                ASSERT_EQ(planned.state(), v1::SweepPlan::VALID)
                    << request.DebugString() << cell;
                EXPECT_EQ(ChipOf(TextOf(*plan, planned.variant())), naive.chip);
              } else {
                ++merged;
                ASSERT_EQ(planned.state(), v1::SweepPlan::MERGED)
                    << request.DebugString() << cell;
                EXPECT_EQ(planned.same_as(), it->second);
              }
              ++cell;
            }
          }
        }
      }
    }
    EXPECT_EQ(cell, plan->cells_size());
    EXPECT_EQ(plan->excluded(), excluded);
  }
  // Rounds without one of the kinds would show nothing.
  EXPECT_GT(valid, 500);
  EXPECT_GT(refused, 100);
  EXPECT_GT(merged, 100);
}

}  // namespace
}  // namespace edgekiln::server
