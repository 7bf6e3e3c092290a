#ifndef EK_SERVER_DAEMON_DISK_RESERVE_H_
#define EK_SERVER_DAEMON_DISK_RESERVE_H_

// A file in the state folder whose only use is the room it takes. A daemon that
// starts on a full disk removes it, so that the job database can open and
// finished work can be read.

#include <cstdint>
#include <string>

#include "base/log.h"

namespace edgekiln::server {

// Creates the file, or removes it while fewer than `bytes` are free. Failures
// are logged: a daemon without a reserve is better than none.
void PrepareDiskReserve(const std::string& state_folder, int64_t bytes,
                        Logger& log);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_DISK_RESERVE_H_
