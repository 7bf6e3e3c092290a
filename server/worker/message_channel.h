#ifndef EK_SERVER_WORKER_MESSAGE_CHANNEL_H_
#define EK_SERVER_WORKER_MESSAGE_CHANNEL_H_

// Messages over a stream socket, each with its length in front (8 bytes,
// little-endian): protobuf, or plain bytes where both ends expect them.

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
  // Sends also each of `blobs`, as SendBytes() does; it costs no more calls of
  // the system than the message alone.
  absl::Status Send(const google::protobuf::MessageLite& message,
                    const Limits& limits,
                    const std::vector<absl::string_view>& blobs = {});
  absl::Status Receive(google::protobuf::MessageLite& message,
                       const Limits& limits);
  // Each of any size. Nothing is copied on the way but by the system.
  absl::Status SendBytes(const std::vector<absl::string_view>& blobs,
                         const Limits& limits);
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
  // Of `message`, which is not a message of the channel yet, and of `blobs`.
  absl::Status WriteAll(absl::string_view message,
                        const std::vector<absl::string_view>& blobs,
                        const Limits& limits);
  absl::Status Write(std::vector<iovec> pieces, const Limits& limits);
  // What there is, up to `size` bytes.
  absl::StatusOr<size_t> ReadSome(char* data, size_t size,
                                  const Limits& limits);
  absl::Status ReadString(std::string& bytes, uint64_t size,
                          const Limits& limits);
  absl::Status Read(char* data, size_t size, const Limits& limits);

  const ScopedFd fd_;
  // What was received and not asked for yet, from `read_` on.
  std::string buffer_;
  size_t read_ = 0;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_MESSAGE_CHANNEL_H_
