#include "tests/bench/bare_server.h"

#include <fstream>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tests/bench/bare_rpc.h"

namespace edgekiln::bench {
namespace {

constexpr char kFlag[] = "--serve-bare";

}  // namespace

bool BareServer::IsWanted(int argc, char** argv) {
  return argc == 3 && absl::string_view(argv[1]) == kFlag;
}

int BareServer::Serve(char** argv) { return ServeBare(argv[2]); }

absl::StatusOr<std::unique_ptr<BareServer>> BareServer::Start(
    const ScratchFolder& scratch) {
  const std::string ready = scratch.At("bare");
  EK_ASSIGN_OR_RETURN(std::unique_ptr<Program> program,
                      Program::Start({"/proc/self/exe", kFlag, ready}));
  for (int i = 0; i < 1000; ++i) {
    std::string address;
    if (std::ifstream file(ready); std::getline(file, address)) {
      return std::unique_ptr<BareServer>(
          new BareServer(std::move(program), std::move(address)));
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return absl::UnavailableError("the bare server did not start");
}

}  // namespace edgekiln::bench
