#include "server/worker/message_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/memory.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

// What protobuf can serialise into one buffer.
constexpr uint64_t kMaxMessageBytes = std::numeric_limits<int32_t>::max();
// Of long bytes, whose memory is filled in steps.
constexpr size_t kStepBytes = size_t{8} << 20;

absl::Status PeerGone() { return absl::UnavailableError("peer is gone"); }

}  // namespace

absl::Duration MessageChannel::Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

absl::Status MessageChannel::Await(int16_t events, const Limits& limits) {
  while (true) {
    int timeout_ms = -1;
    if (limits.deadline != absl::InfiniteDuration()) {
      const absl::Duration left = limits.deadline - Now();
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError("out of time");
      }
      timeout_ms = static_cast<int>(
          std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1,
                            std::numeric_limits<int>::max()));
    }
    // A negative descriptor is skipped by poll().
    pollfd fds[] = {{fd_.get(), events, 0}, {limits.cancel_fd, POLLIN, 0}};
    const int ready = poll(fds, 2, timeout_ms);
    if (ready < 0 && errno != EINTR) {
      return absl::InternalError(absl::StrCat("poll: ", strerror(errno)));
    }
    if (ready <= 0) continue;
    if (fds[1].revents != 0) return absl::CancelledError("cancelled");
    if (fds[0].revents != 0) return absl::OkStatus();
  }
}

absl::Status MessageChannel::Write(const char* data, size_t size,
                                   const Limits& limits) {
  while (size > 0) {
    EK_RETURN_IF_ERROR(Await(POLLOUT, limits));
    const ssize_t done =
        send(fd_.get(), data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done <= 0) return PeerGone();
    data += done;
    size -= static_cast<size_t>(done);
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::Read(char* data, size_t size,
                                  const Limits& limits) {
  while (size > 0) {
    EK_RETURN_IF_ERROR(Await(POLLIN, limits));
    const ssize_t done = recv(fd_.get(), data, size, MSG_DONTWAIT);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done <= 0) return PeerGone();
    data += done;
    size -= static_cast<size_t>(done);
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::Send(const google::protobuf::MessageLite& message,
                                  const Limits& limits) {
  const uint64_t size = message.ByteSizeLong();
  if (size > kMaxMessageBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "message of ", size, " bytes; at most ", kMaxMessageBytes, " fit"));
  }
  std::string bytes(sizeof(size), '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  if (!message.AppendToString(&bytes)) {
    return absl::InternalError("message could not be serialised");
  }
  return Write(bytes.data(), bytes.size(), limits);
}

absl::Status MessageChannel::Receive(google::protobuf::MessageLite& message,
                                     const Limits& limits) {
  uint64_t size = 0;
  EK_RETURN_IF_ERROR(
      Read(reinterpret_cast<char*>(&size), sizeof(size), limits));
  if (size > kMaxMessageBytes) {
    return absl::InternalError("message with an impossible length");
  }
  if (size > static_cast<uint64_t>(limits.max_message_bytes)) {
    return absl::InternalError(
        absl::StrCat("message of ", size, " bytes; at most ",
                     limits.max_message_bytes, " are taken"));
  }
  std::string bytes;
  EK_RETURN_IF_ERROR(ReadString(bytes, size, limits));
  if (!message.ParseFromString(bytes)) {
    return absl::InternalError("message that does not parse");
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::SendBytes(absl::string_view bytes,
                                       const Limits& limits) {
  const uint64_t size = bytes.size();
  EK_RETURN_IF_ERROR(
      Write(reinterpret_cast<const char*>(&size), sizeof(size), limits));
  return Write(bytes.data(), bytes.size(), limits);
}

absl::Status MessageChannel::ReceiveBytes(std::string& bytes, int64_t size,
                                          const Limits& limits) {
  uint64_t sent = 0;
  EK_RETURN_IF_ERROR(
      Read(reinterpret_cast<char*>(&sent), sizeof(sent), limits));
  if (size < 0 || sent != static_cast<uint64_t>(size)) {
    return absl::InternalError("bytes of another length than promised");
  }
  return ReadString(bytes, sent, limits);
}

absl::Status MessageChannel::ReceiveUnknown(std::string& bytes,
                                            int64_t max_bytes,
                                            const Limits& limits) {
  uint64_t sent = 0;
  EK_RETURN_IF_ERROR(
      Read(reinterpret_cast<char*>(&sent), sizeof(sent), limits));
  if (max_bytes < 0 || sent > static_cast<uint64_t>(max_bytes)) {
    return absl::InternalError("bytes with an impossible length");
  }
  return ReadString(bytes, sent, limits);
}

absl::Status MessageChannel::ReadString(std::string& bytes, uint64_t size,
                                        const Limits& limits) {
  bytes.clear();
  bytes.reserve(size);
  PreferHugePages(bytes.data(), bytes.capacity());
  // Filled as it comes: a hostile child that announces much and sends nothing
  // must not make this process touch all of it.
  while (bytes.size() < size) {
    const size_t begin = bytes.size();
    bytes.resize(std::min<size_t>(size, begin + kStepBytes));
    EK_RETURN_IF_ERROR(
        Read(bytes.data() + begin, bytes.size() - begin, limits));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::server
