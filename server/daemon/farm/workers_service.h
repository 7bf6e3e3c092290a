#ifndef EK_SERVER_DAEMON_FARM_WORKERS_SERVICE_H_
#define EK_SERVER_DAEMON_FARM_WORKERS_SERVICE_H_

// The stream of each worker. Arguments must outlive the service; a service
// belongs to one server.

#include <grpcpp/impl/codegen/server_context.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "absl/status/status.h"
#include "cache/blob_store.h"
#include "server/daemon/farm/dispatcher.h"
#include "server/daemon/farm/worker_gate.h"

namespace edgekiln::server {

std::unique_ptr<grpc::Service> NewWorkersService(WorkerGate& gate,
                                                 Dispatcher& dispatcher,
                                                 cache::BlobStore& blobs);

// Whether a call comes from a connected worker. Errors: UNAUTHENTICATED.
absl::Status CheckSession(const WorkerGate& gate,
                          const grpc::ServerContextBase& context);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_WORKERS_SERVICE_H_
