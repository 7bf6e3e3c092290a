#ifndef EK_COMPILER_DATASET_NPY_H_
#define EK_COMPILER_DATASET_NPY_H_

// NumPy's array file format, versions 1 to 3, and the array it holds.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace edgekiln::compiler {

enum class NpyType {
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
};

int64_t NpyTypeBytes(NpyType type);
// As numpy prints it: "int8".
absl::string_view NpyTypeName(NpyType type);
bool IsFloat(NpyType type);

// A dense array in C order, values little-endian. Invariant: data.size() is
// the product of the shape times the element's size.
struct NpyArray {
  NpyType type = NpyType::kUint8;
  std::vector<int64_t> shape;
  std::string data;

  int64_t elements() const;
};

// Element `index` as a double; exact but for 64-bit integers beyond
// 2^53. The caller
// keeps 0 <= index < elements().
double NpyValue(const NpyArray& array, int64_t index);
// The same of the element that lies at `at`.
double NpyValueAt(NpyType type, const char* at);

// "2x3"; "scalar" without dimensions.
std::string ShapeText(absl::Span<const int64_t> shape);

// What an array is, from the start of its file.
struct NpyInfo {
  NpyType type = NpyType::kUint8;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  int64_t header_bytes = 0;  // The values come after.
  bool big_endian = false;
};

// More than any header of a plain array takes.
inline constexpr int64_t kMaxNpyHeaderBytes = int64_t{1} << 16;

// Reads the header. `file_bytes` is how long the whole file is, of which
// `start` may be a part; the values must fill it exactly. Errors: as
// ParseNpy().
absl::StatusOr<NpyInfo> ParseNpyStart(absl::string_view start,
                                      int64_t file_bytes,
                                      absl::string_view name);

// Reads a whole file; Fortran order is turned into C order, big-endian values
// into little-endian ones. `name` is for errors. Errors: INVALID_ARGUMENT
// (damaged), UNIMPLEMENTED (element types other than the above, more than 8
// dimensions).
absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes,
                                  absl::string_view name);

// Whether the bytes look like a single array's file.
bool IsNpy(absl::string_view bytes);

// The file numpy would write, version 1.0.
std::string EncodeNpy(const NpyArray& array);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_NPY_H_
