#include "client/check/starter.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxDepth = 6;
constexpr size_t kMaxModels = 200;
constexpr size_t kMaxEntries = 20'000;
// In the order in which they are preferred.
constexpr const char* kCalibrationWords[] = {"calibration", "calib", "train"};
constexpr const char* kTestWords[] = {"test", "validation", "val", "eval"};

std::string Below(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : absl::StrCat(folder, "/", name);
}

// Letters and digits alone, so that '-', '_' and '.' are the same.
std::string Letters(absl::string_view text) {
  std::string out;
  for (const char c : absl::AsciiStrToLower(text)) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
        static_cast<unsigned char>(c) >= 0x80) {
      out += c;
    }
  }
  return out;
}

absl::string_view StemOf(absl::string_view name) {
  return name.substr(0, name.rfind('.'));
}

// Of `names`, the data set of a model: STEM and a word, else the word alone.
template <size_t kCount>
std::string DataOf(absl::string_view stem,
                   const std::vector<std::string>& names,
                   const char* const (&words)[kCount]) {
  for (const std::string& front : {Letters(stem), std::string()}) {
    for (const char* word : words) {
      for (const std::string& name : names) {
        if (Letters(StemOf(name)) == absl::StrCat(front, word)) return name;
      }
    }
  }
  return "";
}

class Finder {
 public:
  Finder(FileSystem& files, std::string root)
      : files_(files), root_(std::move(root)) {}

  void Visit(const std::string& folder, int depth) {
    if (!IsNew(folder)) return;
    const absl::StatusOr<std::vector<std::string>> names =
        files_.List(folder.empty() ? root_ : JoinPath(root_, folder));
    if (!names.ok()) {
      Warn(folder.empty() ? root_ : folder, "cannot be read");
      return;
    }
    std::vector<std::string> models;
    std::vector<std::string> data;
    std::vector<std::string> folders;
    for (const std::string& name : *names) {
      if (++entries_ > kMaxEntries || name[0] == '.') continue;
      const std::string path = JoinPath(root_, Below(folder, name));
      const absl::StatusOr<FileInfo> info = files_.Stat(path);
      if (!info.ok()) continue;
      if (info->is_directory) {
        if (name != "node_modules") folders.push_back(name);
        continue;
      }
      const bool model =
          absl::EndsWith(name, ".onnx") || absl::EndsWith(name, ".tflite");
      if (!model && !absl::EndsWith(name, ".npz")) continue;
      // No text message can hold it.
      if (CleanText(name) != name) {
        Warn(Below(folder, name), "has a name that is not text");
        continue;
      }
      (model ? models : data).push_back(name);
    }
    for (const std::string& name : models) Add(folder, name, data);
    for (const std::string& name : folders) {
      if (CleanText(name) != name) continue;
      std::error_code error;
      if (std::filesystem::is_symlink(JoinPath(root_, Below(folder, name)),
                                      error)) {
        links_.emplace_back(Below(folder, name), depth + 1);
      } else if (depth < kMaxDepth) {
        Visit(Below(folder, name), depth + 1);
      } else {
        Warn(Below(folder, name), "lies too deep");
      }
    }
  }

  // After the folders themselves, so that those are found by their own names.
  void VisitLinks() {
    while (!links_.empty()) {
      const auto [folder, depth] = links_.front();
      links_.pop_front();
      if (depth <= kMaxDepth) {
        Visit(folder, depth);
      } else {
        Warn(folder, "lies too deep");
      }
    }
  }

  FoundModels Take() {
    std::sort(found_.models.begin(), found_.models.end(),
              [](const FoundModel& a, const FoundModel& b) {
                return a.file < b.file;
              });
    if (entries_ > kMaxEntries) {
      Warn(root_, absl::StrCat("has more than ", kMaxEntries,
                               " files: not all were looked at"));
    }
    return std::move(found_);
  }

 private:
  bool IsNew(const std::string& folder) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::canonical(
        folder.empty() ? root_ : JoinPath(root_, folder), error);
    return error || visited_.insert(path.string()).second;
  }

  void Add(const std::string& folder, const std::string& name,
           const std::vector<std::string>& data) {
    if (found_.models.size() == kMaxModels) {
      Warn(Below(folder, name), "is one model too many");
      return;
    }
    FoundModel& model = found_.models.emplace_back();
    model.file = Below(folder, name);
    const std::string calibration =
        DataOf(StemOf(name), data, kCalibrationWords);
    const std::string test = DataOf(StemOf(name), data, kTestWords);
    if (!calibration.empty()) model.calibration = Below(folder, calibration);
    if (!test.empty()) model.data = Below(folder, test);
  }

  void Warn(const std::string& path, absl::string_view why) {
    found_.warnings.push_back(absl::StrCat(CleanText(path), " ", why));
  }

  FileSystem& files_;
  const std::string root_;
  size_t entries_ = 0;
  std::set<std::string> visited_;                  // Canonical folders.
  std::deque<std::pair<std::string, int>> links_;  // To folders; their depth.
  FoundModels found_;
};

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

