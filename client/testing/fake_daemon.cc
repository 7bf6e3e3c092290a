#include "client/testing/fake_daemon.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "google/rpc/status.pb.h"

namespace edgekiln::client {
namespace {

namespace reapi = build::bazel::remote::execution::v2;

std::string Key(const reapi::Digest& digest) {
  return absl::StrCat(digest.hash(), "/", digest.size_bytes());
}

// "hash/size" of "uploads/UUID/blobs/hash/size".
std::string KeyOfUpload(const std::string& resource) {
  const size_t at = resource.find("/blobs/");
  return at == std::string::npos ? "" : resource.substr(at + 7);
}

grpc::Status Cut() {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut by the test");
}

}  // namespace

grpc::Status FakeCas::FindMissingBlobs(
    grpc::ServerContext*, const reapi::FindMissingBlobsRequest* request,
    reapi::FindMissingBlobsResponse* response) {
  MutexLock lock(store_.mutex);
  for (const reapi::Digest& digest : request->blob_digests()) {
    if (store_.blobs.count(Key(digest)) == 0) {
      *response->add_missing_blob_digests() = digest;
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeCas::BatchUpdateBlobs(
    grpc::ServerContext*, const reapi::BatchUpdateBlobsRequest* request,
    reapi::BatchUpdateBlobsResponse* response) {
  MutexLock lock(store_.mutex);
  ++store_.batches;
  for (const auto& entry : request->requests()) {
    auto* answer = response->add_responses();
    *answer->mutable_digest() = entry.digest();
    if (DigestOf(entry.data()).ToString() == Key(entry.digest())) {
      store_.blobs[Key(entry.digest())] = entry.data();
    } else {
      answer->mutable_status()->set_code(grpc::StatusCode::INVALID_ARGUMENT);
      answer->mutable_status()->set_message("wrong digest");
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeCapabilities::GetCapabilities(
    grpc::ServerContext*, const reapi::GetCapabilitiesRequest*,
    reapi::ServerCapabilities* response) {
  MutexLock lock(store_.mutex);
  response->mutable_cache_capabilities()->set_max_batch_total_size_bytes(
      store_.max_batch_bytes);
  return grpc::Status::OK;
}

grpc::Status FakeByteStream::Write(
    grpc::ServerContext*,
    grpc::ServerReader<google::bytestream::WriteRequest>* reader,
    google::bytestream::WriteResponse* response) {
  google::bytestream::WriteRequest request;
  bool first = true;
  while (reader->Read(&request)) {
    MutexLock lock(store_.mutex);
    if (first) ++store_.writes;
    first = false;
    std::string& upload = store_.uploads[request.resource_name()];
    if (request.write_offset() != static_cast<int64_t>(upload.size())) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "wrong offset");
    }
    std::string data = request.data();
    bool cut = false;
    if (!store_.cuts.empty()) {
      int64_t& left = store_.cuts.front();
      cut = left <= static_cast<int64_t>(data.size());
      if (cut) data.resize(left);
      left -= static_cast<int64_t>(data.size());
    }
    upload += data;
    store_.written_bytes += static_cast<int64_t>(data.size());
    if (cut) {
      store_.cuts.erase(store_.cuts.begin());
      if (store_.forget_on_cut) store_.uploads.clear();
      return Cut();
    }
    if (request.finish_write()) {
      const std::string key = KeyOfUpload(request.resource_name());
      if (DigestOf(upload).ToString() != key) {
        v1::ErrorDetail detail;
        detail.set_fault(v1::ErrorDetail::USER);
        detail.set_reason("DIGEST_MISMATCH");
        detail.set_what("wrong digest");
        return RichError(grpc::StatusCode::INVALID_ARGUMENT, detail);
      }
      store_.blobs[key] = upload;
      response->set_committed_size(static_cast<int64_t>(upload.size()));
      return grpc::Status::OK;
    }
  }
  return Cut();
}

grpc::Status FakeByteStream::QueryWriteStatus(
    grpc::ServerContext*,
    const google::bytestream::QueryWriteStatusRequest* request,
    google::bytestream::QueryWriteStatusResponse* response) {
  MutexLock lock(store_.mutex);
  const auto upload = store_.uploads.find(request->resource_name());
  if (upload == store_.uploads.end()) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such upload");
  }
  response->set_committed_size(static_cast<int64_t>(upload->second.size()));
  return grpc::Status::OK;
}

grpc::Status FakeByteStream::Read(
    grpc::ServerContext*, const google::bytestream::ReadRequest* request,
    grpc::ServerWriter<google::bytestream::ReadResponse>* writer) {
  MutexLock lock(store_.mutex);
  const std::string key(absl::StripPrefix(request->resource_name(), "blobs/"));
  const auto blob = store_.blobs.find(key);
  if (blob == store_.blobs.end()) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such blob");
  }
  std::string rest = blob->second.substr(request->read_offset());
  if (store_.corrupt_reads && !rest.empty()) rest[0] ^= 1;
  bool cut = false;
  if (!store_.read_cuts.empty()) {
    cut = store_.read_cuts.front() < static_cast<int64_t>(rest.size());
    if (cut) rest.resize(store_.read_cuts.front());
    store_.read_cuts.erase(store_.read_cuts.begin());
  }
  constexpr size_t kChunk = 1000;
  for (size_t at = 0; at < rest.size(); at += kChunk) {
    google::bytestream::ReadResponse response;
    response.set_data(rest.substr(at, kChunk));
    writer->Write(response);
  }
  return cut ? Cut() : grpc::Status::OK;
}

grpc::Status FakeJobs::GetJob(grpc::ServerContext*,
                              const v1::GetJobRequest* request,
                              v1::Job* response) {
  if (!get_job) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no job");
  return get_job(*request, response);
}

grpc::Status FakeJobs::WatchJob(grpc::ServerContext* context,
                                const v1::WatchJobRequest* request,
                                grpc::ServerWriter<v1::JobEvent>* writer) {
  std::vector<v1::JobEvent> all;
  int cut = -1;
  bool silent = false;
  {
    MutexLock lock(mutex);
    watched_after.push_back(request->after_sequence());
    all = events;
    silent = hang;
    if (!watch_cuts.empty()) {
      cut = watch_cuts.front();
      watch_cuts.erase(watch_cuts.begin());
    }
  }
  int sent = 0;
  for (const v1::JobEvent& event : all) {
    if (event.sequence() <= request->after_sequence()) continue;
    if (sent == cut) return Cut();
    writer->Write(event);
    ++sent;
  }
  if (sent == cut) return Cut();
  while (silent && !context->IsCancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return grpc::Status::OK;
}

FakeDaemon::FakeDaemon(const std::string& socket_path)
    : address_("unix:" + socket_path),
      cas_(store),
      capabilities_(store),
      stream_(store) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(&cas_);
  builder.RegisterService(&capabilities_);
  builder.RegisterService(&stream_);
  builder.RegisterService(&jobs);
  server_ = builder.BuildAndStart();
}

FakeDaemon::~FakeDaemon() {
  server_->Shutdown(std::chrono::system_clock::now());
}

std::shared_ptr<grpc::Channel> FakeDaemon::Channel() const {
  return grpc::CreateChannel(address_, grpc::InsecureChannelCredentials());
}

grpc::Status RichError(grpc::StatusCode code, const v1::ErrorDetail& detail) {
  google::rpc::Status rich;
  rich.set_code(code);
  rich.set_message(detail.message());
  rich.add_details()->PackFrom(detail);
  return grpc::Status(code, detail.message(), rich.SerializeAsString());
}

std::string NewTempFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "edgekiln_client_XXXXXX")
          .string();
  const char* made = mkdtemp(pattern.data());
  return made == nullptr ? "" : pattern;
}

}  // namespace edgekiln::client
