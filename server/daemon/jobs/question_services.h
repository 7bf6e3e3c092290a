#ifndef EK_SERVER_DAEMON_JOBS_QUESTION_SERVICES_H_
#define EK_SERVER_DAEMON_JOBS_QUESTION_SERVICES_H_

// Models and Targets over the network: answers that need no job. Arguments must
// outlive the services; a service belongs to one server.

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "cache/blob_store.h"
#include "server/daemon/activity.h"
#include "server/daemon/jobs/question.h"

namespace edgekiln::server {

// `stopping` ends questions when the daemon shuts down.
std::unique_ptr<grpc::Service> NewModelsService(Questions& questions,
                                                cache::BlobStore& blobs,
                                                Activity& activity);
std::unique_ptr<grpc::Service> NewTargetsService(Questions& questions,
                                                 cache::BlobStore& blobs,
                                                 Activity& activity);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_QUESTION_SERVICES_H_