constexpr char kHead[] =
    "# What `edgekiln check` runs: every model of a group on every target of "
    "it.\n"
    "# Paths are relative to this file. docs/check.md explains all keys; an "
    "unknown\n"
    "# one is an error.\n";

constexpr char kTail[] =
    R"(
# Baselines, reports of earlier runs, are in the folder baselines, one file for
# each cell. `edgekiln check --update-baselines` writes them; commit the folder.

# How much worse than its baseline a cell may be: cycles and memories in
# percent, accuracy in percentage points. Results are the same on every machine,
# so that 0 is possible.
regression {
  max_cycles_growth: 2
  max_memory_growth: 2
  max_accuracy_drop: 0.5
}
)";

constexpr char kGates[] = R"(
  # Budgets of each cell of this group; exit code 3 if one is broken. Groups of
  # their own give models or targets budgets of their own.
  gates {
    # max_cycles: 1000000
    # max_latency_ms: 2.5
    # max_memory { name: "flash" bytes: 65536 }  # As `targets show` names it.
    # max_ram_bytes: 98304
)";

std::string Group(const std::vector<FoundModel>& models,
                  const std::vector<StarterTarget>& targets, bool validate) {
  std::string out = "\ngroups {\n";
  bool uncalibrated = false;
  for (const FoundModel& model : models) {
    absl::StrAppend(&out, "  models {\n    file: ", Quoted(model.file), "\n");
    if (!model.calibration.empty()) {
      absl::StrAppend(
          &out, "    calibration { file: ", Quoted(model.calibration), " }\n");
    } else {
      uncalibrated |= absl::EndsWith(model.file, ".onnx");
    }
    if (validate) {
      absl::StrAppend(&out, "    data { file: ", Quoted(model.data), " }\n");
    }
    out += "  }\n";
  }
  if (uncalibrated) {
    out +=
        "  # A float model needs samples: calibration { file: \"train.npz\" }. "
        "Without\n"
        "  # them its ranges come from random inputs, and no accuracy is "
        "measured.\n";
  }
  for (const StarterTarget& target : targets) {
    absl::StrAppend(
        &out, "  targets { ", target.file.empty() ? "name: " : "file: ",
        Quoted(target.file.empty() ? target.name : target.file), " }\n");
  }
  out +=
      "  # `edgekiln targets list` has more, and their recipes:\n"
      "  # recipes: [\"default\", \"serial\"]\n";
  out +=
      validate
          ? "\n  # Accuracy on `data`. SWEEP_PROFILE counts cycles and "
            "compares a few inputs,\n"
            "  # SWEEP_TIMING counts cycles alone.\n"
            "  goal: SWEEP_VALIDATE\n"
          : "\n  # SWEEP_TIMING counts cycles alone; SWEEP_VALIDATE measures "
            "accuracy, on\n"
            "  # data { file: \"test.npz\" } of each model.\n"
            "  goal: SWEEP_PROFILE\n";
  out += kGates;
  if (validate) {
    out +=
        "    # min_accuracy: 0.9\n"
        "    # max_disagreement: 0.01  # Needs no labels.\n";
  }
  return out + "  }\n}\n";
}

}  // namespace

FoundModels FindModels(FileSystem& files, const std::string& folder) {
  Finder finder(files, folder);
  finder.Visit("", 0);
  finder.VisitLinks();
  return finder.Take();
}

bool HasAccuracy(const FoundModel& model) {
  const bool ranges =
      !absl::EndsWith(model.file, ".onnx") || !model.calibration.empty();
  return ranges && !model.data.empty();
}

std::string StarterText(const std::vector<FoundModel>& models,
                        const std::vector<StarterTarget>& targets) {
  std::vector<FoundModel> with_data;
  std::vector<FoundModel> without;
  for (const FoundModel& model : models) {
    (HasAccuracy(model) ? with_data : without).push_back(model);
  }
  std::string out = kHead;
  if (!with_data.empty()) out += Group(with_data, targets, /*validate=*/true);
  if (!without.empty()) out += Group(without, targets, /*validate=*/false);
  return out + kTail;
}

}  // namespace edgekiln::client
