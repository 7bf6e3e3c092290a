#include "tests/bench/write_stream.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "google/bytestream/bytestream.grpc.pb.h"

namespace edgekiln::bench {

absl::Status WriteBlob(const std::string& address, const Digest& digest,
                       absl::string_view bytes, int64_t message_bytes) {
  const auto stub = google::bytestream::ByteStream::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  google::bytestream::WriteResponse response;
  const auto writer = stub->Write(&context, &response);
  google::bytestream::WriteRequest request;
  request.set_resource_name(absl::StrCat("uploads/bench-", getpid(), "-",
                                         digest.hash.substr(0, 8), "/blobs/",
                                         digest.ToString()));
  const auto step = static_cast<size_t>(message_bytes);
  for (size_t at = 0; at < bytes.size(); at += step) {
    const absl::string_view piece = bytes.substr(at, step);
    request.set_write_offset(static_cast<int64_t>(at));
    request.set_data(piece.data(), piece.size());
    request.set_finish_write(at + step >= bytes.size());
    if (!writer->Write(request)) break;
    request.clear_resource_name();
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  if (!status.ok()) {
    return {static_cast<absl::StatusCode>(status.error_code()),
            status.error_message()};
  }
  if (response.committed_size() != digest.size_bytes) {
    return absl::InternalError("not all of it arrived");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::bench
