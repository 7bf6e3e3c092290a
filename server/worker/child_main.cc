#include "server/worker/child_main.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/worker_child.pb.h"
#include "edgekiln/v1/workers.pb.h"
#include "proto/convert.h"
#include "server/stage_versions.h"
#include "server/worker/child_process.h"
#include "server/worker/child_reply.h"
#include "server/worker/confinement.h"
#include "server/worker/failed_allocation.h"
#include "server/worker/fatal_limits.h"
#include "server/worker/kept_outputs.h"
#include "server/worker/message_channel.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

// Often enough for a progress line, rarely enough to cost nothing.
constexpr absl::Duration kProgressInterval = absl::Milliseconds(100);

// Of this process and of the programs that it has waited for.
double CpuSeconds() {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    getrusage(who, &usage);
    sum += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  return sum;
}

// Address space that the allocator takes beyond what it is asked for.
constexpr int64_t kAllocatorSlackBytes = int64_t{2} << 20;

// Whose fault it is that memory ran out. The machine's own shortage shows below
// the limit; a size that no container holds is never the machine's.
absl::Status OutOfMemory(const ChildMainOptions& options,
                         absl::string_view stage,
                         const std::optional<FailedAllocation>& failed) {
  const std::string where = absl::StrCat("stage ", stage);
  const int64_t limit = options.memory_limit_bytes;
  if (!failed) return OverMemoryLimit(where, limit, std::nullopt);
  const int64_t need = CheckedAdd(failed->in_use_bytes, failed->asked_bytes)
                           .value_or(failed->asked_bytes);
  const bool limited = kLimitsAddressSpace && limit > 0;
  if (!limited || need + kAllocatorSlackBytes <= limit) {
    return MachineOutOfMemory(where, failed->asked_bytes);
  }
  return OverMemoryLimit(where, limit, std::max(need, limit + 1));
}

// What a stage makes, together: what a worker takes, and some room.
constexpr int64_t kMaxOutputBytes = (int64_t{2} << 30) - (int64_t{64} << 20);

absl::Status OutputTooLarge(absl::string_view stage, int64_t bytes) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kUser,
       .reason = "STAGE_OUTPUT_TOO_LARGE",
       .what = "the model or its data are too large to be handed on",
       .where = absl::StrCat("output of stage ", stage),
       .limit = absl::StrCat(kMaxOutputBytes, " bytes"),
       .need = absl::StrCat(bytes, " bytes"),
       .fix = "use a smaller model, input or data set"});
}

