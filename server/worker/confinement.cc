#include "server/worker/confinement.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/worker/builder_calls.h"
#include "server/worker/child_main.h"
#include "server/worker/child_process.h"
#include "server/worker/failed_allocation.h"
#include "server/worker/file_access.h"
#include "server/worker/sanitized.h"
#include "server/worker/system_calls.h"

namespace edgekiln::server {
namespace {

using Confinement = v1::WorkerMessage::Confinement;

// Notes what became of one measure.
void Note(bool active, const char* what, absl::string_view why,
          Confinement& confinement) {
  if (active) {
    confinement.add_active(what);
  } else {
    confinement.add_missing(absl::StrCat(what, ": ", why));
  }
}

struct Limit {
  __rlimit_resource resource;
  const char* name;
  int64_t value;
};

// A crash may still say why where the standard streams are files.
int64_t RoomForLastWords() {
  constexpr int64_t kBytes = int64_t{64} << 10;
  struct stat log = {};
  if (fstat(STDERR_FILENO, &log) != 0 || !S_ISREG(log.st_mode)) return 0;
  return log.st_size + kBytes;
}

bool IsBuilder(const ConfinementOptions& options) {
  return !options.scratch_folder.empty();
}

std::vector<Limit> LimitsOf(const ConfinementOptions& options) {
  std::vector<Limit> limits = {{RLIMIT_CORE, "no core files", 0},
                               {RLIMIT_MEMLOCK, "no locked memory", 0}};
  if (IsBuilder(options)) {
    // Of one file: firmware for the largest memory that is simulated.
    limits.push_back(
        {RLIMIT_FSIZE, "limited file writes", (int64_t{1} << 30) + (1 << 24)});
    // Linkers open every object at once, or nearly.
    limits.push_back({RLIMIT_NOFILE, "limited descriptors", 1024});
  } else {
    limits.push_back({RLIMIT_FSIZE, "no file writes", RoomForLastWords()});
    // The standard streams, the channel, and the memory account.
    limits.push_back(
        {RLIMIT_NOFILE, "no new descriptors", kChildChannelFd + 2});
  }
  return limits;
}

// Returns whether the limit of processes binds: it does not bind root.
bool LimitResources(const ConfinementOptions& options,
                    Confinement& confinement) {
  const rlimit none = {0, 0};
  const bool processes = !EK_SANITIZED && !IsBuilder(options) &&
                         setrlimit(RLIMIT_NPROC, &none) == 0 && getuid() != 0;
  for (const Limit& limit : LimitsOf(options)) {
    // Whose reports take files, processes and threads.
    if (EK_SANITIZED && limit.resource != RLIMIT_CORE) {
      Note(false, limit.name, "not with sanitizers", confinement);
      continue;
    }
    const rlim_t bound = static_cast<rlim_t>(limit.value);
    const rlimit both = {bound, bound};
    Note(setrlimit(limit.resource, &both) == 0, limit.name, strerror(errno),
         confinement);
  }
  if (options.memory_limit_bytes == 0) return processes;
  if (!kLimitsAddressSpace) {
    Note(false, "memory limit", "not with sanitizers", confinement);
    return processes;
  }
  const rlim_t bound = static_cast<rlim_t>(options.memory_limit_bytes);
  const rlimit both = {bound, bound};
  const bool limited = setrlimit(RLIMIT_AS, &both) == 0;
  Note(limited, "memory limit", strerror(errno), confinement);
  if (limited) {
    confinement.set_memory_limit_bytes(options.memory_limit_bytes);
  }
  return processes;
}

// Returns whether it is active.
bool Filter(const ConfinementOptions& options, Confinement& confinement) {
  absl::Status status;
  if (!options.filter_system_calls) {
    status = absl::UnavailableError("switched off by --no-seccomp");
  } else if (EK_SANITIZED) {
    status = absl::UnavailableError("not with sanitizers");
  } else if (IsBuilder(options)) {
    status = FilterBuilderCalls(kChildChannelFd);
  } else {
    status = FilterSystemCalls(kChildChannelFd);
  }
  Note(status.ok(), "seccomp", status.message(), confinement);
  Note(status.ok(), "no network", status.message(), confinement);
  if (!IsBuilder(options)) {
    Note(status.ok(), "no files", status.message(), confinement);
  }
  return status.ok();
}

// What compilers read: themselves, and what it takes to start.
FileAccess BuilderFiles(const ConfinementOptions& options) {
  FileAccess access = {
      .readable = {"/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache"},
      .writable = {options.scratch_folder, "/dev/null"}};
  access.readable.insert(access.readable.end(), options.tool_folders.begin(),
                         options.tool_folders.end());
  return access;
}

// Programs that it runs inherit all of it.
void PrepareBuilder(const ConfinementOptions& options,
                    Confinement& confinement) {
  umask(S_IRWXG | S_IRWXO);
  // Not for what it runs.
  fcntl(kChildChannelFd, F_SETFD, FD_CLOEXEC);
  const bool there = chdir(options.scratch_folder.c_str()) == 0;
  Note(there, "a folder of its own", strerror(errno), confinement);
  absl::Status status;
  if (EK_SANITIZED) {
    status = absl::UnavailableError("not with sanitizers");
  } else {
    status = LimitFileAccess(BuilderFiles(options));
  }
  Note(status.ok(), "no other files", status.message(), confinement);
}

}  // namespace

Confinement Confine(const ConfinementOptions& options) {
  Confinement confinement;
  // A parent that has ended before this has closed the channel: nothing will be
  // served.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  // Ctrl-C at a terminal is for the worker, which ends its children itself.
  signal(SIGINT, SIG_IGN);
  // A log that can take no more must not hide why this process ends.
  signal(SIGXFSZ, SIG_IGN);
  close_range(kChildChannelFd + 1, ~0U, 0);
  OpenMemoryAccount();
  Note(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs",
       strerror(errno), confinement);
  // Nobody reads its memory but root: no ptrace, no /proc/PID/mem.
  Note(!EK_SANITIZED && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "not dumpable",
       EK_SANITIZED ? "not with sanitizers" : strerror(errno), confinement);
  const bool limited = LimitResources(options, confinement);
  if (IsBuilder(options)) PrepareBuilder(options, confinement);
  // Last: it takes away what the rest needs.
  const bool filtered = Filter(options, confinement);
  if (IsBuilder(options)) return confinement;
  Note(limited || filtered, "no new processes",
       EK_SANITIZED ? "not with sanitizers"
                    : "the limit does not bind root, and seccomp is missing",
       confinement);
  return confinement;
}

std::optional<std::string> DeniedCall(int exit_code) {
  const char* const name = NameOfDenied(exit_code);
  if (name == nullptr) return std::nullopt;
  return name;
}

std::string ConfinementText(const Confinement& confinement) {
  const auto list = [](const auto& items) {
    return items.empty() ? "none" : absl::StrJoin(items, ", ");
  };
  std::string text = absl::StrCat("active: ", list(confinement.active()),
                                  "; missing: ", list(confinement.missing()));
  if (confinement.memory_limit_bytes() > 0) {
    absl::StrAppend(&text, "; ", confinement.memory_limit_bytes() >> 20,
                    " MiB each");
  }
  if (confinement.memory_budget_bytes() > 0) {
    absl::StrAppend(&text, "; ", confinement.memory_budget_bytes() >> 20,
                    " MiB together");
  }
  return text;
}

}  // namespace edgekiln::server
