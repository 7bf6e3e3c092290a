#ifndef EK_BASE_CLOCK_H_
#define EK_BASE_CLOCK_H_

// Time as a dependency. Code that needs the time takes a Clock&, so that tests
// decide what time it is. Thread-safe.

#include <memory>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace edgekiln {

class Clock {
 public:
  virtual ~Clock() = default;
  // Wall-clock time, for records. May jump.
  virtual absl::Time Now() = 0;
  // Never goes back, for measuring and for deadlines. Origin is unspecified.
  virtual absl::Duration Monotonic() = 0;
  // Returns after at least `duration`; at once if it is not positive.
  virtual void SleepFor(absl::Duration duration) = 0;
};

// The machine's clocks.
std::unique_ptr<Clock> NewRealClock();

// A clock that moves only when told to. SleepFor() advances it and returns at
// once.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::UnixEpoch()) : start_(start) {}

  absl::Time Now() override;
  absl::Duration Monotonic() override;
  void SleepFor(absl::Duration duration) override;
  // Moves both clocks forward; `duration` must not be negative.
  void Advance(absl::Duration duration);

 private:
  Mutex mutex_;
  const absl::Time start_;
  absl::Duration elapsed_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

}  // namespace edgekiln

#endif  // EK_BASE_CLOCK_H_
