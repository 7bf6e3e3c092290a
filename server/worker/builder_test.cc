// The kind of child process that runs compilers.
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/worker/child_main.h"
#include "server/worker/child_process.h"
#include "server/worker/confinement.h"
#include "server/worker/run_program.h"
#include "server/worker/sanitized.h"
#include "server/worker/scratch_folder.h"
#include "server/worker/testing/test_child.h"
#include "server/worker_limits.h"
#include "tests/support/skip.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

class BuilderTest : public testing::Test {
 protected:
  ChildOptions Options() const {
    ChildOptions options = TestChild();
    options.scratch_parent = place_->path();
    return options;
  }
  // What is in the place of builders' folders.
  int Folders() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(place_->path())) {
      (void)entry;
      ++count;
    }
    return count;
  }

  const std::unique_ptr<ScratchFolder> place_ =
      *ScratchFolder::Make(TemporaryFolder(), "builder-test-");
};

absl::StatusOr<v1::ChildReply::Result> Let(
    ChildProcess& child, Attempt attempt,
    const MessageChannel::Limits& limits = {},
    const ChildProcess::Handlers& handlers = {}) {
  v1::ChildRequest request;
  request.mutable_options()->mutable_convert_data()->set_limit(
      static_cast<int64_t>(attempt));
  return child.Execute(request, "some_stage", limits, handlers);
}

// Living processes of that group.
int GroupSize(pid_t group) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t end = text.rfind(')');
    if (end == std::string::npos) continue;
    std::istringstream words(text.substr(end + 1));
    std::string state;
    pid_t parent = 0;
    pid_t its_group = 0;
    words >> state >> parent >> its_group;
    if (its_group == group && state != "Z" && state != "X") ++count;
  }
  return count;
}

bool IsActive(const v1::WorkerMessage::Confinement& confinement,
              const std::string& measure) {
  for (const std::string& active : confinement.active()) {
    if (active == measure) return true;
  }
  return false;
}

TEST_F(BuilderTest, RunsProgramsAndNothingElse) {
  if (EK_SANITIZED) {
    GTEST_SKIP() << "builders of this build have no filter of system calls and "
                    "of files, as its sanitizer needs both; the ci preset runs "
                    "this";
  }
  const auto confinement = ProbeConfinement(Options());
  for (const char* measure : {"seccomp", "no other files"}) {
    if (!IsActive(confinement, measure)) {
      EK_SKIP("the kernel refuses it: " + ConfinementText(confinement));
    }
  }
  ChildProcess child(Options());
  const auto result = Let(child, Attempt::kBuild);
  ASSERT_TRUE(result.ok()) << result.status();
  std::map<std::string, std::string> came;
  for (const v1::ChildBlob& output : result->outputs()) {
    came[output.role()] = output.data();
  }
  for (const char* denied :
       {"socket", "socketpair", "send", "ptrace", "kill", "setpgid", "setsid",
        "mount", "unshare", "setrlimit"}) {
    EXPECT_EQ(came[denied], "Operation not permitted") << denied;
  }
  EXPECT_EQ(came["read passwd"], "Permission denied");
  EXPECT_EQ(came["write tmp"], "Permission denied");
  EXPECT_EQ(came["write own"], "done");
  EXPECT_EQ(came["read own"], "done");
  EXPECT_EQ(came["run true"], "exit code 0");
  EXPECT_EQ(came["run cat passwd"], "exit code 1");
  EXPECT_EQ(came["run touch"], "exit code 0");
  EXPECT_TRUE(absl::StartsWith(came["folder"], place_->path()))
      << came["folder"];
}

// Settings of our allocator are not for compilers, which inherit it.
TEST_F(BuilderTest, TheEnvironmentIsThatOfCompilers) {
  ChildProcess child(Options());
  const auto result = Let(child, Attempt::kEnvironment);
  ASSERT_TRUE(result.ok()) << result.status();
  bool finds_programs = false;
  for (const v1::ChildBlob& variable : result->outputs()) {
    EXPECT_FALSE(absl::StartsWith(variable.data(), "GLIBC_TUNABLES="));
    finds_programs |= absl::StartsWith(variable.data(), "PATH=");
  }
  EXPECT_TRUE(finds_programs);
}

