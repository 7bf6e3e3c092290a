#ifndef EK_COMPILER_EXPORT_TESTING_QUANTIZED_MODELS_H_
#define EK_COMPILER_EXPORT_TESTING_QUANTIZED_MODELS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

// Published networks, quantized on a few samples, for tests of what becomes of
// them.
namespace edgekiln::compiler {

struct ModelCase {
  const char* name;
  const char* model;  // Under EK_SHARED_DIR.
  const char* data;   // The same; "": values from offset to offset + scale.
  double scale;       // Input transform.
  double offset;
  int64_t samples;
};

inline void PrintTo(const ModelCase& row, std::ostream* out) {
  *out << row.name;
}

const std::vector<ModelCase>& ModelCases();

struct QuantizedModel {
  Graph graph;
  std::vector<std::vector<std::string>> samples;  // A value per input each.
};

// The bytes are those of the row's files.
absl::StatusOr<QuantizedModel> QuantizedModelOf(
    const ModelCase& row, const std::string& model, const std::string& data,
    const v1::QuantizationNeeds& needs = {});

// Index of the largest of float values.
int64_t LargestOf(const std::string& floats);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_EXPORT_TESTING_QUANTIZED_MODELS_H_
