#include "server/worker/blob_client.h"

#include <unistd.h>

#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory.h"
#include "base/status_macros.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "server/worker/blob_cache.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

namespace reapi = build::bazel::remote::execution::v2;

// Below the 4 MiB that gRPC accepts in one message, with room for framing.
constexpr int64_t kMaxBatchBytes = 3 << 20;
constexpr size_t kPieceBytes = 1 << 20;
constexpr auto kBatchTimeout = std::chrono::seconds(60);
constexpr auto kStreamTimeout = std::chrono::minutes(30);

absl::Status FromGrpc(const grpc::Status& status, absl::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(doing, ": ", status.error_message()));
}

reapi::Digest ToReapi(const Digest& digest) {
  reapi::Digest out;
  out.set_hash(digest.hash);
  out.set_size_bytes(digest.size_bytes);
  return out;
}

Digest FromReapi(const reapi::Digest& digest) {
  return {digest.hash(), digest.size_bytes()};
}

absl::Status Verify(const Digest& digest, const std::string& bytes) {
  if (DigestOf(bytes) == digest) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("blob ", digest.ToString(), " arrived damaged"));
}

class RemoteBlobClient : public BlobClient {
 public:
  RemoteBlobClient(const std::shared_ptr<grpc::Channel>& channel,
                   BlobSession& session, int64_t cache_bytes)
      : session_(session),
        cas_(reapi::ContentAddressableStorage::NewStub(channel)),
        stream_(google::bytestream::ByteStream::NewStub(channel)),
        cache_(cache_bytes) {}

  absl::StatusOr<std::vector<SharedBytes>> Get(
      const std::vector<Digest>& digests) override {
    std::map<Digest, SharedBytes> got;
    std::vector<Digest> batch;
    int64_t batch_bytes = 0;
    for (const Digest& digest : digests) {
      if (got.count(digest) > 0) continue;
      SharedBytes& bytes = got[digest];
      bytes = cache_.Get(digest);
      if (bytes != nullptr) continue;
      if (digest.size_bytes > kMaxBatchBytes) {
        EK_ASSIGN_OR_RETURN(bytes, ReadStream(digest));
        continue;
      }
      if (batch_bytes + digest.size_bytes > kMaxBatchBytes) {
        EK_RETURN_IF_ERROR(ReadBatch(batch, got));
        batch.clear();
        batch_bytes = 0;
      }
      batch.push_back(digest);
      batch_bytes += digest.size_bytes;
    }
    EK_RETURN_IF_ERROR(ReadBatch(batch, got));
    std::vector<SharedBytes> blobs;
    blobs.reserve(digests.size());
    for (const Digest& digest : digests) blobs.push_back(got[digest]);
    return blobs;
  }

  absl::Status Put(const std::vector<Digest>& digests,
                   const std::vector<SharedBytes>& blobs) override {
    if (digests.empty()) return absl::OkStatus();
    Keep(digests, blobs);
    EK_ASSIGN_OR_RETURN(const std::set<Digest> missing, FindMissing(digests));
    reapi::BatchUpdateBlobsRequest batch;
    int64_t batch_bytes = 0;
    std::set<Digest> sent;
    for (size_t i = 0; i < digests.size(); ++i) {
      if (missing.count(digests[i]) == 0 || !sent.insert(digests[i]).second) {
        continue;
      }
      if (digests[i].size_bytes > kMaxBatchBytes) {
        EK_RETURN_IF_ERROR(WriteStream(digests[i], *blobs[i]));
        continue;
      }
      if (batch_bytes + digests[i].size_bytes > kMaxBatchBytes) {
        EK_RETURN_IF_ERROR(WriteBatch(batch));
        batch.Clear();
        batch_bytes = 0;
      }
      reapi::BatchUpdateBlobsRequest::Request& request = *batch.add_requests();
      *request.mutable_digest() = ToReapi(digests[i]);
      request.set_data(*blobs[i]);
      batch_bytes += digests[i].size_bytes;
    }
    return WriteBatch(batch);
  }

  void Keep(const std::vector<Digest>& digests,
            const std::vector<SharedBytes>& blobs) override {
    for (size_t i = 0; i < digests.size(); ++i) {
      cache_.Put(digests[i], blobs[i]);
    }
  }

 private:
  void Prepare(grpc::ClientContext& context,
               std::chrono::seconds timeout) const {
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    context.AddMetadata(kSessionMetadata, session_.Get());
  }

  absl::Status Accept(const Digest& digest, std::string bytes,
                      SharedBytes& slot) {
    EK_RETURN_IF_ERROR(Verify(digest, bytes));
    slot = std::make_shared<const std::string>(std::move(bytes));
    cache_.Put(digest, slot);
    return absl::OkStatus();
  }

