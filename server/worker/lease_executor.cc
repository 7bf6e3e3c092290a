#include "server/worker/lease_executor.h"

#include <malloc.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/scoped_fd.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/long_lease.h"
#include "server/stage_chain.h"
#include "server/stage_versions.h"
#include "server/worker/compiler_limits.h"
#include "server/worker/cpu_priority.h"
#include "server/worker/scratch_folder.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

// Of the name of what a stage counts: "samples".
constexpr int kMaxUnitBytes = 64;

// A worker that ends loses what it has not sent: of a chain, no more than what
// costs so much CPU time. What it sends at once has about that many bytes.
constexpr double kMaxUnsentSeconds = 0.1;
constexpr int64_t kMaxUnsentBytes = int64_t{1} << 20;

absl::Status OurFault(const absl::Status& status, absl::string_view doing,
                      absl::string_view stage) {
  return MakeError(status.code(),
                   {.fault = Fault::kInfra,
                    .reason = "WORKER_BLOBS",
                    .what = absl::StrCat(doing, ": ", status.message()),
                    .where = absl::StrCat("stage ", stage)});
}

v1::ChildRequest RequestOf(const v1::DaemonMessage::Lease& lease) {
  v1::ChildRequest request;
  *request.mutable_options() = lease.options();
  *request.mutable_inputs() = lease.inputs();
  return request;
}

absl::StatusOr<std::vector<SharedBytes>> InputsOf(
    const v1::ChildRequest& request, const std::vector<int>& positions,
    BlobClient& blobs) {
  std::vector<Digest> digests;
  for (const int position : positions) {
    EK_ASSIGN_OR_RETURN(Digest digest,
                        FromProto(request.inputs(position).digest()));
    digests.push_back(std::move(digest));
  }
  return blobs.Get(digests);
}

ChildOptions WithLongStages(ChildOptions options, LongStages* long_stages) {
  options.long_stages = long_stages;
  return options;
}

// What a stage has made, as blobs.
struct Outputs {
  std::vector<Digest> digests;
  std::vector<SharedBytes> blobs;
  int64_t bytes = 0;  // All together.
};

// Names them in the result.
Outputs TakeOutputs(v1::ChildReply::Result& reply) {
  Outputs outputs;
  for (v1::ChildBlob& blob : *reply.mutable_outputs()) {
    outputs.digests.push_back(DigestOf(blob.data()));
    outputs.blobs.push_back(
        std::make_shared<const std::string>(std::move(*blob.mutable_data())));
    outputs.bytes += outputs.digests.back().size_bytes;
    v1::BlobRef& ref = *reply.mutable_result()->add_outputs();
    ref.set_role(blob.role());
    *ref.mutable_digest() = ToProto(outputs.digests.back());
  }
  return outputs;
}

// What a lease moved through this process, from which on it pays to give the
// memory back: the C library would keep the freed buffers of every thread.
constexpr int64_t kLargeLeaseBytes = int64_t{16} << 20;

int64_t MovedBytes(const v1::DaemonMessage::Lease& lease,
                   const v1::WorkerMessage::Result& result) {
  int64_t bytes = 0;
  for (const v1::BlobRef& input : lease.inputs()) {
    bytes += input.digest().size_bytes();
  }
  const auto add_outputs = [&](const v1::StageResult& of_stage) {
    for (const v1::BlobRef& output : of_stage.outputs()) {
      bytes += output.digest().size_bytes();
    }
  };
  add_outputs(result.result());
  for (const v1::WorkerMessage::Result& next : result.next()) {
    add_outputs(next.result());
  }
  return bytes;
}

