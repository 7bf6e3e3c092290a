#include "server/sweep/plan_sweep.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/sweep/axis.h"
#include "server/sweep/chips.h"
#include "server/sweep/group_axes.h"
#include "server/sweep/meaning.h"
#include "server/sweep/model_name.h"
#include "target/extend.h"
#include "target/recipes.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxModelNameBytes = 200;
// Of a variant's name, where settings make it too long.
constexpr size_t kHashDigits = 12;

v1::ErrorDetail RefusalOf(const absl::Status& status) {
  v1::ErrorDetail error = ErrorToProto(status);
  error.clear_message();  // The other fields say it.
  return error;
}

// What a model is, whatever it is called.
std::string IdentityOf(const v1::SweepModel& model) {
  v1::SweepModel rest = model;
  rest.clear_name();
  rest.clear_file();
  for (auto* const files : {rest.mutable_inputs(), rest.mutable_external_data(),
                            rest.mutable_calibration(), rest.mutable_data()}) {
    for (v1::SweepFile& file : *files) file.clear_file();
  }
  return rest.SerializeAsString();
}

std::string VariantName(const Chip& chip, const target::Settings& settings) {
  std::string name = chip.name;
  for (const v1::Setting& one : settings) {
    absl::StrAppend(&name, "+", one.name(), "=", one.value());
  }
  if (name.size() > target::kMaxTargetNameBytes) {
    const std::string hash = DigestOf(name).hash.substr(0, kHashDigits);
    name.resize(target::kMaxTargetNameBytes - kHashDigits - 1);
    absl::StrAppend(&name, "~", hash);
  }
  return name;
}

class Planner {
 public:
  Planner(const v1::SweepRequest& request,
          absl::Span<const absl::string_view> files, int64_t max_cells,
          const v1::SweepGroup& quantized, const v1::SweepPlan& kept)
      : request_(request), kept_(kept), chips_(files), max_cells_(max_cells) {
    for (const v1::SweepModel& model : quantized.models()) {
      quantized_.insert(IdentityOf(model));
    }
  }

  absl::StatusOr<v1::SweepPlan> Plan();

 private:
  // A combination of settings on one chip.
  struct Setting {
    target::Settings set;
    absl::StatusOr<std::string> identity = std::string();
    int variant = -1;  // Once a cell has needed it.
  };
  using SettingsOfChip = std::map<std::vector<int64_t>, Setting>;

  absl::Status CheckModels();
  void ReadKept();
  absl::Status CheckSize();
  void AddGroup(int index);
  void AddCell(int index, const GroupAxes& group, int model, int chip,
               int recipe, const std::vector<int>& values);
  v1::SweepOptions OptionsOf(int index, const GroupAxes& group,
                             const CellSubject& subject, int chip,
                             const std::vector<int>& values,
                             v1::SweepPlan::Cell& cell) const;
  Setting& SettingOf(const GroupAxes& group, int chip,
                     const std::vector<int>& values);
  bool IsKept(int model_id, const Chip& chip, const Setting& setting);
  int VariantOf(const Chip& chip, Setting& setting);
  int TextOf(const std::string& text);
  int TargetIndex(const std::string& name);

  const v1::SweepRequest& request_;
  const v1::SweepPlan& kept_;
  Chips chips_;
  const int64_t max_cells_;
  std::vector<GroupAxes> groups_;
  std::vector<std::vector<int>> model_ids_;     // By group; equal: the same.
  absl::flat_hash_set<std::string> quantized_;  // Identities of models.
  std::vector<bool> came_quantized_;            // By id.
  // Ids of models, with names of variants and then with their identities.
  absl::flat_hash_set<std::pair<int, std::string>> kept_on_;
  absl::flat_hash_set<std::pair<int, std::string>> kept_on_chips_;
  absl::flat_hash_map<const Chip*, SettingsOfChip> settings_;
  absl::flat_hash_map<std::string, int> first_;  // Cells by what they compute.
  absl::flat_hash_map<std::string, int> targets_;
  absl::flat_hash_map<std::string, int> texts_;
  v1::SweepPlan plan_;
};

absl::Status Planner::CheckModels() {
  absl::flat_hash_map<std::string, int> ids;
  absl::flat_hash_map<std::string, int> names;
  for (const v1::SweepGroup& group : request_.groups()) {
    if (group.models().empty()) {
      return BadSweep("SWEEP_EMPTY", "a group of a sweep needs models",
                      "models", "", "", "name a model");
    }
    std::vector<int>& of_group = model_ids_.emplace_back();
    for (const v1::SweepModel& model : group.models()) {
      const std::string name = SweepModelName(model);
      if (name.empty() || SanitizeText(name, kMaxModelNameBytes) != name) {
        return BadSweep("SWEEP_NAME_INVALID",
                        "a model's name is empty, not text, or too long",
                        absl::StrCat("model '", name, "'"),
                        absl::StrCat("1 to ", kMaxModelNameBytes, " bytes"), "",
                        "give it a `name`");
      }
      const int next = static_cast<int>(ids.size());
      const std::string identity = IdentityOf(model);
      const auto [known, is_new] = ids.try_emplace(identity, next);
      if (is_new) came_quantized_.push_back(quantized_.contains(identity));
      const int id = known->second;
      if (names.try_emplace(name, id).first->second != id) {
        return BadSweep("SWEEP_NAME_USED_TWICE",
                        "two models have the same name",
                        absl::StrCat("model '", name, "'"), "", "",
                        "give one of them another `name`");
      }
      of_group.push_back(id);
    }
  }
  return absl::OkStatus();
}

