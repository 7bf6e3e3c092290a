#include "client/check/project.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

constexpr char kProject[] = R"(groups {
  models { file: "a.onnx" name: "a" }
  models { file: "sub/b.tflite" name: "b" }
  targets { name: "dla-64" }
  gates {
    max_cycles: 500
    max_memory { name: "flash" bytes: 64 }
    max_memory { name: "sram" bytes: 32 }
  }
}
groups {
  name: "accurate"
  models { file: "/abs/c.onnx" name: "c" }
  targets { file: "chip.txtpb" }
  goal: SWEEP_VALIDATE
  gates { min_accuracy: 0.9 }
  regression { max_accuracy_drop: 1 }
}
baselines: "ci/base"
regression {
  max_cycles_growth: 2
  max_accuracy_drop: 0.5
}
)";

ProjectFile Parsed(const std::string& text, const std::string& path) {
  absl::StatusOr<ProjectFile> file = ParseProject(text, path);
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

std::string At(const v1::CheckPlace& place) {
  return absl::StrCat(place.file(), ":", place.line(), ":", place.column());
}

TEST(ProjectTest, PathsAreOfTheFilesFolder) {
  const ProjectFile in = Parsed(kProject, "ci/edgekiln.txtpb");
  EXPECT_EQ(in.Folder(), "ci/");
  EXPECT_EQ(in.PathOf("a.onnx"), "ci/a.onnx");
  EXPECT_EQ(in.PathOf("/abs/c.onnx"), "/abs/c.onnx");
  EXPECT_EQ(in.ModelFile(0, "b"), "ci/sub/b.tflite");
  EXPECT_EQ(in.ModelFile(0, "no such"), "");
  const ProjectFile here = Parsed(
      "groups { models { file: 'a' } targets { name: 't' } }", "p.txtpb");
  EXPECT_EQ(here.Folder(), "");
  EXPECT_EQ(here.PathOf("a"), "a");
}

TEST(ProjectTest, KnowsWhereThingsStand) {
  const ProjectFile file = Parsed(kProject, "p");
  EXPECT_EQ(At(file.GroupPlace(0)), "p:1:1");
  EXPECT_EQ(At(file.ModelPlace(0, "a")), "p:2:3");
  EXPECT_EQ(At(file.ModelPlace(0, "b")), "p:3:3");
  EXPECT_EQ(At(file.ModelPlace(1, "c")), "p:13:3");
  EXPECT_EQ(At(file.GatePlace(0, "cycles")), "p:6:5");
  EXPECT_EQ(At(file.GatePlace(0, "memory.flash")), "p:7:5");
  EXPECT_EQ(At(file.GatePlace(0, "memory.sram")), "p:8:5");
  EXPECT_EQ(At(file.GatePlace(1, "accuracy")), "p:16:11");
  EXPECT_EQ(At(file.RegressionPlace(0, "max_cycles_growth")), "p:21:3");
  EXPECT_EQ(At(file.RegressionPlace(1, "max_accuracy_drop")), "p:17:16");
  // What is not there: what is around it.
  EXPECT_EQ(At(file.GatePlace(0, "latency_ms")), "p:5:3");
  EXPECT_EQ(At(file.GatePlace(0, "memory.none")), "p:5:3");
  EXPECT_EQ(At(file.RegressionPlace(0, "max_memory_growth")), "p:20:1");
  EXPECT_EQ(At(file.ModelPlace(0, "none")), "p:1:1");
  for (const int group : {-1, 2, 1000}) {
    EXPECT_EQ(At(file.GroupPlace(group)), "p:0:0");
    EXPECT_EQ(At(file.ModelPlace(group, "a")), "p:0:0");
    EXPECT_EQ(At(file.GatePlace(group, "cycles")), "p:0:0");
    EXPECT_EQ(At(file.RegressionPlace(group, "max_cycles_growth")), "p:0:0");
    EXPECT_EQ(file.RegressionOf(group).ByteSizeLong(), 0u);
  }
}

TEST(ProjectTest, RegressionsAreTheGroupsOrTheProjects) {
  const ProjectFile file = Parsed(kProject, "p");
  // This group measures no accuracy.
  EXPECT_EQ(file.RegressionOf(0).max_cycles_growth(), 2);
  EXPECT_EQ(file.RegressionOf(0).optional_max_accuracy_drop_case(), 0);
  EXPECT_EQ(file.RegressionOf(1).optional_max_cycles_growth_case(), 0);
  EXPECT_EQ(file.RegressionOf(1).max_accuracy_drop(), 1);
  EXPECT_TRUE(file.LimitsRegression());
  EXPECT_FALSE(
      Parsed("groups { models { file: 'a' } targets { name: 't' } }", "p")
          .LimitsRegression());
}

TEST(ProjectTest, IsOneSweep) {
  const ProjectFile file = Parsed(
      "groups { name: 'n' models { file: 'a' } targets { name: 't' }\n"
      "  recipes: 'r' vary { key: 'pes' values: '1' } exclude { when { key: "
      "'pes' value: '2' } }\n"
      "  goal: SWEEP_TIMING options { offload: PAYING } gates { "
      "max_cycles: 0 } }",
      "p");
  const v1::SweepRequest request = SweepOfProject(file.project());
  ASSERT_EQ(request.groups_size(), 1);
  const v1::SweepGroup& group = request.groups(0);
  EXPECT_EQ(group.models(0).file(), "a");
  EXPECT_EQ(group.targets(0).name(), "t");
  EXPECT_EQ(group.recipes(0), "r");
  EXPECT_EQ(group.vary(0).key(), "pes");
  EXPECT_EQ(group.exclude(0).when(0).value(), "2");
  EXPECT_EQ(group.goal(), v1::SWEEP_TIMING);
  EXPECT_EQ(group.options().offload(), v1::PAYING);
  EXPECT_EQ(group.gates().optional_max_cycles_case(),
            v1::SweepGates::kMaxCycles);
}

// A group with `more` on its second line.
std::string GroupWith(const std::string& more) {
  return absl::StrCat("groups { models { file: 'a' } targets { name: 't' }\n",
                      more, " }");
}

TEST(ProjectTest, WhatCannotBeMeantIsRefusedWithItsPlace) {
  const struct {
    const char* name;
    std::string text;
    const char* where;
    const char* what;
    const char* fix;
  } kCases[] = {
      {"empty", "", "p", "no groups", "init"},
      {"unknown key", GroupWith("gate { }"), "p:2:1", "gate", "\"gates\""},
      {"unknown key below", GroupWith("gates { max_cycle: 1 }"), "p:2:9",
       "max_cycle", "\"max_cycles\""},
      {"unknown at the top", "group { }", "p:1:1", "group", "\"groups\""},
      {"unknown value", GroupWith("goal: SWEEP_PROFIL"), "p:2:7",
       "SWEEP_PROFIL", "SWEEP_PROFILE"},
      {"no models", "groups { targets { name: 't' } }", "p:1:1", "no models",
       "add models"},
      {"no targets", "groups { models { file: 'a' } }", "p:1:1", "no targets",
       "add targets"},
      {"no file", "groups { models { name: 'a' } targets { name: 't' } }",
       "p:1:1", "no file", "name the file"},
      {"percent", GroupWith("goal: SWEEP_VALIDATE gates { min_accuracy: 95 }"),
       "p:2:30", "95", "0.95"},
      {"negative", GroupWith("gates { max_cycles: -1 }"), "p:2:9", "-1",
       "leave the key out"},
      {"infinite", GroupWith("gates { max_latency_ms: inf }"), "p:2:9",
       "max_latency_ms", "leave the key out"},
      {"not a number", GroupWith("gates { max_latency_ms: nan }"), "p:2:9",
       "max_latency_ms", "leave the key out"},
      {"memory without name", GroupWith("gates { max_memory { bytes: 1 } }"),
       "p:2:9", "no name", "targets show"},
      {"memory twice",
       GroupWith("gates { max_memory { name: 'f' } max_memory { name: 'f' } }"),
       "p:2:9", "two limits", "targets show"},
      {"not measured", GroupWith("gates { max_disagreement: 0.1 }"), "p:2:9",
       "not measured", "max_disagreement"},
      {"drop not measured", GroupWith("regression { max_accuracy_drop: 1 }"),
       "p:2:14", "not measured", "max_accuracy_drop"},
      {"regression below 0",
       GroupWith("") + " regression { max_memory_growth: -2 }", "p:2:17", "-2",
       "leave the key out"},
      {"names twice",
       "groups { name: 'x' models { file: 'a' } targets { name: 't' } }\n"
       "groups { name: 'x' models { file: 'a' } targets { name: 't' } }",
       "p:2:1", "two groups", "another name"},
      {"not UTF-8", "groups { models { file: 'a\\377' } }", "p:1:25", "UTF-8",
       ""},
  };
  for (const auto& row : kCases) {
    SCOPED_TRACE(row.name);
    const absl::Status status = ParseProject(row.text, "p").status();
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value());
    EXPECT_EQ(detail->where, row.where) << status;
    EXPECT_TRUE(absl::StrContains(detail->what, row.what)) << status;
    EXPECT_TRUE(absl::StrContains(detail->fix, row.fix)) << status;
  }
}

