#include "server/worker/confinement.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "server/worker/child_main.h"
#include "server/worker/child_process.h"
#include "server/worker/sanitized.h"
#include "server/worker/system_calls.h"
#include "server/worker/testing/crowded_processor.h"
#include "server/worker/testing/test_child.h"
#include "tests/support/skip.h"

namespace edgekiln::server {
namespace {

absl::StatusOr<v1::ChildReply::Result> Let(
    ChildProcess& child, Attempt attempt,
    const MessageChannel::Limits& limits = {}) {
  v1::ChildRequest request;
  request.mutable_options()->mutable_convert_data()->set_limit(
      static_cast<int64_t>(attempt));
  return child.Execute(request, "some_stage", limits, {});
}

// A child that has executed something.
pid_t Living(ChildProcess& child, const MessageChannel::Limits& limits = {}) {
  const auto result = Let(child, Attempt::kEnvironment, limits);
  EXPECT_TRUE(result.ok()) << result.status();
  return child.pid();
}

// What /proc says of a process under this name, in one line.
std::string Proc(pid_t pid, const char* file, const std::string& name) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/", file));
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name, 0) != 0) continue;
    std::istringstream words(line.substr(name.size()));
    std::string word;
    words >> word;
    return word;
  }
  return "none";
}

bool Filters() {
  static const bool filters = [] {
    const auto confinement = ProbeConfinement(TestChild());
    for (const std::string& active : confinement.active()) {
      if (active == "seccomp") return true;
    }
    return false;
  }();
  return filters;
}

// Where there is no filter, a child may do what these tests expect to end it.
#define EK_REQUIRE_SECCOMP()                                                   \
  do {                                                                         \
    if (EK_SANITIZED) {                                                        \
      GTEST_SKIP() << "children of this build install no filter, because its " \
                      "sanitizer makes the system calls it would deny; the "   \
                      "ci preset runs this";                                   \
    }                                                                          \
    if (!Filters()) {                                                          \
      EK_SKIP("the kernel refuses the filter of system calls: " +              \
              ConfinementText(ProbeConfinement(TestChild())));                 \
    }                                                                          \
  } while (false)

struct DeniedCase {
  std::string name;
  Attempt attempt;
  std::string call;
};

class DeniedTest : public testing::TestWithParam<DeniedCase> {};

TEST_P(DeniedTest, EndsTheProcessAndIsNamed) {
  EK_REQUIRE_SECCOMP();
  ChildProcess child(TestChild());
  const auto result = Let(child, GetParam().attempt);
  ASSERT_EQ(result.status().code(), absl::StatusCode::kInternal)
      << result.status();
  const auto detail = GetErrorDetail(result.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_EQ(detail->reason, "STAGE_CRASHED");
  EXPECT_EQ(detail->what,
            absl::StrCat("the process executing a stage died of a system call "
                         "that stages may not make: ",
                         GetParam().call));
  EXPECT_EQ(child.pid(), 0) << "the child must be replaced";
  // The same again is the same error: quarantine goes by that.
  EXPECT_EQ(Let(child, GetParam().attempt).status(), result.status());
}

INSTANTIATE_TEST_SUITE_P(
    All, DeniedTest,
    testing::Values(DeniedCase{"Socket", Attempt::kSocket, "socket"},
                    DeniedCase{"Fork", Attempt::kFork,
                               "clone (a process or thread)"},
                    DeniedCase{"Thread", Attempt::kThread,
                               "one with signals blocked (a thread?)"},
                    DeniedCase{"Exec", Attempt::kExec, "execve"},
                    DeniedCase{"Trace", Attempt::kTrace, "ptrace"},
                    DeniedCase{"Signal", Attempt::kSignal, "kill"},
                    DeniedCase{"RaiseLimit", Attempt::kRaiseLimit, "prlimit64"},
                    DeniedCase{"ExecutableMemory", Attempt::kExecutableMemory,
                               "mmap (of executable memory)"},
                    DeniedCase{"Unlink", Attempt::kUnlink, "unlink"}),
    [](const auto& info) { return info.param.name; });

TEST(ConfinementTest, FilesAreNotThere) {
  EK_REQUIRE_SECCOMP();
  ChildProcess child(TestChild());
  const auto result = Let(child, Attempt::kOpen);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->outputs_size(), 3);
  EXPECT_EQ(result->outputs(0).data(), "Permission denied");
  EXPECT_EQ(result->outputs(1).data(), "Permission denied");
  EXPECT_EQ(result->outputs(2).data(), "not read");
}

