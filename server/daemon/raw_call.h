#ifndef EK_SERVER_DAEMON_RAW_CALL_H_
#define EK_SERVER_DAEMON_RAW_CALL_H_

// Unary calls that are answered with bytes that lie ready, or later by another
// thread: methods of a service that gRPC calls back (WithRawCallbackMethod_X).
// They run on gRPC's own few threads and must not block for long.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "server/daemon/activity.h"

namespace edgekiln::server {

// A request as gRPC hands it to such methods. INVALID_ARGUMENT if it does not
// parse.
absl::Status ParseRequest(const grpc::ByteBuffer& bytes,
                          google::protobuf::MessageLite& request);

// One such call until it is answered. Thread-compatible.
class RawCall {
 public:
  RawCall(grpc::CallbackServerContext& context, Activity& activity,
          const grpc::ByteBuffer& request, grpc::ByteBuffer& response);

  // What a method returns to gRPC.
  grpc::ServerUnaryReactor* reactor() { return reactor_; }

  // The request as it came.
  absl::string_view bytes() const;
  // INVALID_ARGUMENT.
  absl::Status Parse(google::protobuf::MessageLite& request) const;

  // Exactly once; the last thing done with this object.
  void Answer(absl::string_view message);
  void Answer(const google::protobuf::MessageLite& message);
  void Fail(const absl::Status& status);

 private:
  const Activity::Call call_;
  grpc::ServerUnaryReactor* const reactor_;
  grpc::Slice request_;
  grpc::ByteBuffer& response_;
};

// For calls answered at once: answer(call) calls Answer(), or returns why not.
template <typename Answerer>
grpc::ServerUnaryReactor* AnswerOrFail(RawCall call, const Answerer& answer) {
  grpc::ServerUnaryReactor* const reactor = call.reactor();
  if (absl::Status status = answer(call); !status.ok()) call.Fail(status);
  return reactor;
}

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_RAW_CALL_H_
