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
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

// What protobuf can serialise into one buffer.
constexpr uint64_t kMaxMessageBytes = std::numeric_limits<int32_t>::max();
// Of long bytes, whose memory is filled in steps.
constexpr size_t kStepBytes = size_t{8} << 20;

// What is read ahead; longer bytes go where they belong at once.
constexpr size_t kBufferBytes = size_t{16} << 10;
// Of one sendmsg(): fewer than the system takes.
constexpr size_t kMaxPieces = 64;

absl::Status PeerGone() { return absl::UnavailableError("peer is gone"); }

// Else only the peer ends a call.
bool Waits(const MessageChannel::Limits& limits) {
  return limits.deadline != absl::InfiniteDuration() || limits.cancel_fd >= 0;
}

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

absl::Status MessageChannel::Write(std::vector<iovec> pieces,
                                   const Limits& limits) {
  const int wait = Waits(limits) ? MSG_DONTWAIT : 0;
  size_t first = 0;  // Those before it are written.
  while (first < pieces.size()) {
    msghdr message = {};
    message.msg_iov = &pieces[first];
    message.msg_iovlen = std::min(pieces.size() - first, kMaxPieces);
    const ssize_t done = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | wait);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) {
      EK_RETURN_IF_ERROR(Await(POLLOUT, limits));
      continue;
    }
    if (done < 0) return PeerGone();
    auto left = static_cast<size_t>(done);
    while (first < pieces.size() && left >= pieces[first].iov_len) {
      left -= pieces[first++].iov_len;
    }
    if (left == 0) continue;
    pieces[first].iov_base = static_cast<char*>(pieces[first].iov_base) + left;
    pieces[first].iov_len -= left;
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::WriteAll(
    absl::string_view message, const std::vector<absl::string_view>& blobs,
    const Limits& limits) {
  // sendmsg() reads what it is given.
  const auto piece = [](absl::string_view bytes) {
    return iovec{const_cast<char*>(bytes.data()), bytes.size()};
  };
  std::vector<uint64_t> sizes(blobs.size());
  std::vector<iovec> pieces = {piece(message)};
  for (size_t i = 0; i < blobs.size(); ++i) {
    sizes[i] = blobs[i].size();
    pieces.push_back({&sizes[i], sizeof(sizes[i])});
    pieces.push_back(piece(blobs[i]));
  }
  return Write(std::move(pieces), limits);
}

absl::StatusOr<size_t> MessageChannel::ReadSome(char* data, size_t size,
                                                const Limits& limits) {
  // Each time: a peer that sends without end is no reason to be late.
  const bool waits = Waits(limits);
  while (true) {
    if (waits) EK_RETURN_IF_ERROR(Await(POLLIN, limits));
    const ssize_t done = recv(fd_.get(), data, size, waits ? MSG_DONTWAIT : 0);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done <= 0) return PeerGone();
    return static_cast<size_t>(done);
  }
}

absl::Status MessageChannel::Read(char* data, size_t size,
                                  const Limits& limits) {
  while (size > 0) {
    if (read_ < buffer_.size()) {
      const size_t taken = buffer_.copy(data, size, read_);
      read_ += taken;
      data += taken;
      size -= taken;
      continue;
    }
    if (size >= kBufferBytes) {
      EK_ASSIGN_OR_RETURN(const size_t done, ReadSome(data, size, limits));
      data += done;
      size -= done;
      continue;
    }
    read_ = 0;
    buffer_.resize(kBufferBytes);
    const absl::StatusOr<size_t> done =
        ReadSome(buffer_.data(), buffer_.size(), limits);
    buffer_.resize(done.ok() ? *done : 0);
    EK_RETURN_IF_ERROR(done.status());
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::Send(const google::protobuf::MessageLite& message,
                                  const Limits& limits,
                                  const std::vector<absl::string_view>& blobs) {
  const uint64_t size = message.ByteSizeLong();
  if (size > kMaxMessageBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "message of ", size, " bytes; at most ", kMaxMessageBytes, " fit"));
  }
  std::string bytes(sizeof(size) + size, '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  message.SerializeWithCachedSizesToArray(
      reinterpret_cast<uint8_t*>(bytes.data()) + sizeof(size));
  return WriteAll(bytes, blobs, limits);
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

absl::Status MessageChannel::SendBytes(
    const std::vector<absl::string_view>& blobs, const Limits& limits) {
  return WriteAll("", blobs, limits);
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