// Limits hold where there is no filter, too.
TEST(ConfinementTest, DescriptorsAndFilesAreLimitedWithoutTheFilter) {
  if (EK_SANITIZED) {
    GTEST_SKIP() << "children of this build have no limit of descriptors, "
                    "because the reports of its sanitizer open files; the ci "
                    "preset runs this";
  }
  ChildOptions options = TestChild();
  options.arguments = {"--no-seccomp"};
  ChildProcess child(options);
  const auto result = Let(child, Attempt::kOpen);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outputs(1).data(), "Too many open files");
}

TEST(ConfinementTest, TheKernelConfirms) {
  ChildProcess child(TestChild());
  const pid_t pid = Living(child);
  EXPECT_EQ(Proc(pid, "status", "NoNewPrivs:"), "1");
  EXPECT_EQ(Proc(pid, "status", "Seccomp:"), Filters() ? "2" : "0");
  EXPECT_EQ(Proc(pid, "limits", "Max core file size"), "0");
  if (EK_SANITIZED) return;  // Which sets no other limits.
  EXPECT_EQ(Proc(pid, "limits", "Max open files"), "5");
  EXPECT_EQ(Proc(pid, "limits", "Max processes"), "0");
  EXPECT_EQ(Proc(pid, "limits", "Max locked memory"), "0");
  EXPECT_NE(Proc(pid, "limits", "Max file size"), "unlimited");
  EXPECT_EQ(Proc(pid, "limits", "Max address space"), "1073741824");
}

// Not only that of tests.
TEST(ConfinementTest, TheWorkersOwnChildIsConfined) {
  ChildOptions options = TestChild();
  options.binary =
      std::filesystem::path(options.binary).parent_path() / "edgekiln-worker";
  options.arguments = {"--child"};
  ChildProcess child(options);
  const auto result = child.Execute({}, "confinement", {}, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Proc(child.pid(), "status", "Seccomp:"), Filters() ? "2" : "0");
  EXPECT_EQ(Proc(child.pid(), "status", "NoNewPrivs:"), "1");
  if (kLimitsAddressSpace) {
    EXPECT_EQ(Proc(child.pid(), "limits", "Max address space"), "1073741824");
  }
}

