#ifndef EK_SERVER_DAEMON_FARM_LEASE_CHECK_H_
#define EK_SERVER_DAEMON_FARM_LEASE_CHECK_H_

// What is refused before a worker hears of it.

#include "absl/status/status.h"
#include "server/daemon/farm/quarantine.h"
#include "server/daemon/stages/lease_source.h"

namespace edgekiln::server {

// Errors: RESOURCE_EXHAUSTED (too large for a message to a worker), INTERNAL
// with reason INPUT_QUARANTINED. `quarantine` may be null.
absl::Status CheckLease(const LeaseRequest& request,
                        const Quarantine* quarantine);

// Cuts request.next before the first stage that is quarantined: its failures
// are those of a lease of its own. `quarantine` may be null.
void LeaveOutQuarantined(const Quarantine* quarantine, LeaseRequest& request);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_LEASE_CHECK_H_