// Puts the result and its outputs into the message, or into blobs that the
// message names.
absl::Status Enclose(v1::StageResult stage_result, const Outputs& outputs,
                     absl::string_view stage, BlobClient& blobs,
                     v1::WorkerMessage::Result& result) {
  const auto bytes = static_cast<int64_t>(stage_result.ByteSizeLong());
  if (bytes > kMaxStoredResultBytes) {
    *result.mutable_result()->mutable_error() =
        ErrorToProto(ResultTooLarge(absl::StrCat("stage ", stage), bytes));
    return absl::OkStatus();
  }
  if (bytes <= kMaxSentResultBytes && outputs.bytes <= kMaxSentOutputBytes) {
    blobs.Keep(outputs.digests, outputs.blobs);
    for (const SharedBytes& blob : outputs.blobs) result.add_outputs(*blob);
  } else {
    EK_RETURN_IF_ERROR(blobs.Put(outputs.digests, outputs.blobs));
  }
  if (bytes <= kMaxSentResultBytes) {
    *result.mutable_result() = std::move(stage_result);
    return absl::OkStatus();
  }
  const auto stored =
      std::make_shared<const std::string>(stage_result.SerializeAsString());
  const Digest digest = DigestOf(*stored);
  EK_RETURN_IF_ERROR(blobs.Put({digest}, {stored}));
  *result.mutable_stored_result() = ToProto(digest);
  return absl::OkStatus();
}

}  // namespace

struct LeaseExecutor::Held {
  void Cancel() {
    // Cannot fail: the counter is far from its end.
    (void)eventfd_write(cancel_fd.get(), 1);
  }

  v1::DaemonMessage::Lease lease;
  std::shared_ptr<MessageSink> sink;
  const ScopedFd cancel_fd{eventfd(0, EFD_CLOEXEC)};
  v1::StageProgress progress;  // Guarded by the executor's mutex.
};

LeaseExecutor::LeaseExecutor(int slots, ChildOptions child, BlobClient& blobs,
                             int64_t memory_budget_bytes,
                             CurrentCompilers* compilers)
    : num_slots_(slots),
      num_spare_slots_(
          SpareSlots(slots, child.memory_limit_bytes, memory_budget_bytes)),
      may_raise_priority_(MayRaisePriority()),
      long_stages_(may_raise_priority_ ? std::make_unique<LongStages>()
                                       : nullptr),
      child_options_(WithLongStages(std::move(child), long_stages_.get())),
      compilers_(compilers),
      memory_shares_(ShareMemory(memory_budget_bytes,
                                 child_options_.memory_limit_bytes,
                                 slots + num_spare_slots_)),
      memory_(memory_shares_.budget,
              [this] {
                // Idle slots look whether their memory is wanted.
                { MutexLock lock(mutex_); }
                changed_.NotifyAll();
              }),
      blobs_(blobs) {
  for (int i = 0; i < slots + num_spare_slots_; ++i) {
    slots_.emplace_back([this, is_spare = i >= slots] { RunSlot(is_spare); });
  }
}

LeaseExecutor::~LeaseExecutor() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& held : held_) held->Cancel();
  }
  changed_.NotifyAll();
  all_busy_.NotifyAll();
  for (std::thread& slot : slots_) slot.join();
}

void LeaseExecutor::Add(v1::DaemonMessage::Lease lease,
                        std::shared_ptr<MessageSink> sink) {
  auto held = std::make_shared<Held>();
  held->lease = std::move(lease);
  held->sink = std::move(sink);
  {
    MutexLock lock(mutex_);
    held_.push_back(held);
    waiting_.push_back(std::move(held));
    if (busy_slots_ == num_slots_) all_busy_.NotifyOne();
  }
  changed_.NotifyOne();
}

void LeaseExecutor::Cancel(uint64_t lease_id) {
  MutexLock lock(mutex_);
  for (const auto& held : held_) {
    if (held->lease.lease_id() == lease_id) held->Cancel();
  }
}

void LeaseExecutor::CancelAll() {
  MutexLock lock(mutex_);
  for (const auto& held : held_) held->Cancel();
}

void LeaseExecutor::SendProgress() {
  std::vector<std::pair<std::shared_ptr<MessageSink>, v1::WorkerMessage>> out;
  {
    MutexLock lock(mutex_);
    for (const auto& held : held_) {
      v1::WorkerMessage message;
      v1::WorkerMessage::Progress& progress = *message.mutable_progress();
      progress.set_lease_id(held->lease.lease_id());
      progress.set_fencing_token(held->lease.fencing_token());
      *progress.mutable_progress() = held->progress;
      out.emplace_back(held->sink, std::move(message));
    }
  }
  for (const auto& [sink, message] : out) sink->Send(message);
}

