#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "server/daemon/daemon.h"
#include "server/daemon/net/descriptor_limit.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

template <typename Value, typename Option>
absl::Status Take(absl::string_view name, Value value, Option& option) {
  if (value < 0) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "BAD_CONFIG",
                      .what = "a negative value in the config",
                      .where = std::string(name),
                      .need = "0 for the default, or more",
                      .fix = "correct that line, or leave it out"});
  }
  if (value > 0) option = value;
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyConfig(const v1::DaemonConfig& config,
                         DaemonOptions& options) {
  if (!config.listen().empty()) options.listen = config.listen();
  if (!config.http().empty()) options.http = config.http();
  if (!config.metrics().empty()) options.metrics = config.metrics();
  if (!config.workers_listen().empty()) {
    options.workers_listen = config.workers_listen();
  }
  if (config.insecure_network()) options.insecure_network = true;
  if (!config.state_dir().empty()) options.state_folder = config.state_dir();
  int64_t lease_ms = absl::ToInt64Milliseconds(options.lease_timeout);
  int64_t heartbeat_ms = absl::ToInt64Milliseconds(options.heartbeat);
  EK_RETURN_IF_ERROR(
      Take("max_blob_bytes", config.max_blob_bytes(), options.max_blob_bytes));
  EK_RETURN_IF_ERROR(Take("max_running_jobs", config.max_running_jobs(),
                          options.max_running_jobs));
  EK_RETURN_IF_ERROR(
      Take("job_threads", config.job_threads(), options.job_threads));
  EK_RETURN_IF_ERROR(Take("max_queued_jobs", config.max_queued_jobs(),
                          options.max_queued_jobs));
  EK_RETURN_IF_ERROR(Take("max_sweep_cells", config.max_sweep_cells(),
                          options.max_sweep_cells));
  EK_RETURN_IF_ERROR(
      Take("lease_timeout_ms", config.lease_timeout_ms(), lease_ms));
  EK_RETURN_IF_ERROR(Take("heartbeat_ms", config.heartbeat_ms(), heartbeat_ms));
  int64_t keep_hours = 0;
  EK_RETURN_IF_ERROR(Take("cache_limit_bytes", config.cache_limit_bytes(),
                          options.cache_limit_bytes));
  EK_RETURN_IF_ERROR(Take("keep_jobs", config.keep_jobs(), options.keep_jobs));
  EK_RETURN_IF_ERROR(
      Take("keep_job_hours", config.keep_job_hours(), keep_hours));
  EK_RETURN_IF_ERROR(
      Take("max_uploads", config.max_uploads(), options.uploads.max_uploads));
  EK_RETURN_IF_ERROR(Take("max_upload_bytes", config.max_upload_bytes(),
                          options.uploads.max_bytes));
  EK_RETURN_IF_ERROR(Take("disk_reserve_bytes", config.disk_reserve_bytes(),
                          options.disk_reserve_bytes));
  int64_t expiry_minutes = absl::ToInt64Minutes(options.uploads.expiry);
  EK_RETURN_IF_ERROR(Take("upload_expiry_minutes",
                          config.upload_expiry_minutes(), expiry_minutes));
  options.uploads.expiry = absl::Minutes(expiry_minutes);
  int local_workers = 0;
  EK_RETURN_IF_ERROR(
      Take("local_workers", config.local_workers(), local_workers));
  EK_RETURN_IF_ERROR(
      Take("max_workers", config.max_workers(), options.max_workers));
  EK_RETURN_IF_ERROR(Take("max_worker_slots", config.max_worker_slots(),
                          options.max_worker_slots));
  if (!config.worker_secret_file().empty()) {
    options.worker_secret_file = config.worker_secret_file();
  }
  EK_RETURN_IF_ERROR(Take("max_connections", config.max_connections(),
                          options.max_connections));
  int64_t drain_seconds = absl::ToInt64Seconds(options.drain_for);
  EK_RETURN_IF_ERROR(
      Take("drain_seconds", config.drain_seconds(), drain_seconds));
  options.drain_for = absl::Seconds(drain_seconds);
  if (keep_hours > 0) options.keep_jobs_for = absl::Hours(keep_hours);
  options.lease_timeout = absl::Milliseconds(lease_ms);
  options.heartbeat = absl::Milliseconds(heartbeat_ms);
  return absl::OkStatus();
}

absl::Status SettleWorkers(DaemonOptions& options) {
  const int share = ShareConnections(options.max_connections, DescriptorLimit())
                        .workers.max_connections;
  if (options.max_workers == 0) options.max_workers = share;
  if (options.max_workers <= share) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "BAD_CONFIG",
       .what = "more workers than there are connections for",
       .where = absl::StrCat("max_workers: ", options.max_workers),
       .limit = absl::StrCat(share,
                             " connections of workers: a quarter of "
                             "max_connections (",
                             options.max_connections,
                             "), less where few files may be open (",
                             DescriptorLimit(), ")"),
       .need = "a connection for each worker",
       .fix = absl::StrCat("lower max_workers, or raise max_connections to ",
                           4 * int64_t{options.max_workers},
                           " and `ulimit -n` to ",
                           8 * int64_t{options.max_workers} + 64)});
}

std::string WorkerSecretFile(const DaemonOptions& options) {
  return options.worker_secret_file.empty()
             ? JoinPath(options.state_folder, kWorkerSecretName)
             : options.worker_secret_file;
}

}  // namespace edgekiln::server
