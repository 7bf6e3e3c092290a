#ifndef EK_SERVER_WORKER_WORKER_H_
#define EK_SERVER_WORKER_WORKER_H_

// A worker: holds a session with a daemon, and executes the leases it gets.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/log.h"
#include "edgekiln/v1/workers.pb.h"
#include "server/worker/child_process.h"
#include "server/worker/current_compilers.h"

namespace edgekiln::server {

struct WorkerOptions {
  std::string address;  // As gRPC names it: "host:port", "unix:/path".
  std::vector<v1::WorkerRole> roles;
  std::string secret_file;  // What the daemon knows as well; see
                            // worker_secret.h. Read again for each session.
  int slots = 1;
  int64_t blob_cache_bytes = int64_t{64} << 20;
  ChildOptions child;
  // For stages that build firmware: looks for compilers, at once, and again
  // when one has changed. Empty: there are none.
  CurrentCompilers::Find find_compilers{};
  // Of the children of all slots together; 0: no bound but each one's own.
  int64_t memory_budget_bytes = 0;
};

class Worker {
 public:
  virtual ~Worker() = default;
  // Serves until Stop(), then returns OK; connects again whenever the session
  // is lost, and waits for a secret that is not there yet. Returns early only
  // with FAILED_PRECONDITION (the daemon is of
  // another build), INVALID_ARGUMENT (it refuses these options),
  // UNAUTHENTICATED (one does not know the other's secret), or what reading a
  // secret that is there returns.
  virtual absl::Status Run() = 0;
  // From any thread; kills what is being executed.
  virtual void Stop() = 0;
};

// `log` must outlive the worker.
std::unique_ptr<Worker> NewWorker(WorkerOptions options, Logger& log);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_WORKER_H_
