// Point 1: connections. Plain ones beyond any limit, HTTP/2 that stops halfway
// through its first frames, and calls whose answers nobody reads.

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"
#include "tests/chaos/plain_connection.h"
#include "tests/chaos/requests.h"

namespace edgekiln::chaos {
namespace {

// More than a daemon with 1 024 descriptors can have.
constexpr int kConnections = 1100;
constexpr int kOfWorkers = 200;  // Of them, to the workers' port.
constexpr absl::Duration kHold = absl::Seconds(2);
constexpr absl::Duration kBetween = absl::Seconds(2);
constexpr int kSlowReaders = 24;
constexpr int64_t kSlowBytes = int64_t{8} << 20;

// HTTP/2: the client's preface; then frames with a length of 24 bits, a type,
// flags and a stream.
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Frame(int length, char type, char flags, int stream) {
  return {static_cast<char>(length >> 16),
          static_cast<char>(length >> 8),
          static_cast<char>(length),
          type,
          flags,
          static_cast<char>(stream >> 24),
          static_cast<char>(stream >> 16),
          static_cast<char>(stream >> 8),
          static_cast<char>(stream)};
}

// What connection `number` says before it falls silent.
std::string Opening(int number) {
  switch (number % 4) {
    case 0:
      return "";
    case 1:
      return "PRI * HT";
    case 2:  // Settings that are announced and do not come.
      return kPreface + Frame(60, /*type=*/4, /*flags=*/0, /*stream=*/0);
    default:  // Headers that do not end.
      return kPreface + Frame(0, 4, 0, 0) + Frame(1, /*type=*/1, 0, 1) + "\x88";
  }
}

absl::Status StateOf(int fd) {
  pollfd poll_fd = {.fd = fd, .events = POLLOUT, .revents = 0};
  if (poll(&poll_fd, 1, 20) == 0) {
    return absl::DeadlineExceededError("not accepted");
  }
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError("connection refused");
}

void Flood(Attack& attack) {
  while (true) {
    std::vector<int> open;
    for (int i = 0; i < kConnections; ++i) {
      const int fd =
          StartConnecting(i < kOfWorkers ? attack.target().workers_address
                                         : attack.target().address);
      if (fd < 0) break;
      open.push_back(fd);
      const absl::Status state = StateOf(fd);
      attack.Count(state);
      const std::string opening = Opening(i);
      if (state.ok()) {
        static_cast<void>(
            send(fd, opening.data(), opening.size(), MSG_NOSIGNAL));
      }
    }
    Attack::Pause(kHold);
    // Closed by us, or by the daemon before: half-open no longer.
    for (const int fd : open) close(fd);
    Attack::Pause(kBetween);
  }
}

struct SlowReader {
  std::shared_ptr<grpc::Channel> channel;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<google::bytestream::ReadResponse>> reader;
};

void ReadSlowly(Attack& attack, std::string bytes) {
  while (true) {
    const auto digest = PutBlob(OwnChannel(attack.target().address), bytes);
    attack.Count(digest.status());
    if (digest.ok()) {
      std::vector<std::unique_ptr<SlowReader>> readers;
      for (int i = 0; i < kSlowReaders; ++i) {
        auto slow = std::make_unique<SlowReader>();
        slow->channel = OwnChannel(attack.target().address);
        google::bytestream::ReadRequest request;
        request.set_resource_name(absl::StrCat("blobs/", digest->ToString()));
        slow->reader = google::bytestream::ByteStream::NewStub(slow->channel)
                           ->Read(&slow->context, request);
        attack.CountSilent();
        readers.push_back(std::move(slow));
      }
      Attack::Pause(2 * kHold);
      for (const auto& slow : readers) {
        slow->context.TryCancel();
        slow->reader->Finish();
      }
    }
    Attack::Pause(kBetween);
  }
}

}  // namespace

void AttackConnections(Attack& attack) {
  std::string bytes = RandomBytes(kSlowBytes, attack.rng());
  std::thread slow([&attack, &bytes] { ReadSlowly(attack, std::move(bytes)); });
  Flood(attack);
  slow.join();
}

}  // namespace edgekiln::chaos
