#ifndef EK_SERVER_DAEMON_STAGES_STAGE_CHAINS_H_
#define EK_SERVER_DAEMON_STAGES_STAGE_CHAINS_H_

// What is kept of stages that were executed along with others, before anybody
// asked for them (docs/design/0032-chains-of-stages.md). Thread-compatible.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "absl/time/time.h"
#include "base/sized_lru.h"
#include "server/job_context.h"

namespace edgekiln::server {

// Stages whose results are stored and that nobody has asked for: the first who
// does is told what they cost, as if they had been executed for it.
class UnclaimedStages {
 public:
  struct Cost {
    absl::Duration elapsed = absl::ZeroDuration();
    double cpu_seconds = 0;
  };

  // Beyond `limit` stages, the oldest are forgotten: who asks for them is told
  // that they were found.
  explicit UnclaimedStages(size_t limit) : limit_(limit) {}

  void Add(const std::string& key, Cost cost);
  // What it cost, once.
  std::optional<Cost> Take(const std::string& key);

 private:
  struct Stage {
    Cost cost;
    std::list<std::string>::iterator place;
  };

  const size_t limit_;
  std::unordered_map<std::string, Stage> stages_;
  std::list<std::string> keys_;  // The oldest first.
};

// How long work took that goes with chains only where it is short
// (StageCall::work), of the last `limit` that were executed.
class KnownWork {
 public:
  // Of one stage of a chain that others wait for.
  static constexpr double kShortCpuSeconds = 0.1;

  explicit KnownWork(int64_t limit) : seconds_(limit) {}

  void Note(const std::string& work, double cpu_seconds);
  // False if it is not known.
  bool IsShort(const std::string& work);

 private:
  SizedLru<std::string, std::shared_ptr<const double>> seconds_;
};

// Whether each of a stage's inputs is known, so that it has a key.
bool HasAllInputs(const StageCall& call);

// Stages of which a chain makes some inputs, by what is known of them: of each
// chain the first one. Two that look the same here may turn out to be the same
// stage, executed twice: only the first of them goes with a chain.
class ChainedOnce {
 public:
  explicit ChainedOnce(size_t limit) : limit_(limit) {}

  // False if there was one like it among the last `limit`.
  bool TryAdd(const StageCall& call);

 private:
  const size_t limit_;
  std::unordered_set<std::string> seen_;
  std::deque<std::string> oldest_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_STAGE_CHAINS_H_
