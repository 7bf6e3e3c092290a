#ifndef EK_COMPILER_FRONTEND_TFLITE_TENSOR_VALUES_H_
#define EK_COMPILER_FRONTEND_TFLITE_TENSOR_VALUES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/frontend/tflite/schema_generated.h"

// Constants that a file stores in fewer bytes than their values have.
namespace edgekiln::compiler {

// int8 values of `elements` signed 4-bit numbers, two to a byte, the lower half
// first. INVALID_ARGUMENT if `packed` holds another number of bytes than that
// takes.
absl::StatusOr<std::string> UnpackInt4(absl::string_view packed,
                                       int64_t elements);

// The dense row-major values of a sparse tensor. `shape` has at least one
// dimension and its elements times `element_bytes` is what the caller is ready
// to allocate; work and memory besides stay in proportion to what the file
// holds. INVALID_ARGUMENT for levels that do not describe this shape.
absl::StatusOr<std::string> Densify(const tflite::SparsityParameters& sparsity,
                                    absl::Span<const int64_t> shape,
                                    int64_t element_bytes,
                                    absl::string_view values);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_TFLITE_TENSOR_VALUES_H_
