#ifndef EK_SERVER_DAEMON_FARM_WORKER_HELLO_H_
#define EK_SERVER_DAEMON_FARM_WORKER_HELLO_H_

// Which workers a daemon takes, and what it says about those it has not got.

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/workers.pb.h"

namespace edgekiln::server {

// Errors: FAILED_PRECONDITION with reason BUILD_MISMATCH, naming both builds;
// INVALID_ARGUMENT (no role, no slot or too many).
absl::Status CheckHello(const v1::WorkerMessage::Hello& hello,
                        const std::string& own_build);

// Errors: RESOURCE_EXHAUSTED (there are `limit` workers already).
absl::Status CheckWorkerCount(int connected, int limit);

// What the worker's processes are not kept from, as the end of a log line; ""
// if nothing. The worker's own log has the whole list.
std::string MissingConfinement(const v1::WorkerMessage::Hello& hello);

// Why stages of a role find no worker. Thread-compatible.
class WorkerShortage {
 public:
  // A worker was turned away by CheckHello().
  void Refused(const v1::WorkerMessage::Hello& hello);
  // One was taken: those turned away before explain nothing any more.
  void Taken(const v1::WorkerMessage::Hello& hello);

  // There is no worker with that role.
  v1::JobEvent::Waiting NoWorker(v1::WorkerRole role,
                                 const std::string& own_build,
                                 const std::string& workers_address) const;

 private:
  struct Stranger {
    std::string name;
    std::string build;
  };
  std::map<int, Stranger> strangers_;  // By role, the last one.
};

// There are workers with that role, but `position` stages come first, the
// waiting one included.
v1::JobEvent::Waiting AllBusy(v1::WorkerRole role, int64_t position);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_WORKER_HELLO_H_