// Indices may be anything.
void Planner::ReadKept() {
  const auto has = [](const auto& list, int index) {
    return index >= 0 && index < static_cast<int>(list.size());
  };
  for (const v1::SweepPlan::Cell& cell : kept_.cells()) {
    if (!has(model_ids_, cell.group()) ||
        !has(model_ids_[cell.group()], cell.model()) ||
        !has(kept_.variants(), cell.variant())) {
      continue;
    }
    kept_on_.emplace(model_ids_[cell.group()][cell.model()],
                     kept_.variants(cell.variant()).name());
  }
}

// Before a single cell is made.
absl::Status Planner::CheckSize() {
  std::optional<int64_t> total = 0;
  for (int i = 0; i < request_.groups_size(); ++i) {
    std::optional<int64_t> cells = groups_[i].combinations();
    for (const int64_t factor :
         {static_cast<int64_t>(request_.groups(i).models_size()),
          static_cast<int64_t>(groups_[i].chips().size()),
          static_cast<int64_t>(groups_[i].recipes().size())}) {
      if (cells.has_value()) cells = CheckedMul(*cells, factor);
    }
    if (!cells.has_value() || !total.has_value()) {
      total.reset();
    } else {
      total = CheckedAdd(*total, *cells);
    }
  }
  if (total.has_value() && *total <= max_cells_) return absl::OkStatus();
  return BadSweep(
      "SWEEP_TOO_LARGE", "the sweep has too many cells", "sweep",
      absl::StrCat(max_cells_, " cells (max_sweep_cells of the daemon)"),
      total.has_value() ? absl::StrCat(*total, " cells")
                        : "more cells than can be counted",
      "vary fewer keys or values at once, or ask whoever runs the daemon for a "
      "higher limit");
}

int Planner::TargetIndex(const std::string& name) {
  const auto [it, is_new] = targets_.try_emplace(name, plan_.targets_size());
  if (is_new) plan_.add_targets(name);
  return it->second;
}

int Planner::TextOf(const std::string& text) {
  const auto [it, is_new] = texts_.try_emplace(text, plan_.texts_size());
  if (is_new) plan_.add_texts(text);
  return it->second;
}

Planner::Setting& Planner::SettingOf(const GroupAxes& group, int chip,
                                     const std::vector<int>& values) {
  std::vector<int64_t> key;
  target::Settings set;
  for (size_t i = 0; i < group.axes().size(); ++i) {
    const Axis& axis = group.axes()[i];
    if (axis.is_option() || group.IsDropped(chip, i)) continue;
    v1::Setting& setting = *set.Add();
    setting.set_name(axis.key());
    setting.set_value(axis.number(values[i]));
    // Groups may vary other keys.
    key.push_back(static_cast<int64_t>(group.ParameterIndex(chip, i)));
    key.push_back(setting.value());
  }
  const Chip* const of = group.chips()[chip];
  const auto [it, is_new] = settings_[of].try_emplace(std::move(key));
  if (is_new) {
    it->second.identity = of->variants.Identity(set);
    it->second.set = std::move(set);
  }
  return it->second;
}

// The same chip under another name comes later, and was not asked about.
bool Planner::IsKept(int model_id, const Chip& chip, const Setting& setting) {
  if (kept_on_.empty() || !setting.identity.ok()) return false;
  if (kept_on_.contains({model_id, VariantName(chip, setting.set)})) {
    kept_on_chips_.emplace(model_id, *setting.identity);
  }
  return kept_on_chips_.contains({model_id, *setting.identity});
}

int Planner::VariantOf(const Chip& chip, Setting& setting) {
  if (setting.variant >= 0) return setting.variant;
  setting.variant = plan_.variants_size();
  v1::SweepPlan::Variant& variant = *plan_.add_variants();
  if (setting.set.empty()) {
    variant.set_name(chip.name);
    variant.set_text(TextOf(chip.text));
    return setting.variant;
  }
  const std::string name = VariantName(chip, setting.set);
  variant.set_name(name);
  variant.set_text(TextOf(chip.variants.Head()));
  variant.set_tail(chip.variants.Tail(name, setting.set));
  return setting.variant;
}

