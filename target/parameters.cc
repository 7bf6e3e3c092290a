#include "target/parameters.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "target/nearest_name.h"

namespace edgekiln::target {
namespace {

bool IsIdentifier(absl::string_view name) {
  return !name.empty() && name.size() <= 64 && !absl::ascii_isdigit(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

absl::Status CheckSetting(const v1::TargetDescriptor& descriptor,
                          const v1::Setting& setting) {
  for (const v1::Parameter& parameter : descriptor.parameters()) {
    if (parameter.name() != setting.name()) continue;
    if (setting.value() < parameter.min() ||
        setting.value() > parameter.max()) {
      return InvalidTarget(
          {.what = absl::StrCat("value ", setting.value(), " is out of range"),
           .where = absl::StrCat("set \"", setting.name(), "\""),
           .limit = absl::StrCat(parameter.min(), " to ", parameter.max(), " ",
                                 parameter.unit()),
           .fix = "set a value within the limits"});
    }
    return absl::OkStatus();
  }
  std::vector<std::string> names;
  for (const v1::Parameter& parameter : descriptor.parameters()) {
    names.push_back(parameter.name());
  }
  return InvalidTarget(
      {.what = "no parameter of that name",
       .where = absl::StrCat("set \"", setting.name(), "\""),
       .fix = DidYouMean(setting.name(), names,
                         names.empty()
                             ? "the target has no parameters: leave `set` out"
                             : absl::StrCat("parameters are: ",
                                            absl::StrJoin(names, ", ")))});
}

// Sorted by name.
std::vector<Constant> DefaultValues(const v1::TargetDescriptor& descriptor) {
  std::vector<Constant> values;
  values.reserve(static_cast<size_t>(descriptor.parameters_size()));
  for (const v1::Parameter& parameter : descriptor.parameters()) {
    values.push_back({parameter.name(), parameter.default_value()});
  }
  std::sort(
      values.begin(), values.end(),
      [](const Constant& a, const Constant& b) { return a.name < b.name; });
  return values;
}

// `values` with `set` applied and the constraints met.
absl::Status Apply(const Settings& set, const v1::TargetDescriptor& descriptor,
                   std::vector<Constant>& values) {
  for (const v1::Setting& setting : set) {
    EK_RETURN_IF_ERROR(CheckSetting(descriptor, setting));
    for (Constant& value : values) {
      if (value.name == setting.name()) value.value = setting.value();
    }
  }
  for (const v1::Constraint& constraint : descriptor.constraints()) {
    EK_ASSIGN_OR_RETURN(const int64_t holds,
                        EvaluateConstant(constraint.expr(), values),
                        "constraints: expr");
    if (holds != 0) continue;
    std::string used;
    for (const Constant& value : values) {
      if (constraint.expr().find(value.name) == std::string::npos) continue;
      absl::StrAppend(&used, used.empty() ? "" : ", ", value.name, " = ",
                      value.value);
    }
    return InvalidTarget({.what = "a constraint of the target does not hold",
                          .where = used,
                          .limit = constraint.expr(),
                          .fix = constraint.message()});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InvalidTarget(ErrorDetail detail) {
  detail.reason = "TARGET_INVALID";
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

absl::Status MergeSettings(const Settings& from, Settings* into) {
  absl::flat_hash_set<std::string> seen;
  for (const v1::Setting& setting : from) {
    if (!seen.insert(setting.name()).second) {
      return InvalidTarget(
          {.what = "a parameter is set twice",
           .where = absl::StrCat("set \"", setting.name(), "\""),
           .fix = "keep one of the lines"});
    }
    const auto same = std::find_if(
        into->begin(), into->end(),
        [&](const v1::Setting& s) { return s.name() == setting.name(); });
    if (same != into->end()) {
      same->set_value(setting.value());
    } else {
      *into->Add() = setting;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckParameters(const v1::TargetDescriptor& descriptor) {
  absl::flat_hash_set<std::string> seen;
  for (const v1::Parameter& parameter : descriptor.parameters()) {
    const std::string where =
        absl::StrCat("parameter \"", parameter.name(), "\"");
    if (!IsIdentifier(parameter.name())) {
      return InvalidTarget(
          {.what = "the name is not an identifier", .where = where});
    }
    if (!seen.insert(parameter.name()).second) {
      return InvalidTarget(
          {.what = "the parameter occurs twice", .where = where});
    }
    if (parameter.min() > parameter.max()) {
      return InvalidTarget({.what = "min is above max", .where = where});
    }
    if (parameter.default_value() < parameter.min() ||
        parameter.default_value() > parameter.max()) {
      return InvalidTarget(
          {.what = absl::StrCat("default_value ", parameter.default_value(),
                                " is out of range"),
           .where = where,
           .limit = absl::StrCat("min ", parameter.min(), ", max ",
                                 parameter.max())});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Constant>> ParameterValues(
    const v1::TargetDescriptor& descriptor, const Settings& set) {
  std::vector<Constant> values = DefaultValues(descriptor);
  EK_RETURN_IF_ERROR(Apply(set, descriptor, values));
  return values;
}

absl::Status CheckPresets(const v1::TargetDescriptor& descriptor) {
  const std::vector<Constant> defaults = DefaultValues(descriptor);
  std::vector<Constant> values;
  absl::flat_hash_set<std::string> seen;
  for (const v1::Preset& preset : descriptor.presets()) {
    const std::string where = absl::StrCat("preset \"", preset.name(), "\"");
    if (preset.name().empty() || !seen.insert(preset.name()).second) {
      return InvalidTarget(
          {.what = "the name is empty or used twice", .where = where});
    }
    values = defaults;
    EK_RETURN_IF_ERROR(Apply(preset.set(), descriptor, values), where);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::target
