#ifndef EK_SERVER_DAEMON_BLOBS_BLOB_SERVICES_H_
#define EK_SERVER_DAEMON_BLOBS_BLOB_SERVICES_H_

// Blobs over the network, as the Remote Execution API and ByteStream define it.
// Served to clients and to workers alike. Each factory's arguments must outlive
// the service; a service belongs to one server.

#include <grpcpp/impl/codegen/server_context.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "cache/blob_store.h"
#include "cache/upload_store.h"
#include "server/daemon/activity.h"

namespace edgekiln::server {

struct BlobLimits {
  int64_t max_blob_bytes = int64_t{2} << 30;
  // Of all blobs of one batch call: with what is around them, an answer stays
  // below the 4 MiB that gRPC clients take.
  int64_t max_batch_bytes = (4 << 20) - (256 << 10);
  // Whether a caller is served; empty: everyone is.
  std::function<absl::Status(const grpc::ServerContextBase&)> admit{};
};

inline absl::Status Admit(const BlobLimits& limits,
                          const grpc::ServerContextBase& context) {
  return limits.admit ? limits.admit(context) : absl::OkStatus();
}

std::unique_ptr<grpc::Service> NewContentAddressableStorageService(
    BlobLimits limits, cache::BlobStore& blobs, Activity& activity);
std::unique_ptr<grpc::Service> NewCapabilitiesService(BlobLimits limits,
                                                      Activity& activity);
std::unique_ptr<grpc::Service> NewByteStreamService(BlobLimits limits,
                                                    cache::BlobStore& blobs,
                                                    cache::UploadStore& uploads,
                                                    Activity& activity);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_BLOBS_BLOB_SERVICES_H_
