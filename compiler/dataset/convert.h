#ifndef EK_COMPILER_DATASET_CONVERT_H_
#define EK_COMPILER_DATASET_CONVERT_H_

// A stored data set as chunks of samples in the network's own element type and
// layout.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/dataset/model_inputs.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::compiler {

// No chunk is larger than this, but for a single sample that is.
inline constexpr int64_t kMaxChunkBytes = int64_t{64} << 20;

// Each chunk is a lease and a few files: a data set large enough to be cut into
// more chunks than this gets larger ones instead.
inline constexpr int64_t kUsefulChunks = 128;

// Samples per chunk: as many as asked for and kMaxChunkBytes allow, at least 1.
int64_t ChunkSamples(absl::Span<const v1::TensorType> inputs, int64_t wanted);

// `samples` cut into chunks that hold no arrays yet: at least `chunk_samples`
// each, more if they were too many, fewer if they were too large.
std::vector<v1::Chunk> EmptyChunks(absl::Span<const v1::TensorType> inputs,
                                   int64_t samples, int64_t chunk_samples);
// Bytes of that many samples of all inputs; empty if no number holds them, or
// for element types that samples cannot have.
std::optional<int64_t> BytesOfSamples(absl::Span<const v1::TensorType> inputs,
                                      int64_t samples);

struct ConvertedData {
  std::vector<v1::Chunk> chunks;
  std::optional<v1::Labels> labels;  // Present if any sample has a label.
  int64_t samples = 0;
  int64_t labelled = 0;
  std::vector<std::string> warnings{};
};

// Each value becomes real = (x * x_scale + x_offset) * scale[c] + offset[c] in
// double precision, then an element as element_writer.h says. With
// `options.raw`, arrays that no transform names must already have the network's
// element type and are copied, but for the layout. For an input with a
// conversion, "element" and "element type" are those of the source model; what
// the chunks hold is converted from them.
//
// Refuses data of another order of magnitude than an input that the model
// declares as quantized: if more than half of the values fall off the grid, or
// whole numbers spread over more than 8 times its span, or many whole numbers
// collapse into 2 steps of it. The error says which --input option would map
// the stored values on to the grid. Less certain signs are warnings, and so are
// all of them where real values are quantized behind the input.
//
// A state without an array of its own is carried from sample to sample: its
// arrays in the chunk are empty.
//
// Without files, for a model without inputs, there are as many samples as the
// limit says, or one.
//
// Errors: INVALID_ARGUMENT, UNIMPLEMENTED; each names the input or array. Those
// of `admit`, if there is one: it is told how many bytes the converted samples
// will be, before any is.
using AdmitBytes = std::function<absl::Status(std::optional<int64_t> bytes)>;
absl::StatusOr<ConvertedData> ConvertDataSet(
    const v1::ConvertDataOptions& options,
    absl::Span<const absl::string_view> files, const ModelInputs& inputs,
    const AdmitBytes& admit = nullptr);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_CONVERT_H_
