#ifndef EK_SERVER_DAEMON_FARM_TESTING_FAKE_WORKER_H_
#define EK_SERVER_DAEMON_FARM_TESTING_FAKE_WORKER_H_

// A worker for tests: speaks the real protocol to a real listener, executes the
// stages of fake_stages.h.

#include <memory>
#include <string>
#include <vector>

namespace edgekiln::server {

struct FakeWorkerOptions {
  std::string address{};
  std::string secret_file{};
  int slots = 4;
  std::string hang_on{};   // Never answers leases of this stage ("tile").
  std::string crash_on{};  // Answers them with an infra_error.
};

// Serves from creation to destruction. Thread-safe.
class FakeWorker {
 public:
  virtual ~FakeWorker() = default;
  // Names of the stages executed so far, sorted.
  virtual std::vector<std::string> Executed() = 0;
  // Leases that the daemon took back.
  virtual int Cancelled() = 0;
};

std::unique_ptr<FakeWorker> StartFakeWorker(const FakeWorkerOptions& options);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_TESTING_FAKE_WORKER_H_
