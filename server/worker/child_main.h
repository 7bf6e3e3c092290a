#ifndef EK_SERVER_WORKER_CHILD_MAIN_H_
#define EK_SERVER_WORKER_CHILD_MAIN_H_

// The inside of a child process: reads requests from its channel until that
// closes, executes each, answers.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/worker/sanitized.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

inline constexpr bool kLimitsAddressSpace = !EK_SANITIZED;

struct ChildMainOptions {
  int64_t memory_limit_bytes = 0;  // Address space; 0 = unlimited; see above.
  // Of what stages have prepared (WarmCache), between requests. Room for the
  // float and the quantized form of any network that fits a small chip, with
  // its program, and still a small part of the usual memory limit.
  int64_t warm_bytes = int64_t{256} << 20;
  bool filter_system_calls = true;  // Not for valgrind, which makes its own.
  // A builder's (confinement.h). Half of the memory is its own, the other half
  // that of the compiler that it waits for.
  std::string scratch_folder;
  std::vector<std::string> tool_folders;
  // For tests of crash handling: abort() when asked for this stage.
  std::string crash_stage;
};

using StageFunction = std::function<absl::StatusOr<StageOutput>(
    const v1::StageOptions&, const StageInputs&, const ProgressSink&)>;

// What stages keep never makes one fail: if memory runs out, all of it is
// dropped and the stage starts again. Running out of memory or stack after that
// is the user's error if the stage went beyond the limits of this process, and
// ours if the machine had less than that.
//
// Confines this process (confinement.h), which dies with its parent, then
// serves; a request without a stage is answered with what the confinement is,
// a serialized v1::WorkerMessage.Confinement as its only output. Returns the
// process's exit code: 0 once the channel is closed, 1 after a broken message,
// 3 after an answer that tells of memory that ran out. kMemoryExit or
// kStackExit: it ended in the midst of a stage that went beyond the limit.
inline constexpr int kMemoryExit = 4;
inline constexpr int kStackExit = 5;
int ServeChild(const ChildMainOptions& options, const StageFunction& run_stage);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CHILD_MAIN_H_
