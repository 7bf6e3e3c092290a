#ifndef EK_SERVER_DAEMON_HTTP_BYTE_BUFFER_H_
#define EK_SERVER_DAEMON_HTTP_BYTE_BUFFER_H_

// Messages as the generic stub of gRPC takes them.

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace edgekiln::server {

grpc::ByteBuffer ToByteBuffer(const google::protobuf::Message& message);
// False: it holds no such message.
bool FromByteBuffer(const grpc::ByteBuffer& buffer,
                    google::protobuf::Message& message);
// "/edgekiln.v1.Jobs/GetJob"
std::string PathOf(const google::protobuf::MethodDescriptor& method);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_BYTE_BUFFER_H_
