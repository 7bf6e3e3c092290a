#include "client/check/baselines.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/exit_code.h"
#include "client/testing/commands_fixture.h"

namespace edgekiln::client {
namespace {

constexpr char kText[] =
    "groups { models { file: 'a' } targets { name: 't' } }";
constexpr char kA[] = "a@t.baseline.json";
constexpr char kB[] = "b@t.baseline.json";

class BaselinesTest : public CommandsTest {
 protected:
  Baselines Of(const std::string& name, const std::string& text = kText) {
    projects_.push_back(std::make_unique<ProjectFile>(
        *ParseProject(text, folder_ + "/" + name)));
    return Baselines(*projects_.back(), *files_);
  }
  std::string In(const std::string& name) {
    return folder_ + "/baselines/" + name;
  }
  // Names alone.
  static std::string Short(const std::vector<std::string>& paths) {
    return absl::StrJoin(paths, " ", [](std::string* out, const auto& path) {
      out->append(path.substr(path.rfind('/') + 1));
    });
  }

  std::vector<std::unique_ptr<ProjectFile>> projects_;
};

TEST_F(BaselinesTest, AreWrittenOnceAndReadBack) {
  Baselines baselines = Of("edgekiln.txtpb");
  EXPECT_FALSE(baselines.Read(kA)->has_value());
  auto changes = baselines.Update({{kA, "1"}, {kB, "2"}}, {kA, kB});
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_EQ(Short(changes->written), "a@t.baseline.json b@t.baseline.json");
  EXPECT_EQ(**baselines.Read(kA), "1");
  EXPECT_EQ(Get(In(kB)), "2");
  const std::string list = Get(In("edgekiln.list"));
  EXPECT_NE(list.find("\na@t.baseline.json\nb@t.baseline.json\n"),
            std::string::npos)
      << list;
  struct stat before = {};
  ASSERT_EQ(stat(In(kA).c_str(), &before), 0);
  EXPECT_EQ(before.st_mode & 0444, 0444u);  // Others read the repository, too.
  // What is the same is left alone.
  changes = baselines.Update({{kA, "1"}, {kB, "3"}}, {kA, kB});
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(Short(changes->written), "b@t.baseline.json");
  struct stat after = {};
  ASSERT_EQ(stat(In(kA).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(Get(In("edgekiln.list")), list);
  // No part files stay.
  EXPECT_EQ(files_->List(folder_ + "/baselines")->size(), 3u);
}

TEST_F(BaselinesTest, ThoseOfCellsThatAreGoneAreRemoved) {
  Baselines baselines = Of("edgekiln.txtpb");
  ASSERT_TRUE(baselines.Update({{kA, "1"}, {kB, "2"}}, {kA, kB}).ok());
  EXPECT_TRUE(baselines.Stale({kA, kB})->empty());
  EXPECT_EQ(absl::StrJoin(*baselines.Stale({kA}), " "), kB);
  const auto changes = baselines.Update({{kA, "1"}}, {kA});
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(Short(changes->removed), "b@t.baseline.json");
  EXPECT_EQ(Get(In(kB)), "absent");
  EXPECT_TRUE(baselines.Stale({kA})->empty());
}

TEST_F(BaselinesTest, ACellWithoutAReportKeepsItsFile) {
  Baselines baselines = Of("edgekiln.txtpb");
  ASSERT_TRUE(baselines.Update({{kA, "1"}, {kB, "2"}}, {kA, kB}).ok());
  const auto changes = baselines.Update({{kA, "1"}}, {kA, kB});
  ASSERT_TRUE(changes.ok());
  EXPECT_TRUE(changes->removed.empty());
  EXPECT_EQ(Get(In(kB)), "2");
  EXPECT_EQ(absl::StrJoin(*baselines.Stale({kA}), " "), kB);
}

TEST_F(BaselinesTest, FilesOfOthersAreLeftAlone) {
  Baselines other =
      Of("other.txtpb", absl::StrCat(kText, " baselines: 'baselines'"));
  ASSERT_TRUE(other.Update({{kB, "theirs"}}, {kB}).ok());
  const std::string mine = "mine@t.baseline.json";
  Put("baselines/" + mine, "by hand");
  const std::string outside = Put("x@t.baseline.json", "outside");
  // A list that another program wrote.
  Put("baselines/edgekiln.list",
      "../x@t.baseline.json\n/etc/passwd\n\n#\n..\nnot there@t\n");
  Baselines baselines = Of("edgekiln.txtpb");
  const auto changes = baselines.Update({{kA, "1"}}, {kA});
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_TRUE(changes->removed.empty());
  EXPECT_EQ(Get(outside), "outside");
  EXPECT_EQ(Get(In(mine)), "by hand");
  EXPECT_EQ(Get(In(kB)), "theirs");
}

// Projects of the same name may share a folder.
TEST_F(BaselinesTest, ASharedFolderHasAListForEachProject) {
  const std::string shared = absl::StrCat(kText, " baselines: '../shared'");
  const std::string folder = folder_ + "/shared/";
  Baselines a = Of("a/edgekiln.txtpb", shared);
  Baselines b = Of("b/edgekiln.txtpb", shared);
  ASSERT_TRUE(a.Update({{kA, "1"}}, {kA}).ok());
  ASSERT_TRUE(b.Update({{kB, "2"}}, {kB}).ok());
  EXPECT_EQ(files_->List(folder)->size(), 4u);
  EXPECT_TRUE(a.Stale({kA})->empty());
  const auto changes = a.Update({{kA, "3"}}, {kA});
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_TRUE(changes->removed.empty());
  EXPECT_EQ(Get(folder + kA), "3");
  EXPECT_EQ(Get(folder + kB), "2");
  // The names are the same in another checkout.
  std::filesystem::create_directory(folder_ + "/other");
  ASSERT_TRUE(
      Of("other/a/edgekiln.txtpb", shared).Update({{kA, "1"}}, {kA}).ok());
  const auto names = files_->List(folder_ + "/other/shared");
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->size(), 2u);
  for (const std::string& name : *names) {
    EXPECT_NE(Get(folder + name), "absent") << name;
  }
}

TEST_F(BaselinesTest, ProjectsInOneFolderHaveFoldersOfTheirOwn) {
  Baselines first = Of("edgekiln.txtpb");
  Baselines second = Of("nightly.txtpb");
  EXPECT_EQ(first.folder(), folder_ + "/baselines");
  EXPECT_EQ(second.folder(), folder_ + "/baselines/nightly");
  EXPECT_EQ(Of("x.txtpb", absl::StrCat(kText, " baselines: 'b'")).folder(),
            folder_ + "/b");
  ASSERT_TRUE(first.Update({{kA, "1"}}, {kA}).ok());
  ASSERT_TRUE(second.Update({{kA, "2"}}, {kA}).ok());
  EXPECT_EQ(**first.Read(kA), "1");
  EXPECT_EQ(**second.Read(kA), "2");
  EXPECT_EQ(Get(In("nightly/" + std::string(kA))), "2");
}

// Older versions wrote the baselines of all projects to one folder.
TEST_F(BaselinesTest, AProjectKeepsTheFolderThatHasItsList) {
  std::filesystem::create_directory(folder_ + "/baselines");
  Put("baselines/nightly.list", absl::StrCat(kA, "\n"));
  Put(absl::StrCat("baselines/", kA), "1");
  Baselines baselines = Of("nightly.txtpb");
  ASSERT_EQ(baselines.folder(), folder_ + "/baselines");
  EXPECT_EQ(**baselines.Read(kA), "1");
  const auto changes = baselines.Update({{kB, "2"}}, {kB});
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_EQ(Short(changes->removed), kA);
  EXPECT_EQ(Get(In(kB)), "2");
}

TEST_F(BaselinesTest, ABaselineOfAnotherProjectIsNotOverwritten) {
  const std::string shared = absl::StrCat(kText, " baselines: 'baselines'");
  Baselines one = Of("edgekiln.txtpb", shared);
  Baselines two = Of("nightly.txtpb", shared);
  ASSERT_TRUE(one.Update({{kA, "1"}}, {kA}).ok());
  const absl::Status refused =
      two.Update({{kA, "2"}, {kB, "2"}}, {kA, kB}).status();
  EXPECT_EQ(ExitCodeFor(refused), ExitCode::kUsage) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), kA)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "edgekiln.list")) << refused;
  EXPECT_TRUE(
      absl::StrContains(refused.message(), "baselines: \"baselines/nightly\""))
      << refused;
  EXPECT_EQ(Get(In(kA)), "1");
  EXPECT_EQ(Get(In(kB)), "absent");
  EXPECT_EQ(Get(In("nightly.list")), "absent");
  // The same bytes are for both.
  EXPECT_TRUE(two.Update({{kA, "1"}}, {kA}).ok());
}

