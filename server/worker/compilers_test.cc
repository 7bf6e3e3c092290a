#include "server/worker/compilers.h"

#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "server/worker/run_program.h"
#include "server/worker/scratch_folder.h"
#include "server/worker/testing/fake_compiler.h"
#include "tests/support/skip.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

// A folder for PATH, with a compiler in it.
class CompilersTest : public testing::Test {
 protected:
  InstalledCompilers Find() {
    return InstalledCompilers::Find(folder_->path(), memory_,
                                    absl::Milliseconds(500));
  }

  const std::unique_ptr<ScratchFolder> folder_ =
      *ScratchFolder::Make(TemporaryFolder(), "compilers-test-");
  std::string memory_;
};

TEST_F(CompilersTest, NothingWhereNothingIs) {
  const InstalledCompilers found = Find();
  EXPECT_TRUE(found.list().empty());
  EXPECT_TRUE(found.problems().empty());
  EXPECT_EQ(CompilersText(found), "none");
}

TEST_F(CompilersTest, DescribesWhatIsThere) {
  InstallFakeCompiler(folder_->path(), "echo 12.2.0");
  const InstalledCompilers found = Find();
  ASSERT_EQ(found.list().size(), 1u)
      << (found.problems().empty() ? "" : found.problems()[0]);
  const v1::Compiler& compiler = found.list()[0];
  EXPECT_EQ(compiler.family(), v1::GCC);
  EXPECT_EQ(compiler.program(), kFakeCompiler);
  EXPECT_EQ(compiler.version(), "12.2.0");
  EXPECT_EQ(compiler.digest().size(), 64u);
  EXPECT_EQ(found.folders(), (std::vector<std::string>{
                                 folder_->path(), folder_->path() + "/parts"}));
  EXPECT_TRUE(found.Check(compiler).ok()) << found.Check(compiler);
}

// Not by where they lie.
TEST_F(CompilersTest, DigestsAreOfContents) {
  InstallFakeCompiler(folder_->path(), "echo 12.2.0");
  const std::string digest = Find().list()[0].digest();
  const auto elsewhere =
      *ScratchFolder::Make(TemporaryFolder(), "compilers-test-");
  InstallFakeCompiler(elsewhere->path(), "echo 12.2.0");
  const auto find = [&] {
    return InstalledCompilers::Find(elsewhere->path()).list()[0].digest();
  };
  EXPECT_EQ(find(), digest);
  for (const char* part : kFakeCompilerParts) {
    InstallFakeCompiler(elsewhere->path(), "echo 12.2.0");
    WriteScript(elsewhere->path() + "/" + part, "#!/bin/sh\n# another\n");
    EXPECT_NE(find(), digest) << part;
  }
}

TEST_F(CompilersTest, ClangNeedsALinkerBesideIt) {
  const std::string folder = folder_->path();
  WriteScript(folder + "/clang",
              "#!/bin/sh\ncase \"$*\" in\n-dumpversion) echo 14.0.6;;\n"
              "-print-resource-dir) echo /opt/headers;;\nesac\n");
  const InstalledCompilers without = Find();
  EXPECT_TRUE(without.list().empty());
  ASSERT_EQ(without.problems().size(), 1u);
  EXPECT_TRUE(absl::StrContains(without.problems()[0],
                                "there is no ld.lld, which links what it "
                                "makes; apt-get install clang lld"))
      << without.problems()[0];
  WriteScript(folder + "/ld.lld", "#!/bin/sh\n# one\n");
  const InstalledCompilers with = Find();
  ASSERT_EQ(with.list().size(), 1u);
  EXPECT_EQ(with.list()[0].family(), v1::CLANG);
  EXPECT_EQ(with.folders(), (std::vector<std::string>{"/opt/headers", folder}));
  WriteScript(folder + "/ld.lld", "#!/bin/sh\n# another\n");
  EXPECT_FALSE(with.Check(with.list()[0]).ok());
  const InstalledCompilers other = Find();
  ASSERT_EQ(other.list().size(), 1u);
  EXPECT_NE(other.list()[0].digest(), with.list()[0].digest());
}

// So that starting costs next to nothing. A compiler that no longer answers is
// as good as one that does, as long as its files are the same.
TEST_F(CompilersTest, WhatWasFoundIsKept) {
  memory_ = folder_->path() + "/memory";
  InstallFakeCompiler(folder_->path(), "test -e ${0%/*}/silent || echo 12.2.0");
  const InstalledCompilers first = Find();
  ASSERT_EQ(first.list().size(), 1u);
  WriteScript(folder_->path() + "/silent", "");
  const InstalledCompilers second = Find();
  ASSERT_EQ(second.list().size(), 1u);
  EXPECT_EQ(second.list()[0].SerializeAsString(),
            first.list()[0].SerializeAsString());
  EXPECT_EQ(second.folders(), first.folders());
  EXPECT_TRUE(second.Check(first.list()[0]).ok());
  // Another cc1: it has to answer again.
  WriteScript(folder_->path() + "/parts/cc1", "#!/bin/sh\n# newer\n");
  EXPECT_EQ(Find().problems().size(), 1u);
  fs::remove(folder_->path() + "/silent");
  EXPECT_NE(Find().list()[0].digest(), first.list()[0].digest());
  EXPECT_EQ(Find().list().size(), 1u);
  fs::remove(folder_->path() + "/" + kFakeCompiler);
  EXPECT_TRUE(Find().list().empty());
}

