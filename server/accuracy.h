#ifndef EK_SERVER_ACCURACY_H_
#define EK_SERVER_ACCURACY_H_

// Report.accuracy, from what the stages say of each sample. Pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::server {

// The largest confusion matrix that is made: 1000 classes.
inline constexpr int64_t kMaxConfusionClasses = 1000;
// Samples that Report.accuracy.disagreement names.
inline constexpr int kMaxDisagreeing = 32;

// Whether the caller decides what is measured.
bool AsksForMetric(const v1::JobOptions& options);

// The metric asked for, or the one that fits network and labels, see
// v1::Metric. INVALID_ARGUMENT if network or labels do not allow what is asked
// for; the error says what is missing.
absl::StatusOr<v1::Metric> ChooseMetric(const v1::JobOptions& options,
                                        const v1::StageSummary::Data& data);

// Why `metric`, which ChooseMetric() returned, is not what people would expect
// of data with labels; empty if it is, or was asked for.
std::string NoteOn(v1::Metric metric, const v1::JobOptions& options,
                   const v1::StageSummary::Data& data);

// As in Report.accuracy.metric: "top1".
std::string NameOf(v1::Metric metric);

// Whether stage `score` has to be asked.
bool NeedsScores(v1::Metric metric);

// The area under the ROC curve: of all pairs of a sample with label 1 and one
// with label 0, the share in which the former has the higher score, ties
// counted half; exact. Other labels do not count. NaN without pairs.
double AreaUnderCurve(absl::Span<const double> scores,
                      absl::Span<const int32_t> labels);

// What was measured on one target. Messages are sums of chunks, in sample
// order; all outlive it.
struct Measurement {
  v1::Metric metric = v1::METRIC_UNSPECIFIED;  // As chosen.
  bool confusion = false;
  const v1::StageSummary::Samples& chip;
  const v1::StageSummary::Samples& reference;  // With labels.
  v1::Report::Accuracy::Reference kind =
      v1::Report::Accuracy::REFERENCE_UNSPECIFIED;
  // Of stage `score`, if NeedsScores(): chip against reference, or for auc
  // against its inputs, with labels.
  const v1::StageSummary::Samples& chip_scores;
  const v1::StageSummary::Samples& reference_scores;  // For auc alone.
};

// Fills accuracy. INTERNAL if the parts are not of the same samples.
absl::Status AddAccuracy(const Measurement& measured, v1::Report& report);

}  // namespace edgekiln::server

#endif  // EK_SERVER_ACCURACY_H_
