#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "server/daemon/blobs/blob_services.h"
#include "server/daemon/rpc_status.h"

namespace edgekiln::server {
namespace {

namespace bs = google::bytestream;

constexpr int64_t kPieceBytes = 1 << 20;

absl::Status BadName(absl::string_view name) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "RESOURCE_NAME",
       .what = "not a resource name of a blob",
       .where = std::string(name),
       .need = "[instance/]blobs/{hash}/{size} to read, "
               "[instance/]uploads/{uuid}/blobs/{hash}/{size} to write"});
}

struct ResourceName {
  std::string upload;  // Empty in names to read.
  Digest digest;
};

// Grammar of the Remote Execution API: an optional instance name in front, the
// digest function optionally before the hash, and anything behind an upload's
// size.
absl::StatusOr<ResourceName> ParseName(const std::string& name, bool upload) {
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  const auto keyword =
      std::find(parts.begin(), parts.end(), upload ? "uploads" : "blobs");
  size_t at = static_cast<size_t>(keyword - parts.begin());
  ResourceName out;
  if (upload) {
    if (at + 2 >= parts.size() || parts[at + 2] != "blobs") {
      return BadName(name);
    }
    out.upload = parts[at + 1];
    at += 2;
  }
  ++at;  // Behind "blobs".
  if (at < parts.size() && parts[at] == "sha256") ++at;
  if (at + 1 >= parts.size() || (!upload && at + 2 != parts.size())) {
    return BadName(name);
  }
  const absl::StatusOr<Digest> digest =
      ParseDigest(absl::StrCat(parts[at], "/", parts[at + 1]));
  if (!digest.ok()) return BadName(name);
  out.digest = *digest;
  return out;
}

class ByteStreamService final : public bs::ByteStream::Service {
 public:
  ByteStreamService(BlobLimits limits, cache::BlobStore& blobs,
                    cache::UploadStore& uploads, Activity& activity)
      : limits_(limits),
        blobs_(blobs),
        uploads_(uploads),
        activity_(activity) {}

  grpc::Status Read(grpc::ServerContext* context,
                    const bs::ReadRequest* request,
                    grpc::ServerWriter<bs::ReadResponse>* writer) override {
    if (absl::Status no = Admit(limits_, *context); !no.ok()) return ToGrpc(no);
    const Activity::Call call(activity_);
    return ToGrpc(SendBlob(*request, *writer));
  }

  grpc::Status Write(grpc::ServerContext* context,
                     grpc::ServerReader<bs::WriteRequest>* reader,
                     bs::WriteResponse* response) override {
    if (absl::Status no = Admit(limits_, *context); !no.ok()) return ToGrpc(no);
    const Activity::Call call(activity_);
    return ToGrpc(Receive(*reader, *response));
  }

  grpc::Status QueryWriteStatus(
      grpc::ServerContext* context, const bs::QueryWriteStatusRequest* request,
      bs::QueryWriteStatusResponse* response) override {
    if (absl::Status no = Admit(limits_, *context); !no.ok()) return ToGrpc(no);
    const Activity::Call call(activity_);
    return ToGrpc(Query(*request, *response));
  }

