#include "server/sweep/chips.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/sweep/axis.h"
#include "server/sweep/pattern.h"
#include "target/builtin.h"
#include "target/extend.h"
#include "target/nearest_name.h"
#include "target/resolve.h"

namespace edgekiln::server {
namespace {

constexpr size_t kMaxChips = 4096;  // Of a group.

// Whether the descriptor, or what it extends, has engines; settings make no
// difference.
absl::StatusOr<bool> HasEngines(const std::string& text) {
  EK_ASSIGN_OR_RETURN(v1::TargetDescriptor file, target::ParseDescriptor(text));
  std::vector<std::string> files;
  EK_ASSIGN_OR_RETURN(const v1::TargetDescriptor whole,
                      target::WithExtended(std::move(file), files));
  return whole.engines_size() > 0;
}

}  // namespace

absl::StatusOr<const Chip*> Chips::OfFile(const std::string& name) {
  if (next_file_ == files_.size()) {
    return absl::InternalError("a target of the sweep has no file");
  }
  const std::string text(files_[next_file_++]);
  EK_ASSIGN_OR_RETURN(target::Variants variants, target::Variants::Read(text),
                      absl::StrCat("target ", name));
  EK_ASSIGN_OR_RETURN(const bool has_engines, HasEngines(text));
  const std::string called = name.empty() ? variants.name() : name;
  for (const auto& chip : chips_) {
    if (chip->name == called && chip->text == text) return chip.get();
  }
  chips_.push_back(
      std::make_unique<const Chip>(Chip{.name = called,
                                        .text = text,
                                        .variants = std::move(variants),
                                        .has_engines = has_engines}));
  return chips_.back().get();
}

absl::StatusOr<const Chip*> Chips::OfBuiltin(const std::string& name,
                                             const std::string& text) {
  for (const auto& chip : chips_) {
    if (chip->name == name && chip->text == text) return chip.get();
  }
  // Its variants need no copy of the descriptor.
  EK_ASSIGN_OR_RETURN(
      target::Variants variants,
      target::Variants::Read(absl::StrCat("extends: \"", name, "\"\n")));
  EK_ASSIGN_OR_RETURN(const bool has_engines, HasEngines(text));
  chips_.push_back(
      std::make_unique<const Chip>(Chip{.name = name,
                                        .text = text,
                                        .variants = std::move(variants),
                                        .has_engines = has_engines}));
  return chips_.back().get();
}

absl::Status Chips::AddMatching(const std::string& pattern,
                                std::vector<const Chip*>& chips) {
  const bool is_pattern = pattern.find('*') != std::string::npos;
  std::vector<std::string> names;
  bool found = false;
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    names.push_back(builtin.name);
    const bool matches = is_pattern
                             ? builtin.listing == target::Listing::kListed &&
                                   MatchesPattern(builtin.name, pattern)
                             : builtin.name == pattern;
    if (!matches) continue;
    found = true;
    EK_ASSIGN_OR_RETURN(const Chip* const chip,
                        OfBuiltin(builtin.name, builtin.text));
    chips.push_back(chip);
  }
  if (found) return absl::OkStatus();
  const std::string all = "`edgekiln targets list` shows all of them";
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "TARGET_UNKNOWN",
       .what = is_pattern ? "no target matches" : "unknown target",
       .where = absl::StrCat("target '", pattern, "'"),
       .fix = is_pattern ? all : target::DidYouMean(pattern, names, all)});
}

absl::StatusOr<std::vector<const Chip*>> Chips::OfGroup(
    const v1::SweepGroup& group, std::vector<std::string>& warnings) {
  std::vector<const Chip*> chips;
  for (const v1::SweepTarget& target : group.targets()) {
    std::vector<const Chip*> named;
    if (target.has_digest()) {
      EK_ASSIGN_OR_RETURN(const Chip* const chip, OfFile(target.name()));
      named.push_back(chip);
    } else {
      EK_RETURN_IF_ERROR(AddMatching(target.name(), named));
    }
    for (const Chip* const chip : named) {
      const auto same = std::find_if(
          chips.begin(), chips.end(),
          [&](const Chip* other) { return other->name == chip->name; });
      if (same == chips.end()) {
        chips.push_back(chip);
      } else if (*same == chip) {
        warnings.push_back(
            absl::StrCat("target ", chip->name,
                         " is named twice; it has one "
                         "row for each model, recipe and value"));
      } else {
        return BadSweep("SWEEP_NAME_USED_TWICE",
                        "two targets have the same name",
                        absl::StrCat("target '", chip->name, "'"), "", "",
                        "give one of them another name");
      }
    }
  }
  if (chips.empty() || chips.size() > kMaxChips) {
    return BadSweep("SWEEP_EMPTY", "a group of a sweep needs targets",
                    "targets", absl::StrCat("1 to ", kMaxChips),
                    absl::StrCat(chips.size()), "name a target");
  }
  for (const Chip* const chip : chips) {
    const bool printable =
        SanitizeText(chip->name, target::kMaxTargetNameBytes) == chip->name;
    if (!printable || chip->name.empty()) {
      return BadSweep("SWEEP_NAME_INVALID",
                      "a target's name is not text, or too long",
                      absl::StrCat("target '", chip->name, "'"),
                      absl::StrCat(target::kMaxTargetNameBytes, " bytes"), "",
                      "give it another `name`");
    }
  }
  return chips;
}

}  // namespace edgekiln::server