TEST(ConfinementTest, TheEnvironmentIsOurs) {
  setenv("EDGEKILN_TEST_TOKEN", "secret", 1);
  ChildProcess child(TestChild());
  const auto result = Let(child, Attempt::kEnvironment);
  unsetenv("EDGEKILN_TEST_TOKEN");
  ASSERT_TRUE(result.ok()) << result.status();
  std::map<std::string, std::string> variables;
  std::set<std::string> names;
  for (const v1::ChildBlob& variable : result->outputs()) {
    const size_t end = variable.data().find('=');
    names.insert(variable.data().substr(0, end));
    variables[variable.data().substr(0, end)] = variable.data().substr(end + 1);
  }
  EXPECT_EQ(names.count("LC_ALL"), 1u);
  // The allocator's settings.
  EXPECT_EQ(variables["GLIBC_TUNABLES"],
            "glibc.malloc.tcache_count=256:glibc.malloc.trim_threshold=33554432"
            ":glibc.malloc.mmap_threshold=33554432");
  for (const char* kept :
       {"LC_ALL", "GLIBC_TUNABLES", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
        "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    names.erase(kept);
  }
  EXPECT_EQ(names, std::set<std::string>());
}

// Not less than the request may take; anew for each.
TEST(ConfinementTest, CpuTimeFollowsTheDeadline) {
  ChildProcess child(TestChild());
  const auto limit_of = [&](absl::Duration timeout) {
    const pid_t pid =
        Living(child, {.deadline = MessageChannel::Now() + timeout});
    return Proc(pid, "limits", "Max cpu time");
  };
  const pid_t pid = Living(child);
  EXPECT_EQ(Proc(pid, "limits", "Max cpu time"), "unlimited");
  const auto expect = [](const std::string& text, int at_least) {
    const int seconds = std::atoi(text.c_str());
    EXPECT_GE(seconds, at_least) << text;
    EXPECT_LE(seconds, at_least + 60) << text;  // What it has used so far.
  };
  expect(limit_of(absl::Seconds(5000)), 5000);
  expect(limit_of(absl::Seconds(100)), 100);
  expect(limit_of(absl::Seconds(9000)), 9000);
  EXPECT_EQ(child.pid(), pid);
}

TEST(ConfinementTest, CpuTimeEnds) {
  ChildOptions options = TestChild();
  options.cpu_limit = absl::Seconds(0);
  ChildProcess child(options);
  const auto result = Let(child, Attempt::kBurn);
  ASSERT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded)
      << result.status();
  const auto detail = GetErrorDetail(result.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "STAGE_TIMEOUT");
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_NE(detail->limit, "");
  EXPECT_NE(detail->fix, "");
}

TEST(ConfinementTest, AStageThatGetsNoProcessorIsNotToBlame) {
  if (!std::ifstream("/proc/self/schedstat").good()) {
    EK_SKIP("the kernel does not say how long threads wait (schedstat)");
  }
  CrowdedProcessor processor;
  ChildProcess child(TestChild());
  Living(child);
  processor.Crowd();
  MessageChannel::Limits limits;
  limits.deadline = MessageChannel::Now() + absl::Seconds(2);
  const auto result = Let(child, Attempt::kBurn, limits);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(GetErrorDetail(result.status())->reason, "STAGE_STARVED")
      << result.status();
}

TEST(ConfinementTest, ProbeTellsWhatIsActive) {
  const auto all = ProbeConfinement(TestChild());
  ChildOptions options = TestChild();
  options.arguments = {"--no-seccomp"};
  const auto some = ProbeConfinement(options);
  for (const std::string& active : some.active()) EXPECT_NE(active, "seccomp");
  EXPECT_NE(ConfinementText(some).find("no_new_privs"), std::string::npos);
  EXPECT_NE(ConfinementText(some).find("seccomp: switched off by"),
            std::string::npos)
      << ConfinementText(some);
  // The system's limit does not bind root: then the filter alone denies them.
  if (!EK_SANITIZED) {
    const std::string text = ConfinementText(some);
    EXPECT_EQ(text.find("no new processes: the limit does not bind root") !=
                  std::string::npos,
              getuid() == 0)
        << text;
    EXPECT_NE(text.find("no new processes"), std::string::npos) << text;
  }
  if (kLimitsAddressSpace) {
    EXPECT_EQ(all.memory_limit_bytes(), int64_t{1} << 30);
  }
  options.binary = "/nonexistent";
  const auto none = ProbeConfinement(options);
  EXPECT_EQ(none.active_size(), 0);
  ASSERT_EQ(none.missing_size(), 1);
  EXPECT_NE(none.missing(0).find("No such file"), std::string::npos)
      << none.missing(0);
}

TEST(SystemCallsTest, CodesAndNamesAgree) {
  EXPECT_STREQ(NameOfDenied(CodeOfDenied(SYS_socket)), "socket");
  EXPECT_STREQ(NameOfDenied(CodeOfDenied(100000)), "another system call");
  for (const int code : {0, 1, 3, 4, 5, 7, 63, 127}) {
    EXPECT_EQ(NameOfDenied(code), nullptr) << code;
  }
}

}  // namespace
}  // namespace edgekiln::server
