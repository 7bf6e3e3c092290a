#include "server/daemon/fairness/wait_estimate.h"

#include <algorithm>

#include "google/protobuf/util/time_util.h"

namespace edgekiln::server {
namespace {

constexpr double kWeight = 0.2;
// Far more than there are stages or goals.
constexpr size_t kMaxKinds = 256;

absl::Duration Mixed(absl::Duration before, absl::Duration latest) {
  return before * (1 - kWeight) + latest * kWeight;
}

}  // namespace

void RecentDurations::Add(const std::string& kind, absl::Duration duration) {
  all_ = all_.has_value() ? Mixed(*all_, duration) : duration;
  const auto it = by_kind_.find(kind);
  if (it != by_kind_.end()) {
    it->second = Mixed(it->second, duration);
  } else if (by_kind_.size() < kMaxKinds) {
    by_kind_.emplace(kind, duration);
  }
}

std::optional<absl::Duration> RecentDurations::Of(
    const std::string& kind) const {
  const auto it = by_kind_.find(kind);
  return it == by_kind_.end() ? all_ : it->second;
}

void WaitEstimate::Add(const std::string& kind, absl::Duration elapsed) {
  const std::optional<absl::Duration> all = recent_.Of(kind);
  known_ = known_ && all.has_value();
  if (known_) ahead_ += std::max(*all - elapsed, absl::ZeroDuration());
}

std::optional<absl::Duration> WaitEstimate::Get() const {
  if (!known_ || slots_ <= 0) return std::nullopt;
  return ahead_ / slots_;
}

std::string StageKind(const std::string& stage) {
  return stage.substr(0, stage.find('['));
}

google::protobuf::Duration DurationToProto(absl::Duration duration) {
  return google::protobuf::util::TimeUtil::MillisecondsToDuration(
      absl::ToInt64Milliseconds(duration));
}

}  // namespace edgekiln::server