// Those of the group and the varied ones. Tells in `cell` which keys are
// dropped.
v1::SweepOptions Planner::OptionsOf(int index, const GroupAxes& group,
                                    const CellSubject& subject, int chip,
                                    const std::vector<int>& values,
                                    v1::SweepPlan::Cell& cell) const {
  v1::SweepOptions options = request_.groups(index).options();
  for (size_t i = 0; i < group.axes().size(); ++i) {
    const Axis& axis = group.axes()[i];
    if (axis.is_option()) axis.Apply(values[i], options);
  }
  v1::SweepOptions left = options;
  for (size_t i = 0; i < group.axes().size(); ++i) {
    const Axis& axis = group.axes()[i];
    const bool dropped = axis.is_option() ? HasNoMeaning(axis, subject, options)
                                          : group.IsDropped(chip, i);
    if (!dropped) continue;
    cell.add_dropped(static_cast<int>(i));
    if (axis.is_option()) axis.Clear(left);
  }
  return left;
}

void Planner::AddCell(int index, const GroupAxes& group, int model, int chip,
                      int recipe, const std::vector<int>& values) {
  const Chip& on = *group.chips()[chip];
  const int number = plan_.cells_size();
  v1::SweepPlan::Cell& cell = *plan_.add_cells();
  cell.set_group(index);
  cell.set_model(model);
  cell.set_target(TargetIndex(on.name));
  cell.set_recipe(group.recipes()[recipe]);
  cell.mutable_values()->Assign(values.begin(), values.end());
  const int model_id = model_ids_[index][model];
  Setting& setting = SettingOf(group, chip, values);
  const CellSubject subject{.model = request_.groups(index).models(model),
                            .came_quantized = came_quantized_[model_id],
                            .has_engines = on.has_engines,
                            .keeps_integers = IsKept(model_id, on, setting),
                            .goal = group.goal()};
  v1::SweepOptions options =
      OptionsOf(index, group, subject, chip, values, cell);
  const absl::Status recipe_known = group.RecipeStatus(chip, recipe);
  if (!recipe_known.ok() || !setting.identity.ok()) {
    cell.set_state(v1::SweepPlan::REFUSED);
    *cell.mutable_error() =
        RefusalOf(recipe_known.ok() ? setting.identity.status() : recipe_known);
    return;
  }
  const std::string computes = absl::StrCat(
      model_id, " ", cell.recipe(), " ", group.goal(), " ", *setting.identity,
      " ", WhatMatters(subject, options).SerializeAsString());
  const auto [first, is_new] = first_.try_emplace(computes, number);
  if (!is_new) {
    cell.set_state(v1::SweepPlan::MERGED);
    cell.set_same_as(first->second);
    return;
  }
  cell.set_state(v1::SweepPlan::VALID);
  cell.set_variant(VariantOf(on, setting));
  if (options.ByteSizeLong() > 0) *cell.mutable_options() = std::move(options);
}

void Planner::AddGroup(int index) {
  GroupAxes& group = groups_[index];
  const v1::SweepGroup& asked = request_.groups(index);
  for (int model = 0; model < asked.models_size(); ++model) {
    for (int chip = 0; chip < static_cast<int>(group.chips().size()); ++chip) {
      for (int recipe = 0; recipe < static_cast<int>(group.recipes().size());
           ++recipe) {
        std::vector<int> values(group.axes().size(), 0);
        do {
          if (group.Excludes(model, chip, recipe, values)) {
            plan_.set_excluded(plan_.excluded() + 1);
          } else {
            AddCell(index, group, model, chip, recipe, values);
          }
        } while (group.Next(values));
      }
    }
  }
  for (std::string& warning : group.UnusedExcludes()) {
    plan_.add_warnings(std::move(warning));
  }
}

absl::StatusOr<v1::SweepPlan> Planner::Plan() {
  constexpr int kMaxGroups = 64;
  if (request_.groups().empty()) {
    return BadSweep("SWEEP_EMPTY", "a sweep needs groups", "groups",
                    absl::StrCat("1 to ", kMaxGroups), "0",
                    "add a group with models and targets");
  }
  if (request_.groups_size() > kMaxGroups) {
    return BadSweep("SWEEP_TOO_LARGE", "too many groups", "groups",
                    absl::StrCat("1 to ", kMaxGroups),
                    absl::StrCat(request_.groups_size()),
                    "name several models and targets in one group, or split "
                    "the sweep");
  }
  EK_RETURN_IF_ERROR(CheckModels());
  ReadKept();
  std::vector<std::string> warnings;
  for (const v1::SweepGroup& group : request_.groups()) {
    EK_ASSIGN_OR_RETURN(std::vector<const Chip*> chips,
                        chips_.OfGroup(group, warnings));
    EK_ASSIGN_OR_RETURN(GroupAxes axes,
                        GroupAxes::Read(group, std::move(chips)));
    groups_.push_back(std::move(axes));
  }
  EK_RETURN_IF_ERROR(CheckSize());
  plan_.mutable_warnings()->Assign(warnings.begin(), warnings.end());
  for (int i = 0; i < request_.groups_size(); ++i) AddGroup(i);
  return std::move(plan_);
}

}  // namespace

absl::StatusOr<v1::SweepPlan> PlanSweep(
    const v1::SweepRequest& request, absl::Span<const absl::string_view> files,
    int64_t max_cells, const v1::SweepGroup& quantized,
    const v1::SweepPlan& kept) {
  return Planner(request, files, max_cells, quantized, kept).Plan();
}

}  // namespace edgekiln::server
