#include "server/worker/file_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/scoped_fd.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

// The kernel's interface, of which system headers know less than kernels do;
// the same numbers on every architecture.
constexpr int kCreateRuleset = 444;
constexpr int kAddRule = 445;
constexpr int kRestrictSelf = 446;
constexpr uint32_t kAskVersion = 1;
constexpr int kPathBeneath = 1;

struct Ruleset {
  uint64_t files = 0;
  uint64_t network = 0;
  uint64_t scoped = 0;
};
struct __attribute__((packed)) Beneath {
  uint64_t allowed = 0;
  int32_t folder = -1;
};

constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kWriteFile = 1 << 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadFolder = 1 << 3;
constexpr uint64_t kFirst = (1 << 13) - 1;  // All of the first version.
constexpr uint64_t kRefer = 1 << 13;        // From the second on.
constexpr uint64_t kTruncate = 1 << 14;     // From the third on.
constexpr uint64_t kScopeAbstractSockets = 1 << 0;
constexpr uint64_t kScopeSignals = 1 << 1;
constexpr int64_t kScopesVersion = 6;

constexpr uint64_t kRead = kExecute | kReadFile | kReadFolder;
// Of a file that is no folder.
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate;

absl::Status Refused(absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("the system refuses: ", what, ": ", strerror(errno)));
}

absl::Status Permit(int ruleset, const std::string& path, uint64_t allowed) {
  const ScopedFd file(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info = {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return absl::OkStatus();
  if (!S_ISDIR(info.st_mode)) allowed &= kOfFiles;
  const Beneath rule = {.allowed = allowed, .folder = file.get()};
  if (syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) != 0) {
    return Refused(path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LimitFileAccess(const FileAccess& access) {
  const int64_t version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return Refused("landlock");
  Ruleset rules = {.files = kFirst};
  if (version >= 2) rules.files |= kRefer;
  if (version >= 3) rules.files |= kTruncate;
  // Older kernels know a shorter structure.
  size_t size = sizeof(rules.files);
  if (version >= kScopesVersion) {
    rules.scoped = kScopeAbstractSockets | kScopeSignals;
    size = sizeof(rules);
  }
  const ScopedFd ruleset(
      static_cast<int>(syscall(kCreateRuleset, &rules, size, 0)));
  if (!ruleset.valid()) return Refused("landlock");
  for (const std::string& path : access.readable) {
    EK_RETURN_IF_ERROR(Permit(ruleset.get(), path, kRead));
  }
  for (const std::string& path : access.writable) {
    EK_RETURN_IF_ERROR(Permit(ruleset.get(), path, rules.files));
  }
  if (syscall(kRestrictSelf, ruleset.get(), 0) != 0) return Refused("landlock");
  return absl::OkStatus();
}

}  // namespace edgekiln::server
