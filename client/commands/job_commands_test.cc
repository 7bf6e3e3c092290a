// The commands that make jobs, against a scripted daemon: what they ask, print,
// write and return.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/commands/compile.h"
#include "client/commands/jobs.h"
#include "client/commands/profile.h"
#include "client/commands/run.h"
#include "client/commands/validate.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/interrupt.h"
#include "client/job_output.h"
#include "client/job_request.h"
#include "client/testing/commands_fixture.h"

namespace edgekiln::client {
namespace {

TEST_F(CommandsTest, ValidateAsksForWhatTheCommandLineSays) {
  connection_.reports = {NewReport("dla-64")};
  const std::string chip = Put("chip.txtpb", "descriptor");
  const std::string data = Put("test.npz", "PK data");
  const std::string calibration = Put("train.npz", "PK calibration");
  const absl::Status status =
      Run(RunValidate,
          {"validate", model_, "--target", "dla-64", "--target", chip, "--data",
           data, "--calibration", calibration, "--calibration-method", "minmax",
           "--seed", "3", "--limit", "10", "--input", "x:scale=2"});
  ASSERT_TRUE(status.ok()) << status;
  const v1::CreateJobRequest& request = connection_.created;
  EXPECT_EQ(request.request_id().size(), 32u);
  EXPECT_EQ(request.model_name(), "net.tflite");
  EXPECT_EQ(request.model().hash(), DigestOf("model").hash);
  ASSERT_EQ(request.targets_size(), 2);
  EXPECT_EQ(request.targets(0).name(), "dla-64");
  EXPECT_EQ(request.targets(0).digest().hash(), "hash-of-dla-64");
  EXPECT_EQ(request.targets(1).name(), "chip");
  EXPECT_EQ(request.targets(1).digest().hash(), DigestOf("descriptor").hash);
  ASSERT_EQ(request.goals_size(), 1);
  EXPECT_EQ(request.goals(0), v1::VALIDATE);
  EXPECT_EQ(request.options().ShortDebugString(),
            "calibrate { method: MIN_MAX } seed: 3 limit: 10 job_class: CI");
  EXPECT_EQ(request.transforms_size(), 1);
  EXPECT_EQ(request.data().files(0).hash(), DigestOf("PK data").hash);
  EXPECT_EQ(request.calibration().files(0).hash(),
            DigestOf("PK calibration").hash);
  EXPECT_EQ(connection_.uploaded,
            (std::vector<std::string>{model_, calibration, data, chip}));
}

TEST_F(CommandsTest, TheRecipeIsAskedForWithTheTargetAndWithTheJob) {
  connection_.recipes.resize(1);
  connection_.recipes[0].set_name("default");
  const struct {
    absl::Status (*run)(CommandContext&);
    const char* name;
  } commands[] = {{RunCompile, "compile"}, {RunProfile, "profile"}};
  for (const auto& command : commands) {
    connection_.reports = {NewReport("a")};
    connection_.reports[0].set_recipe("slow");
    connection_.asked_recipe.clear();
    connection_.created.Clear();
    const absl::Status status =
        Run(command.run,
            {command.name, model_, "--target", "a", "--recipe", "slow"});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(connection_.asked_recipe, "slow");
    EXPECT_EQ(connection_.created.options().recipe(), "slow");
    EXPECT_NE(out_.find("recipe      slow"), std::string::npos) << out_;
  }
  ASSERT_TRUE(Run(RunProfile, {"profile", model_, "--target", "a"}).ok());
  EXPECT_EQ(connection_.asked_recipe, "");
  EXPECT_EQ(connection_.created.options().recipe(), "");
}

TEST_F(CommandsTest, OffloadIsAskedForAndShownUnlessAll) {
  for (const std::string mode : {"all", "paying", "none"}) {
    connection_.reports = {NewReport("a")};
    connection_.reports[0].set_offload(mode);
    out_.clear();
    const absl::Status status = Run(
        RunProfile, {"profile", model_, "--target", "a", "--offload", mode});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(v1::Offload_Name(connection_.created.options().offload()),
              absl::AsciiStrToUpper(mode));
    EXPECT_EQ(out_.find("offload     " + mode) != std::string::npos,
              mode != "all")
        << out_;
  }
  // An old daemon gives engines all that they take.
  connection_.reports = {NewReport("a")};
  out_.clear();
  const absl::Status old = Run(
      RunProfile, {"profile", model_, "--target", "a", "--offload", "none"});
  EXPECT_EQ(GetErrorDetail(old)->reason, "OFFLOAD_UNSUPPORTED");
  EXPECT_EQ(out_, "");
  EXPECT_TRUE(
      Run(RunProfile, {"profile", model_, "--target", "a", "--offload", "all"})
          .ok());
}

// It would take the default without a word.
TEST_F(CommandsTest, AnOldDaemonIsNotTakenForOneThatKnowsRecipes) {
  connection_.reports = {NewReport("a")};
  const absl::Status named =
      Run(RunProfile, {"profile", model_, "--target", "a", "--recipe", "slow"});
  EXPECT_EQ(GetErrorDetail(named)->reason, "RECIPES_UNSUPPORTED");
  EXPECT_EQ(ExitCodeFor(named), ExitCode::kInfra);
  EXPECT_FALSE(connection_.created.has_model());  // Nothing was begun.
  const std::string chip = Put("chip.txtpb", "descriptor");
  const absl::Status file = Run(
      RunProfile, {"profile", model_, "--target", chip, "--recipe", "slow"});
  EXPECT_EQ(GetErrorDetail(file)->reason, "RECIPES_UNSUPPORTED");
  EXPECT_EQ(out_, "");
  ASSERT_TRUE(Run(RunProfile, {"profile", model_, "--target", "a"}).ok());
}

TEST_F(CommandsTest, TheJobIsGivenItsSlotAndItsDeadlines) {
  ASSERT_TRUE(Run(RunCompile, {"compile", model_, "--target", "a"}).ok());
  EXPECT_FALSE(connection_.created.has_slot());
  EXPECT_FALSE(connection_.created.options().has_queue_deadline());
  EXPECT_FALSE(connection_.created.options().has_run_deadline());
  ASSERT_TRUE(Run(RunCompile,
                  {"compile", model_, "--target", "a", "--supersede", "pane",
                   "--queue-timeout", "1500ms", "--run-timeout", "1m"})
                  .ok());
  const v1::CreateJobRequest& request = connection_.created;
  EXPECT_EQ(request.slot().name(), "pane");
  EXPECT_NE(request.slot().client(), "");
  EXPECT_EQ(request.options().queue_deadline().ShortDebugString(),
            "seconds: 1 nanos: 500000000");
  EXPECT_EQ(request.options().run_deadline().seconds(), 60);
}

TEST_F(CommandsTest, TargetFilesOfTheSameNameAreToldApart) {
  std::filesystem::create_directory(folder_ + "/b");
  const std::string a = Put("chip.txtpb", "a");
  const std::string b = Put("b/chip.txtpb", "b");
  ASSERT_TRUE(
      Run(RunCompile, {"compile", model_, "--target", a, "--target", b}).ok());
  EXPECT_EQ(connection_.created.targets(0).name(), "chip");
  EXPECT_EQ(connection_.created.targets(1).name(), "chip-2");
}

TEST_F(CommandsTest, AMissingFileIsUsageAndAsksNobody) {
  const absl::Status status =
      Run(RunProfile, {"profile", model_, "--target", folder_ + "/none.txtpb"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_TRUE(connection_.uploaded.empty());
}

TEST_F(CommandsTest, JsonIsOneReportOrAList) {
  connection_.reports = {NewReport("a"), NewReport("b")};
  ASSERT_TRUE(
      Run(RunProfile, {"profile", model_, "--target", "a", "--json"}).ok());
  EXPECT_EQ(out_[0], '{');
  EXPECT_NE(out_.find("\"cycles\": 5"), std::string::npos);
  out_.clear();
  ASSERT_TRUE(Run(RunProfile, {"profile", model_, "--target", "a", "--target",
                               "b", "--json"})
                  .ok());
  EXPECT_EQ(out_[0], '[');
}

TEST_F(CommandsTest, FailedJobIsTheDaemonsError) {
  connection_.job.set_state(v1::FAILED);
  connection_.job.mutable_error()->set_fault(v1::ErrorDetail::USER);
  connection_.job.mutable_error()->set_reason("OP_UNSUPPORTED");
  connection_.job.mutable_error()->set_what("no such op");
  connection_.job.mutable_error()->set_code(3);
  const absl::Status status =
      Run(RunProfile, {"profile", model_, "--target", "a", "--json"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kModel);
  EXPECT_EQ(GetErrorDetail(status)->reason, "OP_UNSUPPORTED");
  EXPECT_EQ(out_, "");
}

TEST_F(CommandsTest, OneOfTwoTargetsFails) {
  connection_.job.set_state(v1::FAILED);
  connection_.job.mutable_error()->set_fault(v1::ErrorDetail::USER);
  connection_.job.mutable_error()->set_what("does not fit");
  v1::Report failed = NewReport("b");
  *failed.mutable_error() = connection_.job.error();
  connection_.reports = {NewReport("a"), failed};
  const absl::Status status =
      Run(RunProfile, {"profile", model_, "--target", "a", "--target", "b"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kModel);
  EXPECT_NE(out_.find("\na "), std::string::npos) << out_;
  EXPECT_NE(out_.find("b failed: does not fit"), std::string::npos) << out_;
}

TEST_F(CommandsTest, MismatchesFailTheGateAndTheReportIsStillShown) {
  v1::Report report = NewReport("a");
  report.mutable_bit_exact()->set_outputs_compared(10);
  report.mutable_bit_exact()->set_mismatches(2);
  connection_.reports = {report};
  const absl::Status status =
      Run(RunProfile, {"profile", model_, "--target", "a"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate) << status;
  EXPECT_NE(out_.find("NOT EXACT"), std::string::npos);
}

TEST_F(CommandsTest, GatesAreInTheJsonKeptOrBroken) {
  connection_.reports = {NewReport("a"), NewReport("b")};
  connection_.reports[1].mutable_totals()->set_cycles(9);
  std::vector<std::string> args = {"profile", model_,        "--target",
                                   "a",       "--json",      "--target",
                                   "b",       "--max-cycles"};
  args.push_back("9");
  absl::Status status = Run(RunProfile, args);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_NE(out_.find("\"passed\": true"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("\"passed\": false"), std::string::npos) << out_;
  out_.clear();
  args.back() = "4";
  status = Run(RunProfile, args);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate) << status;
  EXPECT_EQ(LinesOf(status).size(), 2u);
  EXPECT_EQ(out_[0], '[');
  EXPECT_NE(out_.find("\"passed\": false"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("\"passed\": true"), std::string::npos) << out_;
}

TEST_F(CommandsTest, AMemoryThatNoTargetHasIsUsage) {
  v1::Report report = NewReport("a");
  report.mutable_memory()->add_memories()->set_name("flash");
  connection_.reports = {report};
  const absl::Status status =
      Run(RunCompile,
          {"compile", model_, "--target", "a", "--max-memory", "rom=4KiB"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << status;
  EXPECT_TRUE(absl::StrContains(GetErrorDetail(status)->need, "flash"));
  // What the job found is not lost.
  EXPECT_TRUE(absl::StrContains(out_, "model on a\n")) << out_;
}

TEST_F(CommandsTest, CompileWritesItsFilesAndThenFailsTheGate) {
  connection_.reports = {NewReport("a")};
  connection_.AddArtifact("manifest.json", 0, "one");
  const std::string out = folder_ + "/out";
  const absl::Status status =
      Run(RunCompile,
          {"compile", model_, "--target", "a", "-o", out, "--max-cycles", "1"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kGate) << status;
  EXPECT_EQ(Get(out + "/manifest.json"), "one");
}

TEST_F(CommandsTest, CompileWritesTheBundle) {
  connection_.reports = {NewReport("a")};
  connection_.AddArtifact("manifest.json", 0, "one");
  connection_.AddArtifact("streams/dla.bin", 0, "two");
  const std::string out = folder_ + "/new/out";
  ASSERT_TRUE(
      Run(RunCompile, {"compile", model_, "--target", "a", "-o", out}).ok());
  EXPECT_EQ(Get(out + "/manifest.json"), "one");
  EXPECT_EQ(Get(out + "/streams/dla.bin"), "two");
  EXPECT_NE(out_.find("wrote " + out + "/streams/dla.bin  3 B"),
            std::string::npos)
      << out_;
  // Nothing is left beside it: manifest.json and streams.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out),
                          std::filesystem::directory_iterator()),
            2);
}

TEST_F(CommandsTest, CompileIsAllOrNothing) {
  connection_.AddArtifact("a", 0, "one");
  connection_.AddArtifact("b", 0, "two");
  connection_.blobs.erase("htwo");
  const std::string out = folder_ + "/out";
  EXPECT_FALSE(
      Run(RunCompile, {"compile", model_, "--target", "a", "-o", out}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

TEST_F(CommandsTest, ArtifactsStayInTheFolder) {
  for (const char* path : {"", "/etc/x", "../x", "a/../../x", "a//b", "./a",
                           "a/", "a\\b", "a\nb", ".."}) {
    connection_.job.clear_artifacts();
    connection_.AddArtifact(path, 0, "evil");
    const absl::Status status = Run(
        RunCompile, {"compile", model_, "--target", "a", "-o", folder_ + "/o"});
    EXPECT_EQ(GetErrorDetail(status)->reason, "ARTIFACT_PATH") << path;
  }
  // Twice the same path.
  connection_.job.clear_artifacts();
  connection_.AddArtifact("a", 0, "x");
  connection_.AddArtifact("a", 0, "y");
  EXPECT_FALSE(Run(RunCompile,
                   {"compile", model_, "--target", "a", "-o", folder_ + "/o"})
                   .ok());
  // A link in the folder.
  connection_.job.clear_artifacts();
  connection_.AddArtifact("link/x", 0, "x");
  std::filesystem::create_directory(folder_ + "/o");
  std::filesystem::create_directory_symlink(folder_, folder_ + "/o/link");
  EXPECT_FALSE(Run(RunCompile,
                   {"compile", model_, "--target", "a", "-o", folder_ + "/o"})
                   .ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/x"));
}

TEST_F(CommandsTest, SeveralTargetsGetAFolderEach) {
  connection_.AddArtifact("m", 0, "one");
  connection_.AddArtifact("m", 1, "two");
  const std::string out = folder_ + "/out";
  ASSERT_TRUE(Run(RunCompile, {"compile", model_, "--target", "a", "--target",
                               "b", "-o", out})
                  .ok());
  EXPECT_EQ(Get(out + "/a/m"), "one");
  EXPECT_EQ(Get(out + "/b/m"), "two");
}

TEST_F(CommandsTest, RunWritesOutputs) {
  connection_.AddArtifact("outputs.npz", -1, "zip");
  const std::string data = Put("in.npz", "PK");
  const std::string out = folder_ + "/out.npz";
  const absl::Status status =
      Run(RunOutputs, {"run", model_, "--data", data, "-o", out, "--json"});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(connection_.created.goals(0), v1::RUN);
  EXPECT_EQ(connection_.created.targets_size(), 0);
  EXPECT_EQ(Get(out), "zip");
  // Without a target there is still one Report to read.
  EXPECT_EQ(out_[0], '{');
  EXPECT_NE(out_.find("\"job_id\": \"7\""), std::string::npos);
}

TEST_F(CommandsTest, OutputsThatCannotBeWrittenAreRefusedBeforeTheJob) {
  const std::string data = Put("in.npz", "PK");
  const std::string file = Put("file", "x");
  const struct {
    std::string output;
    std::string reason;
    bool folder;  // compile instead of run.
  } cases[] = {
      {folder_, "it is a folder", false},
      {folder_ + "/none/o.npz", "there is no folder", false},
      {file + "/o.npz", "there is no folder", false},
      {"/dev/null", "it is not a regular file", false},
      {file, "is not a folder", true},
      {file + "/below", "is not a folder", true},
      {"/dev/null", "is not a folder", true},
  };
  for (const auto& c : cases) {
    const absl::Status status =
        c.folder
            ? Run(RunCompile,
                  {"compile", model_, "--target", "a", "-o", c.output})
            : Run(RunOutputs, {"run", model_, "--data", data, "-o", c.output});
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << c.output;
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << c.output;
    EXPECT_EQ(detail->where, "-o") << c.output;
    EXPECT_NE(detail->what.find(c.reason), std::string::npos) << detail->what;
  }
  EXPECT_TRUE(connection_.uploaded.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/none"));
}

TEST_F(CommandsTest, TimeoutCancelsAndTellsAMissingWorkerFromASlowRun) {
  connection_.on_watch = [&] { clock_.Advance(absl::Seconds(10)); };
  v1::JobEvent waiting;
  waiting.mutable_waiting()->set_reason("no compile worker");
  connection_.events = {waiting};
  const std::vector<std::string> args = {"profile", model_,      "--target",
                                         "a",       "--timeout", "5s"};
  absl::Status status = Run(RunProfile, args);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kInfra) << status;
  EXPECT_EQ(GetErrorDetail(status)->where, "no compile worker");
  v1::JobEvent started;
  started.mutable_stage_started()->set_name("import");
  connection_.events = {started, waiting};  // Its worker was lost.
  status = Run(RunProfile, args);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kInfra) << status;
  connection_.events = {waiting, started};
  status = Run(RunProfile, args);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kDeadline) << status;
  v1::JobEvent progress;
  progress.mutable_progress()->set_stage("import");
  connection_.events = {waiting, started, progress};
  status = Run(RunProfile, args);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kDeadline) << status;
  EXPECT_EQ(connection_.cancelled, std::vector<std::string>(4, "7"));
}

TEST_F(CommandsTest, InterruptCancelsOnlyOnesOwnJob) {
  InstallInterruptHandlers(false);
  connection_.on_watch = [] { raise(SIGINT); };
  const absl::Status status =
      Run(RunProfile, {"profile", model_, "--target", "a"});
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kInterrupted) << status;
  EXPECT_EQ(GetErrorDetail(status)->where, model_);
  EXPECT_FALSE(GetErrorDetail(status)->fix.empty());
  EXPECT_EQ(connection_.cancelled, (std::vector<std::string>{"7"}));
  EXPECT_EQ(InterruptedExitCode(), 130);
  connection_.on_watch = [] { raise(SIGTERM); };
  const absl::Status ended =
      Run(RunProfile, {"profile", model_, "--target", "a"});
  EXPECT_EQ(ExitCodeFor(ended), ExitCode::kInterrupted) << ended;
  EXPECT_EQ(InterruptedExitCode(), 143);
}

TEST_F(CommandsTest, TimingOnlyIsAskedFor) {
  connection_.reports = {NewReport("a")};
  ASSERT_TRUE(
      Run(RunProfile, {"profile", model_, "--target", "a", "--timing-only"})
          .ok());
  EXPECT_TRUE(connection_.created.options().timing_only());
}

TEST_F(CommandsTest, HotSpotsAreAskedFor) {
  connection_.reports = {NewReport("a")};
  ASSERT_TRUE(
      Run(RunProfile, {"profile", model_, "--target", "a", "--hot"}).ok());
  EXPECT_TRUE(connection_.created.options().hot_spots());
}

TEST_F(CommandsTest, AnUploadThatBreaksIsToldOnceATime) {
  for (const bool reconnecting : {false, true, true, false, true, false}) {
    connection_.transfer.push_back({.reconnecting = reconnecting});
  }
  connection_.reports = {NewReport("a")};
  const absl::Status status =
      Run(RunProfile, {"profile", model_, "--target", "a"});
  ASSERT_TRUE(status.ok()) << status;
  int told = 0;
  for (const absl::string_view line : absl::StrSplit(err_, '\n')) {
    told += absl::StrContains(line, "connection lost") ? 1 : 0;
  }
  EXPECT_EQ(told, 2) << err_;
}

// Nobody else would replace them: waiting for ever helps nobody.
TEST_F(CommandsTest, WorkersOfAnotherBuildEndAJobOfOnesOwnDaemon) {
  v1::JobEvent event;
  event.mutable_waiting()->set_cause(v1::JobEvent::Waiting::OTHER_BUILD);
  event.mutable_waiting()->set_reason("only workers of another build");
  connection_.events = {event};
  connection_.on_watch = [&] { clock_.Advance(absl::Seconds(6)); };
  connection_.reports = {NewReport("a")};
  const std::vector<std::string> args = {"profile", model_, "--target", "a",
                                         "--quiet"};
  EXPECT_TRUE(Run(RunProfile, args).ok());
  own_daemon_ = true;
  const absl::Status status = Run(RunProfile, args);
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kInfra) << status;
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "WORKER_BUILD");
  EXPECT_EQ(detail->where, "only workers of another build");
  EXPECT_EQ(connection_.cancelled.size(), 1u);
}

// Nobody needs to start a worker for a daemon that does so itself.
TEST_F(CommandsTest, WorkersThatOnesOwnDaemonStartsAreNotAskedFor) {
  v1::JobEvent event;
  event.mutable_waiting()->set_cause(v1::JobEvent::Waiting::NO_WORKER);
  event.mutable_waiting()->set_reason("no worker; start edgekiln-worker");
  connection_.events = {event};
  connection_.reports = {NewReport("a")};
  const std::vector<std::string> args = {"profile", model_, "--target", "a"};
  ASSERT_TRUE(Run(RunProfile, args).ok());
  EXPECT_TRUE(absl::StrContains(err_, "start edgekiln-worker")) << err_;
  own_daemon_ = true;
  err_.clear();
  ASSERT_TRUE(Run(RunProfile, args).ok());
  EXPECT_FALSE(absl::StrContains(err_, "start edgekiln-worker")) << err_;
  EXPECT_TRUE(absl::StrContains(err_, "waiting: the daemon starts its workers"))
      << err_;
  EXPECT_FALSE(absl::StrContains(err_, "do not start")) << err_;
  // Not for ever.
  connection_.on_watch = [&] { clock_.Advance(absl::Seconds(11)); };
  err_.clear();
  ASSERT_TRUE(Run(RunProfile, args).ok());
  EXPECT_TRUE(absl::StrContains(
      err_, "waiting: the daemon's workers do not start; read edgekilnd.log"))
      << err_;
}

// A program that reads while the job runs: lines, and nothing but lines.
TEST_F(CommandsTest, FollowedJobsAreLinesOfJson) {
  connection_.reports = {NewReport("a")};
  connection_.events.resize(2);
  connection_.events[0].set_sequence(1);
  connection_.events[0].set_state(v1::RUNNING);
  connection_.events[1].set_sequence(2);
  connection_.events[1].mutable_counted()->mutable_report()->set_job_id("7");
  ASSERT_TRUE(Run(RunProfile,
                  {"profile", model_, "--target", "a", "--json", "--follow"})
                  .ok());
  const std::vector<std::string> lines = absl::StrSplit(out_, '\n');
  ASSERT_EQ(lines.size(), 4u) << out_;
  EXPECT_TRUE(absl::StrContains(lines[0], "\"state\": \"RUNNING\"")) << out_;
  EXPECT_TRUE(absl::StrContains(lines[1], "\"counted\": {")) << out_;
  EXPECT_TRUE(absl::StartsWith(lines[2], "{\"report\": {\"job_id\": \"7\""))
      << out_;
  EXPECT_EQ(lines[3], "");
}

TEST_F(CommandsTest, TheErrorOfAFollowedJobIsLeftToMain) {
  v1::Report failed = NewReport("a");
  failed.mutable_error()->set_what("no");
  connection_.reports = {failed};
  connection_.job.set_state(v1::FAILED);
  EXPECT_FALSE(Run(RunProfile,
                   {"profile", model_, "--target", "a", "--json", "--follow"})
                   .ok());
  EXPECT_EQ(out_, "");
  connection_.reports.push_back(NewReport("b"));
  EXPECT_FALSE(Run(RunProfile, {"profile", model_, "--target", "a", "--target",
                                "b", "--json", "--follow"})
                   .ok());
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 2) << out_;
}

TEST_F(CommandsTest, TheLogOfAJobIsRead) {
  connection_.job.set_last_sequence(2);
  connection_.events.resize(2);
  connection_.events[0].set_sequence(1);
  connection_.events[0].set_state(v1::QUEUED);
  connection_.events[1].set_sequence(2);
  connection_.events[1].mutable_log()->set_text("a warning");
  ASSERT_TRUE(Run(RunJobsLog, {"jobs", "log", "7"}).ok());
  EXPECT_TRUE(absl::StrContains(out_, "  queued\n")) << out_;
  EXPECT_TRUE(absl::StrContains(out_, "  a warning\n")) << out_;
  out_.clear();
  ASSERT_TRUE(Run(RunJobsLog, {"jobs", "log", "7", "--json"}).ok());
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 2) << out_;
  // Nothing has happened yet.
  connection_.job.set_last_sequence(0);
  connection_.events.clear();
  out_.clear();
  ASSERT_TRUE(Run(RunJobsLog, {"jobs", "log", "7"}).ok());
  EXPECT_EQ(out_, "");
}

}  // namespace
}  // namespace edgekiln::client
