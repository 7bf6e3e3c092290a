#ifndef EK_TESTS_CHAOS_CUT_PROXY_H_
#define EK_TESTS_CHAOS_CUT_PROXY_H_

// A TCP proxy on a loopback port that breaks connections where it was told to:
// what it holds of the stream at that moment is lost, as on a real network.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

namespace edgekiln::chaos {

class CutProxy {
 public:
  // Forwards to `port` of 127.0.0.1. `cuts` are byte counts from client to
  // server over all connections, ascending; at each the connection under way is
  // broken, every other one by a reset. One connection at a time.
  static absl::StatusOr<std::unique_ptr<CutProxy>> Start(
      int port, std::vector<int64_t> cuts);
  ~CutProxy();
  CutProxy(const CutProxy&) = delete;
  CutProxy& operator=(const CutProxy&) = delete;

  int port() const { return port_; }
  int cuts_made() const { return cuts_made_; }
  // Bytes that clients sent, with all framing.
  int64_t client_bytes() const { return client_bytes_; }

 private:
  CutProxy(int listener, int port, int server_port, std::vector<int64_t> cuts);
  void Run();
  void Serve(int client);
  // Whether both directions are still open.
  bool Forward(int from, int to, bool counts);
  void Cut(int client, int server);

  const int listener_;
  const int port_;
  const int server_port_;
  const std::vector<int64_t> cuts_;
  std::atomic<bool> stop_{false};
  std::atomic<int> cuts_made_{0};
  std::atomic<int64_t> client_bytes_{0};
  std::thread thread_;
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_CUT_PROXY_H_
