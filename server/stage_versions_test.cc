#include "server/stage_versions.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::server {
namespace {

constexpr Stage kTile = v1::StageOptions::kTile;
constexpr Stage kImport = v1::StageOptions::kImport;
constexpr Stage kResolve = v1::StageOptions::kResolveTarget;

// Two engines, and two descriptors that come with the program.
StageVersions Sources(const std::string& a = "a", const std::string& b = "b",
                      const std::string& chip = "c") {
  return StageVersions({{"import", "", "i"},
                        {"resolve_target", "", "r"},
                        {"resolve_target", "chip/one", chip},
                        {"resolve_target", "chip/two", "d"},
                        {"resolve_target", "engine/a", a},
                        {"tile", "", "t"},
                        {"tile", "engine/a", a},
                        {"tile", "engine/b", b}});
}

using Parts = std::vector<std::string>;

TEST(StageVersionsTest, AnEngineCountsWhereItIsUsed) {
  const StageVersions before = Sources();
  const StageVersions after = Sources("a'");
  EXPECT_NE(before.Of(kTile, {"engine/a"}), after.Of(kTile, {"engine/a"}));
  EXPECT_NE(before.Of(kTile, {"engine/b", "engine/a"}),
            after.Of(kTile, {"engine/b", "engine/a"}));
  for (const Parts& parts : {Parts{}, Parts{"engine/b"}, Parts{"chip/one"}}) {
    EXPECT_EQ(before.Of(kTile, parts), after.Of(kTile, parts));
  }
  EXPECT_EQ(before.Of(kImport, {"engine/a"}), after.Of(kImport, {"engine/a"}));
}

TEST(StageVersionsTest, PartsAreASet) {
  const StageVersions versions = Sources();
  EXPECT_EQ(versions.Of(kTile, {"engine/a", "engine/b"}),
            versions.Of(kTile, {"engine/b", "chip/one", "engine/a"}));
  // Which of two equal engines it is, is known.
  const StageVersions equal = Sources("x", "x");
  EXPECT_NE(equal.Of(kTile, {"engine/a"}), equal.Of(kTile, {"engine/b"}));
  EXPECT_NE(equal.Of(kTile, {"engine/a"}), equal.Of(kTile, {}));
}

TEST(StageVersionsTest, AResolvedTargetHoldsWhileWhatItReadDoes) {
  v1::StageResult result;
  result.mutable_summary()->mutable_target()->add_parts("chip/one");
  const std::string read = Sources().Read(kResolve, result);
  EXPECT_EQ(Sources("a'").Read(kResolve, result), read);
  EXPECT_NE(Sources("a", "b", "c'").Read(kResolve, result), read);
  // An error may have come of anything.
  v1::StageResult error;
  error.mutable_error()->set_what("no such key");
  EXPECT_NE(Sources("a'").Read(kResolve, error),
            Sources().Read(kResolve, error));
  EXPECT_EQ(Sources().Read(kTile, result), "");
}

// A library that a stage begins to link makes its results depend on more. It is
// accepted by EK_UPDATE_GOLDENS=1, with a reason: what every model goes through
// (import to quantize, interpret) must know no engine and no chip.
TEST(StageVersionsTest, StagesAreMadeOfTheseLibraries) {
  std::map<std::string, std::vector<std::string>> libraries;
  for (const absl::string_view line : absl::StrSplit(
           tests::ReadWholeFile(EK_STAGE_LIBRARIES), '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(line, '|');
    libraries[pair.first].push_back(pair.second);
  }
  std::map<std::string, std::vector<std::string>> parts;
  const StageVersions versions = StageVersions::OfThisBuild();
  for (const StageVersions::Entry& entry : versions.entries()) {
    if (!entry.part.empty()) parts[entry.stage].push_back(entry.part);
  }
  std::string text;
  for (const auto& [stage, names] : libraries) {
    absl::StrAppend(&text, stage, "\n");
    if (!parts[stage].empty()) {
      absl::StrAppend(&text, "  parts: ", absl::StrJoin(parts[stage], " "),
                      "\n");
    }
    std::string line = " ";
    for (const std::string& name : names) {
      if (line.size() + 1 + name.size() > 100) {
        absl::StrAppend(&text, line, "\n");
        line = " ";
      }
      absl::StrAppend(&line, " ", name);
    }
    absl::StrAppend(&text, line, "\n");
  }
  tests::ExpectMatchesGolden("server/stage_libraries.txt", text);
}

// Reports, requests and configurations may change and no stage runs again.
TEST(StageVersionsTest, StagesAreMadeOfTheseMessages) {
  std::map<std::string, std::set<std::string>> messages;
  std::map<std::string, std::set<std::string>> engines;  // Of each stage.
  for (const absl::string_view line : absl::StrSplit(
           tests::ReadWholeFile(EK_STAGE_FILES), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> row = absl::StrSplit(line, '|');
    ASSERT_EQ(row.size(), 3u) << line;
    std::set<std::string>& of_stage = messages[row[0]];
    absl::string_view part = row[1];
    // Firmware's processor has no messages.
    if (absl::ConsumePrefix(&part, "engine/") && part != "rv32") {
      engines[row[0]].emplace(part);
    }
    absl::string_view path = row[2];
    if (!absl::EndsWith(path, ".proto")) continue;
    EXPECT_TRUE(absl::ConsumePrefix(&path, "proto/")) << line;
    EXPECT_TRUE(absl::ConsumePrefix(&path, "edgekiln/v1/")) << line;
    of_stage.emplace(path);
  }
  EXPECT_EQ(messages.size(), 27u);
  for (const auto& [stage, files] : messages) {
    std::set<std::string> expected = {
        "data.proto",    "error.proto",      "firmware.proto",
        "graph.proto",   "hot_spots.proto",  "kernel_library.proto",
        "layout.proto",  "model.proto",      "network.proto",
        "program.proto", "provenance.proto", "quantization.proto",
        "stage.proto",   "target.proto",     "tiling.proto",
        "timeline.proto"};
    for (const std::string& engine : engines[stage]) {
      expected.insert(absl::StrCat("engines/", engine, ".proto"));
    }
    if (stage == "plan_sweep") expected.insert("sweep.proto");
    EXPECT_EQ(files, expected) << stage;
  }
}

}  // namespace
}  // namespace edgekiln::server
