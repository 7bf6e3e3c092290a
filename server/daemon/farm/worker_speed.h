#ifndef EK_SERVER_DAEMON_FARM_WORKER_SPEED_H_
#define EK_SERVER_DAEMON_FARM_WORKER_SPEED_H_

// How long workers take for stages, each measured against the others.

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace edgekiln::server {

// Thread-compatible.
class WorkerSpeeds {
 public:
  // `worker` took that long for a stage of this kind.
  void Record(uint64_t worker, int kind, absl::Duration took);
  void Forget(uint64_t worker);

  // Moving average of the worker's times, as a multiple of what the other
  // workers take for stages of the same kinds: 1 as long as there is nothing to
  // compare with, 1/8 to 8 otherwise.
  double SlownessOf(uint64_t worker) const;

 private:
  struct Kind {
    double sum = 0;  // Of the workers' averages, as logarithms of seconds.
    int workers = 0;
  };
  std::map<int, Kind> kinds_;
  // Logarithms of seconds by kind.
  std::map<uint64_t, std::map<int, double>> averages_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_WORKER_SPEED_H_
