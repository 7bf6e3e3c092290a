#include "client/upload.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "client/pause.h"
#include "client/rpc_status.h"
#include "google/bytestream/bytestream.grpc.pb.h"

namespace edgekiln::client {
namespace {

namespace reapi = build::bazel::remote::execution::v2;
using google::bytestream::ByteStream;

// Around the bytes of a blob in a batch: digest, tags, lengths.
constexpr int64_t kBatchOverheadBytes = 256;

std::string RandomUuid() {
  std::random_device device;
  uint32_t words[4];
  for (uint32_t& word : words) word = device();
  words[1] = (words[1] & 0xFFFF0FFF) | 0x4000;      // Version 4: random.
  words[2] = (words[2] & 0x3FFFFFFF) | 0x80000000;  // The usual variant.
  return absl::StrFormat("%08x-%04x-%04x-%04x-%04x%08x", words[0],
                         words[1] >> 16, words[1] & 0xFFFF, words[2] >> 16,
                         words[2] & 0xFFFF, words[3]);
}

absl::Status FileChanged(const LocalBlob& blob) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "FILE_CHANGED",
                    .what = "the file changed while it was being uploaded",
                    .where = blob.path,
                    .fix = "run the command again once the file is at rest"});
}

std::unique_ptr<grpc::ClientContext> NewContext(
    const TransferOptions& options) {
  auto context = std::make_unique<grpc::ClientContext>();
  if (options.deadline != absl::InfiniteFuture()) {
    context->set_deadline(absl::ToChronoTime(options.deadline));
  }
  return context;
}

// Waits longer after each failure in a row, and not for ever: a network that
// breaks ten times within a second is as patient a matter as one that is away
// for that second.
class Backoff {
 public:
  Backoff(grpc::ChannelInterface& channel, Clock& clock,
          const TransferOptions& options, absl::Duration patience)
      : channel_(channel),
        clock_(clock),
        options_(options),
        patience_(patience),
        delay_(options.first_backoff) {}

  void Progressed() {
    failed_at_ = absl::InfiniteDuration();
    delay_ = options_.first_backoff;
  }
  // Waits and returns OK to try again, or returns why not.
  absl::Status Next(const absl::Status& failure) {
    if (!IsTransient(failure)) return failure;
    const absl::Duration now = clock_.Monotonic();
    failed_at_ = std::min(failed_at_, now);
    if (now + delay_ > failed_at_ + patience_) return failure;
    PauseUnlessConnected(channel_, clock_, delay_);
    delay_ = std::min(2 * delay_, options_.max_backoff);
    return options_.revive ? options_.revive() : absl::OkStatus();
  }

 private:
  grpc::ChannelInterface& channel_;
  Clock& clock_;
  const TransferOptions& options_;
  const absl::Duration patience_;
  absl::Duration delay_;
  // The first failure in this row.
  absl::Duration failed_at_ = absl::InfiniteDuration();
};

absl::Duration FirstPatience(const TransferOptions& options) {
  return options.reached ? options.patience : options.first_patience;
}

// Runs `call` (returns grpc::Status, takes a context) until it succeeds or
// fails for good.
template <typename Call>
absl::Status WithRetry(grpc::ChannelInterface& channel, Clock& clock,
                       const TransferOptions& options, absl::Duration patience,
                       const Call& call) {
  Backoff backoff(channel, clock, options, patience);
  while (true) {
    const auto context = NewContext(options);
    const absl::Status status = FromGrpc(call(context.get()));
    if (status.ok()) return absl::OkStatus();
    EK_RETURN_IF_ERROR(backoff.Next(status));
  }
}

class Uploader {
 public:
  Uploader(const std::shared_ptr<grpc::Channel>& channel, FileSystem& files,
           Clock& clock, const TransferOptions& options,
           const TransferProgress& progress)
      : channel_(channel),
        cas_(reapi::ContentAddressableStorage::NewStub(channel)),
        capabilities_(reapi::Capabilities::NewStub(channel)),
        stream_(ByteStream::NewStub(channel)),
        files_(files),
        clock_(clock),
        options_(options),
        progress_(progress) {}

  absl::Status Run(const std::vector<LocalBlob>& blobs) {
    EK_ASSIGN_OR_RETURN(const std::vector<LocalBlob> missing, Missing(blobs),
                        "asking which files the daemon lacks");
    if (missing.empty()) return absl::OkStatus();
    for (const LocalBlob& blob : missing) total_ += blob.digest.size_bytes;
    Report(0);
    const int64_t batch_limit = BatchLimit();
    std::vector<LocalBlob> batch;
    int64_t batch_bytes = 0;
    for (const LocalBlob& blob : missing) {
      const int64_t bytes = blob.digest.size_bytes + kBatchOverheadBytes;
      if (blob.digest.size_bytes > options_.batch_blob_bytes ||
          bytes > batch_limit) {
        EK_RETURN_IF_ERROR(Stream(blob), absl::StrCat("uploading ", blob.path));
        continue;
      }
      if (batch_bytes + bytes > batch_limit) {
        EK_RETURN_IF_ERROR(SendBatch(batch), "uploading small files");
        batch.clear();
        batch_bytes = 0;
      }
      batch.push_back(blob);
      batch_bytes += bytes;
    }
    if (!batch.empty()) {
      EK_RETURN_IF_ERROR(SendBatch(batch), "uploading small files");
    }
    return absl::OkStatus();
  }