TEST_F(BuilderTest, HasAFolderOnlyWhileItLives) {
  {
    ChildProcess child(Options());
    EXPECT_EQ(Folders(), 0);
    ASSERT_TRUE(Let(child, Attempt::kEnvironment).ok());
    EXPECT_EQ(Folders(), 1);
    // It crashes.
    EXPECT_FALSE(Let(child, static_cast<Attempt>(RunOut::kNothing)).ok());
    EXPECT_EQ(Folders(), 0);
    ASSERT_TRUE(Let(child, Attempt::kEnvironment).ok());
    // Somebody else kills it while it is idle.
    kill(child.pid(), SIGKILL);
    // The guard is left, until the child is waited for.
    while (GroupSize(child.pid()) > 1) usleep(1000);
    ASSERT_TRUE(Let(child, Attempt::kEnvironment).ok());
    EXPECT_EQ(Folders(), 1);
  }
  EXPECT_EQ(Folders(), 0);
}

// By the deadline, or because the lease was cancelled.
TEST_F(BuilderTest, WhatItHasStartedEndsWithIt) {
  for (const bool cancelled : {false, true}) {
    ChildProcess child(Options());
    ASSERT_TRUE(Let(child, Attempt::kEnvironment).ok());
    const pid_t group = child.pid();
    const ScopedFd cancel(eventfd(0, EFD_CLOEXEC));
    int living = 0;
    ChildProcess::Handlers handlers;
    handlers.progress = [&](const v1::StageProgress&) {
      living = GroupSize(group);
      if (cancelled) eventfd_write(cancel.get(), 1);
    };
    const auto patience = cancelled ? absl::Seconds(60) : absl::Seconds(1);
    const auto result = Let(child, Attempt::kLeaveBehind,
                            {.deadline = MessageChannel::Now() + patience,
                             .cancel_fd = cancel.get()},
                            handlers);
    EXPECT_EQ(result.status().code(), cancelled
                                          ? absl::StatusCode::kCancelled
                                          : absl::StatusCode::kDeadlineExceeded)
        << result.status();
    EXPECT_EQ(living, 3) << "the child, what it started, and its guard";
    // The signal is sent; whoever gets it is gone a moment later.
    for (int i = 0; i < 1000 && GroupSize(group) > 0; ++i) usleep(1000);
    EXPECT_EQ(GroupSize(group), 0);
    EXPECT_EQ(Folders(), 0);
  }
}

// Then nobody waits for its children, and nobody removes their folders.
TEST_F(BuilderTest, EndsWithAWorkerThatIsKilled) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const ScopedFd read_end(ends[0]);
  const ScopedFd write_end(ends[1]);
  const pid_t worker = fork();
  if (worker == 0) {
    ChildProcess child(Options());
    ChildProcess::Handlers handlers;
    handlers.progress = [&](const v1::StageProgress&) {
      const pid_t group = child.pid();
      if (write(write_end.get(), &group, sizeof(group)) < 0) _exit(1);
    };
    const auto never = Let(child, Attempt::kLeaveBehind, {}, handlers);
    _exit(never.ok() ? 0 : 1);
  }
  ASSERT_GT(worker, 0);
  pid_t group = 0;
  ASSERT_EQ(read(read_end.get(), &group, sizeof(group)),
            static_cast<ssize_t>(sizeof(group)));
  EXPECT_EQ(GroupSize(group), 3);
  EXPECT_EQ(Folders(), 1);
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  for (int i = 0; i < 5000 && GroupSize(group) + Folders() > 0; ++i) {
    usleep(1000);
  }
  EXPECT_EQ(GroupSize(group), 0);
  EXPECT_EQ(Folders(), 0);
}

TEST_F(BuilderTest, StrictChildrenKeepTheirOwnConfinement) {
  ChildOptions strict = Options();
  strict.scratch_parent = "";
  const auto confinement = ProbeConfinement(strict);
  EXPECT_EQ(IsActive(confinement, "no files"),
            IsActive(confinement, "seccomp"));
  EXPECT_FALSE(IsActive(confinement, "a folder of its own"));
  EXPECT_EQ(Folders(), 0);
}

// The worker's own builder, with a true compiler.
class TrueBuilderTest : public BuilderTest {
 protected:
  void SetUp() override {
    if (!FindProgram(kGcc, SearchPath())) {
      EK_SKIP(absl::StrCat("there is no ", kGcc));
    }
  }

  ChildOptions WorkersOptions() const {
    ChildOptions options = Options();
    options.binary = fs::path(options.binary).parent_path() / "edgekiln-worker";
    options.arguments = {"--child"};
    return options;
  }

