#ifndef EK_SERVER_DAEMON_HTTP_EXCHANGE_H_
#define EK_SERVER_DAEMON_HTTP_EXCHANGE_H_

// One request over HTTP, from its head to the end of its answer.

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <microhttpd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "server/daemon/http/answer.h"
#include "server/daemon/http/call_message.h"
#include "server/daemon/http/event_stream.h"
#include "server/daemon/http/http_connections.h"
#include "server/daemon/http/json_thread.h"
#include "server/daemon/http/live.h"

namespace edgekiln::server {

// What all requests share.
struct ExchangeContext {
  std::unique_ptr<grpc::GenericStub> daemon;
  std::function<absl::Status()> ready;
  std::unique_ptr<HttpConnections> connections;
  bool loopback = true;
  size_t max_body_bytes = 0;
  size_t max_bodies_bytes = 0;
  // Calls and streams at once: some connections stay for questions of health.
  size_t max_live = 0;
  std::atomic<size_t> bodies_bytes{0};  // Of requests that are being read.
  Live live;                            // Calls under way.
  // Last: destroyed, with its work done, before the members above.
  JsonThread json;
};

// Used by the thread of libmicrohttpd that has its connection; a call's end
// comes from gRPC's, and large JSON is dealt with in its own, while the
// connection is suspended.
class Exchange {
 public:
  Exchange(ExchangeContext& context, MHD_Connection* connection,
           std::string verb, std::string path);
  ~Exchange() { DropBody(); }
  Exchange(const Exchange&) = delete;

  // Called by libmicrohttpd again and again: with the head alone, with pieces
  // of the body, at the body's end, and after the connection was resumed.
  MHD_Result Continue(const char* data, size_t* size);

 private:
  enum class State { kHead, kBody, kParsing, kCalling, kAnswered };

  // What is wrong with the head; nothing if it may go on.
  std::optional<HttpAnswer> Refuse();
  // Keeps a piece of the body, unless it is too large.
  void Keep(absl::string_view piece);
  void DropBody();
  // Answers, or finds the call's method and makes its request.
  MHD_Result Dispatch();
  // Of the fields and the body.
  void Parse(const HttpFields& fields);
  // Starts the call that was parsed, and suspends the connection.
  MHD_Result Begin();
  MHD_Result Call(const google::protobuf::Message& request);
  MHD_Result Stream(const google::protobuf::Message& request);
  // What a call has come to.
  HttpAnswer AnswerOf(const grpc::Status& status) const;
  MHD_Result Send(const HttpAnswer& answer);
  const char* Header(const char* name) const;

  ExchangeContext& context_;
  MHD_Connection* const connection_;
  const std::string verb_;
  const std::string path_;
  State state_ = State::kHead;
  std::string body_;
  bool body_too_large_ = false;
  size_t dropped_bytes_ = 0;
  bool bodies_too_large_ = false;
  // Of the call.
  grpc::ClientContext call_;
  const google::protobuf::MethodDescriptor* method_ = nullptr;
  absl::StatusOr<std::unique_ptr<google::protobuf::Message>> parsed_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  HttpAnswer answer_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_EXCHANGE_H_
