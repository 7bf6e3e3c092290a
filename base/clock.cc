#include "base/clock.h"

#include <algorithm>
#include <chrono>

#include "absl/time/clock.h"

namespace edgekiln {
namespace {

class RealClock : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
  absl::Duration Monotonic() override {
    return absl::FromChrono(
        std::chrono::steady_clock::now().time_since_epoch());
  }
  void SleepFor(absl::Duration duration) override {
    if (duration > absl::ZeroDuration()) absl::SleepFor(duration);
  }
};

}  // namespace

std::unique_ptr<Clock> NewRealClock() { return std::make_unique<RealClock>(); }

absl::Time FakeClock::Now() {
  MutexLock lock(mutex_);
  return start_ + elapsed_;
}

absl::Duration FakeClock::Monotonic() {
  MutexLock lock(mutex_);
  return elapsed_;
}

void FakeClock::SleepFor(absl::Duration duration) {
  Advance(std::max(duration, absl::ZeroDuration()));
}

void FakeClock::Advance(absl::Duration duration) {
  MutexLock lock(mutex_);
  elapsed_ += duration;
}

}  // namespace edgekiln