  // Of firmware with this net.c.
  static absl::StatusOr<v1::ChildReply::Result> Build(ChildProcess& child,
                                                      const std::string& net) {
    v1::Program program;
    program.mutable_firmware()->set_stack_bytes(64);
    v1::Machine machine;
    machine.mutable_firmware()->set_processor(v1::RV32IMC);
    for (const bool flash : {true, false}) {
      v1::ResolvedMemory& memory = *machine.add_memories();
      memory.add_holds(flash ? v1::MemoryDescriptor::CODE
                             : v1::MemoryDescriptor::ACTIVATIONS);
      memory.set_base_address(flash ? 0x20000000 : 0x80000000);
      memory.set_capacity_bytes(4096);
    }
    v1::CSourceTree tree;
    v1::CSourceTree::File& source = *tree.add_files();
    source.set_path("net.c");
    source.set_text(net);
    v1::ChildRequest request;
    request.mutable_options()
        ->mutable_build_firmware()
        ->mutable_compiler()
        ->set_program(kGcc);
    std::vector<std::shared_ptr<const std::string>> inputs;
    const auto add = [&](const char* role, const std::string& bytes) {
      v1::BlobRef& input = *request.add_inputs();
      input.set_role(role);
      *input.mutable_digest() = ToProto(DigestOf(bytes));
      inputs.push_back(std::make_shared<const std::string>(bytes));
    };
    add("program", program.SerializeAsString());
    add("c_sources", tree.SerializeAsString());
    add("machine", machine.SerializeAsString());
    ChildProcess::Handlers handlers;
    handlers.supply = [&](const std::vector<int>& positions) {
      std::vector<std::shared_ptr<const std::string>> wanted;
      for (const int position : positions) wanted.push_back(inputs[position]);
      return wanted;
    };
    return child.Execute(request, "build_firmware", {}, handlers);
  }

  static constexpr char kGcc[] = "riscv64-unknown-elf-gcc";
};

TEST_F(TrueBuilderTest, CompilersSeeTheirFolderAlone) {
  const auto confinement = ProbeConfinement(WorkersOptions());
  if (!IsActive(confinement, "no other files")) {
    GTEST_SKIP() << "builders see all files here: "
                 << ConfinementText(confinement);
  }
  ChildProcess child(WorkersOptions());
  const auto result =
      Build(child, "__asm__(\".incbin \\\"/etc/passwd\\\"\");\n");
  ASSERT_TRUE(result.ok()) << result.status();
  const auto detail = GetErrorDetail(StatusFromProto(result->infra_error()));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "COMPILER_FAILED");
  EXPECT_TRUE(absl::StrContains(detail->what, "/etc/passwd")) << detail->what;
  EXPECT_EQ(Folders(), 0) << "replaced after our own failure";
}

// Then the whole limit is tried, and after that the error names it.
TEST_F(TrueBuilderTest, ACompilersMemoryCounts) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << kNothingRunsOut;
  ChildOptions options = WorkersOptions();
  options.memory_limit_bytes = int64_t{128} << 20;
  ChildProcess child(options);
  std::string net = "const signed char weights[] = {1";
  for (int i = 0; i < 500000; ++i) net += ",2";
  const auto result = Build(child, net + "};\n");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(IsOverMemoryLimit(result->result().error()))
      << result->DebugString();
}

TEST(ScratchFolderTest, AbandonedOnesAreRemoved) {
  const auto place = *ScratchFolder::Make(TemporaryFolder(), "scratch-test-");
  const auto used = *ScratchFolder::Make(place->path(), "build-");
  for (const char* name : {"build-old", "build-new", "other"}) {
    fs::create_directory(fs::path(place->path()) / name);
    std::ofstream(fs::path(place->path()) / name / "file") << "x";
  }
  const auto hour_ago =
      fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const std::string& path :
       {used->path(), place->path() + "/build-old", place->path() + "/other"}) {
    fs::last_write_time(path, hour_ago);
  }
  RemoveAbandoned(place->path(), "build-");
  EXPECT_TRUE(fs::exists(used->path())) << "somebody holds it";
  EXPECT_FALSE(fs::exists(place->path() + "/build-old"));
  EXPECT_TRUE(fs::exists(place->path() + "/build-new"))
      << "too young: perhaps it is not locked yet";
  EXPECT_TRUE(fs::exists(place->path() + "/other"));
}

}  // namespace
}  // namespace edgekiln::server
