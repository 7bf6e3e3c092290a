#include "client/output_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "client/commands/quantize.h"
#include "client/commands/run.h"
#include "client/exit_code.h"
#include "client/testing/commands_fixture.h"

namespace edgekiln::client {
namespace {

class OutputFileTest : public CommandsTest {
 protected:
  OutputFileTest() : path_(folder_ + "/out/x.onnx") {
    std::filesystem::create_directory(folder_ + "/out");
  }
  bool NothingThere() const {
    return std::filesystem::is_empty(folder_ + "/out");
  }

  const std::string path_;
};

TEST_F(OutputFileTest, TwoAtOnceDoNotMeetAndTheLastOneStays) {
  auto first = OutputFile::Create(path_, *files_);
  auto second = OutputFile::Create(path_, *files_);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  ASSERT_TRUE(first->Append("a long first").ok());
  ASSERT_TRUE(second->Append("second").ok());
  ASSERT_TRUE(first->Append(" one").ok());
  ASSERT_TRUE(first->Close().ok() && second->Close().ok());
  EXPECT_EQ(Get(path_), "absent");
  ASSERT_TRUE(first->Commit().ok());
  EXPECT_EQ(Get(path_), "a long first one");
  ASSERT_TRUE(second->Commit().ok());
  EXPECT_EQ(Get(path_), "second");
  std::filesystem::remove(path_);
  EXPECT_TRUE(NothingThere());
}

TEST_F(OutputFileTest, WhatIsNotCommittedGoes) {
  {
    auto file = OutputFile::Create(path_, *files_);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Append("half").ok());
    EXPECT_FALSE(NothingThere());
  }
  EXPECT_TRUE(NothingThere());
  EXPECT_FALSE(OutputFile::Create(path_ + "/y", *files_).ok());
}

TEST_F(OutputFileTest, TheLongestNamesAreWritten) {
  const std::string path = folder_ + "/out/" + std::string(255, 'n');
  auto file = OutputFile::Create(path, *files_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Close().ok());
  EXPECT_TRUE(file->Commit().ok());
}

TEST_F(OutputFileTest, WhatACommandReadsIsNotReplaced) {
  std::filesystem::create_symlink(model_, folder_ + "/link");
  const std::string data = Put("in.npz", "PK");
  for (const std::string& output : {model_, folder_ + "/link"}) {
    const absl::Status status =
        Run(RunQuantize, {"quantize", model_, "-o", output});
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  }
  EXPECT_EQ(
      ExitCodeFor(Run(RunOutputs, {"run", model_, "--data", data, "-o", data})),
      ExitCode::kUsage);
  EXPECT_TRUE(connection_.uploaded.empty());
  EXPECT_EQ(Get(model_), "model");
}

using OutputFileDeathTest = OutputFileTest;
TEST_F(OutputFileDeathTest, InterruptsRemoveWhatIsNotComplete) {
  EXPECT_EXIT(
      {
        InstallInterruptHandlers(false);
        auto done = OutputFile::Create(folder_ + "/out/done", *files_);
        auto file = OutputFile::Create(path_, *files_);
        auto other = OutputFile::Create(path_, *files_);
        if (!file.ok() || !other.ok() || !done.ok()) _exit(1);
        if (!done->Close().ok() || !done->Commit().ok()) _exit(1);
        raise(SIGINT);
        _exit(2);
      },
      testing::ExitedWithCode(130), "");
  EXPECT_TRUE(std::filesystem::remove(folder_ + "/out/done"));
  EXPECT_TRUE(NothingThere());
}

}  // namespace
}  // namespace edgekiln::client
