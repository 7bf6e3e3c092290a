#ifndef EK_SERVER_DAEMON_HTTP_EVENT_STREAM_H_
#define EK_SERVER_DAEMON_HTTP_EVENT_STREAM_H_

// A streaming call of gRPC as server-sent events. A message becomes
//
//   id: <its field `sequence`>
//   event: <the set field of its oneof `event`>
//   data: <all of it as JSON>
//
// and the end of the stream an event "end", or "failed" with ErrorAnswer()'s
// body, after which a client must not come again by itself. What another try
// may cure (the daemon ends, too many watch) ends without one.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "grpcpp/generic/generic_stub.h"

namespace edgekiln::server {

// Thread-safe, but for Take() and Over(), which one thread calls.
class EventStream {
 public:
  virtual ~EventStream() = default;

  // The next bytes, at most `max_bytes`; none if there are none yet.
  virtual std::string Take(size_t max_bytes) = 0;
  // Everything was taken, and nothing will come.
  virtual bool Over() = 0;
  // Has `ready`, given at the start, called once as soon as there is something
  // to take, or nothing will come: perhaps from within.
  virtual void Await() = 0;
  // Sends a comment, so that a closed connection is noticed.
  virtual void Ping() = 0;
  // Cancels the call and waits for its end, which can still be taken.
  virtual void End() = 0;
  // Cancels the call; `ready` is not called any more once this has returned.
  virtual void Close() = 0;
};

// `ready` is called without locks held, from any thread; `done` once, when the
// call has ended and nothing of it will be used any more. `stub` must outlive
// that: a channel must not end in one of gRPC's own threads.
std::shared_ptr<EventStream> StartEventStream(
    grpc::GenericStub& stub, const google::protobuf::MethodDescriptor& method,
    const google::protobuf::Message& request, std::function<void()> ready,
    std::function<void()> done);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_HTTP_EVENT_STREAM_H_
