#include "server/worker/long_stages.h"

#include <time.h>

#include <algorithm>
#include <optional>

#include "server/worker/cpu_priority.h"
#include "server/worker/cpu_wait.h"

namespace edgekiln::server {
namespace {

// Looks without a stage until the thread sleeps.
constexpr int kIdleLooks = 250;

// Of a processor, since its start.
std::optional<absl::Duration> UsedBy(pid_t pid) {
  clockid_t clock = 0;
  timespec used = {};
  if (clock_getcpuclockid(pid, &clock) != 0 ||
      clock_gettime(clock, &used) != 0) {
    return std::nullopt;
  }
  return absl::DurationFromTimespec(used);
}

}  // namespace

LongStages::LongStages(const Times& times)
    : times_(times), thread_([this] { Run(); }) {}

LongStages::~LongStages() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

int64_t LongStages::looks() {
  MutexLock lock(mutex_);
  return looks_;
}

LongStages::Watched::Watched(LongStages* stages, pid_t pid,
                             absl::Duration time_limit, bool may_be_lowered)
    : stages_(stages) {
  if (stages == nullptr) return;
  if (may_be_lowered) SetNice(pid, kShortStageNice);
  bool sleeps = false;
  {
    MutexLock lock(stages->mutex_);
    stage_ = stages->stages_.insert(
        stages->stages_.end(),
        Stage{.pid = pid,
              .time_limit = time_limit,
              .state = may_be_lowered ? Stage::kNew : Stage::kExempt});
    // It may end before the thread looks.
    stages->Adjust();
    sleeps = stages->sleeps_;
  }
  if (sleeps) stages->changed_.NotifyAll();
}

LongStages::Watched::~Watched() {
  if (stages_ == nullptr) return;
  MutexLock lock(stages_->mutex_);
  if (stage_->is_lowered) SetNice(stage_->pid, kStageNice);
  stages_->stages_.erase(stage_);
}

void LongStages::Look(Stage& stage) const {
  if (stage.state == Stage::kRestored || stage.state == Stage::kExempt) return;
  if (stage.state == Stage::kLong) {
    const absl::Duration waited = CpuWaitOf(stage.pid);
    if (stage.is_lowered) stage.waited_lowered += waited - stage.waited;
    stage.waited = waited;
    if (stage.waited_lowered < stage.time_limit / 4) return;
    if (stage.is_lowered) SetNice(stage.pid, kStageNice);
    stage.is_lowered = false;
    stage.state = Stage::kRestored;
    return;
  }
  const auto used = UsedBy(stage.pid);
  if (!used.has_value()) return;
  if (stage.state == Stage::kNew) {
    stage.used_before = *used;
    stage.state = Stage::kShort;
  }
  const absl::Duration used_now = *used - stage.used_before;
  if (stage.state == Stage::kShort && used_now >= times_.is_short) {
    SetNice(stage.pid, kStageNice);
    stage.state = Stage::kMedium;
  }
  if (stage.state == Stage::kMedium && used_now >= times_.is_long) {
    stage.waited = CpuWaitOf(stage.pid);
    stage.state = Stage::kLong;
  }
}

void LongStages::Adjust() {
  const bool lowers =
      std::any_of(stages_.begin(), stages_.end(), [](const Stage& stage) {
        return stage.state != Stage::kLong && stage.state != Stage::kRestored;
      });
  for (Stage& stage : stages_) {
    if (stage.state != Stage::kLong || stage.is_lowered == lowers) continue;
    SetNice(stage.pid, lowers ? kLongStageNice : kStageNice);
    stage.is_lowered = lowers;
  }
}

void LongStages::Run() {
  MutexLock lock(mutex_);
  int idle_looks = 0;
  while (!stopping_) {
    for (Stage& stage : stages_) Look(stage);
    Adjust();
    ++looks_;
    idle_looks = stages_.empty() ? idle_looks + 1 : 0;
    sleeps_ = idle_looks > kIdleLooks;
    while (sleeps_ && !stopping_ && stages_.empty()) changed_.Wait(lock);
    sleeps_ = false;
    const auto next = std::chrono::steady_clock::now() +
                      absl::ToChronoNanoseconds(times_.look_every);
    while (!stopping_ && changed_.WaitUntil(lock, next)) {
    }
  }
}

}  // namespace edgekiln::server
