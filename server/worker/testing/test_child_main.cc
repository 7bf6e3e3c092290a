// A child whose stages misbehave in all the ways that children can. Stage names
// are only labels here.

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quantity.h"
#include "server/worker/builder_guard.h"
#include "server/worker/child_main.h"
#include "server/worker/child_process.h"
#include "server/worker/message_channel.h"
#include "server/worker/testing/test_child.h"

namespace edgekiln::server {
namespace {

// Those below 64.
std::string OpenDescriptors() {
  std::string all;
  for (int fd = 0; fd < 64; ++fd) {
    pollfd state = {fd, 0, 0};
    poll(&state, 1, 0);
    if ((state.revents & POLLNVAL) == 0) absl::StrAppend(&all, fd, " ");
  }
  return all;
}

std::string Came(bool done) { return done ? "done" : strerror(errno); }

// Its exit code, or why there is none.
std::string RunTool(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  char* const environment[] = {nullptr};
  const int error = posix_spawn(&pid, words[0].c_str(), nullptr, nullptr,
                                arguments.data(), environment);
  if (error != 0) return strerror(error);
  int status = 0;
  waitpid(pid, &status, 0);
  return absl::StrCat("exit code ", WEXITSTATUS(status));
}

// What a compiler that somebody took over might do, and what it must be let.
void TryBuild(StageOutput& output) {
  const auto add = [&](const std::string& what, const std::string& came) {
    output.Add(what, came);
  };
  const auto opens = [](const char* path, int flags) {
    const int file = open(path, flags, 0600);
    return Came(file >= 0 && close(file) == 0);
  };
  int pair[2] = {-1, -1};
  const rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
  add("socket", Came(socket(AF_INET, SOCK_STREAM, 0) >= 0));
  add("socketpair", Came(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0));
  add("send", Came(send(0, "x", 1, 0) == 1));
  add("ptrace", Came(ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0));
  add("kill", Came(kill(getppid(), 0) == 0));
  add("setpgid", Came(setpgid(0, getppid()) == 0));
  add("setsid", Came(setsid() >= 0));
  add("mount", Came(mount("/", "/", "", MS_BIND, nullptr) == 0));
  add("unshare", Came(unshare(CLONE_NEWUSER) == 0));
  add("setrlimit", Came(setrlimit(RLIMIT_CPU, &more) == 0));
  add("read passwd", opens("/etc/passwd", O_RDONLY));
  add("write tmp", opens("/tmp/edgekiln-test-builder", O_WRONLY | O_CREAT));
  add("write own", opens("own", O_WRONLY | O_CREAT));
  add("read own", opens("own", O_RDONLY));
  add("run true", RunTool({"/bin/true"}));
  add("run cat passwd", RunTool({"/bin/sh", "-c", "cat /etc/passwd 2>&-"}));
  add("run touch", RunTool({"/bin/sh", "-c", "echo > made"}));
  char folder[4096] = "";
  add("folder", getcwd(folder, sizeof(folder)) != nullptr ? folder : "");
}

// What a process that somebody took over might do. Returns only if it is let.
void Try(Attempt attempt, StageOutput& output) {
  switch (attempt) {
    case Attempt::kSocket:
      socket(AF_INET, SOCK_STREAM, 0);
      return;
    case Attempt::kFork:
      if (fork() == 0) _exit(0);
      return;
    case Attempt::kThread:
      std::thread([] {}).join();
      return;
    case Attempt::kExec:
      execl("/bin/true", "true", nullptr);
      return;
    case Attempt::kTrace:
      ptrace(PTRACE_ATTACH, 1, nullptr, nullptr);
      return;
    case Attempt::kSignal:
      kill(1, 0);
      return;
    case Attempt::kRaiseLimit: {
      const rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
      setrlimit(RLIMIT_CPU, &more);
      return;
    }
    case Attempt::kExecutableMemory:
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return;
    case Attempt::kUnlink:
      unlink("/nonexistent");
      return;
    case Attempt::kOpen: {
      for (const int flags : {O_RDONLY, O_WRONLY | O_CREAT}) {
        const int file = open("/tmp/edgekiln-test-child", flags, 0600);
        output.Add("file", file < 0 ? strerror(errno) : "opened");
      }
      output.Add("file", std::ifstream("/etc/passwd") ? "read" : "not read");
      return;
    }
    case Attempt::kEnvironment:
      for (char** entry = environ; *entry != nullptr; ++entry) {
        output.Add("variable", *entry);
      }
      return;
    case Attempt::kBurn:
      while (clock() >= 0) {
      }
      return;
    case Attempt::kBuild:
      return TryBuild(output);
    case Attempt::kLeaveBehind:
      return;  // As it takes a sink of progress.
  }
}

void LeaveBehind(const ProgressSink& progress) {
  close(open("left", O_WRONLY | O_CREAT, 0600));
  char sleep_path[] = "/bin/sleep";
  char seconds[] = "1000";
  char* const arguments[] = {sleep_path, seconds, nullptr};
  char* const environment[] = {nullptr};
  pid_t pid = 0;
  posix_spawn(&pid, sleep_path, nullptr, nullptr, arguments, environment);
  usleep(150 * 1000);
  progress(v1::StageProgress());
  while (true) sleep(1);
}

void Exhaust() {
  std::vector<std::unique_ptr<std::string>> blocks;
  while (true) blocks.push_back(std::make_unique<std::string>(64 << 20, 'x'));
}

void AllocateAtOnce() { std::string(size_t{8} << 30, 'x'); }
void AllocateUncaught() noexcept { AllocateAtOnce(); }

// Not tail recursive, in spite of optimization.
int64_t Recurse(volatile int64_t* depth) {
  volatile int64_t frame[64];
  frame[0] = *depth + 1;
  return frame[0] < 0 ? 0 : Recurse(frame) + frame[0];
}

void End(RunOut how) {
  switch (how) {
    case RunOut::kMachine: {
      // What the machine has is less than what the options promise.
      rlimit less = {};
      getrlimit(RLIMIT_AS, &less);
      less.rlim_cur = size_t{512} << 20;
      setrlimit(RLIMIT_AS, &less);
      return Exhaust();
    }
    case RunOut::kAtOnce:
      return AllocateAtOnce();
    case RunOut::kNoexcept:
      return AllocateUncaught();
    case RunOut::kLength:
      return std::vector<int64_t>().resize(~size_t{0});
    case RunOut::kStack: {
      volatile int64_t start = 0;
      Recurse(&start);
      return;
    }
    case RunOut::kNothing: {
      volatile int* volatile nowhere = nullptr;
      *nowhere = 1;
      return;
    }
  }
}

absl::StatusOr<StageOutput> Misbehave(const v1::StageOptions& options,
                                      const StageInputs& inputs,
                                      const ProgressSink& progress) {
  StageOutput output;
  switch (options.options_case()) {
    case v1::StageOptions::kImport: {
      const auto model = inputs.One("model");
      if (!model.ok()) return model.status();
      output.Add("graph", absl::StrCat("graph of ", *model));
      output.summary.mutable_import()->set_format("test");
      output.warnings.push_back("beware");
      return output;
    }
    case v1::StageOptions::kSimplify:
      return absl::InvalidArgumentError("the user did it");
    case v1::StageOptions::kQuantize:
      return absl::InternalError("we did it");
    case v1::StageOptions::kDescribe:
      abort();
    case v1::StageOptions::kEmit:
      raise(SIGKILL);
      return output;
    case v1::StageOptions::kBundle:
      _exit(7);
    case v1::StageOptions::kTile:
      Exhaust();
      return output;
    case v1::StageOptions::kPartition:
      while (true) sleep(1);
    case v1::StageOptions::kConvertData: {
      const int64_t how = options.convert_data().limit();
      if (how == static_cast<int64_t>(Attempt::kLeaveBehind)) {
        LeaveBehind(progress);
      } else if (how < kFirstAttempt) {
        End(static_cast<RunOut>(how));
      } else {
        Try(static_cast<Attempt>(how), output);
      }
      return output;
    }
    case v1::StageOptions::kCalibrate:
      for (int i = 1; i <= 3; ++i) {
        usleep(150 * 1000);
        v1::StageProgress state;
        state.set_done(i);
        progress(state);
      }
      return output;
    case v1::StageOptions::kInterpret: {
      // Remembers what it has made of its "graph".
      const auto prepared = inputs.Prepared<std::string>(
          {"graph"}, "", [&]() -> absl::StatusOr<std::shared_ptr<std::string>> {
            const auto graph = inputs.One("graph");
            if (!graph.ok()) return graph.status();
            return std::make_shared<std::string>(
                absl::StrCat("ready ", *graph));
          });
      if (!prepared.ok()) return prepared.status();
      const auto chunks = inputs.All("chunk");
      if (!chunks.ok()) return chunks.status();
      // Counts its uses, as nothing but a test may.
      **prepared += ".";
      output.Add("chunk", absl::StrCat(**prepared, absl::StrJoin(*chunks, "")));
      return output;
    }
    case v1::StageOptions::kPackOutputs: {
      static bool before = false;
      if (!std::exchange(before, true)) throw std::bad_alloc();
      return output;
    }
    case v1::StageOptions::kSynthesizeData: {
      v1::ChildReply reply;
      reply.mutable_need()->add_inputs(7);
      // Not to be closed.
      static auto* channel = new MessageChannel(kChildChannelFd);
      channel->Send(reply, {}).IgnoreError();
      while (true) sleep(1);
    }
    case v1::StageOptions::kCheckFit:
      output.warnings.push_back(std::string(1 << 20, 'w'));
      return output;
    case v1::StageOptions::kSetIo:
      for (int i = 0; i < 65; ++i) {
        output.warnings.push_back(std::string(1 << 20, 'w'));
      }
      return output;
    case v1::StageOptions::kResolveTarget:
      output.Add("pid", absl::StrCat(getpid()));
      output.Add("descriptors", OpenDescriptors());
      return output;
    case v1::StageOptions::kScore: {
      const clock_t end = clock() + CLOCKS_PER_SEC / 20;
      while (clock() < end) {
      }
      return output;
    }
    case v1::StageOptions::kBuildFirmware:
      output.Add("folder", inputs.scratch_folder());
      return output;
    default:
      return absl::InternalError("no such behaviour");
  }
}

}  // namespace
}  // namespace edgekiln::server

// Arguments: what ChildProcess adds, --no-seccomp, or a stage to crash in.
int main(int argc, char** argv) {
  edgekiln::server::ChildMainOptions options;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--memory-limit" && i + 1 < argc) {
      const auto limit = edgekiln::ParseBytes(argv[++i], "--memory-limit");
      if (!limit.ok()) return 2;
      options.memory_limit_bytes = *limit;
    } else if (argument == "--builder" && i + 1 < argc) {
      options.scratch_folder = argv[++i];
    } else if (argument == "--guard" && i + 1 < argc) {
      return edgekiln::server::RunGuard(argv[++i]);
    } else if (argument == "--no-seccomp") {
      options.filter_system_calls = false;
    } else {
      options.crash_stage = std::string(argument);
    }
  }
  return edgekiln::server::ServeChild(options, edgekiln::server::Misbehave);
}