TEST_F(BaselinesTest, WhatAnotherProjectListsIsNotRemoved) {
  const std::string shared = absl::StrCat(kText, " baselines: 'baselines'");
  Baselines one = Of("one.txtpb", shared);
  Baselines two = Of("two.txtpb", shared);
  ASSERT_TRUE(one.Update({{kA, "1"}, {kB, "2"}}, {kA, kB}).ok());
  ASSERT_TRUE(two.Update({{kB, "2"}}, {kB}).ok());
  EXPECT_TRUE(one.Stale({kA})->empty());
  auto changes = one.Update({{kA, "1"}}, {kA});
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_TRUE(changes->removed.empty());
  EXPECT_EQ(Get(In(kB)), "2");
  // Now it is of the other one alone.
  changes = two.Update({{kA, "1"}}, {kA});
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_EQ(Short(changes->removed), kB);
  EXPECT_EQ(Get(In(kA)), "1");
}

TEST_F(BaselinesTest, AFolderInPlaceOfAFileIsAUsageError) {
  std::filesystem::create_directories(In(kA));
  const absl::Status status =
      Of("edgekiln.txtpb").Update({{kA, "1"}}, {kA}).status();
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), kA)) << status;
}

TEST_F(BaselinesTest, ALinkIsReplacedAndNotFollowed) {
  const std::string outside = Put("outside.json", "outside");
  std::filesystem::create_directory(folder_ + "/baselines");
  std::filesystem::create_symlink(outside, In(kA));
  Baselines baselines = Of("edgekiln.txtpb");
  ASSERT_TRUE(baselines.Update({{kA, "1"}}, {kA}).ok());
  EXPECT_EQ(Get(outside), "outside");
  EXPECT_EQ(Get(In(kA)), "1");
}

TEST_F(BaselinesTest, WhatCannotBeWrittenIsAUsageErrorAndChangesNothing) {
  Put("baselines", "a file");
  Baselines baselines = Of("edgekiln.txtpb");
  EXPECT_EQ(ExitCodeFor(baselines.Update({{kA, "1"}}, {kA}).status()),
            ExitCode::kUsage);
  EXPECT_EQ(Get(folder_ + "/baselines"), "a file");
}

}  // namespace
}  // namespace edgekiln::client
