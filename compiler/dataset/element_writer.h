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

// What Write() has seen so far.
struct WrittenRange {
  int64_t values = 0;
  int64_t clipped = 0;  // Quantized values beyond the grid's ends.
  double min = 0;       // Real values.
  double max = 0;
};

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
  bool quantized() const { return quantized_; }
  double scale() const { return scale_; }
  int64_t zero_point() const { return zero_point_; }
  // Smallest and largest element; of integer types only.
  int64_t lowest() const { return lowest_; }
  int64_t highest() const { return highest_; }

  // Stores one element at `out`. INVALID_ARGUMENT for numbers that the type
  // cannot hold: not finite, no whole number, out of range.
  absl::Status Write(double real, char* out);

  const WrittenRange& range() const { return range_; }

 private:
  ElementWriter() = default;
  void Note(double real);

  std::string input_;  // For errors.
  NpyType type_ = NpyType::kFloat32;
  bool quantized_ = false;
  double scale_ = 1;
  int64_t zero_point_ = 0;
  int64_t lowest_ = 0;
  int64_t highest_ = 0;
  WrittenRange range_;
};

// Stores an integer in a 1- to 8-byte element that holds it.
void StoreInteger(NpyType type, int64_t value, char* out);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_ELEMENT_WRITER_H_
