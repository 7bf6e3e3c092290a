#ifndef EK_SERVER_DAEMON_HEALTH_H_
#define EK_SERVER_DAEMON_HEALTH_H_

// What grpc.health.v1 says of each service, and why.

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/log.h"

namespace grpc {
class HealthCheckServiceInterface;
}  // namespace grpc

namespace edgekiln::server {

struct HealthFacts {
  bool draining = false;
  absl::Status state;        // Whether the state folder is there.
  absl::Status room;         // Whether jobs and blobs can be stored.
  absl::Status client_port;  // Whether connections are accepted.
  absl::Status worker_port;
  int compile_workers = 0;
  int simulate_workers = 0;
};

// By service: OK for SERVING, else why not. On the port for clients:
//
//   ""            answers what it has: jobs, reports, blobs
//   Reports       as ""
//   Jobs          takes new jobs, too: there is room to store them
//   Workers       some are connected for compile and for simulate stages
//   Models        one is connected for compile stages
//   Targets       as Models
//   ByteStream, ContentAddressableStorage  as Jobs
//
// A full disk does not make "" fail: what is there can still be read. Nor does
// a missing worker make Jobs fail: a job that is taken waits for it.
std::map<std::string, absl::Status> ClientHealth(const HealthFacts& facts);

// On the port for workers: "" and Workers, whether one may come.
std::map<std::string, absl::Status> WorkerHealth(const HealthFacts& facts);

// Tells gRPC's health service what has changed, and the log why.
// Not thread-safe. `log` must outlive it.
class HealthReporter {
 public:
  HealthReporter(std::string name, Logger& log)
      : name_(std::move(name)), log_(log) {}
  // `service` may be null.
  void Report(const std::map<std::string, absl::Status>& health,
              grpc::HealthCheckServiceInterface* service);

 private:
  const std::string name_;  // "clients"
  Logger& log_;
  std::map<std::string, bool> told_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HEALTH_H_
