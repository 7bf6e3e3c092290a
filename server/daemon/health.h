#ifndef EK_SERVER_DAEMON_HEALTH_H_
#define EK_SERVER_DAEMON_HEALTH_H_

// What grpc.health.v1 says of each service, and why.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
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

// Room that comes and goes at the edge of the reserve: once there was none, it
// counts again only when there is clearly some. Not thread-safe.
class RoomWatch {
 public:
  // `again_bytes`: as much beyond the reserve as there must be then.
  explicit RoomWatch(int64_t again_bytes) : again_bytes_(again_bytes) {}
  // `admit`: OK if there are so many bytes, else why not.
  absl::Status Check(const std::function<absl::Status(int64_t)>& admit) {
    absl::Status status = admit(full_ ? again_bytes_ : 1);
    full_ = !status.ok();
    return status;
  }

 private:
  const int64_t again_bytes_;
  bool full_ = false;
};

// Tells gRPC's health service what has changed, and the log why: at most once a
// minute that a service ends, and then when it is back.
// Not thread-safe. `clock` and `log` must outlive it.
class HealthReporter {
 public:
  HealthReporter(std::string name, Clock& clock, Logger& log)
      : name_(std::move(name)), clock_(clock), log_(log) {}
  // `service` may be null.
  void Report(const std::map<std::string, absl::Status>& health,
              grpc::HealthCheckServiceInterface* service);

 private:
  struct Told {
    bool serving = true;                                  // To gRPC.
    bool logged = true;                                   // What the log says.
    absl::Duration ended_at = -absl::InfiniteDuration();  // Said by the log.
    int unsaid = 0;  // Ends that the log does not have.
  };

  void Log(const std::string& name, const absl::Status& status, Told& told);

  const std::string name_;  // "clients"
  Clock& clock_;
  Logger& log_;
  std::map<std::string, Told> told_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HEALTH_H_
