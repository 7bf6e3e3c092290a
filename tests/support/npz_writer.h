#ifndef EK_TESTS_SUPPORT_NPZ_WRITER_H_
#define EK_TESTS_SUPPORT_NPZ_WRITER_H_

// Makes .npy and .npz files for tests, apart from the writer the product uses.

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tests/support/npz.h"

namespace edgekiln::tests {

// The array as numpy.save() writes it.
std::string NpyBytes(const NpyArray& array);

// The arrays as numpy.savez() writes them: a zip of stored .npy members, in the
// order of the names.
std::string NpzBytes(const std::map<std::string, NpyArray>& arrays);

absl::Status WriteNpz(const std::string& path,
                      const std::map<std::string, NpyArray>& arrays);

// Samples of equal type and shape [1, ...] behind one another: [n, ...].
// INVALID_ARGUMENT if they differ or there is none.
absl::StatusOr<NpyArray> Stack(absl::Span<const NpyArray> samples);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_NPZ_WRITER_H_