absl::Status LeaseExecutor::ExecuteStage(const v1::ChildRequest& request,
                                         bool tells_progress, Held& held,
                                         SlotChild& child,
                                         v1::WorkerMessage::Result& result) {
  const v1::DaemonMessage::Lease& lease = held.lease;
  const absl::string_view stage = StageName(request.options().options_case());
  const absl::Duration timeout = lease.timeout_ms() > 0
                                     ? absl::Milliseconds(lease.timeout_ms())
                                     : absl::InfiniteDuration();
  ChildProcess::Handlers handlers;
  handlers.supply = [&](const std::vector<int>& positions)
      -> absl::StatusOr<std::vector<SharedBytes>> {
    auto inputs = InputsOf(request, positions, blobs_);
    if (inputs.ok()) return inputs;
    // Only outputs can lack room: what is told so is tried until there is.
    absl::Status status = inputs.status();
    if (absl::IsResourceExhausted(status)) {
      status = absl::UnavailableError(status.message());
    }
    return OurFault(status, "fetching inputs", stage);
  };
  if (tells_progress) {
    handlers.progress = [&](const v1::StageProgress& progress) {
      MutexLock lock(mutex_);
      held.progress = progress;
      held.progress.set_unit(SanitizeText(progress.unit(), kMaxUnitBytes));
    };
  }
  EK_ASSIGN_OR_RETURN(
      v1::ChildReply::Result reply,
      child.Execute(request, stage, timeout, held.cancel_fd.get(), handlers));
  result.set_cpu_seconds(reply.cpu_seconds());
  // As a status, its fields are no longer than fields may be.
  if (reply.has_infra_error()) return StatusFromProto(reply.infra_error());
  if (reply.result().has_error()) {
    *reply.mutable_result()->mutable_error() =
        ErrorToProto(StatusFromProto(reply.result().error()));
  }
  const Outputs outputs = TakeOutputs(reply);
  const absl::Status stored = Enclose(std::move(*reply.mutable_result()),
                                      outputs, stage, blobs_, result);
  return stored.ok() ? stored : OurFault(stored, "storing outputs", stage);
}

// What fails here is left to leases of its own, which are tried again, and
// whose failures are counted.
void LeaseExecutor::ExecuteNext(Held& held, SlotChild& child,
                                v1::WorkerMessage::Result& result) {
  double unsent_seconds = result.cpu_seconds();
  auto bytes = static_cast<int64_t>(result.ByteSizeLong());
  std::vector<const v1::StageResult*> before = {&result.result()};
  result.mutable_next()->Reserve(held.lease.next_size());
  for (const v1::DaemonMessage::Lease::Next& next : held.lease.next()) {
    const v1::WorkerMessage::Result& last =
        result.next().empty() ? result : *result.next().rbegin();
    if (last.has_stored_result() || last.result().has_error() ||
        unsent_seconds > kMaxUnsentSeconds || bytes > kMaxUnsentBytes) {
      return;
    }
    const auto inputs =
        ChainedInputs({next.inputs().begin(), next.inputs().end()}, before);
    if (!inputs.ok()) return;
    v1::ChildRequest request;
    *request.mutable_options() = next.options();
    request.mutable_inputs()->Assign(inputs->begin(), inputs->end());
    v1::WorkerMessage::Result& made = *result.add_next();
    const absl::Duration began = MessageChannel::Now();
    const absl::Status done =
        ExecuteStage(request, /*tells_progress=*/false, held, child, made);
    if (!done.ok() || IsOverWorkerLimit(made.result().error())) {
      result.mutable_next()->RemoveLast();
      return;
    }
    made.set_seconds(absl::ToDoubleSeconds(MessageChannel::Now() - began));
    unsent_seconds += made.cpu_seconds();
    bytes += static_cast<int64_t>(made.ByteSizeLong());
    before.push_back(&made.result());
  }
}

v1::WorkerMessage::Result LeaseExecutor::Execute(Held& held, SlotChild& child) {
  v1::WorkerMessage::Result result;
  if (may_raise_priority_) child.SetBackground(held.lease.background());
  for (std::string& blob : *held.lease.mutable_carried()) {
    const Digest digest = DigestOf(blob);
    blobs_.Keep({digest},
                {std::make_shared<const std::string>(std::move(blob))});
  }
  held.lease.clear_carried();
  const absl::Status done = ExecuteStage(
      RequestOf(held.lease), /*tells_progress=*/true, held, child, result);
  if (done.ok()) {
    ExecuteNext(held, child, result);
  } else {
    result.clear_result();
    *result.mutable_infra_error() = ErrorToProto(done);
    result.mutable_infra_error()->set_fault(v1::ErrorDetail::INFRA);
  }
  result.set_lease_id(held.lease.lease_id());
  result.set_fencing_token(held.lease.fencing_token());
  return result;
}

