#include "server/worker/child_process.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/worker/child_main.h"
#include "server/worker/child_reply.h"
#include "server/worker/confinement.h"
#include "server/worker/cpu_priority.h"
#include "server/worker/cpu_wait.h"
#include "server/worker/spawn_child.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

// 0 = unlimited. Children inherit it.
int64_t StackLimitBytes() {
  rlimit limit = {};
  getrlimit(RLIMIT_STACK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? 0
                                         : static_cast<int64_t>(limit.rlim_cur);
}

// Signals that a stage does not get by what it does itself.
bool IsFromOutside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT ||
         signal == SIGHUP || signal == SIGQUIT;
}

absl::Status Timeout(absl::string_view where, absl::string_view what,
                     absl::Duration limit) {
  return MakeError(absl::StatusCode::kDeadlineExceeded,
                   {.fault = Fault::kInfra,
                    .reason = "STAGE_TIMEOUT",
                    .what = std::string(what),
                    .where = std::string(where),
                    .limit = absl::FormatDuration(limit),
                    .fix = "raise the daemon's lease timeout"});
}

// Not the stage's fault: with a processor of its own it might have ended.
absl::Status Starved(absl::string_view where, absl::Duration waited,
                     absl::Duration limit) {
  return MakeError(
      absl::StatusCode::kDeadlineExceeded,
      {.fault = Fault::kInfra,
       .reason = "STAGE_STARVED",
       .what = absl::StrCat(
           "a stage was killed at its time limit, after it had waited ",
           absl::FormatDuration(absl::Floor(waited, absl::Milliseconds(1))),
           " for a processor"),
       .where = std::string(where),
       .limit = absl::FormatDuration(limit),
       .fix = "give this worker's machine fewer --slots or less other work, or "
              "raise the daemon's lease timeout"});
}

}  // namespace

absl::Status ChildProcess::Start() {
  if (IsBuilder()) {
    EK_ASSIGN_OR_RETURN(folder_, ScratchFolder::Make(options_.scratch_parent,
                                                     kBuilderFolderPrefix));
  }
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return NoProcess("socketpair", errno);
  }
  auto channel = std::make_unique<MessageChannel>(ends[0]);
  std::vector<std::string> arguments = {options_.name};
  arguments.insert(arguments.end(), options_.arguments.begin(),
                   options_.arguments.end());
  arguments.emplace_back("--memory-limit");
  arguments.push_back(absl::StrCat(options_.memory_limit_bytes));
  if (IsBuilder()) {
    arguments.insert(arguments.end(), {"--builder", folder_->path()});
    for (const std::string& folder : options_.tool_folders) {
      arguments.insert(arguments.end(), {"--tool-folder", folder});
    }
  }
  // Whoever ends a builder ends the compilers that it runs.
  ChildSpawn spawn = {.binary = options_.binary,
                      .arguments = std::move(arguments),
                      .channel_fd = ends[1],
                      .finds_programs = IsBuilder()};
  if (IsBuilder()) spawn.group = 0;
  const absl::StatusOr<pid_t> pid = SpawnChild(spawn);
  close(ends[1]);
  EK_RETURN_IF_ERROR(pid.status());
  pid_ = *pid;
  cpu_wait_read_ = -absl::InfiniteDuration();
  // Daemon and worker, which hand out leases, go before processes that compute.
  // Here and not in the child, which would overwrite what follows.
  server::SetBackground(pid_, background_);
  channel_ = std::move(channel);
  return IsBuilder() ? StartGuard() : absl::OkStatus();
}

void ChildProcess::SetBackground(bool background) {
  if (background == background_) return;
  background_ = background;
  if (pid_ != 0) server::SetBackground(pid_, background);
}

absl::Status ChildProcess::StartGuard() {
  auto guard = BuilderGuard::Start(options_.binary, options_.name, pid_,
                                   folder_->path());
  if (guard.ok()) {
    guard_ = *std::move(guard);
  } else {
    Kill();
  }
  return guard.status();
}

