#include "server/daemon/raw_call.h"

#include "base/error.h"
#include "server/daemon/rpc_status.h"

namespace edgekiln::server {
namespace {

// Without a copy where gRPC received it in one piece.
grpc::Slice OnePiece(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.TrySingleSlice(&slice).ok()) {
    (void)buffer.DumpToSingleSlice(&slice);
  }
  return slice;
}

absl::Status ParseSlice(const grpc::Slice& bytes,
                        google::protobuf::MessageLite& request) {
  if (request.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BAD_MESSAGE",
                    .what = "the request does not parse",
                    .where = request.GetTypeName(),
                    .fix = "send the message that the method takes"});
}

}  // namespace

absl::Status ParseRequest(const grpc::ByteBuffer& bytes,
                          google::protobuf::MessageLite& request) {
  return ParseSlice(OnePiece(bytes), request);
}

RawCall::RawCall(grpc::CallbackServerContext& context, Activity& activity,
                 const grpc::ByteBuffer& request, grpc::ByteBuffer& response)
    : call_(activity),
      reactor_(context.DefaultReactor()),
      request_(OnePiece(request)),
      response_(response) {}

absl::string_view RawCall::bytes() const {
  return {reinterpret_cast<const char*>(request_.begin()), request_.size()};
}

absl::Status RawCall::Parse(google::protobuf::MessageLite& request) const {
  return ParseSlice(request_, request);
}

void RawCall::Answer(absl::string_view message) {
  const grpc::Slice slice(message.data(), message.size());
  response_ = grpc::ByteBuffer(&slice, 1);
  reactor_->Finish(grpc::Status::OK);
}

void RawCall::Answer(const google::protobuf::MessageLite& message) {
  Answer(message.SerializeAsString());
}

void RawCall::Fail(const absl::Status& status) {
  reactor_->Finish(ToGrpc(status));
}

}  // namespace edgekiln::server