TEST(KnownCompilersTest, TextsAreReadBack) {
  KnownCompiler known;
  known.compiler.set_family(v1::CLANG);
  known.compiler.set_program("clang");
  known.compiler.set_version("14.0.6");
  known.compiler.set_digest(std::string(64, 'a'));
  known.files.push_back(
      {"/a b/c", 5, absl::FromUnixNanos(1234567890123456789)});
  known.files.push_back({"/d", 0, absl::UnixEpoch()});
  known.folders = {"/a b", "/d"};
  const std::string text = KnownCompilersText({known, known}, "key");
  const auto read = ParseKnownCompilers(text, "key");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].compiler.SerializeAsString(),
            known.compiler.SerializeAsString());
  ASSERT_EQ(read[1].files.size(), 2u);
  EXPECT_EQ(read[1].files[0].path, "/a b/c");
  EXPECT_EQ(read[1].files[0].size_bytes, 5);
  EXPECT_EQ(read[1].files[0].modified, known.files[0].modified);
  EXPECT_EQ(read[1].folders, known.folders);
  EXPECT_TRUE(ParseKnownCompilers(text, "other").empty());
  // Whatever is left of it is no memory.
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_TRUE(ParseKnownCompilers(text.substr(0, size), "key").empty());
  }
  for (const char* line : {"compiler 1 2", "compiler 99 1 2 3", "file 1 2 /x",
                           "compiler 1 1.0 short gcc", "else"}) {
    EXPECT_TRUE(
        ParseKnownCompilers(
            absl::StrCat("edgekiln compilers 1 key\n", line, "\nend\n"), "key")
            .empty())
        << line;
  }
}

TEST_F(CompilersTest, AChangedOneIsNotUsed) {
  InstallFakeCompiler(folder_->path(), "echo 12.2.0");
  const InstalledCompilers found = Find();
  const v1::Compiler compiler = found.list()[0];
  WriteScript(folder_->path() + "/parts/cc1", "#!/bin/sh\n# newer\n");
  const absl::Status changed = found.Check(compiler);
  EXPECT_EQ(changed.code(), absl::StatusCode::kUnavailable) << changed;
  const auto detail = GetErrorDetail(changed);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "COMPILER_CHANGED");
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_TRUE(absl::EndsWith(detail->where, "/cc1")) << detail->where;
}

TEST_F(CompilersTest, AnotherOneIsMissing) {
  InstallFakeCompiler(folder_->path(), "echo 12.2.0");
  const InstalledCompilers found = Find();
  v1::Compiler compiler = found.list()[0];
  compiler.set_digest(std::string(64, '0'));
  const auto detail = GetErrorDetail(found.Check(compiler));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "COMPILER_MISSING");
}

struct BadCase {
  std::string name;
  std::string version;
  std::string problem;
};

class BadCompilerTest : public CompilersTest,
                        public testing::WithParamInterface<BadCase> {};

TEST_P(BadCompilerTest, IsToldOfAndNotUsed) {
  InstallFakeCompiler(folder_->path(), GetParam().version);
  const auto begin = std::chrono::steady_clock::now();
  const InstalledCompilers found = Find();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(found.list().empty());
  ASSERT_EQ(found.problems().size(), 1u);
  EXPECT_TRUE(absl::StrContains(found.problems()[0], kFakeCompiler));
  EXPECT_TRUE(absl::StrContains(found.problems()[0], GetParam().problem))
      << found.problems()[0];
}

INSTANTIATE_TEST_SUITE_P(
    All, BadCompilerTest,
    testing::Values(
        BadCase{"Hangs", "/bin/sleep 1000", "more than 500ms"},
        // What it started would keep its output open.
        BadCase{"HangsInAChild", "/bin/sleep 1000 & wait", "more than 500ms"},
        BadCase{"Crashes", "kill -SEGV $$", "signal 11"},
        BadCase{"Fails", "exit 3", "exit code 3"},
        BadCase{"Garbage", "printf 'all \\001 of it'", "version is 'all ? of"},
        BadCase{"Empty", ":", "version is ''"},
        BadCase{"Floods", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
                "more than 500ms"}),
    [](const auto& info) { return info.param.name; });

TEST_F(CompilersTest, APartThatIsMissingIsAProblem) {
  InstallFakeCompiler(folder_->path(), "echo 12.2.0");
  fs::remove(folder_->path() + "/as");
  const InstalledCompilers found = Find();
  EXPECT_TRUE(found.list().empty());
  ASSERT_EQ(found.problems().size(), 1u);
  EXPECT_TRUE(absl::StrContains(found.problems()[0], "it has no as"))
      << found.problems()[0];
}

// At each start of a worker: no more than it costs to read them once.
TEST(InstalledCompilersTest, ThoseOfThisMachine) {
  const auto gcc = FindProgram(kFakeCompiler, SearchPath());
  if (!gcc) EK_SKIP(absl::StrCat("there is no ", kFakeCompiler));
  rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  const InstalledCompilers found = InstalledCompilers::Find(SearchPath());
  rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  RecordProperty(
      "microseconds",
      static_cast<int>((after.ru_utime.tv_sec - before.ru_utime.tv_sec) *
                           1000000 +
                       after.ru_utime.tv_usec - before.ru_utime.tv_usec));
  EXPECT_TRUE(absl::StrContains(CompilersText(found), kFakeCompiler))
      << CompilersText(found);
  for (const v1::Compiler& compiler : found.list()) {
    EXPECT_TRUE(found.Check(compiler).ok()) << found.Check(compiler);
  }
}

}  // namespace
}  // namespace edgekiln::server
