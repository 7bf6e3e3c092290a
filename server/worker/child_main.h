#ifndef EK_SERVER_WORKER_CHILD_MAIN_H_
#define EK_SERVER_WORKER_CHILD_MAIN_H_

// The inside of a child process: reads requests from its channel until that
// closes, executes each, answers.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

// Sanitizers reserve terabytes of address space for their shadow memory.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EK_SANITIZED_
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    defined(EK_SANITIZED_)
inline constexpr bool kLimitsAddressSpace = false;
#else
inline constexpr bool kLimitsAddressSpace = true;
#endif
#undef EK_SANITIZED_

struct ChildMainOptions {
  int64_t memory_limit_bytes = 0;  // Address space; 0 = unlimited; see above.
  // Of what stages have prepared (WarmCache), between requests. Room for the
  // float and the quantized form of any network that fits a small chip, with
  // its program, and still a small part of the usual memory limit.
  int64_t warm_bytes = int64_t{256} << 20;
  // For tests of crash handling: abort() when asked for this stage.
  std::string crash_stage;
};

using StageFunction = std::function<absl::StatusOr<StageOutput>(
    const v1::StageOptions&, const StageInputs&, const ProgressSink&)>;

// What stages keep never makes one fail: if memory runs out, all of it is
// dropped and the stage starts again.
//
// Limits this process (address space, no core files, no inherited descriptors
// but stdio and the channel, dies with its parent), then serves. Returns the
// process's exit code: 0 once the channel is closed, 1 after a broken message,
// 3 after running out of memory.
int ServeChild(const ChildMainOptions& options, const StageFunction& run_stage);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CHILD_MAIN_H_
