#ifndef EK_COMPILER_DATASET_ELEMENT_WRITER_H_
#define EK_COMPILER_DATASET_ELEMENT_WRITER_H_

// Real numbers as the elements a network reads.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/dataset/npy.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// Quantized types: q = round_half_away(real / scale) + zero_point, saturated.
// Floats: rounded to nearest. Plain integers: only whole numbers that fit, 0
// and 1 for bool.
//
// Not thread-safe.
class ElementWriter {
 public:
  // Errors: UNIMPLEMENTED (element types that .npy files have not, per-channel
  // quantized inputs).
  static absl::StatusOr<ElementWriter> Create(const v1::TensorType& type);

  int64_t element_bytes() const { return NpyTypeBytes(type_); }

  // Stores one element at `out`. INVALID_ARGUMENT for numbers that the type
  // cannot hold: not finite, no whole number, out of range.
  absl::Status Write(double real, char* out);

 private:
  ElementWriter() = default;

  std::string input_;  // For errors.
  NpyType type_ = NpyType::kFloat32;
  bool quantized_ = false;
  double scale_ = 1;
  int64_t zero_point_ = 0;
  int64_t lowest_ = 0;
  int64_t highest_ = 0;
};

// Stores an integer in a 1- to 8-byte element that holds it.
void StoreInteger(NpyType type, int64_t value, char* out);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_ELEMENT_WRITER_H_
