#include "server/daemon/status/status_service.h"

#include <utility>

#include "edgekiln/v1/daemon.grpc.pb.h"

namespace edgekiln::server {
namespace {

class DaemonService final : public v1::Daemon::Service {
 public:
  DaemonService(std::function<v1::DaemonStatus()> status, Activity& activity)
      : status_(std::move(status)), activity_(activity) {}

  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::DaemonStatus* response) override {
    const Activity::Call call(activity_);
    *response = status_();
    return grpc::Status::OK;
  }

 private:
  const std::function<v1::DaemonStatus()> status_;
  Activity& activity_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewDaemonService(
    std::function<v1::DaemonStatus()> status, Activity& activity) {
  return std::make_unique<DaemonService>(std::move(status), activity);
}

}  // namespace edgekiln::server
