#ifndef EK_SERVER_DAEMON_FARM_WORKERS_SERVICE_H_
#define EK_SERVER_DAEMON_FARM_WORKERS_SERVICE_H_

// The stream of each worker. Arguments must outlive the service; a service
// belongs to one server.

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "server/daemon/farm/dispatcher.h"

namespace edgekiln::server {

std::unique_ptr<grpc::Service> NewWorkersService(Dispatcher& dispatcher);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_WORKERS_SERVICE_H_
