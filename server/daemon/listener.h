#ifndef EK_SERVER_DAEMON_LISTENER_H_
#define EK_SERVER_DAEMON_LISTENER_H_

// A gRPC server behind connections that we accept ourselves.

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "server/daemon/net/accept_loop.h"

namespace edgekiln::server {

// Not thread-safe, but for Check() and what gRPC offers.
class Listener {
 public:
  // Before Start().
  void Add(std::unique_ptr<grpc::Service> service) {
    services_.push_back(std::move(service));
  }
  // Serves on `address`, which listen_address.h describes. Errors: those of
  // CheckListenAddress() and ListenSockets::Open(). Methods that are not
  // callbacks have at most `max_threads` together. `clock` and `log` must
  // outlive the listener.
  absl::Status Start(const std::string& address, AcceptOptions options,
                     int max_threads, Clock& clock, Logger& log);
  // Takes no more connections and cancels calls that have not ended by
  // themselves a moment later. Nothing if it was never started.
  void Shutdown();
  // Until all calls have ended.
  void Wait();

  // With the port that was taken.
  const std::string& address() const { return address_; }
  // See AcceptLoop; zeros before Start() and after Shutdown(). Thread-safe.
  AcceptCounts Counts() {
    MutexLock lock(loop_mutex_);
    return loop_ == nullptr ? AcceptCounts() : loop_->Counts();
  }
  absl::Status Check() { return loop_->Check(); }
  // Null before Start().
  grpc::HealthCheckServiceInterface* health() const;

 private:
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  Mutex loop_mutex_;  // Of the pointer, for Counts().
  std::unique_ptr<AcceptLoop> loop_;
  std::string address_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_LISTENER_H_