// The deadline ends a stage that waits; this one that computes, even if nobody
// is left to watch the deadline. The limit counts all that a process has ever
// used, so that it moves along; only we can move it.
void ChildProcess::LimitCpuTime(const MessageChannel::Limits& limits) {
  cpu_limit_ =
      std::min(options_.cpu_limit, limits.deadline - MessageChannel::Now());
  clockid_t clock = 0;
  timespec used = {};
  if (clock_getcpuclockid(pid_, &clock) != 0 ||
      clock_gettime(clock, &used) != 0) {
    return;
  }
  const absl::Duration until = absl::DurationFromTimespec(used) + cpu_limit_;
  rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  if (until < absl::Hours(24 * 365)) {
    limit.rlim_cur = static_cast<rlim_t>(
        std::max<int64_t>(0, absl::ToInt64Seconds(until)) + 1);
  }
  // One that does not take effect leaves the deadline.
  prlimit(pid_, RLIMIT_CPU, &limit, nullptr);
}

bool ChildProcess::HasEnded() const {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid_), &info,
                WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

ChildProcess::End ChildProcess::Reap() {
  if (IsBuilder()) {
    // Until it is waited for, its number is that of its group.
    siginfo_t info = {};
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) <
               0 &&
           errno == EINTR) {
    }
    kill(-pid_, SIGKILL);
  }
  int status = 0;
  rusage usage = {};
  while (wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  guard_.reset();
  channel_.reset();
  folder_.reset();
  return {.exit_code = WEXITSTATUS(status),
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .peak_bytes = int64_t{usage.ru_maxrss} << 10};
}

void ChildProcess::Kill() {
  if (pid_ == 0) return;
  kill(IsBuilder() ? -pid_ : pid_, SIGKILL);
  Reap();
}

absl::StatusOr<v1::ChildReply::Result> ChildProcess::Died(
    absl::string_view stage) {
  // Its own end tells more than that of the channel.
  const End end = Reap();
  const std::string where = absl::StrCat("stage ", stage);
  if (end.signal == 0 &&
      (end.exit_code == kMemoryExit || end.exit_code == kStackExit)) {
    v1::ChildReply::Result result;
    *result.mutable_result()->mutable_error() = ErrorToProto(
        end.exit_code == kMemoryExit
            ? OverMemoryLimit(where, options_.memory_limit_bytes, std::nullopt)
            : OverStackLimit(where, StackLimitBytes()));
    return result;
  }
  if (end.signal == SIGXCPU) {
    return Timeout(where, "a stage took too much CPU time and was killed",
                   cpu_limit_);
  }
  std::string what = "the process executing a stage died of ";
  std::string fix = "report this together with the model";
  // What it will do again, or what somebody did to it.
  std::string reason =
      IsFromOutside(end.signal) ? "STAGE_KILLED" : "STAGE_CRASHED";
  auto denied = end.signal == 0 ? DeniedCall(end.exit_code) : std::nullopt;
  // Threads are started with signals blocked, and nobody learns which call.
  if (end.signal == SIGSYS) denied = "one with signals blocked (a thread?)";
  if (denied) {
    absl::StrAppend(&what, "a system call that stages may not make: ", *denied);
  } else if (end.signal == 0) {
    absl::StrAppend(&what, "exit code ", end.exit_code);
  } else {
    absl::StrAppend(&what, "signal ", end.signal, " (", strsignal(end.signal),
                    ")");
  }
  if (end.signal == SIGKILL) {
    // Within its limit: the machine could not keep what the limit promises.
    absl::StrAppend(&what, " with ", end.peak_bytes >> 20,
                    " MiB of memory in use");
    fix =
        "if the system's log tells of memory that ran out, start workers there "
        "with fewer --slots or a lower --memory-limit";
  }
  return MakeError(absl::StatusCode::kInternal, {.fault = Fault::kInfra,
                                                 .reason = std::move(reason),
                                                 .what = std::move(what),
                                                 .where = where,
                                                 .fix = std::move(fix)});
}

