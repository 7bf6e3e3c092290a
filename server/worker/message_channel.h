#ifndef EK_SERVER_WORKER_MESSAGE_CHANNEL_H_
#define EK_SERVER_WORKER_MESSAGE_CHANNEL_H_

// Messages over a stream socket, each with its length in front (8 bytes,
// little-endian): protobuf, or plain bytes where both ends expect them.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/scoped_fd.h"
#include "google/protobuf/message_lite.h"

namespace edgekiln::server {

// Both ends are ours, so a malformed message is INTERNAL. Not thread-safe.
class MessageChannel {
 public:
  // Takes ownership of the socket.
  explicit MessageChannel(int fd) : fd_(fd) {}

  // When to give up waiting.
  struct Limits {
    // As of Now(); InfiniteDuration = never.
    absl::Duration deadline = absl::InfiniteDuration();
    int cancel_fd = -1;  // Readable = cancelled.
    // Of messages received; INTERNAL above. What they hold is parsed, so a
    // hostile peer must not choose it.
    int64_t max_message_bytes = int64_t{2} << 30;
  };

  // Errors: UNAVAILABLE (the peer is gone), RESOURCE_EXHAUSTED (2 GiB),
  // CANCELLED, DEADLINE_EXCEEDED. The channel is of no use after any of them.
  absl::Status Send(const google::protobuf::MessageLite& message,
                    const Limits& limits);
  absl::Status Receive(google::protobuf::MessageLite& message,
                       const Limits& limits);
  // Of any size. Nothing is copied on the way but by the system.
  absl::Status SendBytes(absl::string_view bytes, const Limits& limits);
  // `size` is what the receiver knows it to be: INTERNAL for another one.
  absl::Status ReceiveBytes(std::string& bytes, int64_t size,
                            const Limits& limits);

  // Of a size that the sender alone knows: INTERNAL above `max_bytes`.
  absl::Status ReceiveUnknown(std::string& bytes, int64_t max_bytes,
                              const Limits& limits);

  // The clock that Limits::deadline refers to; monotonic.
  static absl::Duration Now();

 private:
  absl::Status Await(int16_t events, const Limits& limits);
  absl::Status Write(const char* data, size_t size, const Limits& limits);
  absl::Status ReadString(std::string& bytes, uint64_t size,
                          const Limits& limits);
  absl::Status Read(char* data, size_t size, const Limits& limits);

  const ScopedFd fd_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_MESSAGE_CHANNEL_H_
