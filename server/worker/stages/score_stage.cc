// How far the outputs of each sample are from what they are measured against:
// the outputs of the reference, or for an auto-encoder its own inputs.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/worker/stages/real_values.h"
#include "server/worker/stages/samples.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

// The arrays of one chunk that are compared.
struct ChunkValues {
  int64_t first = 0;
  int64_t end = 0;
  std::vector<RealValues> arrays;
};

absl::StatusOr<ChunkValues> ValuesOf(const v1::Chunk& chunk, bool first_only) {
  const auto end = CheckedAdd(chunk.first_sample(), chunk.samples());
  if (chunk.first_sample() < 0 || chunk.samples() < 0 || !end) {
    return absl::InternalError("a chunk of no range of samples");
  }
  ChunkValues values{.first = chunk.first_sample(), .end = *end, .arrays = {}};
  for (const v1::Chunk::Array& array : chunk.arrays()) {
    if (first_only && !values.arrays.empty()) break;
    EK_ASSIGN_OR_RETURN(RealValues real,
                        RealValues::Create(array, chunk.samples()));
    values.arrays.push_back(real);
  }
  return values;
}

// Sums over the values of one sample, in their order.
class Sums {
 public:
  void Add(const std::vector<double>& a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      const double difference = a[i] - b[i];
      squared_error_ += difference * difference;
      absolute_error_ += std::abs(difference);
      dot_ += a[i] * b[i];
      squared_a_ += a[i] * a[i];
      squared_b_ += b[i] * b[i];
    }
    count_ += static_cast<int64_t>(a.size());
  }

  double Score(v1::ScoreOptions::Measure measure) const {
    const auto count = static_cast<double>(std::max<int64_t>(count_, 1));
    if (measure == v1::ScoreOptions::SQUARED_ERROR) {
      return squared_error_ / count;
    }
    if (measure == v1::ScoreOptions::ABSOLUTE_ERROR) {
      return absolute_error_ / count;
    }
    // Of vectors without a direction: equal ones are as similar as can be.
    if (squared_a_ == 0 || squared_b_ == 0) return squared_a_ == squared_b_;
    // Rounding must not carry it beyond the range.
    return std::clamp(dot_ / (std::sqrt(squared_a_) * std::sqrt(squared_b_)),
                      -1.0, 1.0);
  }

 private:
  double squared_error_ = 0;
  double absolute_error_ = 0;
  double dot_ = 0;
  double squared_a_ = 0;
  double squared_b_ = 0;
  int64_t count_ = 0;
};

absl::Status NotFinite(int64_t sample) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "METRIC",
       .what = "the network's outputs contain NaN, infinity, or values too "
               "large to be compared",
       .where = absl::StrCat("sample ", sample),
       .fix =
           "leave the sample out of the data set, or use --metric top1, top5 "
           "or agreement, which only rank the outputs"});
}

// The chunk that has the sample, of chunks in any order.
const ChunkValues* Find(const std::vector<ChunkValues>& chunks,
                        int64_t sample) {
  for (const ChunkValues& chunk : chunks) {
    if (chunk.first <= sample && sample < chunk.end) return &chunk;
  }
  return nullptr;
}

absl::StatusOr<double> ScoreOf(v1::ScoreOptions::Measure measure,
                               const ChunkValues& outputs,
                               const std::vector<ChunkValues>& references,
                               int64_t sample) {
  const ChunkValues* const reference = Find(references, sample);
  if (reference == nullptr ||
      reference->arrays.size() != outputs.arrays.size()) {
    return absl::InternalError(
        absl::StrCat("sample ", sample, " has nothing to be compared with"));
  }
  Sums sums;
  std::vector<double> a;
  std::vector<double> b;
  for (size_t i = 0; i < outputs.arrays.size(); ++i) {
    outputs.arrays[i].Read(sample - outputs.first, a);
    reference->arrays[i].Read(sample - reference->first, b);
    if (a.size() != b.size()) {
      return absl::InternalError(
          absl::StrCat("outputs ", i, " of chip and reference differ in size"));
    }
    sums.Add(a, b);
  }
  const double score = sums.Score(measure);
  if (!std::isfinite(score)) return NotFinite(sample);
  return score;
}

}  // namespace

absl::StatusOr<StageOutput> RunScore(const v1::ScoreOptions& options,
                                     const StageInputs& inputs) {
  if (options.measure() == v1::ScoreOptions::MEASURE_UNSPECIFIED) {
    return absl::InternalError("score of no measure");
  }
  EK_ASSIGN_OR_RETURN(const auto chunk, inputs.Parse<v1::Chunk>("outputs"));
  EK_ASSIGN_OR_RETURN(const auto references,
                      inputs.ParseAll<v1::Chunk>("reference"));
  EK_ASSIGN_OR_RETURN(const ChunkValues outputs,
                      ValuesOf(chunk, options.first_only()));
  std::vector<ChunkValues> against;
  for (const v1::Chunk& reference : references) {
    EK_ASSIGN_OR_RETURN(ChunkValues values,
                        ValuesOf(reference, options.first_only()));
    against.push_back(std::move(values));
  }
  StageOutput output;
  v1::StageSummary::Samples& summary = *output.summary.mutable_samples();
  summary.set_samples(chunk.samples());
  for (int64_t sample = outputs.first; sample < outputs.end; ++sample) {
    EK_ASSIGN_OR_RETURN(const double score,
                        ScoreOf(options.measure(), outputs, against, sample));
    summary.add_score(score);
  }
  if (!inputs.Has("labels")) return output;
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> labels,
                      LabelsOf(inputs, chunk.first_sample(), chunk.samples()));
  summary.mutable_label()->Add(labels.begin(), labels.end());
  return output;
}

}  // namespace edgekiln::server