v1::WorkerMessage::Result LeaseExecutor::BuildWith(
    const InstalledCompilers* compilers, Held& held) {
  ChildOptions options = child_options_;
  options.scratch_parent = TemporaryFolder();
  // Of the builder, and of each compiler that it runs.
  options.cpu_limit = kCompilerCpuTime;
  if (compilers != nullptr) options.tool_folders = compilers->folders();
  SlotChild builder(std::move(options), memory_shares_, memory_);
  return Execute(held, builder);
}

v1::WorkerMessage::Result LeaseExecutor::Build(Held& held) {
  if (compilers_ == nullptr) return BuildWith(nullptr, held);
  const v1::Compiler& wanted = held.lease.options().build_firmware().compiler();
  v1::WorkerMessage::Result result;
  auto installed = compilers_->Get();
  absl::Status checked = installed->Check(wanted);
  if (IsCompilerChanged(checked)) {
    // Perhaps it was installed once more, and is the same.
    installed = compilers_->Renew(installed);
    checked = installed->Check(wanted);
  }
  if (checked.ok()) {
    result = BuildWith(installed.get(), held);
    // It may have been replaced meanwhile.
    checked = installed->Check(wanted);
    if (checked.ok()) return result;
    installed = compilers_->Renew(installed);
  }
  // So that the next try is somebody else's, or another compiler's.
  v1::WorkerMessage message;
  v1::WorkerMessage::Hello& hello = *message.mutable_hello();
  for (const v1::Compiler& each : installed->list()) {
    *hello.add_compilers() = each;
  }
  held.sink->Send(message);
  result.Clear();
  result.set_lease_id(held.lease.lease_id());
  result.set_fencing_token(held.lease.fencing_token());
  *result.mutable_infra_error() = ErrorToProto(checked);
  return result;
}

bool LeaseExecutor::MayTake(bool is_spare) const {
  return !waiting_.empty() && (!is_spare || busy_slots_ == num_slots_);
}

std::shared_ptr<LeaseExecutor::Held> LeaseExecutor::Next(bool is_spare,
                                                         SlotChild& child) {
  MutexLock lock(mutex_);
  while (!stopping_ && !MayTake(is_spare)) {
    const bool drops = is_spare && child.HasChild();
    if (!drops && !child.IsWanted()) {
      (is_spare ? all_busy_ : changed_).Wait(lock);
      continue;
    }
    lock.Unlock();
    if (drops) {
      child.Drop();
    } else {
      Yield(child);
    }
    lock.Lock();
  }
  if (waiting_.empty()) return nullptr;
  std::shared_ptr<Held> held = std::move(waiting_.front());
  waiting_.pop_front();
  if (!is_spare && ++busy_slots_ == num_slots_) all_busy_.NotifyAll();
  return held;
}

void LeaseExecutor::Yield(SlotChild& child) { child.YieldIfWanted(); }

void LeaseExecutor::RunSlot(bool is_spare) {
  SlotChild child(child_options_, memory_shares_, memory_);
  while (const std::shared_ptr<Held> held = Next(is_spare, child)) {
    v1::WorkerMessage message;
    if (held->lease.options().has_build_firmware()) {
      // Waiting for memory while holding some could be for ever.
      if (memory_shares_.budget > 0) child.Drop();
      *message.mutable_result() = Build(*held);
    } else {
      *message.mutable_result() = Execute(*held, child);
    }
    {
      // First forgotten, then answered: no heartbeat follows the result.
      MutexLock lock(mutex_);
      held_.erase(std::find(held_.begin(), held_.end(), held));
      if (!is_spare) --busy_slots_;
    }
    held->sink->Send(message);
    if (MovedBytes(held->lease, message.result()) >= kLargeLeaseBytes) {
      malloc_trim(0);
    }
  }
}

}  // namespace edgekiln::server
