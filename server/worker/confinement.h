#ifndef EK_SERVER_WORKER_CONFINEMENT_H_
#define EK_SERVER_WORKER_CONFINEMENT_H_

// What a process may still do once it has read its first hostile byte: compute,
// and talk to its worker. Builders also run compilers, in a folder of their
// own. docs/design/0015-confinement.md has the reasons.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgekiln/v1/workers.pb.h"

namespace edgekiln::server {

struct ConfinementOptions {
  int64_t memory_limit_bytes = 0;  // Address space; 0: unlimited.
  bool filter_system_calls = true;
  // A builder's: the one folder that it may write. It becomes the current one.
  std::string scratch_folder;
  // What it may read and execute besides the system's folders.
  std::vector<std::string> tool_folders;
};

// Confines this process for good, and tells what of it the system granted:
// something that it refuses makes a crash less contained, not wrong. To be
// called once, while there is one thread.
v1::WorkerMessage::Confinement Confine(const ConfinementOptions& options);

// The system call that the confinement has denied to a process that ended with
// this exit code: "socket". Empty: it ended otherwise.
std::optional<std::string> DeniedCall(int exit_code);

// "active: ...; missing: ..."; then limits of memory, where there are any.
std::string ConfinementText(const v1::WorkerMessage::Confinement& confinement);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CONFINEMENT_H_
