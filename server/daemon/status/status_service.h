#ifndef EK_SERVER_DAEMON_STATUS_STATUS_SERVICE_H_
#define EK_SERVER_DAEMON_STATUS_STATUS_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <functional>
#include <memory>

#include "edgekiln/v1/daemon.pb.h"
#include "server/daemon/activity.h"

namespace edgekiln::server {

// edgekiln.v1.Daemon over the network. `status` is called from any thread and
// does not block. Arguments must outlive the service; it belongs to one server.
std::unique_ptr<grpc::Service> NewDaemonService(
    std::function<v1::DaemonStatus()> status, Activity& activity);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STATUS_STATUS_SERVICE_H_
