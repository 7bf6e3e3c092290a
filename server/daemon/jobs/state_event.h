#ifndef EK_SERVER_DAEMON_JOBS_STATE_EVENT_H_
#define EK_SERVER_DAEMON_JOBS_STATE_EVENT_H_

#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

// Says that a job is in that state now. Without a sequence.
inline v1::JobEvent StateEvent(v1::JobState state) {
  v1::JobEvent event;
  event.set_state(state);
  return event;
}

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_STATE_EVENT_H_
