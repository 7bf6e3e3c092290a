#include "target/builtin.h"

#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "target/builtin_files.h"
#include "target/recipes.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

// Of presets on which every cost is 1: cycles are counted by hand on them.
constexpr absl::string_view kUnitSuffix = "-unit";

// Top-level keys start a line; nested ones are indented.
bool IsNameLine(absl::string_view line) {
  return absl::StartsWith(line, "name:");
}

std::string PresetText(absl::string_view base, const std::string& base_name,
                       const v1::Preset& preset) {
  std::string text = absl::StrCat(
      "# Preset ", preset.name(), " of the built-in target \"", base_name,
      "\". Save it, change the values below and use the file.\n"
      "name: \"",
      preset.name(), "\"\n");
  for (const v1::Setting& setting : preset.set()) {
    absl::StrAppend(&text, "set { name: \"", setting.name(),
                    "\" value: ", setting.value(), " }\n");
  }
  absl::StrAppend(&text, "\n");
  for (const absl::string_view line : absl::StrSplit(base, '\n')) {
    if (!IsNameLine(line)) absl::StrAppend(&text, line, "\n");
  }
  // Splitting counts the end of the last line as a line of its own.
  text.pop_back();
  return text;
}

std::string PresetDoc(const v1::Preset& preset) {
  std::string doc;
  for (const v1::Setting& setting : preset.set()) {
    absl::StrAppend(&doc, doc.empty() ? "" : ", ", setting.name(), " = ",
                    setting.value());
  }
  return doc;
}

// Of a file that extends another: what that one has.
std::vector<BuiltinRecipe> RecipesOf(const v1::TargetDescriptor& descriptor,
                                     const std::vector<BuiltinTarget>& before) {
  for (const BuiltinTarget& target : before) {
    if (target.name == descriptor.extends()) return target.recipes;
  }
  std::vector<BuiltinRecipe> recipes;
  const auto resolved = ResolveRecipes(descriptor);
  // Compiled in; target_test resolves every one of them.
  if (!resolved.ok()) return recipes;
  for (const v1::ResolvedRecipe& recipe : *resolved) {
    recipes.push_back({recipe.name(), recipe.doc()});
  }
  return recipes;
}

struct ParsedFile {
  std::once_flag once;
  absl::StatusOr<v1::TargetDescriptor> descriptor;
  v1::TargetDescriptor without_presets;
};

// The file at this position of BuiltinFiles(); parsed when first asked for.
const ParsedFile& FileAt(size_t index) {
  static const std::unique_ptr<ParsedFile[]>& all =
      *new std::unique_ptr<ParsedFile[]>(new ParsedFile[BuiltinFiles().size()]);
  ParsedFile& parsed = all[index];
  std::call_once(parsed.once, [&] {
    parsed.descriptor = ParseDescriptor(BuiltinFiles()[index].text);
    if (!parsed.descriptor.ok()) return;
    parsed.without_presets = *parsed.descriptor;
    parsed.without_presets.clear_presets();
  });
  return parsed;
}

// What its text says besides the file's.
void MakePreset(const v1::Preset& preset, v1::TargetDescriptor& descriptor) {
  google::protobuf::RepeatedPtrField<v1::Setting> settings = preset.set();
  settings.MergeFrom(descriptor.set());
  descriptor.set_name(preset.name());
  *descriptor.mutable_set() = std::move(settings);
}

std::vector<BuiltinTarget> ReadBuiltinTargets() {
  std::vector<BuiltinTarget> targets;
  for (size_t i = 0; i < BuiltinFiles().size(); ++i) {
    const auto& [file, text] = BuiltinFiles()[i];
    const auto& descriptor = FileAt(i).descriptor;
    // Compiled in; target_test parses every one of them.
    if (!descriptor.ok()) continue;
    const std::vector<BuiltinRecipe> recipes = RecipesOf(*descriptor, targets);
    // A descriptor without presets of its own is one chip, made for a test.
    targets.push_back({.name = descriptor->name(),
                       .doc = descriptor->doc(),
                       .text = text,
                       .file = file,
                       .listing = descriptor->presets().empty()
                                      ? Listing::kHidden
                                      : Listing::kListed,
                       .recipes = recipes});
    for (const v1::Preset& preset : descriptor->presets()) {
      targets.push_back({.name = preset.name(),
                         .doc = PresetDoc(preset),
                         .text = PresetText(text, descriptor->name(), preset),
                         .file = file,
                         .listing = absl::EndsWith(preset.name(), kUnitSuffix)
                                        ? Listing::kHidden
                                        : Listing::kListed,
                         .recipes = recipes});
    }
  }
  return targets;
}

}  // namespace

const std::vector<BuiltinTarget>& BuiltinTargets() {
  static const auto& targets =
      *new std::vector<BuiltinTarget>(ReadBuiltinTargets());
  return targets;
}

std::optional<BuiltinDescriptor> FindBuiltinDescriptor(absl::string_view name) {
  const std::string quoted = absl::StrCat("\"", name, "\"");
  for (size_t i = 0; i < BuiltinFiles().size(); ++i) {
    const auto& [file, text] = BuiltinFiles()[i];
    if (!absl::StrContains(text, quoted)) continue;
    const auto& [once, descriptor, chip] = FileAt(i);
    if (!descriptor.ok()) continue;
    if (descriptor->name() == name) {
      return BuiltinDescriptor{chip, std::string(file)};
    }
    for (const v1::Preset& preset : descriptor->presets()) {
      if (preset.name() != name) continue;
      BuiltinDescriptor found = {chip, std::string(file)};
      MakePreset(preset, found.descriptor);
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace edgekiln::target