TEST(ProjectTest, ALargeFileIsNotRead) {
  const std::string text(kMaxProjectFileBytes + 1, ' ');
  const auto detail = GetErrorDetail(ParseProject(text, "p").status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_TRUE(absl::StrContains(detail->what, "too large")) << detail->what;
}

// Damaged files are usage errors with a place, or are read; all places of what
// was read lie within the text.
TEST(ProjectTest, DamagedFilesAreRefusedOrRead) {
  std::mt19937 random(7);
  constexpr char kPieces[] = "{}:'\"#\\\n 09ag-.\xff";
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = kProject;
    for (unsigned edits = random() % 4 + 1; edits > 0; --edits) {
      const size_t at = random() % text.size();
      const char piece = kPieces[random() % (sizeof kPieces - 1)];
      if (random() % 3 == 0) {
        text.erase(at, random() % 9);
      } else if (random() % 2 == 0) {
        text.insert(at, 1, piece);
      } else {
        text[at] = piece;
      }
    }
    const absl::StatusOr<ProjectFile> file = ParseProject(text, "p");
    if (!file.ok()) {
      ++refused;
      ASSERT_EQ(ExitCodeFor(file.status()), ExitCode::kUsage) << text;
      ASSERT_EQ(GetErrorDetail(file.status())->where.find("p"), 0u) << text;
      continue;
    }
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    for (int group = 0; group < file->project().groups_size(); ++group) {
      for (const v1::CheckPlace& place :
           {file->GroupPlace(group), file->GatePlace(group, "cycles"),
            file->RegressionPlace(group, "max_cycles_growth")}) {
        ASSERT_GE(place.line(), 1) << text;
        ASSERT_LE(place.line(), lines) << text;
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000);
}

}  // namespace
}  // namespace edgekiln::client
