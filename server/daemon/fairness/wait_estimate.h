#ifndef EK_SERVER_DAEMON_FAIRNESS_WAIT_ESTIMATE_H_
#define EK_SERVER_DAEMON_FAIRNESS_WAIT_ESTIMATE_H_

// How long something may take, from what of its kind has ended lately.
// Thread-compatible.

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace edgekiln::server {

class RecentDurations {
 public:
  void Add(const std::string& kind, absl::Duration duration);
  // A moving average in which the latest has a weight of a fifth: of that kind,
  // or of all if none of that kind has ended yet. Empty if nothing has.
  std::optional<absl::Duration> Of(const std::string& kind) const;

 private:
  std::map<std::string, absl::Duration> by_kind_;
  std::optional<absl::Duration> all_;
};

// Work that must be done before something gets its turn, and by how many at
// once. Add what is ahead, then ask.
class WaitEstimate {
 public:
  WaitEstimate(const RecentDurations& recent, int slots)
      : recent_(recent), slots_(slots) {}

  // What has run for `elapsed` already; zero for what waits.
  void Add(const std::string& kind,
           absl::Duration elapsed = absl::ZeroDuration());
  // Empty without slots, or if nothing is known of what is ahead.
  std::optional<absl::Duration> Get() const;

 private:
  const RecentDurations& recent_;
  const int slots_;
  absl::Duration ahead_ = absl::ZeroDuration();
  bool known_ = true;
};

// "simulate" of "simulate[3]": chunks of a stage take about the same time.
std::string StageKind(const std::string& stage);

// Whole milliseconds.
google::protobuf::Duration DurationToProto(absl::Duration duration);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FAIRNESS_WAIT_ESTIMATE_H_
