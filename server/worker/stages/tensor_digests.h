#ifndef EK_SERVER_WORKER_STAGES_TENSOR_DIGESTS_H_
#define EK_SERVER_WORKER_STAGES_TENSOR_DIGESTS_H_

// What the reference computed, by fingerprints: an interpret stage makes them
// once, and every simulate stage of the same graph and chunk compares with
// them instead of computing the same again.
//
// The blob "digests": for each sample of the chunk, in order, and each tensor
// that an op computes, by index, the Fingerprint of its bytes, with one NaN for
// each (compiler::WithOneNan), 32 bytes each.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fingerprint.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/interpreter.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

// Position of each tensor among those that an op computes, or -1.
std::vector<int64_t> ComputedPositions(const compiler::Graph& graph);

// The element type of each tensor.
std::vector<v1::ElementType> TypesOf(const compiler::Graph& graph);

class TensorDigestWriter {
 public:
  explicit TensorDigestWriter(const compiler::Graph& graph)
      : types_(TypesOf(graph)), positions_(ComputedPositions(graph)) {}
  // `reference` keeps all tensors and has run the next sample.
  void Append(const compiler::Interpreter& reference);
  // Ends the use of this object.
  std::string Take() { return std::move(bytes_); }

 private:
  std::vector<v1::ElementType> types_;  // By tensor.
  std::vector<int64_t> positions_;
  Fingerprinter fingerprint_;
  std::string room_;
  std::string bytes_;
};

class TensorDigests {
 public:
  // Reads the input "digests". INTERNAL if it was not made for such a graph and
  // that many samples.
  static absl::StatusOr<TensorDigests> Create(const StageInputs& inputs,
                                              const compiler::Graph& graph,
                                              int64_t samples);

  // Whether an op computes the tensor.
  bool Has(compiler::TensorId tensor) const {
    return positions_[static_cast<size_t>(tensor)] >= 0;
  }
  // Whether the reference computed these values for the tensor, which it has,
  // and for that sample of the chunk.
  bool Matches(int64_t index, compiler::TensorId tensor,
               absl::string_view bytes);

 private:
  TensorDigests(std::vector<v1::ElementType> types,
                std::vector<int64_t> positions, int64_t computed,
                absl::string_view bytes)
      : types_(std::move(types)),
        positions_(std::move(positions)),
        computed_(computed),
        bytes_(bytes) {}

  std::vector<v1::ElementType> types_;  // By tensor.
  std::vector<int64_t> positions_;
  int64_t computed_;  // Tensors that an op computes.
  absl::string_view bytes_;
  Fingerprinter fingerprint_;
  std::string room_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_TENSOR_DIGESTS_H_
