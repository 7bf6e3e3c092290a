#ifndef EK_SERVER_DAEMON_HTTP_ANSWER_H_
#define EK_SERVER_DAEMON_HTTP_ANSWER_H_

// What HTTP says for what gRPC says.

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace edgekiln::server {

struct HttpAnswer {
  int code = 200;
  std::string body;
  std::string type = "application/json";
  // What a page of it may load and ask: nothing.
  const char* policy = "default-src 'none'; frame-ancestors 'none'";
  std::string file_name;  // Of what browsers should keep as a file.
  std::string allow;      // Of 405: "GET, POST".
  int retry_seconds = 0;  // Of 429 and 503, if coming again helps.
};

// {"error": {"code": 404, "status": "NOT_FOUND", "message": .., "details":
// ..}}, the details being those of google.rpc.Status.
// `code`: another than HttpCodeOf() has.
HttpAnswer ErrorAnswer(const grpc::Status& status, int code = 0);
HttpAnswer ErrorAnswer(const absl::Status& status, int code = 0);

// That of HTTP, as google/rpc/code.proto has it.
int HttpCodeOf(grpc::StatusCode code);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_ANSWER_H_
