#include "client/pause.h"

#include <algorithm>
#include <chrono>

namespace edgekiln::client {
namespace {

constexpr absl::Duration kSlice = absl::Milliseconds(20);

}  // namespace

void PauseUnlessConnected(grpc::ChannelInterface& channel, Clock& clock,
                          absl::Duration duration) {
  const absl::Duration end = clock.Monotonic() + duration;
  if (channel.GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY) {
    clock.SleepFor(duration);
    return;
  }
  for (absl::Duration now; (now = clock.Monotonic()) < end;) {
    const absl::Duration slice = std::min(kSlice, end - now);
    if (channel.WaitForConnected(std::chrono::system_clock::now() +
                                 absl::ToChronoMicroseconds(slice))) {
      return;
    }
    // A test's clock has stood still.
    if (clock.Monotonic() == now) clock.SleepFor(end - now);
  }
}

}  // namespace edgekiln::client