absl::StatusOr<v1::ChildReply::Result> ChildProcess::Fail(
    const absl::Status& why, absl::string_view stage, absl::Duration timeout) {
  if (why.code() == absl::StatusCode::kUnavailable) return Died(stage);
  const std::string where = absl::StrCat("stage ", stage);
  const absl::Duration waited = CpuWaitOf(pid_) - cpu_wait_before_;
  Kill();
  if (why.code() == absl::StatusCode::kDeadlineExceeded) {
    if (waited > timeout / 2) return Starved(where, waited, timeout);
    return Timeout(where, "a stage took too long and was killed", timeout);
  }
  return MakeError(
      why.code(),
      {.fault = Fault::kInfra,
       .reason = why.code() == absl::StatusCode::kCancelled ? "STAGE_CANCELLED"
                                                            : "STAGE_PROCESS",
       .what = std::string(why.message()),
       .where = where});
}

absl::Status ChildProcess::Supply(const v1::ChildReply::Need& need, int inputs,
                                  const MessageChannel::Limits& limits,
                                  const InputSupply& supply) {
  std::vector<int> positions;
  for (const int32_t input : need.inputs()) {
    // The child has met hostile bytes: it may have become hostile itself.
    if (input < 0 || input >= inputs || need.inputs_size() > inputs) {
      return absl::InternalError("a stage asks for an input it does not have");
    }
    positions.push_back(input);
  }
  const auto blobs = supply(positions);
  if (!blobs.ok()) return unsupplied_ = blobs.status();
  std::vector<absl::string_view> bytes;
  for (const auto& blob : *blobs) bytes.push_back(*blob);
  return channel_->SendBytes(bytes, limits);
}

absl::StatusOr<v1::ChildReply::Result> ChildProcess::Converse(
    const v1::ChildRequest& request, const MessageChannel::Limits& limits,
    const Handlers& handlers) {
  EK_RETURN_IF_ERROR(channel_->Send(request, limits));
  while (true) {
    v1::ChildReply reply;
    EK_RETURN_IF_ERROR(ReceiveReply(reply, *channel_, limits));
    if (reply.has_result()) return std::move(*reply.mutable_result());
    if (reply.has_progress() && handlers.progress) {
      handlers.progress(reply.progress());
    }
    if (reply.has_need()) {
      EK_RETURN_IF_ERROR(
          Supply(reply.need(), request.inputs_size(), limits, handlers.supply));
    }
  }
}

absl::StatusOr<v1::ChildReply::Result> ChildProcess::Execute(
    const v1::ChildRequest& request, absl::string_view stage,
    const MessageChannel::Limits& limits, const Handlers& handlers) {
  // A child that died while idle (out of memory, an administrator) is no
  // failure of the stage that comes next.
  if (pid_ != 0 && HasEnded()) Reap();
  const absl::Duration begin = MessageChannel::Now();
  if (pid_ == 0) EK_RETURN_IF_ERROR(Start());
  LimitCpuTime(limits);
  const absl::Duration now = MessageChannel::Now();
  if (now - cpu_wait_read_ > (limits.deadline - now) / 100) {
    cpu_wait_before_ = CpuWaitOf(pid_);
    cpu_wait_read_ = now;
  }
  absl::StatusOr<v1::ChildReply::Result> result = absl::UnknownError("");
  {
    const LongStages::Watched watched(
        background_ ? nullptr : options_.long_stages, pid_,
        limits.deadline - now, /*may_be_lowered=*/!IsBuilder());
    result = Converse(request, limits, handlers);
  }
  if (result.ok()) {
    // Whatever our own failure was, the next stage gets a fresh process; one
    // that ran out of memory is about to end.
    if (result->has_infra_error() ||
        IsOverWorkerLimit(result->result().error())) {
      Kill();
    }
    return result;
  }
  if (!unsupplied_.ok()) {
    Kill();
    return std::exchange(unsupplied_, absl::OkStatus());
  }
  return Fail(result.status(), stage, limits.deadline - begin);
}

v1::WorkerMessage::Confinement ProbeConfinement(const ChildOptions& options) {
  ChildProcess child(options);
  const auto result = child.Execute({}, "confinement", {}, {});
  v1::WorkerMessage::Confinement confinement;
  if (!result.ok()) {
    confinement.add_missing(
        absl::StrCat("all: no child: ", result.status().message()));
  } else if (result->outputs_size() != 1 ||
             !confinement.ParseFromString(result->outputs(0).data())) {
    confinement.add_missing("all: the child did not tell");
  }
  return confinement;
}

}  // namespace edgekiln::server
