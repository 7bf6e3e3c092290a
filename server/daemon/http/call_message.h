#ifndef EK_SERVER_DAEMON_HTTP_CALL_MESSAGE_H_
#define EK_SERVER_DAEMON_HTTP_CALL_MESSAGE_H_

// Messages of gRPC as JSON: the mapping of proto3, with the names of fields as
// the .proto files have them.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace edgekiln::server {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// Of "edgekiln.v1.Jobs.GetJob"; null if it is not linked.
const google::protobuf::MethodDescriptor* MethodNamed(absl::string_view name);

// An empty message of that type.
std::unique_ptr<google::protobuf::Message> NewMessage(
    const google::protobuf::Descriptor& type);

// A request of `method`: what `body` says, as JSON unless it is empty, and then
// `fields`, by name: numbers, texts, booleans and enums ("model-explorer" for
// MODEL_EXPLORER), and lists of texts, which may come again. Errors:
// INVALID_ARGUMENT, BAD_REQUEST, and REQUEST_TOO_LARGE of json_shape.h.
absl::StatusOr<std::unique_ptr<google::protobuf::Message>> MakeRequest(
    const google::protobuf::MethodDescriptor& method, const HttpFields& fields,
    const std::string& body);

// One line.
std::string ToJson(const google::protobuf::Message& message);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_CALL_MESSAGE_H_