 private:
  absl::Status SendBlob(const bs::ReadRequest& request,
                        grpc::ServerWriter<bs::ReadResponse>& writer) {
    EK_ASSIGN_OR_RETURN(const ResourceName name,
                        ParseName(request.resource_name(), /*upload=*/false));
    const int64_t size = name.digest.size_bytes;
    if (request.read_offset() < 0 || request.read_offset() > size ||
        request.read_limit() < 0) {
      return MakeError(
          absl::StatusCode::kOutOfRange,
          {.fault = Fault::kUser,
           .reason = "READ_RANGE",
           .what = "read outside the blob",
           .where = request.resource_name(),
           .limit = absl::StrCat(size, " bytes"),
           .need = absl::StrCat("offset ", request.read_offset(), ", limit ",
                                request.read_limit())});
    }
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<cache::BlobReader> reader,
                        blobs_.OpenReader(name.digest));
    int64_t at = request.read_offset();
    int64_t left = size - at;
    if (request.read_limit() > 0) left = std::min(left, request.read_limit());
    bs::ReadResponse response;
    while (left > 0) {
      EK_ASSIGN_OR_RETURN(*response.mutable_data(),
                          reader->Read(at, std::min(left, kPieceBytes)));
      const auto piece = static_cast<int64_t>(response.data().size());
      if (piece == 0) return cache::BlobMissing(name.digest);
      if (!writer.Write(response)) return absl::CancelledError("reader left");
      at += piece;
      left -= piece;
    }
    return absl::OkStatus();
  }

  absl::Status Receive(grpc::ServerReader<bs::WriteRequest>& reader,
                       bs::WriteResponse& response) {
    bs::WriteRequest request;
    if (!reader.Read(&request)) return BadName("");
    const std::string resource = request.resource_name();
    EK_ASSIGN_OR_RETURN(const ResourceName name,
                        ParseName(resource, /*upload=*/true));
    EK_RETURN_IF_ERROR(CheckSize(name));
    EK_ASSIGN_OR_RETURN(const bool present,
                        cache::ContainsDurably(blobs_, name.digest));
    if (present) {
      // As the API has it: no need to send what is there.
      response.set_committed_size(name.digest.size_bytes);
      return absl::OkStatus();
    }
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<cache::Upload> upload,
                        uploads_.Resume(name.upload, name.digest));
    int64_t at = request.write_offset();
    do {
      if (!request.resource_name().empty() &&
          request.resource_name() != resource) {
        return BadName(request.resource_name());
      }
      EK_RETURN_IF_ERROR(CheckOffset(request, at, *upload));
      at = request.write_offset() + static_cast<int64_t>(request.data().size());
      EK_RETURN_IF_ERROR(Append(request, *upload));
      response.set_committed_size(upload->committed_bytes());
      if (request.finish_write()) return upload->Finish();
      request.clear_data();
    } while (reader.Read(&request));
    return absl::OkStatus();
  }

  absl::Status CheckSize(const ResourceName& name) const {
    if (name.digest.size_bytes <= limits_.max_blob_bytes) {
      return absl::OkStatus();
    }
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kQuota,
                      .reason = "BLOB_TOO_LARGE",
                      .what = "the blob is larger than this server takes",
                      .where = name.digest.ToString(),
                      .limit = absl::StrCat(limits_.max_blob_bytes, " bytes"),
                      .need = absl::StrCat(name.digest.size_bytes, " bytes"),
                      .fix = "raise max_blob_bytes in the daemon's config"});
  }

  // `expected` is where the stream itself left off.
  static absl::Status CheckOffset(const bs::WriteRequest& request,
                                  int64_t expected,
                                  const cache::Upload& upload) {
    if (request.write_offset() == expected && request.write_offset() >= 0 &&
        request.write_offset() <= upload.committed_bytes()) {
      return absl::OkStatus();
    }
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "WRITE_OFFSET",
         .what = "write_offset does not continue the upload",
         .limit = absl::StrCat(upload.committed_bytes(), " bytes committed"),
         .need = absl::StrCat("write_offset ", request.write_offset()),
         .fix = "ask QueryWriteStatus where to continue"});
  }

  // A sender that starts before the committed size repeats bytes we have; the
  // digest is checked at the end in any case.
  static absl::Status Append(bs::WriteRequest& request, cache::Upload& upload) {
    std::string& data = *request.mutable_data();
    const int64_t known = upload.committed_bytes() - request.write_offset();
    data.erase(0, static_cast<size_t>(std::min<int64_t>(
                      known, static_cast<int64_t>(data.size()))));
    if (data.empty()) return absl::OkStatus();
    return upload.Append(std::move(data));
  }

  absl::Status Query(const bs::QueryWriteStatusRequest& request,
                     bs::QueryWriteStatusResponse& response) {
    EK_ASSIGN_OR_RETURN(const ResourceName name,
                        ParseName(request.resource_name(), /*upload=*/true));
    EK_ASSIGN_OR_RETURN(const bool present,
                        cache::ContainsDurably(blobs_, name.digest));
    response.set_complete(present);
    response.set_committed_size(name.digest.size_bytes);
    if (present) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(const int64_t committed,
                        uploads_.CommittedBytes(name.upload, name.digest));
    response.set_committed_size(committed);
    return absl::OkStatus();
  }

  const BlobLimits limits_;
  cache::BlobStore& blobs_;
  cache::UploadStore& uploads_;
  Activity& activity_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewByteStreamService(BlobLimits limits,
                                                    cache::BlobStore& blobs,
                                                    cache::UploadStore& uploads,
                                                    Activity& activity) {
  return std::make_unique<ByteStreamService>(limits, blobs, uploads, activity);
}

}  // namespace edgekiln::server
