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

// Between messages that a service has ended: what comes and goes must not fill
// the log.
constexpr absl::Duration kBetweenLines = absl::Minutes(1);

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
    const auto [it, first] = told_.emplace(name, Told());
    Told& told = it->second;
    if (first || told.serving != status.ok()) {
      if (service != nullptr) service->SetServingStatus(name, status.ok());
      if (told.serving && !status.ok()) ++told.unsaid;
      told.serving = status.ok();
    }
    // One line of the whole says what matters; the rest is detail. Workers come
    // and go with lines of their own.
    if (name.empty() || name == kJobs) Log(name, status, told);
  }
}

void HealthReporter::Log(const std::string& name, const absl::Status& status,
                         Told& told) {
  if (told.logged == status.ok()) return;
  const std::string shown =
      name.empty() ? name_ : absl::StrCat(name_, ", ", name);
  if (status.ok()) {
    log_.Info("serving ", shown, " again");
    told.logged = true;
    return;
  }
  // Whoever ends the daemon has said so.
  if (IsShuttingDown(status)) return;
  const absl::Duration now = clock_.Monotonic();
  if (now - told.ended_at < kBetweenLines) return;
  log_.Warning("not serving ", shown, ": ", status.message(),
               told.unsaid > 1 ? absl::StrCat(" (and ", told.unsaid - 1,
                                              " more times lately)")
                               : std::string());
  told = {.serving = false, .logged = false, .ended_at = now};
}

}  // namespace edgekiln::server
