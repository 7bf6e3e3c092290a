#ifndef EK_SERVER_WORKER_FILE_ACCESS_H_
#define EK_SERVER_WORKER_FILE_ACCESS_H_

// Which files a process and all that it starts may open (Landlock).

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace edgekiln::server {

struct FileAccess {
  // Files, and folders with all below: to be read and executed. Those that are
  // not there are passed over.
  std::vector<std::string> readable;
  std::vector<std::string> writable;  // To be read, executed and changed.
};

// From now on, and for good, nothing but that. Where the kernel knows how, no
// signals to processes that this one did not start, either. Takes no_new_privs.
// UNAVAILABLE, with the reason, where the kernel does not let us.
absl::Status LimitFileAccess(const FileAccess& access);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_FILE_ACCESS_H_
