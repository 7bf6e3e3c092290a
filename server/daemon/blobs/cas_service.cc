#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "server/daemon/blobs/blob_services.h"
#include "server/daemon/rpc_status.h"

namespace edgekiln::server {
namespace {

namespace reapi = build::bazel::remote::execution::v2;

constexpr int kStoredAtOnce = 16;
// Of one call: the answer lists as many, and stays below 4 MiB.
constexpr int kMaxDigests = 16'384;
// What a blob takes in an answer beside its bytes.
constexpr int64_t kEntryBytes = 128;

absl::StatusOr<Digest> Checked(const reapi::Digest& digest) {
  Digest out{digest.hash(), digest.size_bytes()};
  EK_RETURN_IF_ERROR(ValidateDigest(out));
  return out;
}

absl::Status CheckFunction(reapi::DigestFunction::Value function) {
  if (function == reapi::DigestFunction::UNKNOWN ||
      function == reapi::DigestFunction::SHA256) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "DIGEST_FUNCTION",
                    .what = "unsupported digest function",
                    .limit = "SHA256",
                    .fix = "name blobs by their SHA-256"});
}

absl::Status CheckBatch(int64_t bytes, int64_t limit) {
  if (bytes <= limit) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BATCH_TOO_LARGE",
                    .what = "the blobs of this call are too large together",
                    .limit = absl::StrCat(limit, " bytes"),
                    .need = absl::StrCat(bytes, " bytes"),
                    .fix = "use ByteStream for large blobs"});
}

absl::Status CheckCount(int count) {
  if (count <= kMaxDigests) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BATCH_TOO_LARGE",
                    .what = "too many blobs in one call",
                    .limit = absl::StrCat(kMaxDigests, " blobs"),
                    .need = absl::StrCat(count, " blobs"),
                    .fix = "make several calls"});
}

class CasService final : public reapi::ContentAddressableStorage::Service {
 public:
  CasService(BlobLimits limits, cache::BlobStore& blobs, Activity& activity)
      : limits_(limits), blobs_(blobs), activity_(activity) {}

  grpc::Status FindMissingBlobs(
      grpc::ServerContext* context,
      const reapi::FindMissingBlobsRequest* request,
      reapi::FindMissingBlobsResponse* response) override {
    if (absl::Status no = Admit(limits_, *context); !no.ok()) return ToGrpc(no);
    const Activity::Call call(activity_);
    return ToGrpc(FindMissing(*request, *response));
  }

  grpc::Status BatchUpdateBlobs(
      grpc::ServerContext* context,
      const reapi::BatchUpdateBlobsRequest* request,
      reapi::BatchUpdateBlobsResponse* response) override {
    if (absl::Status no = Admit(limits_, *context); !no.ok()) return ToGrpc(no);
    const Activity::Call call(activity_);
    return ToGrpc(Update(*request, *response));
  }

  grpc::Status BatchReadBlobs(
      grpc::ServerContext* context, const reapi::BatchReadBlobsRequest* request,
      reapi::BatchReadBlobsResponse* response) override {
    if (absl::Status no = Admit(limits_, *context); !no.ok()) return ToGrpc(no);
    const Activity::Call call(activity_);
    return ToGrpc(ReadBatch(*request, *response));
  }

 private:
  absl::Status FindMissing(const reapi::FindMissingBlobsRequest& request,
                           reapi::FindMissingBlobsResponse& response) {
    EK_RETURN_IF_ERROR(CheckFunction(request.digest_function()));
    EK_RETURN_IF_ERROR(CheckCount(request.blob_digests_size()));
    for (const reapi::Digest& proto : request.blob_digests()) {
      EK_ASSIGN_OR_RETURN(const Digest digest, Checked(proto));
      // A client that is told that a blob is present does not send it.
      EK_ASSIGN_OR_RETURN(const bool present,
                          cache::ContainsDurably(blobs_, digest));
      if (!present) *response.add_missing_blob_digests() = proto;
    }
    return absl::OkStatus();
  }

