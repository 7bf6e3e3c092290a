#ifndef EK_COMPILER_DATASET_SCALE_CHECK_H_
#define EK_COMPILER_DATASET_SCALE_CHECK_H_

// Notices data that was scaled for another network: 0..255 pixels for an input
// that expects -1..1, or the other way round. A person who forgets the scale
// otherwise gets a plausible report with a bad accuracy.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compiler/dataset/data_set.h"
#include "compiler/dataset/element_writer.h"

namespace edgekiln::compiler {

struct ScaleQuestion {
  const ElementWriter& writer;  // After all values were written.
  std::string input;
  const StoredArray& stored;
  const std::vector<double>& scale;  // Of the transform.
  const std::vector<double>& offset;
};

// OK for inputs that are not quantized. Otherwise INVALID_ARGUMENT under the
// conditions that ConvertDataSet() documents.
absl::Status CheckScaleOfData(const ScaleQuestion& question);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_SCALE_CHECK_H_
