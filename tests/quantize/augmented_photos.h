#ifndef EK_TESTS_QUANTIZE_AUGMENTED_PHOTOS_H_
#define EK_TESTS_QUANTIZE_AUGMENTED_PHOTOS_H_

#include <cstdint>

#include "tests/support/npz.h"

namespace edgekiln::tests {

// `copies` pictures of each of `photos`, uint8 [N, H, W, C], behind one
// another: a crop of 85 to 100 % enlarged to the whole, mirrored or not,
// brightness up to 20 % more or less, Gaussian noise of standard deviation 8.
// Seeded; the same on every machine.
NpyArray AugmentedPhotos(const NpyArray& photos, int64_t copies, uint64_t seed);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_QUANTIZE_AUGMENTED_PHOTOS_H_
