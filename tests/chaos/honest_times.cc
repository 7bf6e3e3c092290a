#include "tests/chaos/honest_times.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "google/protobuf/util/time_util.h"

namespace edgekiln::chaos {
namespace {

absl::Time TimeOf(const v1::JobEvent& event) {
  return absl::FromUnixMicros(
      google::protobuf::util::TimeUtil::TimestampToMicroseconds(event.time()));
}

}  // namespace

HonestTimes& HonestTimes::operator+=(const HonestTimes& other) {
  total += other.total;
  prepare += other.prepare;
  create += other.create;
  wait += other.wait;
  stages += other.stages;
  told += other.told;
  fetch += other.fetch;
  stage_cpu += other.stage_cpu;
  return *this;
}

HonestTimes& HonestTimes::operator/=(int64_t count) {
  for (absl::Duration* each :
       {&total, &prepare, &create, &wait, &stages, &told, &fetch, &stage_cpu}) {
    *each /= count;
  }
  return *this;
}

std::string TimesText(const HonestTimes& times) {
  const auto ms = [](absl::Duration duration) {
    return absl::ToDoubleMilliseconds(duration);
  };
  return absl::StrFormat(
      "%.0f ms: prepare %.0f, create %.0f, wait %.0f, stages %.0f (CPU %.0f), "
      "told %.0f, fetch %.0f",
      ms(times.total), ms(times.prepare), ms(times.create), ms(times.wait),
      ms(times.stages), ms(times.stage_cpu), ms(times.told), ms(times.fetch));
}

void StageTimes::OnEvent(const v1::JobEvent& event) {
  // Those from before CreateJob has answered take no time.
  const absl::Time time = std::max(last_, TimeOf(event));
  (running_.empty() ? times_.wait : times_.stages) += time - last_;
  last_ = time;
  if (event.has_stage_started()) {
    running_.insert(event.stage_started().name());
  }
  if (event.has_stage_finished()) {
    running_.erase(event.stage_finished().name());
    if (event.stage_finished().cache() == v1::Report::Stage::MISS) {
      times_.stage_cpu += absl::Seconds(event.stage_finished().cpu_seconds());
    }
  }
}

void StageTimes::Get(absl::Time over, HonestTimes& times) const {
  times.wait = times_.wait;
  times.stages = times_.stages;
  times.stage_cpu = times_.stage_cpu;
  times.told = std::max(over - last_, absl::ZeroDuration());
}

}  // namespace edgekiln::chaos