v1::ChildReply::Result ResultOf(absl::StatusOr<StageOutput> output,
                                absl::string_view stage) {
  v1::ChildReply::Result result;
  if (output.ok() && output->added_bytes > kMaxOutputBytes) {
    output = OutputTooLarge(stage, output->added_bytes);
  }
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

// Inputs of one request: what the stage before has made; the rest is asked for
// over the channel, each once.
class ChannelSource : public InputSource {
 public:
  ChannelSource(const v1::ChildRequest& request, MessageChannel& channel,
                KeptOutputs& kept)
      : request_(request),
        channel_(channel),
        kept_(kept),
        bytes_(static_cast<size_t>(request.inputs_size())),
        views_(bytes_.size()) {}

  absl::StatusOr<std::vector<absl::string_view>> Get(
      const std::vector<int>& positions) override {
    v1::ChildReply reply;
    for (const int position : positions) {
      if (!IsAtHand(position)) reply.mutable_need()->add_inputs(position);
    }
    if (reply.has_need()) EK_RETURN_IF_ERROR(Fetch(reply));
    std::vector<absl::string_view> views;
    for (const int position : positions) views.push_back(*At(position));
    return views;
  }

 private:
  std::optional<absl::string_view>& At(int position) {
    return views_[static_cast<size_t>(position)];
  }

  bool IsAtHand(int position) {
    std::optional<absl::string_view>& view = At(position);
    if (view) return true;
    const std::string* const kept = kept_.Find(request_.inputs(position));
    if (kept != nullptr) view = *kept;
    return view.has_value();
  }

  absl::Status Fetch(const v1::ChildReply& reply) {
    // All memory first: running out of it halfway would leave the rest of the
    // answer in the channel.
    std::vector<std::string> blobs(
        static_cast<size_t>(reply.need().inputs_size()));
    const auto size_of = [&](int need) {
      return request_.inputs(reply.need().inputs(need)).digest().size_bytes();
    };
    for (int i = 0; i < reply.need().inputs_size(); ++i) {
      blobs[static_cast<size_t>(i)].reserve(static_cast<size_t>(size_of(i)));
    }
    EK_RETURN_IF_ERROR(channel_.Send(reply, {}));
    for (int i = 0; i < reply.need().inputs_size(); ++i) {
      std::string& blob = blobs[static_cast<size_t>(i)];
      EK_RETURN_IF_ERROR(channel_.ReceiveBytes(blob, size_of(i), {}));
      const int position = reply.need().inputs(i);
      std::string& bytes = bytes_[static_cast<size_t>(position)];
      bytes = std::move(blob);
      At(position) = bytes;
    }
    return absl::OkStatus();
  }

  const v1::ChildRequest& request_;
  MessageChannel& channel_;
  KeptOutputs& kept_;
  std::vector<std::string> bytes_;  // Of what was fetched.
  std::vector<std::optional<absl::string_view>> views_;
};

// Empty if memory ran out; `failed` tells of what then.
std::optional<absl::StatusOr<StageOutput>> TryStage(
    const StageFunction& run_stage, const v1::StageOptions& options,
    const StageInputs& inputs, const ProgressSink& progress,
    std::optional<FailedAllocation>& failed) {
  TakeFailedAllocation();  // Of one that a stage survived.
  try {
    return run_stage(options, inputs, progress);
  } catch (const std::bad_alloc&) {
    failed = TakeFailedAllocation();
    return std::nullopt;
  } catch (const std::length_error&) {
    // A container of a size that no memory holds.
    failed = std::nullopt;
    return std::nullopt;
  }
}

// `spent` tells that memory ran out and the process should be replaced.
v1::ChildReply::Result Serve(const ChildMainOptions& options,
                             const StageFunction& run_stage,
                             const v1::ChildRequest& request,
                             MessageChannel& channel, KeptOutputs& kept,
                             WarmCache& warm, bool& spent) {
  const absl::string_view stage = StageName(request.options().options_case());
  if (!options.crash_stage.empty() && stage == options.crash_stage) abort();
  ChannelSource source(request, channel, kept);
  StageInputs inputs(&source, &warm, options.memory_limit_bytes,
                     options.scratch_folder);
  for (const v1::BlobRef& input : request.inputs()) {
    inputs.Add(input.role(), Digest{.hash = input.digest().hash(),
                                    .size_bytes = input.digest().size_bytes()});
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
  std::optional<FailedAllocation> failed;
  auto output =
      TryStage(run_stage, request.options(), inputs, progress, failed);
  if (!output && warm.bytes() > 0) {
    // What earlier stages left behind must not make this one fail.
    warm.Clear();
    output = TryStage(run_stage, request.options(), inputs, progress, failed);
  }
  spent = !output;
  v1::ChildReply::Result result = ResultOf(
      output ? *std::move(output) : OutOfMemory(options, stage, failed), stage);
  result.set_cpu_seconds(CpuSeconds() - cpu);
  return result;
}

// Nobody keeps a larger one, and the worker would take it for an attack.
void BoundResult(const v1::ChildRequest& request,
                 v1::ChildReply::Result& result) {
  const auto bytes = static_cast<int64_t>(result.result().ByteSizeLong());
  if (bytes <= kMaxStoredResultBytes) return;
  const absl::string_view stage = StageName(request.options().options_case());
  result.clear_result();
  result.clear_outputs();
  *result.mutable_result()->mutable_error() =
      ErrorToProto(ResultTooLarge(absl::StrCat("stage ", stage), bytes));
}

// What a request without a stage asks for.
v1::ChildReply::Result AboutConfinement(
    const v1::WorkerMessage::Confinement& confinement) {
  v1::ChildReply::Result result;
  result.add_outputs()->set_data(confinement.SerializeAsString());
  return result;
}

}  // namespace

int ServeChild(const ChildMainOptions& given, const StageFunction& run_stage) {
  ChildMainOptions options = given;
  if (!options.scratch_folder.empty()) options.memory_limit_bytes /= 2;
  const v1::WorkerMessage::Confinement confinement =
      Confine({.memory_limit_bytes = options.memory_limit_bytes,
               .filter_system_calls = options.filter_system_calls,
               .scratch_folder = options.scratch_folder,
               .tool_folders = options.tool_folders});
  if (kLimitsAddressSpace) ExitAtFatalLimits(kMemoryExit, kStackExit);
  MessageChannel channel(kChildChannelFd);
  WarmCache warm(options.warm_bytes);
  KeptOutputs kept;
  while (true) {
    v1::ChildRequest request;
    const absl::Status received = channel.Receive(request, {});
    if (absl::IsUnavailable(received)) return 0;
    if (!received.ok()) return 1;
    bool spent = false;
    v1::ChildReply reply;
    *reply.mutable_result() =
        request.has_options()
            ? Serve(options, run_stage, request, channel, kept, warm, spent)
            : AboutConfinement(confinement);
    BoundResult(request, *reply.mutable_result());
    if (!SendReply(reply, channel, {}).ok()) return 1;
    kept.Keep(*reply.mutable_result());
    if (spent) return 3;
  }
}

}  // namespace edgekiln::server
