#include "server/daemon/daemon_status.h"

#include "cache/disk_space.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/status/process_use.h"

namespace edgekiln::server {

v1::DaemonStatus DescribeDaemon(const StatusSources& sources,
                                const absl::Status& ready, absl::Time started,
                                absl::Time now) {
  v1::DaemonStatus status;
  *status.mutable_now() = ToTimestamp(now);
  *status.mutable_started() = ToTimestamp(started);
  status.set_refusal(std::string(ready.message()));
  sources.jobs.Describe(*status.mutable_jobs());
  status.mutable_jobs()->set_watchers(sources.watchers.count());
  sources.dispatcher.Describe(status);
  sources.stages.counts().AppendTo(status);
  status.set_quarantined(sources.quarantine.size());
  v1::DaemonStatus::Cache& cache = *status.mutable_cache();
  const cache::CacheUsage usage = sources.evictor.Usage();
  if (usage.bytes.has_value()) cache.set_bytes(*usage.bytes);
  cache.set_limit_bytes(sources.options.cache_limit_bytes);
  cache.set_evicted_files(usage.evicted_files);
  cache.set_evicted_bytes(usage.evicted_bytes);
  v1::DaemonStatus::Disk& disk = *status.mutable_disk();
  disk.set_free_bytes(
      cache::FreeBytes(sources.options.state_folder).value_or(0));
  disk.set_reserve_bytes(sources.options.disk_reserve_bytes);
  v1::DaemonStatus::Process& process = *status.mutable_process();
  process = ProcessUse();
  process.set_client_connections(sources.clients.Counts().connections);
  process.set_worker_connections(sources.workers.Counts().connections);
  return status;
}

}  // namespace edgekiln::server
