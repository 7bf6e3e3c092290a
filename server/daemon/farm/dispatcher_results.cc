// What workers send, how leases end, and what follows from failures.

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "proto/convert.h"
#include "server/daemon/farm/dispatcher.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxUnitBytes = 64;

v1::JobEvent::Waiting NoRoom(absl::Duration wait, const absl::Status& why) {
  v1::JobEvent::Waiting waiting;
  waiting.set_cause(v1::JobEvent::Waiting::DISK_FULL);
  waiting.set_reason(absl::StrCat("no room for the outputs of a stage (",
                                  SanitizeText(std::string(why.message()), 256),
                                  "); free disk space; tried again in ",
                                  absl::FormatDuration(wait)));
  return waiting;
}

v1::QuarantinedStage Quarantined(const LeaseRequest& request, int failures,
                                 const absl::Status& last, absl::Time now) {
  v1::QuarantinedStage stage;
  stage.set_id(request.key);
  stage.set_stage(request.stage);
  for (const v1::BlobRef& input : request.inputs) *stage.add_inputs() = input;
  *stage.mutable_error() = ErrorToProto(last);
  v1::ErrorDetail& error = *stage.mutable_error();
  error.set_what(absl::StrCat("it failed ",
                              failures == 2 ? "twice" : "three times",
                              " in the same way: ", error.what()));
  const int64_t ns = absl::ToUnixNanos(now);
  stage.mutable_since()->set_seconds(ns / 1'000'000'000);
  stage.mutable_since()->set_nanos(static_cast<int32_t>(ns % 1'000'000'000));
  return stage;
}

}  // namespace

void Dispatcher::Receive(uint64_t worker_id, v1::WorkerMessage message) {
  Actions actions;
  {
    MutexLock lock(mutex_);
    ConnectedWorker* const worker = workers_.Find(worker_id);
    if (worker == nullptr) {
      // It was given up; what it still sends is late by definition.
      if (message.has_result()) ++refused_;
      return;
    }
    worker->last_heard = clock_.Monotonic();
    if (message.has_progress()) {
      OnProgress(*worker, message.progress(), actions);
    } else if (message.has_result()) {
      OnResult(worker_id, std::move(*message.mutable_result()), actions);
      Assign(actions);
    } else if (message.has_hello()) {
      // Its compilers have changed; nothing else of it does.
      worker->SetCompilers(message.hello());
      RememberCompilers(*worker);
      log_.Info("worker ", worker->name, " has other compilers by now");
      Assign(actions);
    }
    Flush(actions);
  }
  RunAll(actions);
}

void Dispatcher::OnProgress(const ConnectedWorker& worker,
                            const v1::WorkerMessage::Progress& progress,
                            Actions& actions) {
  const auto held = worker.leases.find(progress.lease_id());
  if (held == worker.leases.end() ||
      held->second.token != progress.fencing_token()) {
    return;
  }
  Lease& lease = leases_.at(progress.lease_id());
  const absl::Duration now = clock_.Monotonic();
  if (!lease.callbacks.progress ||
      now - lease.progressed < options_.progress_interval) {
    return;
  }
  lease.progressed = now;
  v1::StageProgress value = progress.progress();
  value.set_unit(SanitizeText(value.unit(), kMaxUnitBytes));
  actions.push_back({progress.lease_id(), IsBackground(lease),
                     [callback = lease.callbacks.progress,
                      value = std::move(value)] { callback(value); }});
}

void Dispatcher::OnResult(uint64_t worker_id, v1::WorkerMessage::Result result,
                          Actions& actions) {
  ConnectedWorker& worker = *workers_.Find(worker_id);
  const uint64_t lease_id = result.lease_id();
  if (worker.draining.erase(lease_id) > 0) {
    ++refused_;
    return;
  }
  const auto held = worker.leases.find(lease_id);
  if (held == worker.leases.end() ||
      held->second.token != result.fencing_token()) {
    ++refused_;
    log_.Warning("refused a late result of lease ", lease_id, " from worker ",
                 worker.name, " (", worker_id, ")");
    return;
  }
  worker.leases.erase(held);
  workers_.LetGo(lease_id);
  Lease& lease = leases_.at(lease_id);
  lease.worker = kNoWorker;
  const v1::JobClass ended = lease.request.owner.job_class;
  if (worker.used_slots() < worker.window) {
    worker.holds.Ended(lease_id, ended, queue_.HasAfter(ended), options_.holds,
                       clock_.Monotonic());
  } else {  // A lent slot.
    worker.holds.Forget(lease_id);
  }
  if (result.has_infra_error()) {
    OnError(lease_id, worker_id, result.infra_error(), actions);
    return;
  }
  LeaseOutcome outcome;
  outcome.elapsed = clock_.Monotonic() - lease.leased;
  outcome.cpu_seconds = result.cpu_seconds();
  if (result.has_stored_result() || result.outputs_size() > 0 ||
      result.next_size() > 0) {
    // Shared, as what is posted must be copyable.
    auto sent = std::make_shared<v1::WorkerMessage::Result>(std::move(result));
    actions.push_back({lease_id, IsBackground(lease),
                       [this, worker_id, sent = std::move(sent), outcome] {
                         TakeResult(worker_id, std::move(*sent), outcome);
                       }});
    return;
  }
  outcome.result = std::move(*result.mutable_result());
  Succeed(lease_id, worker_id, std::move(outcome), actions);
}

absl::StatusOr<v1::StageResult> Dispatcher::Take(
    v1::WorkerMessage::Result sent) const {
  if (!sent.has_stored_result() && sent.outputs().empty()) {
    return std::move(*sent.mutable_result());
  }
  if (options_.take_result) return options_.take_result(std::move(sent));
  return absl::UnimplementedError("results are not taken with blobs");
}

// What cannot be taken is left out, with what follows: it has leases of its
// own.
void Dispatcher::TakeNext(v1::WorkerMessage::Result& sent,
                          LeaseOutcome& outcome) const {
  for (v1::WorkerMessage::Result& next : *sent.mutable_next()) {
    if (next.has_infra_error()) return;
    const double cpu_seconds = next.cpu_seconds();
    const absl::Duration elapsed = absl::Seconds(next.seconds());
    absl::StatusOr<v1::StageResult> result = Take(std::move(next));
    if (!result.ok()) {
      log_.Warning("a stage that followed another one is done again: ",
                   result.status().message());
      return;
    }
    LeaseOutcome& made = outcome.next.emplace_back();
    made.result = *std::move(result);
    made.cpu_seconds = cpu_seconds;
    made.elapsed = std::clamp(elapsed, absl::ZeroDuration(), outcome.elapsed);
    outcome.elapsed -= made.elapsed;
  }
}

void Dispatcher::TakeResult(uint64_t worker_id, v1::WorkerMessage::Result sent,
                            LeaseOutcome outcome) {
  const uint64_t lease_id = sent.lease_id();
  const uint64_t token = sent.fencing_token();
  v1::WorkerMessage::Result next;
  next.mutable_next()->Swap(sent.mutable_next());
  absl::StatusOr<v1::StageResult> result = Take(std::move(sent));
  if (result.ok()) TakeNext(next, outcome);
  Actions actions;
  {
    MutexLock lock(mutex_);
    const auto lease = leases_.find(lease_id);
    // It may have been cancelled meanwhile.
    if (lease == leases_.end() || lease->second.token != token) {
      return;
    }
    if (result.ok()) {
      outcome.result = *std::move(result);
      if (outcome.next.size() > lease->second.request.next.size()) {
        outcome.next.resize(lease->second.request.next.size());
      }
      Succeed(lease_id, worker_id, std::move(outcome), actions);
    } else {
      OnError(lease_id, worker_id, ErrorToProto(result.status()), actions);
    }
    Assign(actions);
    Flush(actions);
  }
  RunAll(actions);
}

void Dispatcher::Succeed(uint64_t lease_id, uint64_t worker_id,
                         LeaseOutcome outcome, Actions& actions) {
  const Lease& lease = leases_.at(lease_id);
  if (workers_.Find(worker_id) != nullptr) {
    workers_.Succeeded(worker_id, lease.request.options.options_case(),
                       outcome.elapsed);
  }
  // It was not the stage, then.
  if (lease.failed_on != worker_id &&
      workers_.Find(lease.failed_on) != nullptr) {
    workers_.Failed(lease.failed_on, clock_.Monotonic());
  }
  Complete(lease_id, std::move(outcome), actions);
}

void Dispatcher::OnError(uint64_t lease_id, uint64_t worker_id,
                         v1::ErrorDetail error, Actions& actions) {
  Lease& lease = leases_.at(lease_id);
  // A full disk, perhaps our own, says nothing of the worker.
  if (KindOf(error) != FailureKind::kDiskFull) lease.failed_on = worker_id;
  if (error.reason() == "STAGE_TIMEOUT") {
    error.set_what(absl::StrCat(
        error.what(), " after ",
        absl::FormatDuration(absl::Floor(clock_.Monotonic() - lease.leased,
                                         absl::Milliseconds(1)))));
  }
  if (KindOf(error) == FailureKind::kMachine &&
      workers_.Find(worker_id) != nullptr) {
    workers_.Failed(worker_id, clock_.Monotonic());
  }
  Follow(lease_id, lease.retries.OnError(error, options_.retries),
         StatusFromProto(error), actions);
}

void Dispatcher::Follow(uint64_t lease_id, const RetryRecord::Verdict& verdict,
                        const absl::Status& why, Actions& actions) {
  Lease& lease = leases_.at(lease_id);
  lease.worker = kNoWorker;
  lease.with_next = false;
  lease.queued = clock_.Monotonic();
  log_.Warning("stage ", lease.request.stage, " (lease ", lease_id,
               ") failed: ", why.message());
  switch (verdict.what) {
    case RetryRecord::Verdict::kRetry:
      queue_.Push(lease_id, lease.request.owner, lease.request.role,
                  lease.queued);
      return;
    case RetryRecord::Verdict::kWait:
      resting_[lease_id] = clock_.Monotonic() + verdict.wait;
      lease.told = NoRoom(verdict.wait, why);
      lease.told_at = clock_.Monotonic();
      actions.push_back(
          {lease_id, IsBackground(lease),
           [waiting = lease.callbacks.waiting, told = lease.told] {
             if (waiting) waiting(told);
           }});
      return;
    case RetryRecord::Verdict::kQuarantine:
      if (options_.quarantine != nullptr && !lease.request.key.empty()) {
        v1::QuarantinedStage stage =
            Quarantined(lease.request, verdict.failures, why, clock_.Now());
        const absl::Status told = Quarantine::NotTried(stage);
        // On the disk before anybody hears of it.
        actions.push_back(
            {lease_id, IsBackground(lease),
             [quarantine = options_.quarantine, stage = std::move(stage)] {
               quarantine->Add(stage);
             }});
        Complete(lease_id, told, actions);
        return;
      }
      [[fallthrough]];
    case RetryRecord::Verdict::kGiveUp:
      Complete(lease_id,
               StageGivenUp(lease.request.stage, verdict.failures, why),
               actions);
      return;
  }
}

void Dispatcher::EndRests() {
  const absl::Duration now = clock_.Monotonic();
  for (auto it = resting_.begin(); it != resting_.end();) {
    if (now < it->second) {
      ++it;
      continue;
    }
    Lease& lease = leases_.at(it->first);
    lease.queued = now;
    queue_.Push(it->first, lease.request.owner, lease.request.role, now);
    it = resting_.erase(it);
  }
}

void Dispatcher::Disconnect(uint64_t worker_id) {
  Actions actions;
  {
    MutexLock lock(mutex_);
    Lose(worker_id, absl::UnavailableError("its worker was lost"),
         /*close=*/false, /*culprit=*/0, actions);
    Assign(actions);
    Flush(actions);
  }
  RunAll(actions);
}

void Dispatcher::Lose(uint64_t worker_id, const absl::Status& why, bool close,
                      uint64_t culprit, Actions& actions) {
  ConnectedWorker* const found = workers_.Find(worker_id);
  if (found == nullptr) return;
  const ConnectedWorker worker = std::move(*found);
  workers_.Remove(worker_id);
  if (worker.leases.empty()) {
    log_.Info("worker ", worker.name, " is gone");
  } else {
    log_.Warning("worker ", worker.name, " is gone, with ",
                 worker.leases.size(), " leases: ", why.message());
  }
  // The link lives until Disconnect() returns, which waits for our lock.
  if (close) worker.link->Close(why);
  const auto held = static_cast<int64_t>(worker.leases.size());
  if (culprit == 0) lost_leases_ += held;
  for (const auto& [lease_id, given] : worker.leases) {
    Lease& lease = leases_.at(lease_id);
    Loss loss = held == 1 ? Loss::kAlone : Loss::kInCompany;
    if (culprit != 0) {
      loss = lease_id == culprit ? Loss::kAlone : Loss::kInnocent;
    } else {
      lease.lost_with += held;
    }
    const RetryRecord::Verdict verdict =
        lease.retries.OnLoss(loss, clock_.Monotonic() - lease.leased,
                             lost_leases_ - lease.lost_with, options_.retries);
    Follow(lease_id, verdict, why, actions);
  }
}

}  // namespace edgekiln::server
