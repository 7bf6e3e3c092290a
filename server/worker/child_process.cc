#include "server/worker/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

extern char** environ;

namespace edgekiln::server {
namespace {

absl::Status NoProcess(absl::string_view call, int error) {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "WORKER_NO_PROCESS",
                    .what = absl::StrCat("a worker could not start a process: ",
                                         call, ": ", strerror(error)),
                    .fix = "free memory or processes on that machine"});
}

}  // namespace

absl::Status ChildProcess::Start() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return NoProcess("socketpair", errno);
  }
  auto channel = std::make_unique<MessageChannel>(ends[0]);
  std::vector<char*> argv = {const_cast<char*>(options_.name.c_str())};
  for (const std::string& argument : options_.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kChildChannelFd);
  // The worker's threads block signals that must still end its children.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, options_.binary.c_str(), &actions,
                                &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) return NoProcess("posix_spawn", error);
  pid_ = pid;
  channel_ = std::move(channel);
  return absl::OkStatus();
}

std::string ChildProcess::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  channel_.reset();
  if (WIFSIGNALED(status)) {
    return absl::StrCat("signal ", WTERMSIG(status), " (",
                        strsignal(WTERMSIG(status)), ")");
  }
  return absl::StrCat("exit code ", WEXITSTATUS(status));
}

void ChildProcess::Kill() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  Reap();
}

absl::Status ChildProcess::Fail(const absl::Status& why,
                                absl::string_view stage,
                                absl::Duration timeout) {
  const std::string where = absl::StrCat("stage ", stage);
  if (why.code() == absl::StatusCode::kUnavailable) {
    // The channel closed, so the child is dying: its own end tells more than
    // ours would.
    const std::string end = Reap();
    return MakeError(
        absl::StatusCode::kInternal,
        {.fault = Fault::kInfra,
         .reason = "STAGE_CRASHED",
         .what = absl::StrCat("the process executing a stage died of ", end),
         .where = where,
         .fix = "report this together with the model"});
  }
  Kill();
  if (why.code() == absl::StatusCode::kDeadlineExceeded) {
    return MakeError(why.code(),
                     {.fault = Fault::kInfra,
                      .reason = "STAGE_TIMEOUT",
                      .what = "a stage took too long and was killed",
                      .where = where,
                      .limit = absl::FormatDuration(timeout),
                      .fix = "raise the daemon's lease timeout"});
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
  for (const auto& blob : *blobs) {
    EK_RETURN_IF_ERROR(channel_->SendBytes(*blob, limits));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ChildReply::Result> ChildProcess::Converse(
    const v1::ChildRequest& request, const MessageChannel::Limits& limits,
    const Handlers& handlers) {
  EK_RETURN_IF_ERROR(channel_->Send(request, limits));
  while (true) {
    v1::ChildReply reply;
    EK_RETURN_IF_ERROR(channel_->Receive(reply, limits));
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
  if (pid_ != 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) {
    pid_ = 0;
    channel_.reset();
  }
  const absl::Duration begin = MessageChannel::Now();
  if (pid_ == 0) EK_RETURN_IF_ERROR(Start());
  absl::StatusOr<v1::ChildReply::Result> result =
      Converse(request, limits, handlers);
  if (result.ok()) {
    // Whatever our own failure was, the next stage gets a fresh process.
    if (result->has_infra_error()) Kill();
    return result;
  }
  if (!unsupplied_.ok()) {
    Kill();
    return std::exchange(unsupplied_, absl::OkStatus());
  }
  return Fail(result.status(), stage, limits.deadline - begin);
}

}  // namespace edgekiln::server