  absl::Status Update(const reapi::BatchUpdateBlobsRequest& request,
                      reapi::BatchUpdateBlobsResponse& response) {
    EK_RETURN_IF_ERROR(CheckFunction(request.digest_function()));
    EK_RETURN_IF_ERROR(CheckCount(request.requests_size()));
    int64_t total = 0;
    for (const auto& blob : request.requests()) {
      // The digest, whatever it holds, is repeated in the answer.
      total += static_cast<int64_t>(blob.data().size() +
                                    blob.digest().hash().size());
    }
    EK_RETURN_IF_ERROR(CheckBatch(total, limits_.max_batch_bytes));
    for (const auto& blob : request.requests()) {
      *response.add_responses()->mutable_digest() = blob.digest();
    }
    // Each waits for the disk several times. Those that wait at the same time
    // wait together: a file system commits what all of them did at once.
    ParallelFor(request.requests_size(), kStoredAtOnce, [&](int64_t i) {
      const auto index = static_cast<int>(i);
      *response.mutable_responses(index)->mutable_status() =
          ToRpcStatus(Store(request.requests(index)));
    });
    return absl::OkStatus();
  }

  absl::Status Store(const reapi::BatchUpdateBlobsRequest::Request& blob) {
    if (blob.compressor() != reapi::Compressor::IDENTITY) {
      return absl::InvalidArgumentError("compressed blobs are not supported");
    }
    EK_ASSIGN_OR_RETURN(const Digest digest, Checked(blob.digest()));
    return blobs_.Put(digest, blob.data());
  }

  absl::Status ReadBatch(const reapi::BatchReadBlobsRequest& request,
                         reapi::BatchReadBlobsResponse& response) {
    EK_RETURN_IF_ERROR(CheckFunction(request.digest_function()));
    EK_RETURN_IF_ERROR(CheckCount(request.digests_size()));
    int64_t total = 0;
    for (const reapi::Digest& proto : request.digests()) {
      EK_ASSIGN_OR_RETURN(const Digest digest, Checked(proto));
      // Sizes come from outside: their sum must not wrap.
      EK_RETURN_IF_ERROR(
          CheckBatch(digest.size_bytes, limits_.max_batch_bytes));
      total += digest.size_bytes + kEntryBytes;
      EK_RETURN_IF_ERROR(CheckBatch(total, limits_.max_batch_bytes));
    }
    for (const reapi::Digest& proto : request.digests()) {
      auto& answer = *response.add_responses();
      *answer.mutable_digest() = proto;
      absl::StatusOr<std::string> bytes =
          blobs_.Get({proto.hash(), proto.size_bytes()});
      *answer.mutable_status() = ToRpcStatus(bytes.status());
      if (bytes.ok()) answer.set_data(*std::move(bytes));
    }
    return absl::OkStatus();
  }

  const BlobLimits limits_;
  cache::BlobStore& blobs_;
  Activity& activity_;
};

// By gRPC's callback API, as one method of each listener must be: where there
// are none, the threads of the others wait for the sockets themselves, and are
// woken, and sent back to sleep, for what comes in at any listener.
class CapabilitiesService final
    : public reapi::Capabilities::WithCallbackMethod_GetCapabilities<
          reapi::Capabilities::Service> {
 public:
  CapabilitiesService(BlobLimits limits, Activity& activity)
      : limits_(limits), activity_(activity) {}

  grpc::ServerUnaryReactor* GetCapabilities(
      grpc::CallbackServerContext* context,
      const reapi::GetCapabilitiesRequest*,
      reapi::ServerCapabilities* response) override {
    const Activity::Call call(activity_);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const absl::Status admitted = Admit(limits_, *context);
    if (admitted.ok()) Fill(*response);
    reactor->Finish(ToGrpc(admitted));
    return reactor;
  }

 private:
  void Fill(reapi::ServerCapabilities& response) const {
    reapi::CacheCapabilities& cache = *response.mutable_cache_capabilities();
    cache.add_digest_functions(reapi::DigestFunction::SHA256);
    cache.mutable_action_cache_update_capabilities()->set_update_enabled(false);
    cache.set_max_batch_total_size_bytes(limits_.max_batch_bytes);
    cache.set_max_cas_blob_size_bytes(limits_.max_blob_bytes);
    cache.set_symlink_absolute_path_strategy(
        reapi::SymlinkAbsolutePathStrategy::DISALLOWED);
    cache.add_supported_compressors(reapi::Compressor::IDENTITY);
    response.mutable_low_api_version()->set_major(2);
    response.mutable_high_api_version()->set_major(2);
    response.mutable_high_api_version()->set_minor(3);
  }

  const BlobLimits limits_;
  Activity& activity_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewContentAddressableStorageService(
    BlobLimits limits, cache::BlobStore& blobs, Activity& activity) {
  return std::make_unique<CasService>(limits, blobs, activity);
}

std::unique_ptr<grpc::Service> NewCapabilitiesService(BlobLimits limits,
                                                      Activity& activity) {
  return std::make_unique<CapabilitiesService>(limits, activity);
}

}  // namespace edgekiln::server
