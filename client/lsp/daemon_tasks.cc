#include "client/lsp/daemon_tasks.h"

#include <algorithm>
#include <utility>

namespace edgekiln::client::lsp {

void DaemonTasks::Check(const std::string& uri, int64_t version,
                        const std::string& text) {
  MutexLock lock(mutex_);
  checks_[uri] = {CheckTask::Kind::kCheck, uri, version, text};
  changed_.NotifyAll();
}

void DaemonTasks::Run(RunRequest request) {
  MutexLock lock(mutex_);
  runs_[request.uri] = std::move(request);
  changed_.NotifyAll();
}

void DaemonTasks::Forget(const std::string& uri) {
  MutexLock lock(mutex_);
  checks_.erase(uri);
  runs_.erase(uri);
  if (running_ == uri) forgotten_ = true;
}

void DaemonTasks::List() {
  MutexLock lock(mutex_);
  list_ = true;
  changed_.NotifyAll();
}

void DaemonTasks::LookUp(const std::string& target) {
  MutexLock lock(mutex_);
  look_ups_.push_back(target);
  changed_.NotifyAll();
}

void DaemonTasks::Stop() {
  MutexLock lock(mutex_);
  stop_ = true;
  changed_.NotifyAll();
}

bool DaemonTasks::stopping() const {
  MutexLock lock(mutex_);
  return stop_;
}

std::optional<CheckTask> DaemonTasks::TakeCheck() {
  if (!checks_.empty()) {
    CheckTask task = std::move(checks_.begin()->second);
    checks_.erase(checks_.begin());
    return task;
  }
  if (!look_ups_.empty()) {
    CheckTask task{CheckTask::Kind::kLookUp, std::move(look_ups_.front())};
    look_ups_.pop_front();
    return task;
  }
  if (std::exchange(list_, false)) return CheckTask{CheckTask::Kind::kList};
  if (std::exchange(probe_now_, false)) return CheckTask{};
  return std::nullopt;
}

std::optional<CheckTask> DaemonTasks::NextCheck() {
  MutexLock lock(mutex_);
  const absl::Duration until = clock_.Monotonic() + kProbeEvery;
  while (!stop_) {
    // One that is away is asked nothing but whether it is there.
    if (!probing_) {
      if (std::optional<CheckTask> task = TakeCheck()) return task;
      changed_.Wait(lock);
      continue;
    }
    const absl::Duration left = until - clock_.Monotonic();
    if (left <= absl::ZeroDuration()) return CheckTask{};
    changed_.WaitFor(lock, absl::ToChronoNanoseconds(left));
  }
  return std::nullopt;
}

void DaemonTasks::SetProbing(bool probing) {
  MutexLock lock(mutex_);
  probing_ = probing;
  if (!probing) return;
  checks_.clear();
  runs_.clear();
  look_ups_.clear();
  list_ = false;
}

void DaemonTasks::Probe() {
  MutexLock lock(mutex_);
  probe_now_ = true;
  changed_.NotifyAll();
}

std::optional<RunRequest> DaemonTasks::NextRun() {
  MutexLock lock(mutex_);
  running_.clear();
  forgotten_ = false;
  while (!stop_) {
    const absl::Duration left = next_run_ - clock_.Monotonic();
    if (runs_.empty()) {
      changed_.Wait(lock);
    } else if (left > absl::ZeroDuration()) {
      changed_.WaitFor(lock, absl::ToChronoNanoseconds(left));
    } else {
      RunRequest request = std::move(runs_.begin()->second);
      runs_.erase(runs_.begin());
      running_ = request.uri;
      next_run_ = clock_.Monotonic() + kRunEvery;
      return request;
    }
  }
  return std::nullopt;
}

DaemonTasks::RunFate DaemonTasks::fate() const {
  MutexLock lock(mutex_);
  if (stop_ || forgotten_) return RunFate::kForgotten;
  return runs_.count(running_) > 0 ? RunFate::kSuperseded : RunFate::kWanted;
}

}  // namespace edgekiln::client::lsp
