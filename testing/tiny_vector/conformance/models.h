#ifndef EK_TESTING_TINY_VECTOR_CONFORMANCE_MODELS_H_
#define EK_TESTING_TINY_VECTOR_CONFORMANCE_MODELS_H_

// The engine of testing/tiny_vector/simulator and the naive one, as the suites
// want them.

#include <memory>
#include <vector>

#include "base/rng.h"
#include "simfarm/conformance/chip_suite.h"
#include "testing/tiny_vector/conformance/tiny_case.h"

namespace edgekiln::simfarm::conformance::tiny_vector {

// The built-in descriptor with the chip's numbers set.
std::unique_ptr<ChipModels> NewModels(const TinyChip& chip);
std::unique_ptr<ChipModels> NewRandomModels(Rng& rng);

// Counted by hand from the page, on the built-in "tiny-vector-unit".
std::vector<HandCounted> HandCountedPrograms();

}  // namespace edgekiln::simfarm::conformance::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_CONFORMANCE_MODELS_H_
