#ifndef EK_CLIENT_CONNECTION_H_
#define EK_CLIENT_CONNECTION_H_

// The daemon as the commands see it: typed calls that return absl::Status, with
// deadlines, and with retries where a retry is safe. A daemon that has answered
// and is gone, or says that it is shutting down, is waited for, in calls,
// transfers and watches alike. Keeps gRPC out of the
// commands and lets tests put another daemon in its place.
//
// Errors: what the daemon answered, with its ErrorDetail; DAEMON_UNREACHABLE
// (exit code 4) naming the address if nobody answers; TIMEOUT (exit code 5)
// once `deadline` has passed, if the daemon has answered before or is one that
// `revive` starts. Not thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "client/local_blob.h"
#include "client/upload.h"
#include "client/watch.h"
#include "edgekiln/v1/daemon.pb.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::client {

class Connection {
 public:
  virtual ~Connection() = default;

  // Safe to repeat because of request_id, which must be set.
  virtual absl::StatusOr<v1::Job> CreateJob(
      const v1::CreateJobRequest& request) = 0;
  virtual absl::StatusOr<v1::Job> GetJob(const std::string& id) = 0;
  virtual absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request) = 0;
  virtual absl::StatusOr<v1::Job> CancelJob(const std::string& id) = 0;
  virtual absl::StatusOr<v1::SweepPlanned> PlanSweep(
      const v1::SweepRequest& sweep) = 0;
  virtual absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(
      const v1::ListQuarantineRequest& request) = 0;
  // What was released.
  virtual absl::StatusOr<v1::QuarantinedStage> ReleaseQuarantine(
      const std::string& id) = 0;
  virtual absl::StatusOr<v1::DaemonStatus> GetStatus() = 0;
  virtual absl::StatusOr<v1::Report> GetReport(const std::string& job_id,
                                               int target) = 0;
  virtual absl::StatusOr<v1::ModelDescription> InspectModel(
      const v1::InspectModelRequest& request) = 0;
  virtual absl::StatusOr<v1::ListTargetsResponse> ListTargets() = 0;
  // Refused if the target does not have `recipe`, unless that is empty.
  virtual absl::StatusOr<v1::TargetInfo> GetTarget(
      const std::string& name, const std::string& recipe) = 0;
  virtual absl::StatusOr<v1::ValidateTargetResponse> ValidateTarget(
      const Digest& target) = 0;

  // See upload.h and watch.h.
  virtual absl::Status Upload(const std::vector<LocalBlob>& blobs,
                              const TransferProgress& progress) = 0;
  virtual absl::Status Download(
      const Digest& digest,
      const std::function<absl::Status(absl::string_view)>& sink) = 0;
  virtual absl::Status Watch(const std::string& job_id, int64_t after_sequence,
                             WatchSink& sink) = 0;
};

// Without --timeout.
inline constexpr absl::Duration kReconnectFor = absl::Minutes(5);

struct ConnectionOptions {
  std::string grpc_target;  // "host:port", "unix:/path".
  std::string shown;        // The address in messages.
  std::string fix;          // What to do if nobody answers there.
  // Of every call; wall clock.
  absl::Time deadline = absl::InfiniteFuture();
  absl::Duration timeout = absl::InfiniteDuration();  // For messages.
  // Called before connecting again after a break; may start a daemon. Empty:
  // nothing to do.
  std::function<absl::Status()> revive;
  // How long a daemon that has answered and is gone is waited for: it may be
  // restarting. The deadline ends that, too.
  absl::Duration reconnect_for = kReconnectFor;
  // Told when waiting for it starts (true) and ends. May be empty.
  std::function<void(bool)> on_waiting = {};
  // Whether the user has asked to end; such a wait ends then. May be empty.
  std::function<bool()> interrupted = {};
  // How long calls that need no worker may take.
  absl::Duration call_timeout = absl::Seconds(30);
  // Of Watch(): see WatchOptions::tick.
  absl::Duration watch_tick = absl::Milliseconds(50);
};

// Does not connect yet. `files` and `clock` must outlive the connection.
std::unique_ptr<Connection> NewConnection(ConnectionOptions options,
                                          FileSystem& files, Clock& clock);

// The address of a daemon as a gRPC target: "HOST:PORT", "[::1]:PORT",
// "unix:/PATH" or "/PATH" of a socket. A usage error for anything else, which
// names `source`: "--server " or "EDGEKILN_SERVER=", before the address.
absl::StatusOr<std::string> ParseServerAddress(
    absl::string_view address, absl::string_view source = "--server ");

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CONNECTION_H_
