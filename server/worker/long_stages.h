#ifndef EK_SERVER_WORKER_LONG_STAGES_H_
#define EK_SERVER_WORKER_LONG_STAGES_H_

// Has stages that compute for long give way to those that have just begun
// (docs/design/0033-long-leases.md): nobody knows before how long a stage
// takes, but most take milliseconds, and a client waits for them. A stage
// begins with the priority of daemon and worker, and has a lower one from a
// moment on.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <thread>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace edgekiln::server {

// Thread-safe; has one thread. For workers that may raise priorities
// (cpu_priority.h).
class LongStages {
 public:
  struct Times {
    // Of a processor; what a stage has used when it is first looked at does not
    // count.
    absl::Duration is_short = absl::Milliseconds(50);  // Less than that.
    absl::Duration is_long = absl::Seconds(1);
    absl::Duration look_every = absl::Milliseconds(20);
  };
  LongStages() : LongStages(Times()) {}
  explicit LongStages(const Times& times);
  // Nothing may be watched any more.
  ~LongStages();
  LongStages(const LongStages&) = delete;
  LongStages& operator=(const LongStages&) = delete;

  // How often the thread has looked at all stages. For tests.
  int64_t looks();

 private:
  struct Stage {
    pid_t pid = 0;
    absl::Duration time_limit;
    // kRestored: long, and has waited for too long. kExempt: not looked at.
    enum { kNew, kShort, kMedium, kLong, kRestored, kExempt } state = kNew;
    bool is_lowered = false;          // Its priority; only of kLong.
    absl::Duration used_before{};     // Of a processor; since kShort.
    absl::Duration waited{};          // For one, at the last look; since kLong.
    absl::Duration waited_lowered{};  // The part of it while it was lowered.
  };

 public:
  // While it lives, a process executes a stage. One that is short so far has a
  // higher priority (kShortStageNice) than others (kStageNice). One that has
  // used a processor for long has a lower one (kLongStageNice) while there are
  // others that have not, until it has waited so for a processor for a quarter
  // of its time limit.
  class Watched {
   public:
    // `stages` may be null: nothing happens. Else it must outlive this, as must
    // the process, though it may have ended. Without `may_be_lowered`, others
    // give way to it, and it does not.
    Watched(LongStages* stages, pid_t pid, absl::Duration time_limit,
            bool may_be_lowered = true);
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

   private:
    LongStages* const stages_;
    std::list<Stage>::iterator stage_;
  };

 private:
  void Run();
  void Look(Stage& stage) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lowers long stages if there are others, or no longer.
  void Adjust() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Times times_;
  Mutex mutex_;
  CondVar changed_;
  std::list<Stage> stages_ ABSL_GUARDED_BY(mutex_);
  // The thread waits for a stage. It goes on looking for a while after the last
  // one: to wake it costs more than most stages may.
  bool sleeps_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t looks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_LONG_STAGES_H_
