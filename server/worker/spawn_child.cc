#include "server/worker/spawn_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "server/worker/child_process.h"

extern char** environ;

namespace edgekiln::server {
namespace {

// Stages make and drop small objects by the ten thousand. glibc keeps 7 freed
// ones of each size in its per-thread cache (tcache); with 256, the stages of a
// small network take a quarter fewer instructions in the allocator, and the
// cache keeps 8 MiB at most. By default freed memory at the end of the heap
// goes back to the system beyond 128 KiB, and blocks of that size are mapped
// anew each time, until large blocks were freed: then 64 and 32 MiB. With
// 32 MiB from the start, a stage of a small network has a third of the page
// faults. Other allocators do not read this.
constexpr absl::string_view kAllocatorSettings =
    "GLIBC_TUNABLES=glibc.malloc.tcache_count=256"
    ":glibc.malloc.trim_threshold=33554432"
    ":glibc.malloc.mmap_threshold=33554432";

// Nothing of ours: what a user has in the environment (tokens, proxies) is not
// for a process that meets hostile bytes. A builder finds compilers by PATH.
std::vector<std::string> Environment(bool finds_programs) {
  std::vector<std::string> environment = {"LC_ALL=C"};
  // Compilers are foreign programs and inherit a builder's environment.
  if (!finds_programs) environment.emplace_back(kAllocatorSettings);
  const char* const path = getenv("PATH");
  if (finds_programs && path != nullptr) {
    environment.push_back(absl::StrCat("PATH=", path));
  }
  // What it takes to start, and sanitizers' options.
  constexpr absl::string_view kKept[] = {
      "LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "LSAN_OPTIONS=", "TSAN_OPTIONS=",
      "UBSAN_OPTIONS="};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    for (const absl::string_view kept : kKept) {
      if (absl::StartsWith(*entry, kept)) environment.emplace_back(*entry);
    }
  }
  return environment;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) {
    pointers.push_back(const_cast<char*>(string.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

absl::Status NoProcess(absl::string_view call, int error) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "WORKER_NO_PROCESS",
                    .what = absl::StrCat("a worker could not start a process: ",
                                         call, ": ", strerror(error)),
                    .fix = "free memory or processes on that machine"});
}

absl::StatusOr<pid_t> SpawnChild(const ChildSpawn& spawn) {
  const std::vector<std::string> environment =
      Environment(spawn.finds_programs);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, spawn.channel_fd, kChildChannelFd);
  // The worker's threads block signals that must still end its children.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, spawn.group.value_or(0));
  posix_spawnattr_setflags(
      &attributes, static_cast<int16_t>(
                       POSIX_SPAWN_SETSIGMASK |
                       (spawn.group.has_value() ? POSIX_SPAWN_SETPGROUP : 0)));
  pid_t pid = 0;
  const int error = posix_spawn(&pid, spawn.binary.c_str(), &actions,
                                &attributes, Pointers(spawn.arguments).data(),
                                Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return NoProcess("posix_spawn", error);
  return pid;
}

}  // namespace edgekiln::server
