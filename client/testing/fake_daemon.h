#ifndef EK_CLIENT_TESTING_FAKE_DAEMON_H_
#define EK_CLIENT_TESTING_FAKE_DAEMON_H_

// A daemon for tests of the client: real gRPC over a Unix socket, everything
// behind it scripted. Faults are injected by setting fields before the call
// under test.

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"

namespace edgekiln::client {

// Blobs and half-written uploads by name.
struct FakeStore {
  Mutex mutex;
  // By "hash/size".
  std::map<std::string, std::string> blobs ABSL_GUARDED_BY(mutex);
  // By resource name.
  std::map<std::string, std::string> uploads ABSL_GUARDED_BY(mutex);
  // As capabilities say.
  int64_t max_batch_bytes ABSL_GUARDED_BY(mutex) = 0;

  // Uploads break after this many further bytes, once per entry.
  std::vector<int64_t> cuts ABSL_GUARDED_BY(mutex);
  // The daemon restarted: the upload is unknown.
  bool forget_on_cut ABSL_GUARDED_BY(mutex) = false;
  // Reads break after this many further bytes, once per entry.
  std::vector<int64_t> read_cuts ABSL_GUARDED_BY(mutex);
  bool corrupt_reads ABSL_GUARDED_BY(mutex) = false;

  // What was seen.
  int batches ABSL_GUARDED_BY(mutex) = 0;
  int writes ABSL_GUARDED_BY(mutex) = 0;
  int64_t written_bytes ABSL_GUARDED_BY(mutex) = 0;
};

class FakeCas final : public build::bazel::remote::execution::v2::
                          ContentAddressableStorage::Service {
 public:
  explicit FakeCas(FakeStore& store) : store_(store) {}
  grpc::Status FindMissingBlobs(
      grpc::ServerContext* context,
      const build::bazel::remote::execution::v2::FindMissingBlobsRequest*
          request,
      build::bazel::remote::execution::v2::FindMissingBlobsResponse* response)
      override;
  grpc::Status BatchUpdateBlobs(
      grpc::ServerContext* context,
      const build::bazel::remote::execution::v2::BatchUpdateBlobsRequest*
          request,
      build::bazel::remote::execution::v2::BatchUpdateBlobsResponse* response)
      override;

 private:
  FakeStore& store_;
};

class FakeCapabilities final
    : public build::bazel::remote::execution::v2::Capabilities::Service {
 public:
  explicit FakeCapabilities(FakeStore& store) : store_(store) {}
  grpc::Status GetCapabilities(
      grpc::ServerContext* context,
      const build::bazel::remote::execution::v2::GetCapabilitiesRequest*
          request,
      build::bazel::remote::execution::v2::ServerCapabilities* response)
      override;

 private:
  FakeStore& store_;
};

class FakeByteStream final : public google::bytestream::ByteStream::Service {
 public:
  explicit FakeByteStream(FakeStore& store) : store_(store) {}
  grpc::Status Write(
      grpc::ServerContext* context,
      grpc::ServerReader<google::bytestream::WriteRequest>* reader,
      google::bytestream::WriteResponse* response) override;
  grpc::Status QueryWriteStatus(
      grpc::ServerContext* context,
      const google::bytestream::QueryWriteStatusRequest* request,
      google::bytestream::QueryWriteStatusResponse* response) override;
  grpc::Status Read(
      grpc::ServerContext* context,
      const google::bytestream::ReadRequest* request,
      grpc::ServerWriter<google::bytestream::ReadResponse>* writer) override;

 private:
  FakeStore& store_;
};

// Answers with what the test put there.
class FakeJobs final : public v1::Jobs::Service {
 public:
  grpc::Status GetJob(grpc::ServerContext* context,
                      const v1::GetJobRequest* request,
                      v1::Job* response) override;
  grpc::Status WatchJob(grpc::ServerContext* context,
                        const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::JobEvent>* writer) override;

  std::function<grpc::Status(const v1::GetJobRequest&, v1::Job*)> get_job;
  Mutex mutex;
  std::vector<v1::JobEvent> events ABSL_GUARDED_BY(mutex);
  // Each entry ends one watch after that many events, with UNAVAILABLE.
  std::vector<int> watch_cuts ABSL_GUARDED_BY(mutex);
  // Silence at the end.
  bool hang ABSL_GUARDED_BY(mutex) = false;
  // What was asked.
  std::vector<int64_t> watched_after ABSL_GUARDED_BY(mutex);
};

// The whole. Listens until destroyed.
class FakeDaemon {
 public:
  // On a socket of that path.
  explicit FakeDaemon(const std::string& socket_path);
  ~FakeDaemon();

  std::shared_ptr<grpc::Channel> Channel() const;
  const std::string& address() const { return address_; }

  FakeStore store;
  FakeJobs jobs;

 private:
  const std::string address_;
  FakeCas cas_;
  FakeCapabilities capabilities_;
  FakeByteStream stream_;
  std::unique_ptr<grpc::Server> server_;
};

// A status with the ErrorDetail in its details, as our daemon sends it.
grpc::Status RichError(grpc::StatusCode code, const v1::ErrorDetail& detail);

// A new folder under the system's temporary folder.
std::string NewTempFolder();

}  // namespace edgekiln::client

#endif  // EK_CLIENT_TESTING_FAKE_DAEMON_H_
