#include "client/lsp/daemon_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "client/exit_code.h"
#include "client/lsp/daemon_tasks.h"
#include "client/lsp/text_files.h"
#include "client/testing/fake_connection.h"

namespace edgekiln::client::lsp {
namespace {

using ::testing::ElementsAre;

TEST(DaemonTasksTest, OfEachFileTheNewest) {
  FakeClock clock;
  DaemonTasks tasks(clock);
  tasks.Check("a", 1, "1");
  tasks.Check("b", 1, "b");
  tasks.Check("a", 2, "2");
  tasks.List();
  tasks.LookUp("dla");
  std::vector<std::string> done;
  for (int i = 0; i < 4; ++i) {
    const auto task = tasks.NextCheck();
    done.push_back(task->name + task->text);
  }
  EXPECT_THAT(done, ElementsAre("a2", "bb", "dla", ""));
  tasks.Check("a", 3, "3");
  tasks.Forget("a");
  tasks.Stop();
  EXPECT_FALSE(tasks.NextCheck().has_value());
  EXPECT_FALSE(tasks.NextRun().has_value());
}

TEST(DaemonTasksTest, TellsTheFateOfARun) {
  FakeClock clock;
  DaemonTasks tasks(clock);
  const auto run = [&](int64_t version) {
    RunRequest request;
    request.uri = "a";
    request.version = version;
    tasks.Run(std::move(request));
  };
  run(1);
  run(2);
  EXPECT_EQ(tasks.NextRun()->version, 2);
  EXPECT_EQ(tasks.fate(), DaemonTasks::RunFate::kWanted);
  run(3);
  EXPECT_EQ(tasks.fate(), DaemonTasks::RunFate::kSuperseded);
  tasks.Forget("a");
  EXPECT_EQ(tasks.fate(), DaemonTasks::RunFate::kForgotten);
  run(4);
  clock.Advance(kRunEvery);
  EXPECT_EQ(tasks.NextRun()->version, 4);
  EXPECT_EQ(tasks.fate(), DaemonTasks::RunFate::kWanted);
}

TEST(TextFilesTest, ServesOneTextBesideTheFiles) {
  const auto base = NewPosixFileSystem();
  const auto files = NewTextFiles(*base);
  const LocalBlob blob = files->Put("abcdef");
  EXPECT_EQ(blob.digest, DigestOf("abcdef"));
  EXPECT_EQ(*files->ReadRange(blob.path, 2, 3), "cde");
  EXPECT_EQ(*files->ReadRange(blob.path, 99, 3), "");
  EXPECT_EQ(files->Stat(blob.path)->size_bytes, 6);
  EXPECT_FALSE(files->Stat("/no/such/file").ok());
}

// What the threads told, in order.
class Answers {
 public:
  void Add(DaemonAnswer answer) {
    MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
    changed_.NotifyAll();
  }
  DaemonAnswer Wait(size_t index) {
    MutexLock lock(mutex_);
    while (answers_.size() <= index) changed_.Wait(lock);
    return answers_[index];
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<DaemonAnswer> answers_ ABSL_GUARDED_BY(mutex_);
};

TEST(DaemonClientTest, ANewerTextSupersedesTheRun) {
  const auto files = NewPosixFileSystem();
  const auto clock = NewRealClock();
  const std::string model = testing::TempDir() + "/lsp_net.tflite";
  ASSERT_TRUE(WriteAtomically(*files, model, "a model").ok());
  auto connection = std::make_unique<FakeConnection>();
  FakeConnection& daemon = *connection;
  daemon.job.set_id("j1");
  daemon.reports.emplace_back().mutable_totals()->set_cycles(42);
  Answers answers;
  const auto client = NewDaemonClient(
      {.connect = [&](FileSystem&, std::function<bool()>)
           -> absl::StatusOr<std::unique_ptr<Connection>> {
         return std::move(connection);
       },
       .tell = [&](DaemonAnswer answer) { answers.Add(std::move(answer)); }},
      *files, *clock);
  const auto run = [&](int64_t version) {
    client->Run({.uri = "a",
                 .version = version,
                 .target_name = "chip",
                 .text = "extends: \"dla\"",
                 .model = model});
  };
  int watches = 0;
  daemon.on_watch = [&] {
    if (++watches == 1) run(2);  // Typed while version 1 runs.
  };
  run(1);
  const auto second = std::get<RunAnswer>(answers.Wait(0));
  EXPECT_EQ(second.version, 2);  // Of version 1 nothing is told.
  EXPECT_EQ(second.figures->cycles, 42);
  const v1::CreateJobRequest& created = daemon.created;
  EXPECT_EQ(created.options().job_class(), v1::INTERACTIVE);
  EXPECT_TRUE(created.options().timing_only());
  EXPECT_EQ(created.model_name(), "lsp_net.tflite");
  EXPECT_EQ(created.targets(0).name(), "chip");
  EXPECT_FALSE(created.slot().name().empty());
  const std::string slot = created.slot().SerializeAsString();
  EXPECT_THAT(daemon.cancelled, ElementsAre());  // The slot does that.
  run(3);
  EXPECT_EQ(std::get<RunAnswer>(answers.Wait(1)).version, 3);
  EXPECT_EQ(daemon.created.slot().SerializeAsString(), slot);
}

TEST(DaemonClientTest, AClosedFileCancelsItsRun) {
  const auto files = NewPosixFileSystem();
  const auto clock = NewRealClock();
  const std::string model = testing::TempDir() + "/lsp_closed.tflite";
  ASSERT_TRUE(WriteAtomically(*files, model, "a model").ok());
  auto connection = std::make_unique<FakeConnection>();
  FakeConnection& daemon = *connection;
  daemon.job.set_id("j1");
  daemon.reports.emplace_back().mutable_totals()->set_cycles(42);
  Answers answers;
  const auto client = NewDaemonClient(
      {.connect = [&](FileSystem&, std::function<bool()>)
           -> absl::StatusOr<std::unique_ptr<Connection>> {
         return std::move(connection);
       },
       .tell = [&](DaemonAnswer answer) { answers.Add(std::move(answer)); }},
      *files, *clock);
  int watches = 0;
  daemon.on_watch = [&] {
    if (++watches > 1) return;
    client->Forget("a");
    client->Run({.uri = "b",
                 .version = 7,
                 .target_name = "b",
                 .text = "",
                 .model = model});
  };
  client->Run({.uri = "a",
               .version = 1,
               .target_name = "a",
               .text = "",
               .model = model});
  const auto other = std::get<RunAnswer>(answers.Wait(0));
  EXPECT_EQ(other.uri, "b");
  EXPECT_THAT(daemon.cancelled, ElementsAre("j1"));
}

TEST(DaemonClientTest, ARunThatLosesTheDaemonIsAnswered) {
  const auto files = NewPosixFileSystem();
  const auto clock = NewRealClock();
  const std::string model = testing::TempDir() + "/lsp_lost.tflite";
  ASSERT_TRUE(WriteAtomically(*files, model, "a model").ok());
  Answers answers;
  const auto client = NewDaemonClient(
      {.connect = [](FileSystem&, std::function<bool()>)
           -> absl::StatusOr<std::unique_ptr<Connection>> {
         auto connection = std::make_unique<FakeConnection>();
         connection->create_error = absl::UnavailableError("gone");
         return connection;
       },
       .tell = [&](DaemonAnswer answer) { answers.Add(std::move(answer)); }},
      *files, *clock);
  client->Run({.uri = "a",
               .version = 3,
               .target_name = "a",
               .text = "",
               .model = model});
  const DaemonAnswer lost = answers.Wait(0);
  ASSERT_TRUE(std::holds_alternative<RunAnswer>(lost));
  EXPECT_EQ(std::get<RunAnswer>(lost).version, 3);
  EXPECT_FALSE(std::get<RunAnswer>(lost).figures.has_value());
  // The next daemon is there at once: nobody says that one was away.
  EXPECT_TRUE(std::holds_alternative<ListAnswer>(answers.Wait(1)));
}

TEST(DaemonClientTest, SaysOnceThatNobodyAnswers) {
  const auto files = NewPosixFileSystem();
  const auto clock = NewRealClock();
  Answers answers;
  const auto client = NewDaemonClient(
      {.connect = [](FileSystem&, std::function<bool()>)
           -> absl::StatusOr<std::unique_ptr<Connection>> {
         return MakeError(absl::StatusCode::kUnavailable,
                          {.fault = Fault::kInfra,
                           .reason = kReasonUnreachable,
                           .what = "no daemon answers"});
       },
       .tell = [&](DaemonAnswer answer) { answers.Add(std::move(answer)); }},
      *files, *clock);
  client->List();
  const DaemonAnswer answer = answers.Wait(0);
  ASSERT_TRUE(std::holds_alternative<ReachAnswer>(answer));
  EXPECT_FALSE(std::get<ReachAnswer>(answer).reached);
  EXPECT_EQ(std::get<ReachAnswer>(answer).problem.what(), "no daemon answers");
  // A run of a model that is not there is the user's error, daemon or not.
  RunRequest request;
  request.uri = "a";
  request.model = "/no/such/model.tflite";
  client->Run(std::move(request));
  const DaemonAnswer failed = answers.Wait(1);
  ASSERT_TRUE(std::holds_alternative<RunAnswer>(failed));
  EXPECT_FALSE(std::get<RunAnswer>(failed).figures.has_value());
}

}  // namespace
}  // namespace edgekiln::client::lsp
