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

class DaemonClientTest : public testing::Test {
 protected:
  using Connected = absl::StatusOr<std::unique_ptr<Connection>>;

  DaemonClientTest() {
    EXPECT_TRUE(WriteAtomically(*files_, model_, "a model").ok());
  }

  void Start(std::function<Connected()> connect) {
    client_ = NewDaemonClient(
        {.connect = [connect = std::move(connect)](
                        FileSystem&,
                        std::function<bool()>) { return connect(); },
         .tell =
             [this](DaemonAnswer answer) { answers_.Add(std::move(answer)); }},
        *files_, *clock_);
  }
  // With a daemon whose job has a report, connected to once.
  FakeConnection& StartWithDaemon() {
    connection_ = std::make_unique<FakeConnection>();
    FakeConnection& daemon = *connection_;
    daemon.job.set_id("j1");
    daemon.reports.emplace_back().mutable_totals()->set_cycles(42);
    Start([this]() -> Connected { return std::move(connection_); });
    return daemon;
  }

  void Run(const std::string& uri, int64_t version) {
    client_->Run({.uri = uri,
                  .version = version,
                  .target_name = "chip",
                  .text = "extends: \"dla\"",
                  .model = model_});
  }

  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::unique_ptr<Clock> clock_ = NewRealClock();
  const std::string model_ = testing::TempDir() + "/lsp_net.tflite";
  Answers answers_;
  std::unique_ptr<FakeConnection> connection_;  // Until it is connected to.
  std::unique_ptr<Daemon> client_;  // Last: its threads use the others.
};

TEST_F(DaemonClientTest, ANewerTextSupersedesTheRun) {
  FakeConnection& daemon = StartWithDaemon();
  int watches = 0;
  daemon.on_watch = [&] {
    if (++watches == 1) Run("a", 2);  // Typed while version 1 runs.
  };
  Run("a", 1);
  const auto second = std::get<RunAnswer>(answers_.Wait(0));
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
  Run("a", 3);
  EXPECT_EQ(std::get<RunAnswer>(answers_.Wait(1)).version, 3);
  EXPECT_EQ(daemon.created.slot().SerializeAsString(), slot);
  client_.reset();  // Before what it calls.
}

TEST_F(DaemonClientTest, AClosedFileCancelsItsRun) {
  FakeConnection& daemon = StartWithDaemon();
  int watches = 0;
  daemon.on_watch = [&] {
    if (++watches > 1) return;
    client_->Forget("a");
    Run("b", 7);
  };
  Run("a", 1);
  const auto other = std::get<RunAnswer>(answers_.Wait(0));
  EXPECT_EQ(other.uri, "b");
  EXPECT_THAT(daemon.cancelled, ElementsAre("j1"));
  client_.reset();  // Before what it calls.
}

TEST_F(DaemonClientTest, ARunThatLosesTheDaemonIsAnswered) {
  Start([]() -> Connected {
    auto connection = std::make_unique<FakeConnection>();
    connection->create_error = absl::UnavailableError("gone");
    return connection;
  });
  Run("a", 3);
  const DaemonAnswer lost = answers_.Wait(0);
  ASSERT_TRUE(std::holds_alternative<RunAnswer>(lost));
  EXPECT_EQ(std::get<RunAnswer>(lost).version, 3);
  EXPECT_FALSE(std::get<RunAnswer>(lost).figures.has_value());
  EXPECT_TRUE(std::get<RunAnswer>(lost).away);
  // The next daemon is there at once: nobody says that one was away.
  EXPECT_TRUE(std::holds_alternative<ListAnswer>(answers_.Wait(1)));
}

TEST_F(DaemonClientTest, SaysOnceThatNobodyAnswers) {
  Start([]() -> Connected {
    return MakeError(absl::StatusCode::kUnavailable,
                     {.fault = Fault::kInfra,
                      .reason = kReasonUnreachable,
                      .what = "no daemon answers"});
  });
  client_->List();
  const DaemonAnswer answer = answers_.Wait(0);
  ASSERT_TRUE(std::holds_alternative<ReachAnswer>(answer));
  EXPECT_FALSE(std::get<ReachAnswer>(answer).reached);
  EXPECT_EQ(std::get<ReachAnswer>(answer).problem.what(), "no daemon answers");
  // A run of a model that is not there is the user's error, daemon or not.
  RunRequest request;
  request.uri = "a";
  request.model = "/no/such/model.tflite";
  client_->Run(std::move(request));
  const DaemonAnswer failed = answers_.Wait(1);
  ASSERT_TRUE(std::holds_alternative<RunAnswer>(failed));
  EXPECT_FALSE(std::get<RunAnswer>(failed).figures.has_value());
  EXPECT_FALSE(std::get<RunAnswer>(failed).away);
}

}  // namespace
}  // namespace edgekiln::client::lsp
