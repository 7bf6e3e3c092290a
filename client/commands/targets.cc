#include "client/commands/targets.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/source_path.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/job_request.h"
#include "client/text_message.h"
#include "client/unreadable_file.h"
#include "proto/convert.h"
#include "reports/text/json.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxDocWidth = 78;
constexpr int64_t kMaxSourceBytes = int64_t{1} << 20;  // As of a descriptor.

// Prose is cut at the first line; `targets show` has the rest.
std::string FirstLine(const std::string& doc) {
  const std::vector<std::string> lines =
      absl::StrSplit(doc, absl::MaxSplits('\n', 1));
  return ClipMiddle(CleanText(lines[0]), kMaxDocWidth);
}

// "chip, chip-*": presets are folded into one pattern behind their descriptor.
// `names` in the order of the list: a descriptor, then its presets.
std::string FoldPresets(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  std::string base;
  for (const std::string& name : names) {
    const bool folds =
        !base.empty() && absl::StartsWith(name, absl::StrCat(base, "-"));
    if (!folds) {
      base = name;
      shown.push_back(name);
      continue;
    }
    const std::string pattern = absl::StrCat(base, "-*");
    if (shown.back() != pattern) shown.push_back(pattern);
  }
  return absl::StrJoin(shown, ", ");
}

// A file that `c_sources` can have by that path.
absl::StatusOr<std::string> ReadSource(const std::string& path,
                                       CommandContext& context) {
  if (!absl::EndsWith(path, ".c") && !absl::EndsWith(path, ".h") &&
      !absl::EndsWith(path, ".S")) {
    return UsageError("this is not a .c, .h or .S file", path, "",
                      "give the sources and headers of the functions");
  }
  if (!IsSourcePath(path)) {
    return UsageError(
        "c_sources cannot have this path", path,
        "relative, of letters, digits, \"._-\", without a part that begins "
        "with \".\" or \"-\"",
        "run it in the folder above the sources, or rename the file");
  }
  absl::StatusOr<std::string> source =
      context.files.Read(path, kMaxSourceBytes);
  if (absl::IsNotFound(source.status())) {
    return UsageError("the file does not exist", path, "",
                      "correct the path, which is relative to this folder");
  }
  if (!source.ok()) {
    return UnreadableError(path, path, source.status(),
                           "give a readable file of at most 1 MiB");
  }
  if (!IsUtf8(*source)) {
    return UsageError("the text is not UTF-8", path, "",
                      "save it as UTF-8: strings of a target file are");
  }
  return source;
}

// What several targets have under one name and with the same words, once.
class RecipeList {
 public:
  void Add(const v1::RecipeInfo& recipe, const std::string& target) {
    for (Entry& entry : entries_) {
      if (entry.recipe.name() != recipe.name() ||
          entry.recipe.doc() != recipe.doc()) {
        continue;
      }
      entry.targets.push_back(CleanText(target));
      return;
    }
    entries_.push_back({recipe, {CleanText(target)}});
  }

  // Of `targets` targets; empty without recipes.
  std::string Render(int targets, const Style& style) const {
    if (entries_.empty()) return "";
    const bool several = targets > 1;
    std::vector<Table::Column> columns = {{"RECIPE", Align::kLeft, true},
                                          {"ABOUT"}};
    if (several) columns.push_back({"TARGETS"});
    Table table(columns);
    for (const Entry& entry : entries_) {
      std::vector<std::string> row = {CleanText(entry.recipe.name()),
                                      FirstLine(entry.recipe.doc())};
      const bool all = static_cast<int>(entry.targets.size()) == targets;
      if (several) {
        row.push_back(all ? "all" : FoldPresets(entry.targets));
      }
      table.AddRow(std::move(row));
    }
    return "\n" + table.Render(style);
  }

 private:
  struct Entry {
    v1::RecipeInfo recipe;
    std::vector<std::string> targets;
  };
  std::vector<Entry> entries_;
};

}  // namespace

absl::Status RunTargetsList(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const v1::ListTargetsResponse response,
                      context.connection.ListTargets());
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(response));
    return absl::OkStatus();
  }
  Table table({{"TARGET"}, {"ABOUT"}});
  RecipeList recipes;
  for (const v1::TargetInfo& target : response.targets()) {
    table.AddRow({target.name(), FirstLine(target.doc())});
    for (const v1::RecipeInfo& recipe : target.recipes()) {
      recipes.Add(recipe, target.name());
    }
  }
  context.print(table.Render(context.style) +
                recipes.Render(response.targets_size(), context.style));
  return absl::OkStatus();
}

absl::Status RunTargetsShow(CommandContext& context) {
  EK_ASSIGN_OR_RETURN(const v1::TargetInfo target,
                      context.connection.GetTarget(context.line.names[0], ""));
  context.progress.Clear();
  if (context.line.json) {
    context.print(ToJson(target));
    return absl::OkStatus();
  }
  std::string text = CleanLines(target.text());
  if (!absl::EndsWith(text, "\n")) text += "\n";
  context.print_bytes(text);
  return absl::OkStatus();
}

absl::Status RunTargetsCheck(CommandContext& context) {
  const std::string& path = context.line.names[0];
  EK_ASSIGN_OR_RETURN(const LocalBlob blob,
                      OpenLocalBlob(context.files, path, "FILE"));
  EK_RETURN_IF_ERROR(UploadBlobs({blob}, context));
  EK_ASSIGN_OR_RETURN(const v1::ValidateTargetResponse response,
                      context.connection.ValidateTarget(blob.digest));
  context.progress.Clear();
  if (!response.valid()) {
    return Annotate(StatusFromProto(response.problem()), path);
  }
  RecipeList recipes;
  for (const v1::RecipeInfo& recipe : response.recipes()) {
    recipes.Add(recipe, response.name());
  }
  context.print(context.line.json
                    ? ToJson(response)
                    : absl::StrCat(CleanText(path), ": valid target '",
                                   CleanText(response.name()), "'\n",
                                   recipes.Render(1, context.style)));
  return absl::OkStatus();
}

absl::Status RunTargetsSources(CommandContext& context) {
  std::string text;
  for (const std::string& path : context.line.names) {
    EK_ASSIGN_OR_RETURN(const std::string source, ReadSource(path, context));
    absl::StrAppend(&text, "c_sources {\n  path: \"",
                    absl::Utf8SafeCEscape(path), "\"\n  text:");
    std::vector<std::string> lines = absl::StrSplit(source, '\n');
    if (lines.back().empty()) lines.pop_back();
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool has_end = i + 1 < lines.size() || absl::EndsWith(source, "\n");
      absl::StrAppend(&text, "\n    \"", absl::Utf8SafeCEscape(lines[i]),
                      has_end ? "\\n\"" : "\"");
    }
    if (lines.empty()) absl::StrAppend(&text, " \"\"");
    absl::StrAppend(&text, "\n}\n");
  }
  context.print_bytes(text);
  return absl::OkStatus();
}

}  // namespace edgekiln::client
