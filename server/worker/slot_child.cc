#include "server/worker/slot_child.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/worker_limits.h"

namespace edgekiln::server {

void SlotChild::Drop() {
  if (child_ == nullptr) return;
  child_.reset();
  budget_.Release(reserved_bytes_);
}

absl::StatusOr<v1::ChildReply::Result> SlotChild::ExecuteWithin(
    int64_t bytes, const v1::ChildRequest& request, absl::string_view stage,
    absl::Duration timeout, int cancel_fd,
    const ChildProcess::Handlers& handlers) {
  if (child_ == nullptr) {
    if (!budget_.Reserve(bytes, cancel_fd)) {
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
  }
  absl::StatusOr<v1::ChildReply::Result> result = child_->Execute(
      request, stage,
      {.deadline = MessageChannel::Now() + timeout, .cancel_fd = cancel_fd},
      handlers);
  if (child_->pid() == 0) Drop();
  YieldIfWanted();
  return result;
}

absl::StatusOr<v1::ChildReply::Result> SlotChild::Execute(
    const v1::ChildRequest& request, absl::string_view stage,
    absl::Duration timeout, int cancel_fd,
    const ChildProcess::Handlers& handlers) {
  absl::StatusOr<v1::ChildReply::Result> result = ExecuteWithin(
      shares_.share, request, stage, timeout, cancel_fd, handlers);
  if (!result.ok() || shares_.whole <= shares_.share ||
      !IsOverMemoryLimit(result->result().error())) {
    return result;
  }
  const double cpu_seconds = result->cpu_seconds();
  Drop();
  result = ExecuteWithin(shares_.whole, request, stage, timeout, cancel_fd,
                         handlers);
  // The next stage does with a share again.
  Drop();
  if (result.ok()) result->set_cpu_seconds(result->cpu_seconds() + cpu_seconds);
  return result;
}

}  // namespace edgekiln::server
