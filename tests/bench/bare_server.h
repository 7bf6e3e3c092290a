#ifndef EK_TESTS_BENCH_BARE_SERVER_H_
#define EK_TESTS_BENCH_BARE_SERVER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "tests/bench/program.h"

namespace edgekiln::bench {

// The server of bare_rpc.h in a process of its own: this very program, started
// with one flag. A main() that wants one begins with
//
//   if (BareServer::IsWanted(argc, argv)) return BareServer::Serve(argv);
class BareServer {
 public:
  static bool IsWanted(int argc, char** argv);
  static int Serve(char** argv);

  static absl::StatusOr<std::unique_ptr<BareServer>> Start(
      const ScratchFolder& scratch);

  const std::string& address() const { return address_; }
  const Program& program() const { return *program_; }

 private:
  BareServer(std::unique_ptr<Program> program, std::string address)
      : program_(std::move(program)), address_(std::move(address)) {}
  std::unique_ptr<Program> program_;
  std::string address_;
};

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_BARE_SERVER_H_
