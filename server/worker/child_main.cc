#include "server/worker/child_main.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "edgekiln/v1/worker_child.pb.h"
#include "server/proto_convert.h"
#include "server/stage_versions.h"
#include "server/worker/child_process.h"
#include "server/worker/message_channel.h"

namespace edgekiln::server {
namespace {

// Often enough for a progress line, rarely enough to cost nothing.
constexpr absl::Duration kProgressInterval = absl::Milliseconds(100);

void Limit(int resource, int64_t value) {
  const rlim_t bound = static_cast<rlim_t>(value);
  const rlimit limit = {bound, bound};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Failures are ignored: a limit that the system refuses makes a crash less
// contained, not wrong.
void Confine(const ChildMainOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  // Ctrl-C at a terminal is for the worker, which ends its children itself.
  signal(SIGINT, SIG_IGN);
  close_range(kChildChannelFd + 1, ~0U, 0);
  Limit(RLIMIT_CORE, 0);
  if (kLimitsAddressSpace && options.memory_limit_bytes > 0) {
    Limit(RLIMIT_AS, options.memory_limit_bytes);
  }
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

absl::Status OutOfMemory(const ChildMainOptions& options,
                         absl::string_view stage) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kQuota,
       .reason = "STAGE_OUT_OF_MEMORY",
       .what = "a stage needs more memory than its worker allows",
       .where = absl::StrCat("stage ", stage),
       .limit = absl::StrCat(options.memory_limit_bytes >> 20, " MiB"),
       .fix = "use a smaller model or data set, or a worker with a higher "
              "--memory-limit-mb"});
}

v1::ChildReply::Result ResultOf(absl::StatusOr<StageOutput> output) {
  v1::ChildReply::Result result;
  if (!output.ok()) {
    v1::ErrorDetail error = ErrorToProto(output.status());
    const bool users = error.fault() == v1::ErrorDetail::USER;
    *(users ? result.mutable_result()->mutable_error()
            : result.mutable_infra_error()) = std::move(error);
    return result;
  }
  for (auto& [role, bytes] : output->blobs) {
    v1::ChildBlob& blob = *result.add_outputs();
    blob.set_role(role);
    blob.set_data(std::move(bytes));
  }
  *result.mutable_result()->mutable_summary() = std::move(output->summary);
  for (std::string& warning : output->warnings) {
    result.mutable_result()->add_warnings(std::move(warning));
  }
  return result;
}

// `spent` tells that memory ran out and the process should be replaced.
v1::ChildReply::Result Serve(const ChildMainOptions& options,
                             const StageFunction& run_stage,
                             const v1::ChildRequest& request,
                             MessageChannel& channel, bool& spent) {
  const absl::string_view stage = StageName(request.options().options_case());
  if (!options.crash_stage.empty() && stage == options.crash_stage) abort();
  StageInputs inputs;
  for (const v1::ChildBlob& blob : request.inputs()) {
    inputs.Add(blob.role(), blob.data());
  }
  absl::Duration last = MessageChannel::Now();
  const ProgressSink progress = [&](const v1::StageProgress& state) {
    const absl::Duration now = MessageChannel::Now();
    if (now - last < kProgressInterval) return;
    last = now;
    v1::ChildReply reply;
    *reply.mutable_progress() = state;
    // A worker that is gone is noticed when the result is sent.
    channel.Send(reply, {}).IgnoreError();
  };
  const double cpu = CpuSeconds();
  v1::ChildReply::Result result;
  try {
    result = ResultOf(run_stage(request.options(), inputs, progress));
  } catch (const std::bad_alloc&) {
    spent = true;
    *result.mutable_infra_error() = ErrorToProto(OutOfMemory(options, stage));
  } catch (const std::length_error&) {
    // A container of a size that no memory holds.
    spent = true;
    *result.mutable_infra_error() = ErrorToProto(OutOfMemory(options, stage));
  }
  result.set_cpu_seconds(CpuSeconds() - cpu);
  return result;
}

}  // namespace

int ServeChild(const ChildMainOptions& options,
               const StageFunction& run_stage) {
  Confine(options);
  MessageChannel channel(kChildChannelFd);
  while (true) {
    v1::ChildRequest request;
    const absl::Status received = channel.Receive(request, {});
    if (absl::IsUnavailable(received)) return 0;
    if (!received.ok()) return 1;
    bool spent = false;
    v1::ChildReply reply;
    *reply.mutable_result() =
        Serve(options, run_stage, request, channel, spent);
    if (!channel.Send(reply, {}).ok()) return 1;
    if (spent) return 3;
  }
}

}  // namespace edgekiln::server
