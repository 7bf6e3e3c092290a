#ifndef EK_SERVER_WORKER_STAGES_SAMPLES_H_
#define EK_SERVER_WORKER_STAGES_SAMPLES_H_

// Chunks of samples as the stages that compute them need them: one sample at a
// time in, one at a time out, and counting what was right.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

// A chunk that fits a network's inputs.
class ChunkReader {
 public:
  // Reads the input "chunk". INTERNAL if it is not made for these inputs.
  static absl::StatusOr<ChunkReader> Create(
      const StageInputs& inputs, absl::Span<const v1::TensorType> types);

  int64_t first_sample() const { return chunk_.first_sample(); }
  int64_t samples() const { return chunk_.samples(); }
  // Whether some inputs are states that each sample takes from the one before.
  bool is_sequential() const;
  // Bytes of each input, 0 <= index < samples(); empty for states that are
  // carried. Borrowed.
  std::vector<absl::string_view> Sample(int64_t index) const;

 private:
  explicit ChunkReader(v1::Chunk chunk) : chunk_(std::move(chunk)) {}
  v1::Chunk chunk_;
};

// The outputs of the samples of one chunk.
class ChunkWriter {
 public:
  ChunkWriter(absl::Span<const v1::TensorType> outputs, int64_t first_sample);
  // Values of each output for the next sample.
  template <typename Values>
  void Append(const Values& values) {
    int index = 0;
    for (const auto& value : values) {
      chunk_.mutable_arrays(index++)->mutable_data()->append(value.data(),
                                                             value.size());
    }
    chunk_.set_samples(chunk_.samples() + 1);
  }
  const v1::Chunk& chunk() const { return chunk_; }

 private:
  v1::Chunk chunk_;
};

// Counts samples whose label is the class with the largest score in the first
// output, or one of the five with the largest; of equal scores the first
// counts, and NaN is smaller than every number.
//
// Labels count only where the first output has scores of classes, see
// class_scores.h. Nothing is labelled otherwise.
class AccuracyCounter {
 public:
  // Reads the input "labels", if there is one. INVALID_ARGUMENT for a label
  // beyond the number of classes.
  static absl::StatusOr<AccuracyCounter> Create(
      const StageInputs& inputs,
      absl::Span<const v1::TensorType> network_inputs,
      absl::Span<const v1::TensorType> network_outputs,
      const ChunkReader& chunk);

  // Sample `index` of the chunk gave `output`. To be called for every sample of
  // the chunk, in their order.
  void Count(int64_t index, absl::string_view output);

  void AddTo(v1::StageSummary::Samples& summary) const;
  // The labels themselves.
  void AddLabelsTo(v1::StageSummary::Samples& summary) const;

  // That the labels seem to be numbered otherwise than the classes: far more
  // samples are right one class further on, or back. Free of figures, so that
  // every chunk says the same.
  std::vector<std::string> Warnings() const;

 private:
  explicit AccuracyCounter(v1::ElementType type) : type_(type) {}
  bool Suspicious(int64_t matches) const;

  v1::ElementType type_;
  int64_t classes_ = 0;
  std::vector<int32_t> labels_;  // Of the chunk's samples; empty: none.
  std::vector<int32_t> predicted_;
  int64_t labelled_ = 0;
  int64_t correct_ = 0;
  int64_t correct_top5_ = 0;
  // Samples of which the best class was label + 1, or label - 1.
  int64_t one_above_ = 0;
  int64_t one_below_ = 0;
  std::set<int32_t> seen_labels_;
};

// Those of the input "labels" that belong to the `samples` samples from `first`
// on; -1 = none. INTERNAL if there are fewer.
absl::StatusOr<std::vector<int32_t>> LabelsOf(const StageInputs& inputs,
                                              int64_t first, int64_t samples);

// The classes with the `count` largest scores, in falling order.
std::vector<int64_t> Largest(v1::ElementType type, absl::string_view scores,
                             size_t count);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_SAMPLES_H_
