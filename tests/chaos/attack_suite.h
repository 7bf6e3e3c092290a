#ifndef EK_TESTS_CHAOS_ATTACK_SUITE_H_
#define EK_TESTS_CHAOS_ATTACK_SUITE_H_

// Honest clients beside attackers. A daemon with two workers is worked with
// undisturbed first, which tells what is right and how long it takes; then the
// very same jobs are done again, computed anew, while attackers are at it;
// then these are killed. Demands that
//  - every honest job gets the answer that it got undisturbed, in time;
//  - no stage of an honest job has to begin again for another's fault;
//  - the daemon lives, with a bounded number of threads;
//  - no attacker gets what only a worker may have;
//  - afterwards, clients and workers are accepted and a new job succeeds;
//  - afterwards, memory and descriptors of the daemon are what they were.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/chaos/honest_clients.h"
#include "tests/chaos/process_usage.h"

namespace edgekiln::chaos {

// An honest job may take so much longer beside attackers, at the 99th
// percentile.
inline constexpr double kMaxSlowdown = 3;
// Of memory and descriptors, afterwards.
inline constexpr double kMaxGrowth = 1.05;
// The same of memory on a machine that does other things, too: how much the
// allocator keeps depends on how the peaks met.
inline constexpr double kMaxGrowthAnywhere = 1.5;
inline constexpr int kMaxThreads = 300;
// All workers together: four slots of 1 GiB, and the workers themselves.
inline constexpr int64_t kMaxWorkersRssBytes = int64_t{5} << 30;

struct AttackOptions {
  std::string bin;     // Folder of the programs.
  std::string source;  // Folder of the repository.
  std::string shared;  // Folder of shared models and data; may be empty.
  // Of the whole run but for its start and its end: a quarter undisturbed, the
  // rest under attack.
  absl::Duration length = absl::Minutes(10);
  uint64_t seed = 1;
  int clients = 20;
  std::vector<std::string> only;  // Names of attackers; empty: all.
  // No attacker at all: what the figures are worth.
  bool control = false;
  // The attackers have a farm of their own on this machine: what they take from
  // the honest clients is computing time alone.
  bool decoy = false;
  bool keep = false;  // State and logs, also of a run in which all is well.
  // Called with a line now and then. May be empty.
  std::function<void(absl::string_view)> progress;
};

struct AttackerCount {
  std::string name;
  int64_t actions = 0;
  int64_t refusals = 0;    // With a reason.
  int64_t unanswered = 0;  // Refused or cut off without one.
  int64_t breaches = 0;    // It got what it must not get.
};

struct Check {
  std::string name;
  bool passed = false;
  // Depends on what else the machine does: judged where a person runs it.
  bool timing = false;
  std::string text;  // The figures.
};

// Processors that groups of processes used on average, by group. "honest" is
// the honest clients, all in one process; "others" have nothing to do with the
// suite.
using CpuUse = std::map<std::string, double>;

struct AttackResult {
  HonestCount undisturbed;
  HonestCount disturbed;
  CpuUse undisturbed_cpu;
  CpuUse disturbed_cpu;
  int passes = 0;  // Of the honest jobs, begun under attack.
  Usage before;    // Of the daemon, with no client connected.
  Usage peak;      // Under attack.
  Usage after;
  int64_t workers_peak_rss_bytes = 0;  // With their processes, all together.
  absl::Duration recovery;  // Until memory and descriptors were back, or given
                            // up.
  std::vector<AttackerCount> attackers;
  std::vector<Check> checks;
  std::string kept;  // Folder of state and logs, if they were kept.

  // Of p99; 0 if there is none.
  double slowdown() const;
  bool Passed(bool with_timing) const;
};

// To be called by the main thread. An error: the run itself failed (something
// did not start, an undisturbed job failed), and says where its logs are.
absl::Status RunAttackSuite(const AttackOptions& options, AttackResult& result);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_ATTACK_SUITE_H_
