#include "server/daemon/health.h"

#include <grpcpp/health_check_service_interface.h>

#include <initializer_list>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/daemon/shutting_down.h"

namespace edgekiln::server {
namespace {

constexpr char kJobs[] = "edgekiln.v1.Jobs";
constexpr char kReports[] = "edgekiln.v1.Reports";
constexpr char kModels[] = "edgekiln.v1.Models";
constexpr char kTargets[] = "edgekiln.v1.Targets";
constexpr char kWorkers[] = "edgekiln.v1.Workers";
constexpr char kByteStream[] = "google.bytestream.ByteStream";
constexpr char kCas[] =
    "build.bazel.remote.execution.v2.ContentAddressableStorage";

// The first that is not OK.
absl::Status All(std::initializer_list<absl::Status> parts) {
  for (const absl::Status& part : parts) {
    if (!part.ok()) return part;
  }
  return absl::OkStatus();
}

absl::Status Some(int workers, absl::string_view role) {
  if (workers > 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("no worker for ", role, " stages is connected"));
}

bool IsShuttingDown(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && detail->reason == "SHUTTING_DOWN";
}

}  // namespace

std::map<std::string, absl::Status> ClientHealth(const HealthFacts& facts) {
  const absl::Status reads =
      All({facts.draining ? ShuttingDown() : absl::OkStatus(), facts.state,
           facts.client_port});
  const absl::Status writes = All({reads, facts.room});
  const absl::Status compiles =
      All({reads, facts.worker_port, Some(facts.compile_workers, "compile")});
  return {
      {"", reads},
      {kReports, reads},
      {kJobs, writes},
      {kByteStream, writes},
      {kCas, writes},
      {kModels, compiles},
      {kTargets, compiles},
      {kWorkers, All({compiles, Some(facts.simulate_workers, "simulate")})}};
}

std::map<std::string, absl::Status> WorkerHealth(const HealthFacts& facts) {
  const absl::Status takes =
      All({facts.draining ? ShuttingDown() : absl::OkStatus(), facts.state,
           facts.worker_port});
  return {{"", takes}, {kWorkers, takes}};
}

void HealthReporter::Report(const std::map<std::string, absl::Status>& health,
                            grpc::HealthCheckServiceInterface* service) {
  for (const auto& [name, status] : health) {
    const auto [told, first] = told_.emplace(name, true);
    if (!first && told->second == status.ok()) continue;
    if (service != nullptr) service->SetServingStatus(name, status.ok());
    // One line of the whole says what matters; the rest is detail. Workers come
    // and go with lines of their own.
    const std::string shown =
        name.empty() ? name_ : absl::StrCat(name_, ", ", name);
    if (!status.ok()) {
      log_.Debug("health of ", shown, ": NOT_SERVING: ", status.message());
      // Whoever ends the daemon has said so.
      if ((name.empty() || name == kJobs) && !IsShuttingDown(status)) {
        log_.Warning("not serving ", shown, ": ", status.message());
      }
    } else if (!first) {
      log_.Debug("health of ", shown, ": SERVING");
      if (name.empty() || name == kJobs) log_.Info("serving ", shown, " again");
    }
    told->second = status.ok();
  }
}

}  // namespace edgekiln::server
