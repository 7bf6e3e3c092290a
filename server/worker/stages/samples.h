#ifndef EK_SERVER_WORKER_STAGES_SAMPLES_H_
#define EK_SERVER_WORKER_STAGES_SAMPLES_H_

// Chunks of samples as the stages that compute them need them: one sample at a
// time in, one at a time out, and counting what was right.

#include <cstdint>
#include <optional>
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
  // Bytes of each input, 0 <= index < samples(). Borrowed.
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

// Counts samples whose first output is largest at their label; of several
// largest values the first counts.
//
// Labels count only where that means something: the first output is a vector of
// at least two values per sample and has another shape than the first input
// (the reconstruction of an auto-encoder is no class). Nothing is labelled
// otherwise.
class Top1Counter {
 public:
  // Reads the input "labels", if there is one. INVALID_ARGUMENT for a label
  // beyond the number of classes.
  static absl::StatusOr<Top1Counter> Create(const StageInputs& inputs,
                                            const v1::TensorType& first_input,
                                            const v1::TensorType& first_output,
                                            const ChunkReader& chunk);

  // Sample `index` of the chunk gave `output`.
  void Count(int64_t index, absl::string_view output);

  int64_t labelled() const { return labelled_; }
  int64_t correct() const { return correct_; }

 private:
  explicit Top1Counter(v1::ElementType type) : type_(type) {}

  v1::ElementType type_;
  std::vector<int32_t> labels_;  // Of the chunk's samples; empty: none.
  int64_t labelled_ = 0;
  int64_t correct_ = 0;
};

// Index of the first largest element.
int64_t ArgMax(v1::ElementType type, absl::string_view values);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_SAMPLES_H_
