#include "client/check/project_checks.h"

#include <cmath>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

constexpr size_t kMaxNameBytes = 64;

std::string Located(const v1::CheckPlace& place) {
  if (place.line() == 0) return place.file();
  return absl::StrCat(place.file(), ":", place.line(), ":", place.column());
}

absl::Status Bad(const v1::CheckPlace& place, absl::string_view what,
                 absl::string_view need, absl::string_view fix) {
  return UsageError(what, Located(place), need, fix);
}

// One number of a message that must be between two others.
absl::Status CheckRange(const v1::CheckPlace& place, absl::string_view key,
                        double value, double least, double most) {
  // NaN is in no range.
  if (value >= least && value <= most) return absl::OkStatus();
  const std::string range = std::isfinite(most)
                                ? absl::StrCat(least, " to ", most)
                                : absl::StrCat(least, " or more");
  const bool percent = most == 1 && value > 1 && value <= 100;
  return Bad(place, absl::StrCat(key, " is out of range: ", value), range,
             percent ? absl::StrCat("write ", key, ": ", value / 100)
                     : "write a number of that range, or leave the key out");
}

absl::Status CheckGates(const ProjectFile& file, int group) {
  const v1::SweepGates& gates = file.project().groups(group).gates();
  constexpr double kAny = HUGE_VAL;
  const auto check = [&](bool given, const char* gate, const char* key,
                         double value, double most) -> absl::Status {
    if (!given) return absl::OkStatus();
    // Infinity is not a limit.
    if (std::isinf(value)) value = NAN;
    return CheckRange(file.GatePlace(group, gate), key, value, 0, most);
  };
  EK_RETURN_IF_ERROR(check(
      gates.optional_max_cycles_case() == v1::SweepGates::kMaxCycles, "cycles",
      "max_cycles", static_cast<double>(gates.max_cycles()), kAny));
  EK_RETURN_IF_ERROR(check(
      gates.optional_max_latency_ms_case() == v1::SweepGates::kMaxLatencyMs,
      "latency_ms", "max_latency_ms", gates.max_latency_ms(), kAny));
  EK_RETURN_IF_ERROR(
      check(gates.optional_max_ram_bytes_case() == v1::SweepGates::kMaxRamBytes,
            "ram_bytes", "max_ram_bytes",
            static_cast<double>(gates.max_ram_bytes()), kAny));
  EK_RETURN_IF_ERROR(
      check(gates.optional_min_accuracy_case() == v1::SweepGates::kMinAccuracy,
            "accuracy", "min_accuracy", gates.min_accuracy(), 1));
  EK_RETURN_IF_ERROR(
      check(gates.optional_max_error_case() == v1::SweepGates::kMaxError,
            "error", "max_error", gates.max_error(), kAny));
  EK_RETURN_IF_ERROR(check(gates.optional_max_disagreement_case() ==
                               v1::SweepGates::kMaxDisagreement,
                           "disagreement", "max_disagreement",
                           gates.max_disagreement(), 1));
  std::set<std::string> seen;
  for (const v1::SweepGates::Memory& memory : gates.max_memory()) {
    const v1::CheckPlace place =
        file.GatePlace(group, absl::StrCat("memory.", memory.name()));
    if (memory.name().empty() || !seen.insert(memory.name()).second) {
      return Bad(
          place,
          memory.name().empty()
              ? "max_memory has no name"
              : absl::StrCat("two limits for the memory '", memory.name(), "'"),
          "one for each memory, by its name in the target",
          "`edgekiln targets show` lists the memories of a target");
    }
    EK_RETURN_IF_ERROR(CheckRange(place, "max_memory: bytes",
                                  static_cast<double>(memory.bytes()), 0,
                                  kAny));
  }
  return absl::OkStatus();
}

// Limits of what is not measured would be broken by every cell.
absl::Status CheckMeasured(const ProjectFile& file, int group) {
  const v1::ProjectGroup& of = file.project().groups(group);
  if (of.goal() == v1::SWEEP_VALIDATE) return absl::OkStatus();
  const v1::SweepGates& gates = of.gates();
  const char* key = nullptr;
  const char* gate = nullptr;
  if (gates.optional_min_accuracy_case() == v1::SweepGates::kMinAccuracy) {
    key = "min_accuracy";
    gate = "accuracy";
  } else if (gates.optional_max_error_case() == v1::SweepGates::kMaxError) {
    key = "max_error";
    gate = "error";
  } else if (gates.optional_max_disagreement_case() ==
             v1::SweepGates::kMaxDisagreement) {
    key = "max_disagreement";
    gate = "disagreement";
  }
  v1::CheckPlace place;
  if (key != nullptr) {
    place = file.GatePlace(group, gate);
  } else if (of.regression().optional_max_accuracy_drop_case() ==
             v1::Project::Regression::kMaxAccuracyDrop) {
    key = "max_accuracy_drop";
    place = file.RegressionPlace(group, key);
  } else {
    return absl::OkStatus();
  }
  return Bad(place, absl::StrCat(key, " is not measured by this group"),
             "goal: SWEEP_VALIDATE, and data of each model",
             absl::StrCat("add them to the group, or leave ", key, " out"));
}

