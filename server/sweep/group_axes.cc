#include "server/sweep/group_axes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "server/sweep/model_name.h"
#include "server/sweep/pattern.h"
#include "target/nearest_name.h"
#include "target/recipes.h"

namespace edgekiln::server {
namespace {

enum Dimension { kModel, kChip, kRecipe, kFirstAxis };

constexpr int kMaxRecipes = 64;
constexpr int kMaxExcludes = 256;
constexpr int kMaxConditions = 64;

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status CheckOptions(const v1::SweepOptions& options) {
  const v1::CalibrateOptions& calibrate = options.calibrate();
  const int ppm = calibrate.percentile_ppm();
  const bool good = v1::Offload_IsValid(options.offload()) &&
                    v1::IoForm_IsValid(options.io()) && options.limit() >= 0 &&
                    v1::Metric_IsValid(options.metric()) &&
                    v1::CalibrateOptions::Method_IsValid(calibrate.method()) &&
                    (ppm == 0 || (ppm > 500'000 && ppm <= 1'000'000));
  if (good) return CheckSweptQuantization(options.quantization(), "options");
  return BadSweep("SWEEP_OPTION_INVALID", "an option is out of range",
                  "options",
                  "limit 0 or more, percentile_ppm 500001 to 1000000, known "
                  "names of offload, io, method and metric",
                  "", "set a value within the limits");
}

}  // namespace

absl::StatusOr<GroupAxes> GroupAxes::Read(const v1::SweepGroup& group,
                                          std::vector<const Chip*> chips) {
  GroupAxes axes;
  axes.chips_ = std::move(chips);
  if (!v1::SweepGoal_IsValid(group.goal())) {
    return BadSweep("SWEEP_OPTION_INVALID", "unknown goal", "goal",
                    "SWEEP_TIMING, SWEEP_PROFILE, SWEEP_VALIDATE",
                    absl::StrCat(static_cast<int>(group.goal())),
                    "use one of these");
  }
  if (group.goal() != v1::SWEEP_GOAL_UNSPECIFIED) axes.goal_ = group.goal();
  EK_RETURN_IF_ERROR(CheckOptions(group.options()));
  if (group.options().metric() != v1::METRIC_UNSPECIFIED &&
      group.goal() != v1::SWEEP_VALIDATE) {
    return BadSweep(
        "SWEEP_OPTION_INVALID", "a metric is measured by validating", "options",
        "goal: SWEEP_VALIDATE", "", "set the goal, or leave metric out");
  }
  EK_RETURN_IF_ERROR(axes.ReadAxes(group));
  EK_RETURN_IF_ERROR(axes.ReadRecipes(group));
  EK_RETURN_IF_ERROR(axes.ReadExcludes(group));
  return axes;
}

absl::Status GroupAxes::ReadAxes(const v1::SweepGroup& group) {
  if (group.vary_size() > kMaxKeys) {
    return BadSweep("SWEEP_TOO_LARGE", "too many keys are varied at once",
                    "vary", absl::StrCat(kMaxKeys, " keys"),
                    absl::StrCat(group.vary_size(), " keys"),
                    "vary fewer of them, or split the group");
  }
  absl::flat_hash_set<std::string> seen;
  for (const v1::SweepVary& vary : group.vary()) {
    if (!seen.insert(vary.key()).second) {
      return BadSweep("SWEEP_KEY_TWICE", "a key is varied twice",
                      absl::StrCat("vary ", vary.key()), "", "",
                      "give all its values at once");
    }
    EK_ASSIGN_OR_RETURN(Axis axis, Axis::Parse(vary));
    // One of them would be dropped in silence.
    if (axis.IsSetIn(group.options())) {
      return BadSweep("SWEEP_KEY_TWICE", "an option is set and varied",
                      absl::StrCat("vary ", vary.key()), "", "",
                      "leave it out of `options`, or make its value one of "
                      "those that are varied");
    }
    axes_.push_back(std::move(axis));
  }
  for (const Chip* const chip : chips_) {
    const std::vector<std::string> names = chip->variants.ParameterNames();
    std::vector<int>& of_chip = parameters_.emplace_back();
    for (const Axis& axis : axes_) {
      const auto it = std::find(names.begin(), names.end(), axis.key());
      of_chip.push_back(axis.is_option() || it == names.end()
                            ? kNone
                            : static_cast<int>(it - names.begin()));
    }
  }
  for (const Axis& axis : axes_) {
    if (!axis.is_option()) EK_RETURN_IF_ERROR(CheckAxis(axis));
  }
  return absl::OkStatus();
}

// Some chip has the parameter, and takes each value.
absl::Status GroupAxes::CheckAxis(const Axis& axis) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();
  std::vector<bool> taken(axis.size(), false);
  bool known = false;
  std::vector<std::string> names = Axis::OptionKeys();
  for (const Chip* const chip : chips_) {
    for (std::string& name : chip->variants.ParameterNames()) {
      if (!Contains(names, name)) names.push_back(std::move(name));
    }
    const v1::Parameter* const parameter =
        chip->variants.FindParameter(axis.key());
    if (parameter == nullptr) continue;
    known = true;
    least = std::min(least, parameter->min());
    most = std::max(most, parameter->max());
    for (int i = 0; i < axis.size(); ++i) {
      taken[i] = taken[i] || (axis.number(i) >= parameter->min() &&
                              axis.number(i) <= parameter->max());
    }
  }
  const std::string where = absl::StrCat("vary ", axis.key());
  if (!known) {
    return BadSweep(
        "SWEEP_KEY_UNKNOWN",
        "neither an option nor a parameter of any of these targets", where, "",
        "",
        target::DidYouMean(
            axis.key(), names,
            absl::StrCat("keys are: ", absl::StrJoin(names, ", "))));
  }
  for (int i = 0; i < axis.size(); ++i) {
    if (taken[i]) continue;
    return BadSweep("SWEEP_VALUE_OUT_OF_RANGE",
                    absl::StrCat("no target takes '", axis.text(i), "'"), where,
                    absl::StrCat(least, " to ", most), axis.text(i),
                    "give values within the limits");
  }
  return absl::OkStatus();
}

absl::Status GroupAxes::ReadRecipes(const v1::SweepGroup& group) {
  if (group.recipes_size() > kMaxRecipes) {
    return BadSweep("SWEEP_TOO_LARGE", "too many recipes", "recipes",
                    absl::StrCat(kMaxRecipes),
                    absl::StrCat(group.recipes_size()), "split the group");
  }
  for (const std::string& recipe : group.recipes()) {
    const std::string name(target::RecipeNameOf(recipe));
    if (!Contains(recipes_, name)) recipes_.push_back(name);
  }
  if (recipes_.empty()) recipes_.emplace_back(target::kDefaultRecipe);
  for (const Chip* const chip : chips_) {
    std::vector<absl::Status>& of_chip = has_recipe_.emplace_back();
    for (const std::string& recipe : recipes_) {
      of_chip.push_back(chip->variants.CheckRecipe(recipe));
    }
  }
  for (size_t i = 0; i < recipes_.size(); ++i) {
    const bool known =
        std::any_of(has_recipe_.begin(), has_recipe_.end(),
                    [i](const auto& of_chip) { return of_chip[i].ok(); });
    if (!known) return has_recipe_[0][i];
  }
  return absl::OkStatus();
}

absl::Status GroupAxes::RecipeStatus(int chip, int recipe) const {
  return has_recipe_[chip][recipe];
}

absl::StatusOr<GroupAxes::Condition> GroupAxes::ReadCondition(
    const v1::SweepGroup& group,
    const v1::SweepExclude::Condition& condition) const {
  Condition read;
  const std::string& value = condition.value();
  if (condition.key() == "model") {
    read.dimension = kModel;
    for (const v1::SweepModel& model : group.models()) {
      read.met.push_back(MatchesPattern(SweepModelName(model), value));
    }
    return read;
  }
  if (condition.key() == "target") {
    read.dimension = kChip;
    for (const Chip* const chip : chips_) {
      read.met.push_back(MatchesPattern(chip->name, value));
    }
    return read;
  }
  if (condition.key() == "recipe") {
    read.dimension = kRecipe;
    for (const std::string& recipe : recipes_) {
      read.met.push_back(MatchesPattern(recipe, value));
    }
    return read;
  }
  std::vector<std::string> names = {"model", "target", "recipe"};
  for (size_t i = 0; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    names.push_back(axis.key());
    if (axis.key() != condition.key()) continue;
    read.dimension = kFirstAxis + static_cast<int>(i);
    for (int j = 0; j < axis.size(); ++j) {
      read.met.push_back(axis.Matches(j, value));
    }
    return read;
  }
  return BadSweep("SWEEP_KEY_UNKNOWN",
                  "an exclude names a key that is not varied",
                  absl::StrCat("exclude ", condition.key(), "=", value), "", "",
                  target::DidYouMean(
                      condition.key(), names,
                      absl::StrCat("keys are: ", absl::StrJoin(names, ", "))));
}

absl::Status GroupAxes::ReadExcludes(const v1::SweepGroup& group) {
  if (group.exclude_size() > kMaxExcludes) {
    return BadSweep("SWEEP_TOO_LARGE", "too many excludes", "exclude",
                    absl::StrCat(kMaxExcludes),
                    absl::StrCat(group.exclude_size()),
                    "use patterns, or split the group");
  }
  for (const v1::SweepExclude& exclude : group.exclude()) {
    if (exclude.when().empty() || exclude.when_size() > kMaxConditions) {
      return BadSweep("SWEEP_EXCLUDE_INVALID", "an exclude needs conditions",
                      "exclude", absl::StrCat("1 to ", kMaxConditions),
                      absl::StrCat(exclude.when_size()),
                      "give it a key and a value");
    }
    Exclude& read = excludes_.emplace_back();
    for (const v1::SweepExclude::Condition& when : exclude.when()) {
      absl::StrAppend(&read.text, read.text.empty() ? "" : " ", when.key(), "=",
                      when.value());
      EK_ASSIGN_OR_RETURN(Condition condition, ReadCondition(group, when));
      read.when.push_back(std::move(condition));
    }
  }
  return absl::OkStatus();
}

bool GroupAxes::Excludes(int model, int chip, int recipe,
                         const std::vector<int>& values) {
  bool excluded = false;
  for (Exclude& exclude : excludes_) {
    const bool hit = std::all_of(
        exclude.when.begin(), exclude.when.end(),
        [&](const Condition& condition) {
          switch (condition.dimension) {
            case kModel:
              return condition.met[model];
            case kChip:
              return condition.met[chip];
            case kRecipe:
              return condition.met[recipe];
            default:
              return condition.met[values[condition.dimension - kFirstAxis]];
          }
        });
    exclude.hit = exclude.hit || hit;
    excluded = excluded || hit;
  }
  return excluded;
}

std::vector<std::string> GroupAxes::UnusedExcludes() const {
  std::vector<std::string> lines;
  for (const Exclude& exclude : excludes_) {
    if (exclude.hit) continue;
    lines.push_back(absl::StrCat("exclude '", exclude.text, "' hits no cell"));
  }
  return lines;
}

std::optional<int64_t> GroupAxes::combinations() const {
  std::optional<int64_t> product = 1;
  for (const Axis& axis : axes_) {
    if (product.has_value()) product = CheckedMul(*product, axis.size());
  }
  return product;
}

bool GroupAxes::Next(std::vector<int>& values) const {
  for (size_t i = axes_.size(); i-- > 0;) {
    if (++values[i] < axes_[i].size()) return true;
    values[i] = 0;
  }
  return false;
}

}  // namespace edgekiln::server
