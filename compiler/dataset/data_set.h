#ifndef EK_COMPILER_DATASET_DATA_SET_H_
#define EK_COMPILER_DATASET_DATA_SET_H_

// A data set as its author stored it: one array per model input, samples along
// the first axis, and perhaps labels.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/dataset/npy.h"
#include "compiler/dataset/sample_reader.h"

namespace edgekiln::compiler {

// real = value * scale[c] + offset[c], where c is the channel as stored.
struct StoredArray {
  std::string name;  // Empty: nothing was stored for a state.
  NpyInfo info;      // At least one dimension and one sample.
  std::unique_ptr<SampleReader> samples;  // DataSet.wanted of them, once.
  std::vector<double> scale = {1};        // 1 or C values, finite.
  std::vector<double> offset = {0};       // 1 or C values, finite.
};

struct DataSet {
  int64_t samples = 0;              // > 0; the first extent of every array.
  std::vector<StoredArray> arrays;  // In the order of the model's inputs.
  int64_t wanted = 0;               // The first of them, that can be read.
  // One for each wanted sample; -1 = none.
  std::optional<std::vector<int32_t>> labels;
};

// Samples without elements, and of models without inputs: no file's size bounds
// how many there are.
inline constexpr int64_t kMaxEmptySamples = int64_t{1} << 16;

// What a data set is read for.
struct DataSetQuestion {
  std::vector<std::string> input_names;
  // Inputs that may be without an array: states, which are then carried from
  // sample to sample. Empty: none.
  std::vector<bool> is_state = {};
  // SampleShape() of each input, or empty: not known. A data set whose samples
  // cannot have come from them is refused before any values are unpacked.
  std::vector<std::vector<int64_t>> network_shapes = {};
  // The caller named the only input: the array of that name is meant.
  bool input_was_named = false;
  // An array "y" that cannot be labels is left alone.
  bool labels_optional = false;
  int64_t limit = 0;  // Samples that are wanted; 0: all.
};

// Index of the only input that is no state; empty if there are several or none.
std::optional<size_t> OnlyInput(absl::Span<const std::string> input_names,
                                const std::vector<bool>& is_state);

// Reads one .npz, or samples optionally followed by labels, both as .npy or
// both as IDX (also gzip).
//
// In an .npz the array of an input has the input's name. That of an only input
// may also be "x", or "arr_0"; docs/data_sets.md has the rules. An array A may
// come with A_scale and A_offset; labels are "y". An array that feeds an input
// plays no other part. Other arrays are not read. Samples and labels beyond the
// limit are not looked at, and values of samples are unpacked as they are read:
// `files` must outlive the result.
//
// Errors, each naming the array: INVALID_ARGUMENT, UNIMPLEMENTED.
absl::StatusOr<DataSet> LoadDataSet(absl::Span<const absl::string_view> files,
                                    const DataSetQuestion& question);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_DATA_SET_H_
