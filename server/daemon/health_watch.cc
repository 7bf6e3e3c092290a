#include "server/daemon/health_watch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

constexpr std::chrono::milliseconds kTick{500};
// Whether our own ports accept is looked at less often.
constexpr absl::Duration kPortCheckInterval = absl::Seconds(5);

}  // namespace

HealthWatch::HealthWatch(HealthSources sources, Clock& clock, Logger& log)
    : sources_(std::move(sources)),
      clock_(clock),
      room_(sources_.again_bytes),
      client_health_("clients", clock, log),
      worker_health_("workers", clock, log) {}

void HealthWatch::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void HealthWatch::Stop() {
  {
    MutexLock lock(stop_mutex_);
    stop_ = true;
  }
  stop_changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

absl::Status HealthWatch::Ready() const {
  MutexLock lock(ready_mutex_);
  return ready_;
}

// Whether jobs can be stored: there is room, and the database may be written.
absl::Status HealthWatch::CheckWritable() {
  EK_RETURN_IF_ERROR(room_.Check(
      [this](int64_t bytes) { return sources_.space.Admit(bytes, "a job"); }));
  const std::string& path = sources_.database;
  if (access(path.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(path, " cannot be written: ", strerror(errno)));
}

void HealthWatch::Update() {
  HealthFacts facts;
  facts.state = sources_.check_state();
  facts.compile_workers = sources_.dispatcher.WorkerCount(v1::COMPILE_ROLE);
  facts.simulate_workers = sources_.dispatcher.WorkerCount(v1::SIMULATE_ROLE);
  MutexLock lock(mutex_);
  facts.room = CheckWritable();
  // Under the lock: a look that began before draining must not say SERVING
  // after it.
  facts.draining = sources_.draining();
  facts.client_port = client_port_;
  facts.worker_port = worker_port_;
  const std::map<std::string, absl::Status> health = ClientHealth(facts);
  {
    MutexLock ready(ready_mutex_);
    ready_ = health.at("edgekiln.v1.Jobs");
  }
  client_health_.Report(health, sources_.clients.health());
  worker_health_.Report(WorkerHealth(facts), sources_.workers.health());
}

// One look may fail for a burst of connections; two in a row do not.
void HealthWatch::CheckPorts() {
  const auto check = [](Listener& listener) {
    return listener.Check().ok() ? absl::OkStatus() : listener.Check();
  };
  const absl::Status clients = check(sources_.clients);
  const absl::Status workers = check(sources_.workers);
  MutexLock lock(mutex_);
  client_port_ = clients;
  worker_port_ = workers;
}

void HealthWatch::Loop() {
  absl::Duration next_check = clock_.Monotonic() + kPortCheckInterval;
  MutexLock lock(stop_mutex_);
  while (!stop_) {
    const auto end = std::chrono::steady_clock::now() + kTick;
    while (!stop_ && stop_changed_.WaitUntil(lock, end)) {
    }
    if (stop_) return;
    lock.Unlock();
    if (clock_.Monotonic() >= next_check) {
      CheckPorts();
      next_check = clock_.Monotonic() + kPortCheckInterval;
    }
    Update();
    lock.Lock();
  }
}

}  // namespace edgekiln::server
