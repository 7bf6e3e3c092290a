#ifndef EK_TESTS_QUANTIZE_KEYWORD_MAPS_H_
#define EK_TESTS_QUANTIZE_KEYWORD_MAPS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/npz.h"

namespace edgekiln::tests {

// Feature maps of recorded words, float32 [N, 1960], for networks that take 49
// frames of 40 channels from 0 to 26, as `microkws` does. Made of the arrays of
// kws_500.npz, 49 frames of 10 cepstral coefficients: the inverse cosine
// transform gives the 40 log-mel energies, smoothed; what is below the mean of
// a sample becomes 0, as a noise gate does, its maximum 25.
NpyArray KeywordMaps(const std::map<std::string, NpyArray>& kws);

// `copies` of each of `recorded`, such maps of [1, 1960]: up to four frames
// earlier or later, up to 10 % louder or softer, with noise of a standard
// deviation of 0.2 where there is sound. Seeded.
NpyArray AugmentedMaps(const std::vector<NpyArray>& recorded, int64_t copies,
                       uint64_t seed);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_QUANTIZE_KEYWORD_MAPS_H_
