#include "tests/bench/measure.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"

namespace edgekiln::bench {
namespace {

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

// One subject on its way through the rounds.
struct Runner {
  explicit Runner(const Subject& measured) : subject(&measured) {}

  const Subject* subject;
  int64_t repeats = 1;
  int rounds = 0;
  std::vector<double> samples;

  absl::Status Sample() {
    const double start = ProcessCpuSeconds();
    for (int64_t i = 0; i < repeats; ++i) {
      EK_RETURN_IF_ERROR(subject->run(), subject->name);
    }
    samples.push_back((ProcessCpuSeconds() - start) /
                      static_cast<double>(repeats));
    return absl::OkStatus();
  }

  // Warms up and decides how much is enough.
  absl::Status Prepare(const MeasureOptions& options) {
    EK_RETURN_IF_ERROR(Sample());
    EK_RETURN_IF_ERROR(Sample());
    const double once = std::max(samples.back(), 1e-7);
    samples.clear();
    repeats = std::max<int64_t>(
        1, std::llround(std::ceil(options.sample_seconds / once)));
    const double sample = once * static_cast<double>(repeats);
    rounds = static_cast<int>(
        std::clamp(options.subject_seconds / sample, 3.0,
                   static_cast<double>(std::max(3, options.rounds))));
    return absl::OkStatus();
  }
};

}  // namespace

double ProcessCpuSeconds() { return Seconds(CLOCK_PROCESS_CPUTIME_ID); }

double ChildCpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double WallSeconds() { return Seconds(CLOCK_MONOTONIC); }

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double part = at - static_cast<double>(below);
  return values[below] * (1 - part) + values[above] * part;
}

Timing Summarise(const std::vector<double>& samples) {
  return {.samples = static_cast<int64_t>(samples.size()),
          .median = Quantile(samples, 0.5),
          .low = Quantile(samples, 0.1),
          .high = Quantile(samples, 0.9)};
}

absl::StatusOr<std::vector<Timing>> MeasureInterleaved(
    const std::vector<Subject>& subjects, const MeasureOptions& options) {
  std::vector<Runner> runners;
  for (const Subject& subject : subjects) {
    runners.emplace_back(subject);
    EK_RETURN_IF_ERROR(runners.back().Prepare(options));
  }
  for (int round = 0; round < std::max(3, options.rounds); ++round) {
    for (Runner& runner : runners) {
      if (round >= runner.rounds) continue;
      EK_RETURN_IF_ERROR(runner.Sample());
    }
  }
  std::vector<Timing> timings;
  for (const Runner& runner : runners) {
    timings.push_back(Summarise(runner.samples));
  }
  return timings;
}

}  // namespace edgekiln::bench
