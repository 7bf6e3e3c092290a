#ifndef EK_SERVER_DAEMON_STATUS_PROCESS_USE_H_
#define EK_SERVER_DAEMON_STATUS_PROCESS_USE_H_

#include "edgekiln/v1/daemon.pb.h"

namespace edgekiln::server {

// What this process uses, from the kernel; not the connections. What the kernel
// does not say stays 0.
v1::DaemonStatus::Process ProcessUse();

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STATUS_PROCESS_USE_H_
