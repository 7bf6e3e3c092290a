#include "server/daemon/status/metrics.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/version.h"

namespace edgekiln::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// Families in the order in which they are begun.
class Families {
 public:
  // What follows belongs to it.
  void Begin(MetricType type, absl::string_view name, absl::string_view help) {
    MetricFamily& family = all_.emplace_back();
    family.name = absl::StrCat("edgekiln_", name);
    family.help = std::string(help);
    family.type = type;
  }
  void Add(double value, Labels labels = {}) {
    MetricFamily& family = all_.back();
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    if (family.type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
  }
  void Gauge(absl::string_view name, absl::string_view help, double value) {
    Begin(MetricType::Gauge, name, help);
    Add(value);
  }
  void Counter(absl::string_view name, absl::string_view help, double value) {
    Begin(MetricType::Counter, name, help);
    Add(value);
  }
  std::vector<MetricFamily> Take() { return std::move(all_); }

 private:
  std::vector<MetricFamily> all_;
};

double Number(int64_t value) { return static_cast<double>(value); }

void AddJobs(const v1::DaemonStatus& status, Families& out) {
  const v1::DaemonStatus::Jobs& jobs = status.jobs();
  out.Begin(MetricType::Gauge, "jobs", "Jobs that are not over, by state.");
  out.Add(jobs.running(), {{"state", "running"}, {"kind", "job"}});
  out.Add(jobs.queued(), {{"state", "queued"}, {"kind", "job"}});
  out.Add(jobs.sweeps_running(), {{"state", "running"}, {"kind", "sweep"}});
  out.Add(jobs.sweeps_queued(), {{"state", "queued"}, {"kind", "sweep"}});
  out.Gauge("jobs_max_queued", "Queued jobs above which more are refused.",
            jobs.max_queued());
  out.Gauge("jobs_max_running", "Jobs that may run at once.",
            jobs.max_running());
  out.Begin(MetricType::Counter, "jobs_finished_total",
            "Jobs that ended since the start, by outcome.");
  out.Add(Number(jobs.succeeded()), {{"outcome", "succeeded"}});
  out.Add(Number(jobs.failed()), {{"outcome", "failed"}});
  out.Add(Number(jobs.cancelled()), {{"outcome", "cancelled"}});
  out.Gauge("job_watchers", "Open streams of job events.", jobs.watchers());
}

void AddStages(const v1::DaemonStatus& status, Families& out) {
  out.Begin(MetricType::Counter, "stages_total",
            "Stages that jobs asked for: executed by a worker, found in the "
            "cache, shared with another job, or failed.");
  for (const v1::DaemonStatus::Stage& stage : status.stages()) {
    const auto add = [&](const char* how, int64_t count) {
      out.Add(Number(count), {{"stage", stage.name()}, {"how", how}});
    };
    add("executed", stage.executed());
    add("hit", stage.hit());
    add("joined", stage.joined());
    add("failed", stage.failed());
  }
  out.Begin(MetricType::Counter, "stage_cpu_seconds_total",
            "CPU time of workers for executed stages.");
  for (const v1::DaemonStatus::Stage& stage : status.stages()) {
    out.Add(stage.cpu_seconds(), {{"stage", stage.name()}});
  }
  out.Begin(MetricType::Counter, "stage_seconds_total",
            "Time from lease to result of executed stages.");
  for (const v1::DaemonStatus::Stage& stage : status.stages()) {
    out.Add(stage.wall_seconds(), {{"stage", stage.name()}});
  }
  out.Gauge("stages_waiting", "Stages that wait for a worker.",
            status.waiting_leases());
  out.Gauge("stages_quarantined", "Stages that are not tried again.",
            status.quarantined());
}

// By role and not by worker: names of workers change with each restart, and
// each would be a time series of its own.
void AddWorkers(const v1::DaemonStatus& status, Families& out) {
  out.Begin(MetricType::Gauge, "workers",
            "Connected workers; those with both roles count for each.");
  out.Add(status.compile_workers(), {{"role", "compile"}});
  out.Add(status.simulate_workers(), {{"role", "simulate"}});
  out.Gauge("worker_slots", "Stages that workers can execute at once.",
            status.slots());
  out.Gauge("worker_slots_used", "Stages that workers execute.",
            status.used_slots());
}

void AddStorage(const v1::DaemonStatus& status, Families& out) {
  const v1::DaemonStatus::Cache& cache = status.cache();
  if (cache.has_bytes()) {
    out.Gauge("cache_bytes", "Blobs and stage results on the disk.",
              Number(cache.bytes()));
  }
  out.Gauge("cache_limit_bytes",
            "Cache size above which it is trimmed; 0: none.",
            Number(cache.limit_bytes()));
  out.Counter("cache_evicted_files_total", "Files removed from the cache.",
              Number(cache.evicted_files()));
  out.Counter("cache_evicted_bytes_total", "Bytes removed from the cache.",
              Number(cache.evicted_bytes()));
  out.Gauge("disk_free_bytes", "Free space where the state folder lies.",
            Number(status.disk().free_bytes()));
  out.Gauge("disk_reserve_bytes", "Free space below which uploads are refused.",
            Number(status.disk().reserve_bytes()));
}

void AddProcess(const v1::DaemonStatus& status, Families& out) {
  const v1::DaemonStatus::Process& process = status.process();
  out.Gauge("resident_memory_bytes", "Memory of the daemon.",
            Number(process.resident_bytes()));
  out.Counter("cpu_seconds_total", "CPU time of the daemon.",
              process.cpu_seconds());
  out.Gauge("open_files", "Open file descriptors.", process.open_files());
  out.Gauge("max_open_files", "Limit of file descriptors.",
            process.max_open_files());
  out.Gauge("threads", "Threads of the daemon.", process.threads());
  out.Begin(MetricType::Gauge, "connections", "Connections, by peer.");
  out.Add(process.client_connections(), {{"peer", "client"}});
  out.Add(process.worker_connections(), {{"peer", "worker"}});
  out.Gauge("start_time_seconds", "When the daemon was started, in Unix time.",
            Number(status.started().seconds()));
}

}  // namespace

std::vector<MetricFamily> MetricsOf(const v1::DaemonStatus& status) {
  Families out;
  out.Begin(MetricType::Gauge, "build_info", "Always 1; says the version.");
  out.Add(1, {{"version", std::string(Version())}});
  out.Gauge("ready", "1 where jobs are taken, otherwise 0.",
            status.refusal().empty() ? 1 : 0);
  AddJobs(status, out);
  AddStages(status, out);
  AddWorkers(status, out);
  AddStorage(status, out);
  AddProcess(status, out);
  return out.Take();
}

}  // namespace edgekiln::server
