#include "server/worker/slot_child.h"

#include <poll.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

absl::Status NoMemoryInTime(absl::string_view stage, int64_t bytes,
                            absl::Duration timeout) {
  return MakeError(
      absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = "WORKER_OUT_OF_MEMORY",
       .what = "a lease's time was over before it had its memory for long",
       .where = absl::StrCat("stage ", stage),
       .limit = absl::FormatDuration(timeout),
       .need = absl::StrCat(bytes >> 20, " MiB of the worker's budget"),
       .fix = "start the worker with fewer --slots or a larger "
              "--memory-budget"});
}

bool IsReadable(int fd) {
  pollfd one = {fd, POLLIN, 0};
  return poll(&one, 1, 0) > 0;
}

}  // namespace

void SlotChild::Drop() {
  if (child_ == nullptr) return;
  child_.reset();
  budget_.Release(reserved_bytes_);
}

void SlotChild::SetBackground(bool background) {
  background_ = background;
  if (child_ != nullptr) child_->SetBackground(background);
}

absl::StatusOr<v1::ChildReply::Result> SlotChild::ExecuteWithin(
    int64_t bytes, const v1::ChildRequest& request, absl::string_view stage,
    const Times& times, int cancel_fd, const ChildProcess::Handlers& handlers) {
  if (child_ == nullptr) {
    if (!budget_.Reserve(bytes, cancel_fd,
                         times.deadline - MessageChannel::Now())) {
      if (!IsReadable(cancel_fd)) {
        return NoMemoryInTime(stage, bytes, times.timeout);
      }
      return MakeError(absl::StatusCode::kCancelled,
                       {.fault = Fault::kInfra,
                        .reason = "STAGE_CANCELLED",
                        .what = "cancelled while it waited for memory",
                        .where = absl::StrCat("stage ", stage)});
    }
    reserved_bytes_ = bytes;
    ChildOptions options = options_;
    options.memory_limit_bytes = bytes;
    child_ = std::make_unique<ChildProcess>(std::move(options));
    child_->SetBackground(background_);
  }
  const absl::Duration left = times.deadline - MessageChannel::Now();
  absl::StatusOr<v1::ChildReply::Result> result = child_->Execute(
      request, stage, {.deadline = times.deadline, .cancel_fd = cancel_fd},
      handlers);
  // Not the stage's fault if most of the time went before it began.
  if (absl::IsDeadlineExceeded(result.status()) && left < times.timeout / 2) {
    result = NoMemoryInTime(stage, bytes, times.timeout);
  }
  if (child_->pid() == 0) Drop();
  YieldIfWanted();
  return result;
}

absl::StatusOr<v1::ChildReply::Result> SlotChild::Execute(
    const v1::ChildRequest& request, absl::string_view stage,
    absl::Duration timeout, int cancel_fd,
    const ChildProcess::Handlers& handlers) {
  // One deadline for all of it: the daemon counts from when it gave the lease
  // out, and gives up the whole worker for one that is overdue.
  const Times times = {timeout, MessageChannel::Now() + timeout};
  absl::StatusOr<v1::ChildReply::Result> result =
      ExecuteWithin(shares_.share, request, stage, times, cancel_fd, handlers);
  if (!result.ok() || shares_.whole <= shares_.share ||
      !IsOverMemoryLimit(result->result().error())) {
    return result;
  }
  const double cpu_seconds = result->cpu_seconds();
  Drop();
  result =
      ExecuteWithin(shares_.whole, request, stage, times, cancel_fd, handlers);
  // The next stage does with a share again.
  Drop();
  if (result.ok()) result->set_cpu_seconds(result->cpu_seconds() + cpu_seconds);
  return result;
}

}  // namespace edgekiln::server
