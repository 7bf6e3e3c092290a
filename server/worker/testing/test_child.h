#ifndef EK_SERVER_WORKER_TESTING_TEST_CHILD_H_
#define EK_SERVER_WORKER_TESTING_TEST_CHILD_H_

// Where tests find test_child_main.cc: beside themselves.

#include <cstdint>
#include <filesystem>

#include "server/worker/child_process.h"

namespace edgekiln::server {

// How the stage convert_data of a test child runs out, by its option `limit`.
enum class RunOut {
  kMachine,   // Of memory, within its limit.
  kAtOnce,    // Of memory, with one allocation.
  kNoexcept,  // The same where it cannot be caught.
  kLength,    // Of what a container counts.
  kStack,
  kNothing,  // It reads where nothing is.
};

// What it tries instead, by the same option.
inline constexpr int64_t kFirstAttempt = 100;
enum class Attempt : int64_t {
  kSocket = kFirstAttempt,
  kFork,
  kThread,
  kExec,
  kTrace,
  kSignal,
  kRaiseLimit,
  kExecutableMemory,
  kUnlink,
  kOpen,         // Says what came of it.
  kEnvironment,  // Lists it.
  kBurn,         // CPU time, for good.
  // For builders: says what came of all that they may and may not do.
  kBuild,
  kLeaveBehind,  // Starts a program, makes a file, tells, and hangs.
};

inline ChildOptions TestChild() {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  ChildOptions options;
  options.binary = self.parent_path() / "worker_test_child";
  options.memory_limit_bytes = int64_t{1} << 30;
  return options;
}

// Why tests in which children run out of memory or stack are skipped where
// kLimitsAddressSpace is false.
inline constexpr char kNothingRunsOut[] =
    "children of this build have no memory limit, because its sanitizer "
    "reserves terabytes of address space: nothing runs out of memory or stack "
    "as it does without one; the ci preset runs this";

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_TESTING_TEST_CHILD_H_
