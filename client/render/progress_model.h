#ifndef EK_CLIENT_RENDER_PROGRESS_MODEL_H_
#define EK_CLIENT_RENDER_PROGRESS_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// Knows where a job stands; told everything, prints nothing. All times are of
// one monotonic clock. Not thread-safe.
class ProgressModel {
 public:
  explicit ProgressModel(absl::Duration start) : start_(start) {}

  // A step of our own before the daemon has the job: "upload", "download".
  void SetLocalStep(absl::string_view step, int64_t done_bytes,
                    int64_t total_bytes, absl::Duration now);
  void Apply(const v1::JobEvent& event, absl::Duration now);
  // The connection is lost and being made again.
  void SetReconnecting(bool reconnecting) { reconnecting_ = reconnecting; }

  // "  8.1 s  simulate  320/2 000 samples (16 %)  accuracy 83.10 %
  // (78.6 to 86.8 %)  ETA 42.0 s", clipped to `width` columns. A reason for
  // waiting goes before all else: the daemon gives one only after a second.
  std::string Line(absl::Duration now, int width) const;
  // The part of the line about samples; empty before the first one.
  std::string SamplesText(absl::Duration now) const;
  // Of a sweep, once it is planned: "cells  37/96 (38 %)  2 failed  ETA 40 s".
  bool has_cells() const { return cells_.valid() > 0; }
  std::string CellsText(absl::Duration now) const;
  // Why nothing moves; empty if something does.
  std::string WaitingText() const;

 private:
  // From where on the speed of something countable is measured.
  struct Pace {
    int64_t first_done = 0;
    absl::Duration first_at;
    // "  ETA 42.0 s"; empty until there is enough to tell from.
    std::string Eta(int64_t done, int64_t total, absl::Duration now) const;
  };

  std::string StepText(absl::Duration now) const;
  void ShowStage(const std::string& stage);
  void EndStage(const std::string& stage);
  void ApplyRow(const v1::SweepRow& row);
  void ApplySamples(const v1::JobEvent::Samples& samples, absl::Duration now);
  // Over all targets: done, total and mismatches.
  v1::JobEvent::Samples AllSamples() const;
  std::string AccuracyText() const;

  const absl::Duration start_;
  // Stages at workers, without their chunks: the latest last.
  std::vector<std::string> running_;
  std::string stage_;  // That is shown.
  v1::StageProgress stage_progress_;
  Pace stage_pace_;
  std::map<int, v1::JobEvent::Samples> samples_;  // By target.
  Pace samples_pace_;
  v1::SweepSummary cells_;  // Of a sweep; nothing valid: it is none.
  Pace cells_pace_;
  std::string waiting_;  // ": why".
  bool reconnecting_ = false;
};

// "counted  resnet8 on toy-array: 202 787 cycles (cycle approximate), latency
// 2.03 ms, 0.0 % of cycles on the host".
std::string CountedText(const v1::JobEvent::Counted& counted);

// "simulate" of "simulate[3]".
std::string BaseName(absl::string_view stage);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_PROGRESS_MODEL_H_
