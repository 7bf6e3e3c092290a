#ifndef EK_TESTS_BENCH_BARE_RPC_H_
#define EK_TESTS_BENCH_BARE_RPC_H_

// gRPC with nothing behind it: what any service on it pays at least.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace grpc {
class Channel;
}

namespace edgekiln::bench {

// A server of two methods that knows no messages, only bytes; one thread.
//   /bench.Bare/Reply/N   one message in, one of N bytes out
//   /bench.Bare/Hash      messages in; out: SHA-256 over them, in hex
//   /bench.Bare/Sink      messages in, dropped; out: nothing
// Writes the port it picked into `port_file` and serves until it is killed.
int ServeBare(const std::string& port_file);

inline constexpr char kHashMethod[] = "/bench.Bare/Hash";
inline constexpr char kSinkMethod[] = "/bench.Bare/Sink";
std::string ReplyMethod(int64_t bytes);

// A client of unary methods that takes requests as bytes, so that every server
// is asked by the same code. Not thread-safe.
class UnaryClient {
 public:
  explicit UnaryClient(const std::string& address);
  ~UnaryClient();
  UnaryClient(const UnaryClient&) = delete;
  UnaryClient& operator=(const UnaryClient&) = delete;

  // One call; the bytes of the reply.
  absl::StatusOr<std::string> Call(const std::string& method,
                                   absl::string_view request);

  // Wall-clock seconds of each of `calls` calls, one after the other.
  absl::StatusOr<std::vector<double>> Latencies(const std::string& method,
                                                absl::string_view request,
                                                int calls);

  // Wall-clock seconds for `calls` calls of which `in_flight` are under way at
  // any time.
  absl::StatusOr<double> Flood(const std::string& method,
                               absl::string_view request, int calls,
                               int in_flight);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Sends `bytes` in messages of at most `message_bytes`; the server's answer.
absl::StatusOr<std::string> StreamBytes(const std::string& address,
                                        const std::string& method,
                                        absl::string_view bytes,
                                        int64_t message_bytes);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_BARE_RPC_H_