 private:
  void Report(int64_t in_flight, bool reconnecting = false) {
    if (!progress_) return;
    progress_({.done_bytes = done_ + in_flight,
               .total_bytes = total_,
               .reconnecting = reconnecting});
  }

  // Somebody has answered before.
  template <typename Call>
  absl::Status Retrying(const Call& call) {
    return WithRetry(*channel_, clock_, options_, options_.patience, call);
  }

  absl::StatusOr<std::vector<LocalBlob>> Missing(
      const std::vector<LocalBlob>& blobs) {
    // The same file may be named twice (calibration and data).
    std::map<Digest, LocalBlob> by_digest;
    reapi::FindMissingBlobsRequest request;
    request.set_digest_function(reapi::DigestFunction::SHA256);
    for (const LocalBlob& blob : blobs) {
      if (!by_digest.emplace(blob.digest, blob).second) continue;
      reapi::Digest* digest = request.add_blob_digests();
      digest->set_hash(blob.digest.hash);
      digest->set_size_bytes(blob.digest.size_bytes);
    }
    reapi::FindMissingBlobsResponse response;
    EK_RETURN_IF_ERROR(
        WithRetry(*channel_, clock_, options_, FirstPatience(options_),
                  [&](grpc::ClientContext* context) {
                    return cas_->FindMissingBlobs(context, request, &response);
                  }));
    std::vector<LocalBlob> missing;
    for (const reapi::Digest& digest : response.missing_blob_digests()) {
      const auto blob = by_digest.find(
          Digest{.hash = digest.hash(), .size_bytes = digest.size_bytes()});
      if (blob != by_digest.end()) missing.push_back(blob->second);
    }
    return missing;
  }

  // What one BatchUpdateBlobs may carry. Daemons that do not say take ours.
  int64_t BatchLimit() {
    reapi::ServerCapabilities capabilities;
    const absl::Status status = Retrying([&](grpc::ClientContext* context) {
      return capabilities_->GetCapabilities(context, {}, &capabilities);
    });
    const int64_t theirs =
        status.ok()
            ? capabilities.cache_capabilities().max_batch_total_size_bytes()
            : 0;
    return theirs > 0 ? std::min(theirs, options_.batch_total_bytes)
                      : options_.batch_total_bytes;
  }

  absl::Status SendBatch(const std::vector<LocalBlob>& batch) {
    reapi::BatchUpdateBlobsRequest request;
    request.set_digest_function(reapi::DigestFunction::SHA256);
    std::map<std::string, const LocalBlob*> by_hash;
    for (const LocalBlob& blob : batch) {
      by_hash[blob.digest.hash] = &blob;
      // One byte more than expected, to notice growth.
      EK_ASSIGN_OR_RETURN(
          std::string bytes,
          files_.ReadRange(blob.path, 0, blob.digest.size_bytes + 1));
      if (DigestOf(bytes) != blob.digest) return FileChanged(blob);
      auto* entry = request.add_requests();
      entry->mutable_digest()->set_hash(blob.digest.hash);
      entry->mutable_digest()->set_size_bytes(blob.digest.size_bytes);
      entry->set_data(std::move(bytes));
    }
    reapi::BatchUpdateBlobsResponse response;
    EK_RETURN_IF_ERROR(Retrying([&](grpc::ClientContext* context) {
      return cas_->BatchUpdateBlobs(context, request, &response);
    }));
    for (const auto& answer : response.responses()) {
      const auto blob = by_hash.find(answer.digest().hash());
      EK_RETURN_IF_ERROR(
          FromRpcStatus(answer.status()),
          blob == by_hash.end() ? std::string() : blob->second->path);
    }
    for (const LocalBlob& blob : batch) done_ += blob.digest.size_bytes;
    Report(0);
    return absl::OkStatus();
  }

  absl::Status Stream(const LocalBlob& blob) {
    const std::string resource = absl::StrCat(
        "uploads/", RandomUuid(), "/blobs/", blob.digest.ToString());
    Backoff backoff(*channel_, clock_, options_, options_.patience);
    int64_t committed = 0;
    while (true) {
      const absl::Status status = WriteFrom(blob, resource, committed);
      if (status.ok()) break;
      if (IsTransient(status)) Report(committed, /*reconnecting=*/true);
      EK_RETURN_IF_ERROR(backoff.Next(status));
      EK_ASSIGN_OR_RETURN(const WriteState now, QueryState(resource, blob));
      if (now.complete) break;
      if (now.committed > committed) backoff.Progressed();
      committed = now.committed;
    }
    done_ += blob.digest.size_bytes;
    Report(0);
    return absl::OkStatus();
  }

