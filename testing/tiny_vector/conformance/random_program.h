#ifndef EK_TESTING_TINY_VECTOR_CONFORMANCE_RANDOM_PROGRAM_H_
#define EK_TESTING_TINY_VECTOR_CONFORMANCE_RANDOM_PROGRAM_H_

#include "base/rng.h"
#include "testing/tiny_vector/conformance/tiny_case.h"

namespace edgekiln::simfarm::conformance::tiny_vector {

TinyChip RandomChip(Rng& rng);

// About `commands` commands that keep every rule of the page.
TinyCase RandomProgram(const TinyChip& chip, int commands, Rng& rng);

}  // namespace edgekiln::simfarm::conformance::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_CONFORMANCE_RANDOM_PROGRAM_H_
