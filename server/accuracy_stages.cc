#include "server/accuracy_stages.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/accuracy.h"
#include "server/report_builder.h"

namespace edgekiln::server {

// Adds up a score per sample: how far `outputs` are from `reference`.
Task<absl::Status> AccuracyStages::Score(std::string name,
                                         const v1::ScoreOptions& measure,
                                         const Values& outputs,
                                         const Values& reference,
                                         const std::vector<v1::BlobRef>& labels,
                                         Scores& scores) {
  Data data;
  data.chunks = outputs.chunks;
  int64_t first = 0;
  const auto start = [&](size_t i, const v1::Digest& chunk,
                         const std::vector<v1::BlobRef>&) {
    v1::StageOptions options;
    *options.mutable_score() = measure;
    std::vector<v1::BlobRef> inputs = {As("outputs", chunk)};
    for (const v1::Digest& part :
         Covering(reference, first, outputs.samples[i])) {
      inputs.push_back(As("reference", part));
    }
    first += outputs.samples[i];
    inputs.insert(inputs.end(), labels.begin(), labels.end());
    return run_.stages.Start(absl::StrCat(name, "[", i, "]"), options, inputs);
  };
  const auto collect = [&](const v1::StageResult& result) {
    Add(result.summary().samples(), scores);
    return absl::OkStatus();
  };
  co_return co_await ForEachChunk(data, start, collect);
}

Task<absl::Status> AccuracyStages::ScoreErrors(v1::Metric metric,
                                               const Values& chip,
                                               const Values& reference) {
  v1::ScoreOptions measure;
  measure.set_measure(metric == v1::METRIC_MSE ? v1::ScoreOptions::SQUARED_ERROR
                      : metric == v1::METRIC_MAE
                          ? v1::ScoreOptions::ABSOLUTE_ERROR
                          : v1::ScoreOptions::COSINE);
  co_return co_await Score("score", measure, chip, reference, {}, chip_scores_);
}

Task<absl::Status> AccuracyStages::ScoreReconstructions(
    const Data& data, const Values& chip, const Values& reference) {
  // The samples as the data set has them: the network's own integers are
  // rounded, and end where the range does that calibration saw.
  const auto converting = model_.StartRealInputs(run_.stages);
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(converting));
  EK_CO_ASSIGN_OR_RETURN(const Data real, DataOf(converted));
  EK_CO_ASSIGN_OR_RETURN(const Values inputs, ValuesOf(real));
  v1::ScoreOptions measure;
  measure.set_measure(v1::ScoreOptions::SQUARED_ERROR);
  measure.set_first_only(true);
  EK_CO_RETURN_IF_ERROR(co_await Score("score", measure, chip, inputs,
                                       data.labels, chip_scores_));
  co_return co_await Score("score_reference", measure, reference, inputs,
                           data.labels, reference_scores_);
}

Task<absl::Status> AccuracyStages::Run(v1::Metric metric, const Data& data,
                                       const Computed& chip,
                                       const Computed& reference) {
  if (metric == v1::METRIC_AUC) {
    EK_CO_RETURN_IF_ERROR(
        co_await ScoreReconstructions(data, chip.outputs, reference.outputs));
  } else if (NeedsScores(metric)) {
    EK_CO_RETURN_IF_ERROR(
        co_await ScoreErrors(metric, chip.outputs, reference.outputs));
  }
  const std::string note = NoteOn(metric, request_.options(), data.summary);
  if (!note.empty()) run_.report.add_warnings(note);
  co_return AddAccuracy(
      {.metric = metric,
       .confusion = request_.options().confusion(),
       .chip = chip.totals,
       .reference = reference.totals,
       .kind = model_.import().quantized() ? v1::Report::Accuracy::SOURCE_INT8
                                           : v1::Report::Accuracy::FLOAT,
       .chip_scores = chip_scores_,
       .reference_scores = reference_scores_},
      run_.report);
}

}  // namespace edgekiln::server