  absl::Status ReadBatch(const std::vector<Digest>& digests,
                         std::map<Digest, SharedBytes>& got) {
    if (digests.empty()) return absl::OkStatus();
    reapi::BatchReadBlobsRequest request;
    for (const Digest& digest : digests) {
      *request.add_digests() = ToReapi(digest);
    }
    grpc::ClientContext context;
    Prepare(context, kBatchTimeout);
    reapi::BatchReadBlobsResponse response;
    EK_RETURN_IF_ERROR(FromGrpc(
        cas_->BatchReadBlobs(&context, request, &response), "reading blobs"));
    for (auto& blob : *response.mutable_responses()) {
      const Digest digest = FromReapi(blob.digest());
      if (blob.status().code() != 0) {
        return absl::Status(static_cast<absl::StatusCode>(blob.status().code()),
                            absl::StrCat("blob ", digest.ToString(), ": ",
                                         blob.status().message()));
      }
      const auto slot = got.find(digest);
      if (slot == got.end()) continue;
      EK_RETURN_IF_ERROR(
          Accept(digest, std::move(*blob.mutable_data()), slot->second));
    }
    for (const Digest& digest : digests) {
      if (got[digest] != nullptr) continue;
      return absl::NotFoundError(
          absl::StrCat("blob ", digest.ToString(), " was not delivered"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<SharedBytes> ReadStream(const Digest& digest) {
    google::bytestream::ReadRequest request;
    request.set_resource_name(absl::StrCat("blobs/", digest.ToString()));
    grpc::ClientContext context;
    Prepare(context, kStreamTimeout);
    const auto reader = stream_->Read(&context, request);
    std::string bytes;
    bytes.reserve(static_cast<size_t>(digest.size_bytes));
    PreferHugePages(bytes.data(), bytes.capacity());
    google::bytestream::ReadResponse response;
    while (reader->Read(&response)) {
      if (static_cast<int64_t>(bytes.size() + response.data().size()) >
          digest.size_bytes) {
        context.TryCancel();
        break;
      }
      bytes += response.data();
    }
    const grpc::Status status = reader->Finish();
    if (static_cast<int64_t>(bytes.size()) != digest.size_bytes) {
      EK_RETURN_IF_ERROR(
          FromGrpc(status, absl::StrCat("reading blob ", digest.ToString())));
    }
    SharedBytes blob;
    EK_RETURN_IF_ERROR(Accept(digest, std::move(bytes), blob));
    return blob;
  }

  absl::StatusOr<std::set<Digest>> FindMissing(
      const std::vector<Digest>& digests) {
    reapi::FindMissingBlobsRequest request;
    for (const Digest& digest : digests) {
      *request.add_blob_digests() = ToReapi(digest);
    }
    grpc::ClientContext context;
    Prepare(context, kBatchTimeout);
    reapi::FindMissingBlobsResponse response;
    EK_RETURN_IF_ERROR(
        FromGrpc(cas_->FindMissingBlobs(&context, request, &response),
                 "asking for missing blobs"));
    std::set<Digest> missing;
    for (const reapi::Digest& digest : response.missing_blob_digests()) {
      missing.insert(FromReapi(digest));
    }
    return missing;
  }

  absl::Status WriteBatch(const reapi::BatchUpdateBlobsRequest& request) {
    if (request.requests().empty()) return absl::OkStatus();
    grpc::ClientContext context;
    Prepare(context, kBatchTimeout);
    reapi::BatchUpdateBlobsResponse response;
    EK_RETURN_IF_ERROR(FromGrpc(
        cas_->BatchUpdateBlobs(&context, request, &response), "writing blobs"));
    for (const auto& blob : response.responses()) {
      if (blob.status().code() == 0) continue;
      return absl::Status(static_cast<absl::StatusCode>(blob.status().code()),
                          absl::StrCat("blob ", blob.digest().hash(), ": ",
                                       blob.status().message()));
    }
    return absl::OkStatus();
  }

  absl::Status WriteStream(const Digest& digest, const std::string& bytes) {
    const std::string name = absl::StrCat("uploads/", UploadId(digest),
                                          "/blobs/", digest.ToString());
    grpc::ClientContext context;
    Prepare(context, kStreamTimeout);
    google::bytestream::WriteResponse response;
    const auto writer = stream_->Write(&context, &response);
    google::bytestream::WriteRequest request;  // Its memory is used again.
    request.set_resource_name(name);
    for (size_t offset = 0; offset < bytes.size(); offset += kPieceBytes) {
      request.set_write_offset(static_cast<int64_t>(offset));
      request.mutable_data()->assign(bytes, offset, kPieceBytes);
      request.set_finish_write(offset + kPieceBytes >= bytes.size());
      // A server that has the blob already ends the call early, with success.
      if (!writer->Write(request)) break;
      request.clear_resource_name();
    }
    writer->WritesDone();
    EK_RETURN_IF_ERROR(FromGrpc(
        writer->Finish(), absl::StrCat("writing blob ", digest.ToString())));
    if (response.committed_size() == digest.size_bytes) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("writing blob ", digest.ToString(), ": only ",
                     response.committed_size(), " bytes were committed"));
  }

  // Form of a UUID. Two workers that upload the same blob must not meet in one
  // upload, hence the time and the process.
  static std::string UploadId(const Digest& digest) {
    const auto now =
        std::chrono::steady_clock::now().time_since_epoch().count();
    const std::string seed = absl::StrCat(digest.hash, "/", now, "/", getpid());
    const std::string hex = DigestOf(seed).hash;
    return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-4",
                        hex.substr(13, 3), "-8", hex.substr(17, 3), "-",
                        hex.substr(20, 12));
  }

  BlobSession& session_;
  const std::unique_ptr<reapi::ContentAddressableStorage::Stub> cas_;
  const std::unique_ptr<google::bytestream::ByteStream::Stub> stream_;
  BlobCache cache_;
};

}  // namespace

std::unique_ptr<BlobClient> NewBlobClient(
    const std::shared_ptr<grpc::Channel>& channel, BlobSession& session,
    int64_t cache_bytes) {
  return std::make_unique<RemoteBlobClient>(channel, session, cache_bytes);
}

}  // namespace edgekiln::server