  struct WriteState {
    int64_t committed = 0;
    bool complete = false;
  };

  // How much of the upload the daemon has; nothing if it does not know it.
  absl::StatusOr<WriteState> QueryState(const std::string& resource,
                                        const LocalBlob& blob) {
    google::bytestream::QueryWriteStatusRequest request;
    request.set_resource_name(resource);
    google::bytestream::QueryWriteStatusResponse response;
    const absl::Status status = Retrying([&](grpc::ClientContext* context) {
      return stream_->QueryWriteStatus(context, request, &response);
    });
    if (absl::IsNotFound(status)) return WriteState{};
    EK_RETURN_IF_ERROR(status, "asking how far the upload got");
    return WriteState{.committed = std::clamp<int64_t>(
                          response.committed_size(), 0, blob.digest.size_bytes),
                      .complete = response.complete()};
  }

  absl::Status WriteFrom(const LocalBlob& blob, const std::string& resource,
                         int64_t offset) {
    const auto context = NewContext(options_);
    google::bytestream::WriteResponse response;
    const auto writer = stream_->Write(context.get(), &response);
    absl::Status local;
    const int64_t size = blob.digest.size_bytes;
    bool last = false;
    // Once even if all bytes are there: the daemon still needs finish_write.
    while (!last) {
      const int64_t want = std::min(options_.chunk_bytes, size - offset);
      absl::StatusOr<std::string> bytes =
          files_.ReadRange(blob.path, offset, want);
      if (!bytes.ok() || static_cast<int64_t>(bytes->size()) != want) {
        local = FileChanged(blob);
        break;
      }
      google::bytestream::WriteRequest request;
      request.set_resource_name(resource);
      request.set_write_offset(offset);
      request.set_data(*std::move(bytes));
      offset += want;
      last = offset == size;
      request.set_finish_write(last);
      // A false means that the daemon has answered already: it broke, or
      // somebody else brought the blob meanwhile. Finish() tells.
      if (!writer->Write(request)) break;
      Report(offset);
    }
    if (!local.ok()) {
      context->TryCancel();
      (void)writer->Finish();
      return local;
    }
    writer->WritesDone();
    const absl::Status answer = FromGrpc(writer->Finish());
    // Not the bytes that were hashed, though as many.
    const std::optional<ErrorDetail> detail = GetErrorDetail(answer);
    if (detail && detail->reason == "DIGEST_MISMATCH") {
      return FileChanged(blob);
    }
    EK_RETURN_IF_ERROR(answer);
    if (response.committed_size() == size) return absl::OkStatus();
    return absl::AbortedError(absl::StrCat(
        "the daemon took ", response.committed_size(), " of ", size, " bytes"));
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<reapi::ContentAddressableStorage::Stub> cas_;
  const std::unique_ptr<reapi::Capabilities::Stub> capabilities_;
  const std::unique_ptr<ByteStream::Stub> stream_;
  FileSystem& files_;
  Clock& clock_;
  const TransferOptions& options_;
  const TransferProgress& progress_;
  int64_t done_ = 0;   // Bytes of finished blobs.
  int64_t total_ = 0;  // Bytes of missing blobs.
};

}  // namespace

absl::Status UploadMissing(const std::shared_ptr<grpc::Channel>& channel,
                           FileSystem& files, Clock& clock,
                           const std::vector<LocalBlob>& blobs,
                           const TransferOptions& options,
                           const TransferProgress& progress) {
  return Uploader(channel, files, clock, options, progress).Run(blobs);
}

absl::Status Download(
    const std::shared_ptr<grpc::Channel>& channel, Clock& clock,
    const Digest& digest, const TransferOptions& options,
    const std::function<absl::Status(absl::string_view)>& sink) {
  EK_RETURN_IF_ERROR(ValidateDigest(digest), "the daemon named a bad digest");
  const auto stub = ByteStream::NewStub(channel);
  Backoff backoff(*channel, clock, options, FirstPatience(options));
  Sha256 hash;
  google::bytestream::ReadRequest request;
  request.set_resource_name(absl::StrCat("blobs/", digest.ToString()));
  while (true) {
    request.set_read_offset(hash.size_bytes());
    const auto context = NewContext(options);
    const auto reader = stub->Read(context.get(), request);
    google::bytestream::ReadResponse response;
    absl::Status local;
    while (local.ok() && reader->Read(&response)) {
      hash.Update(response.data());
      backoff.Progressed();
      if (hash.size_bytes() > digest.size_bytes) {
        local = absl::DataLossError("the daemon sent more than the blob has");
      } else {
        local = sink(response.data());
      }
    }
    if (!local.ok()) {
      context->TryCancel();
      (void)reader->Finish();
      return local;
    }
    const absl::Status status = FromGrpc(reader->Finish());
    if (status.ok()) break;
    EK_RETURN_IF_ERROR(backoff.Next(status));
  }
  if (hash.Finish() == digest) return absl::OkStatus();
  return absl::DataLossError("what the daemon sent does not have its digest");
}

}  // namespace edgekiln::client
