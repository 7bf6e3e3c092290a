#ifndef EK_COMPILER_DATASET_NPY_HEADER_H_
#define EK_COMPILER_DATASET_NPY_HEADER_H_

// The dictionary literal in front of an .npy file's values:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

struct NpyHeader {
  std::string descr;  // Empty for structured types.
  bool fortran_order = false;
  std::vector<int64_t> shape;  // Extents >= 0, at most kMaxNpyDimensions.
};

inline constexpr int kMaxNpyDimensions = 8;

// Accepts exactly the three keys, each once, in any order. Errors:
// INVALID_ARGUMENT, UNIMPLEMENTED (structured types, too many dimensions).
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text,
                                         absl::string_view name);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_NPY_HEADER_H_
