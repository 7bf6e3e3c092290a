#ifndef EK_CLIENT_PAUSE_H_
#define EK_CLIENT_PAUSE_H_

#include <grpcpp/grpcpp.h>

#include "absl/time/time.h"
#include "base/clock.h"

namespace edgekiln::client {

// Sleeps between two attempts, but for less if `channel` connects meanwhile:
// gRPC 1.51 goes on with a connection only while somebody waits for the
// channel, otherwise every five seconds, which is as long as an attempt may
// take.
void PauseUnlessConnected(grpc::ChannelInterface& channel, Clock& clock,
                          absl::Duration duration);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_PAUSE_H_