absl::Status CheckRegression(const ProjectFile& file, int group,
                             const v1::Project::Regression& regression) {
  const auto check = [&](bool given, const char* key,
                         double value) -> absl::Status {
    if (!given) return absl::OkStatus();
    if (std::isinf(value)) value = NAN;
    return CheckRange(file.RegressionPlace(group, key), key, value, 0,
                      HUGE_VAL);
  };
  using Regression = v1::Project::Regression;
  EK_RETURN_IF_ERROR(check(regression.optional_max_cycles_growth_case() ==
                               Regression::kMaxCyclesGrowth,
                           "max_cycles_growth",
                           regression.max_cycles_growth()));
  EK_RETURN_IF_ERROR(check(regression.optional_max_memory_growth_case() ==
                               Regression::kMaxMemoryGrowth,
                           "max_memory_growth",
                           regression.max_memory_growth()));
  return check(regression.optional_max_accuracy_drop_case() ==
                   Regression::kMaxAccuracyDrop,
               "max_accuracy_drop", regression.max_accuracy_drop());
}

absl::Status CheckGroup(const ProjectFile& file, int group,
                        std::set<std::string>& names) {
  const v1::ProjectGroup& of = file.project().groups(group);
  const v1::CheckPlace place = file.GroupPlace(group);
  if (of.models().empty() || of.targets().empty()) {
    const char* const what = of.models().empty() ? "models" : "targets";
    return Bad(place, absl::StrCat("a group has no ", what),
               "models { file: \"net.onnx\" } and targets { name: \"CHIP\" }",
               absl::StrCat("add ", what, " to the group"));
  }
  if (of.name().size() > kMaxNameBytes) {
    return Bad(place, "the name of a group is too long",
               absl::StrCat("at most ", kMaxNameBytes, " bytes"),
               "give it a shorter one");
  }
  if (!of.name().empty() && !names.insert(of.name()).second) {
    return Bad(place,
               absl::StrCat("two groups have the name '", of.name(), "'"),
               "names that tell groups apart", "give one another name");
  }
  for (const v1::SweepModel& model : of.models()) {
    if (!model.file().empty()) continue;
    return Bad(place, "a model has no file", "models { file: \"net.onnx\" }",
               "name the file of the model");
  }
  EK_RETURN_IF_ERROR(CheckGates(file, group));
  EK_RETURN_IF_ERROR(CheckMeasured(file, group));
  return CheckRegression(
      file, group,
      of.has_regression() ? of.regression() : file.project().regression());
}

absl::Status CheckExists(const ProjectFile& project, const std::string& file,
                         const v1::CheckPlace& place, FileSystem& files) {
  const std::string path = project.PathOf(file);
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (info.ok() && !info->is_directory) return absl::OkStatus();
  return Bad(place,
             absl::StrCat("'", path, "' ",
                          info.ok() ? "is a folder" : "does not exist"),
             "a file; paths are relative to the project file",
             "check the path, or whether the file was committed");
}

}  // namespace

absl::Status CheckProjectFiles(const ProjectFile& file, FileSystem& files) {
  const v1::Project& project = file.project();
  for (int group = 0; group < project.groups_size(); ++group) {
    const v1::ProjectGroup& of = project.groups(group);
    for (int i = 0; i < of.models_size(); ++i) {
      const v1::SweepModel& model = of.models(i);
      const v1::CheckPlace place = file.EntryPlace(group, "models", i);
      EK_RETURN_IF_ERROR(CheckExists(file, model.file(), place, files));
      for (const auto* list : {&model.inputs(), &model.external_data(),
                               &model.calibration(), &model.data()}) {
        for (const v1::SweepFile& one : *list) {
          EK_RETURN_IF_ERROR(CheckExists(file, one.file(), place, files));
        }
      }
    }
    for (int i = 0; i < of.targets_size(); ++i) {
      if (of.targets(i).file().empty()) continue;
      EK_RETURN_IF_ERROR(CheckExists(file, of.targets(i).file(),
                                     file.EntryPlace(group, "targets", i),
                                     files));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckProject(const ProjectFile& file) {
  if (file.project().groups().empty()) {
    return UsageError("the project has no groups", file.path(),
                      "groups { models { .. } targets { .. } }",
                      "`edgekiln check --help` shows an example; `edgekiln "
                      "init` writes one");
  }
  std::set<std::string> names;
  for (int group = 0; group < file.project().groups_size(); ++group) {
    EK_RETURN_IF_ERROR(CheckGroup(file, group, names));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::client
