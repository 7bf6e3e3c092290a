#ifndef EK_COMPILER_DATASET_DATA_SET_H_
#define EK_COMPILER_DATASET_DATA_SET_H_

// A data set as its author stored it: one array per model input, samples along
// the first axis, and perhaps labels.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/dataset/npy.h"

namespace edgekiln::compiler {

// real = value * scale[c] + offset[c], where c is the channel as stored.
struct StoredArray {
  std::string name;
  NpyArray values;                   // At least one dimension and one sample.
  std::vector<double> scale = {1};   // 1 or C values, finite.
  std::vector<double> offset = {0};  // 1 or C values, finite.
};

struct DataSet {
  int64_t samples = 0;              // > 0; the first extent of every array.
  std::vector<StoredArray> arrays;  // In the order of the model's inputs.
  std::optional<std::vector<int32_t>> labels;  // One per sample; -1 = none.
};

// Reads one .npz, or IDX images optionally followed by IDX labels (both also
// as gzip).
//
// In an .npz the array of an input has the input's name, or is "x" if the model
// has a single input; if both exist, `prefer_names` decides. An array A may
// come with A_scale and A_offset; labels are "y". Other arrays are not read.
//
// `network_shapes`, SampleShape() of each input, may be left out. A data set
// whose samples cannot have come from them, or whose factors or labels are of
// another size, is refused before any values are unpacked.
//
// Errors, each naming the array: INVALID_ARGUMENT, UNIMPLEMENTED.
absl::StatusOr<DataSet> LoadDataSet(
    absl::Span<const absl::string_view> files,
    absl::Span<const std::string> input_names, bool prefer_names,
    absl::Span<const std::vector<int64_t>> network_shapes = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_DATA_SET_H_
