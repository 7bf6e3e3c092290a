#ifndef EK_TESTS_CHAOS_HONEST_CLIENTS_H_
#define EK_TESTS_CHAOS_HONEST_CLIENTS_H_

// Clients at their daily work: first undisturbed, which tells what is right and
// how long it takes, then the same jobs in the same order at the same pace,
// while others attack.

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "tests/chaos/honest_job.h"

namespace edgekiln::chaos {

struct HonestOptions {
  int clients = 20;
  uint64_t seed = 1;
  std::vector<Work> work;
  std::string folder;   // Of files of their own.
  std::string address;  // Of the daemon.
  // A job that takes longer counts as late and is cancelled.
  absl::Duration limit = absl::Seconds(20);
};

struct HonestCount {
  int64_t right = 0;
  int64_t wrong = 0;     // Another answer than undisturbed.
  int64_t failed = 0;    // No answer, for a reason.
  int64_t late = 0;      // No answer in time.
  int64_t refusals = 0;  // Told to come again, and did.
  int64_t restarts = 0;  // Stages that a worker had to begin again.
  absl::Duration p50;    // Of all that were answered or late.
  absl::Duration p99;
  // Of the slowest twentieth of those that were right, on average.
  HonestTimes slowest;
  std::vector<std::string> slow_jobs;   // The slowest few, slowest first.
  std::vector<std::string> complaints;  // The first few, of not right ones.

  int64_t jobs() const { return right + wrong + failed + late; }
};

// Passes run one after the other; thread-compatible but for count().
class HonestClients {
 public:
  HonestClients(HonestOptions options, FileSystem& files, Clock& clock);
  ~HonestClients();  // Waits for what runs.
  HonestClients(const HonestClients&) = delete;
  HonestClients& operator=(const HonestClients&) = delete;

  // Makes new jobs, whose answers are taken for right, until `end`.
  void StartUndisturbed(absl::Time end);
  // The jobs of the undisturbed pass again, but none from `end` on.
  void StartDisturbed(absl::Time end);
  // Whether every client has done its jobs.
  bool over() const { return running_ == 0; }
  // After over().
  void Join();

  // Of the undisturbed pass, and of all disturbed ones together.
  HonestCount undisturbed() { return CountOf(false); }
  HonestCount disturbed() { return CountOf(true); }

 private:
  struct Done {
    HonestJob job;
    HonestAnswer answer;
  };
  struct Right {
    std::string name;  // Of the job, for people.
    HonestTimes times;
  };
  struct Tally {
    HonestCount count;
    std::vector<absl::Duration> took;
    std::vector<Right> right;
  };

  void Start(bool disturbed, absl::Time end);
  void RunClient(int client, bool disturbed, absl::Time end);
  // The answer of an undisturbed job.
  HonestAnswer DoOne(int client, int number, const HonestJob& job,
                     const HonestAnswer* expected);
  HonestCount CountOf(bool disturbed);

  const HonestOptions options_;
  FileSystem& files_;
  Clock& clock_;
  std::vector<std::vector<Done>> scripts_;  // By client.
  int pass_ = 0;
  std::atomic<int> running_{0};
  std::vector<std::thread> threads_;
  Mutex mutex_;
  Tally undisturbed_ ABSL_GUARDED_BY(mutex_);
  Tally disturbed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_HONEST_CLIENTS_H_
