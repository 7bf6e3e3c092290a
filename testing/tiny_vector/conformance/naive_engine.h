#ifndef EK_TESTING_TINY_VECTOR_CONFORMANCE_NAIVE_ENGINE_H_
#define EK_TESTING_TINY_VECTOR_CONFORMANCE_NAIVE_ENGINE_H_

#include "simfarm/conformance/stream_case.h"
#include "testing/tiny_vector/conformance/tiny_case.h"

namespace edgekiln::simfarm::conformance::tiny_vector {

// The page, letting one cycle pass after the other; shares nothing with the
// simulator. Takes undefined bytes for zeros. The scratchpad of the outcome is
// bank A, then bank B.
StreamOutcome RunNaive(const TinyCase& program);

}  // namespace edgekiln::simfarm::conformance::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_CONFORMANCE_NAIVE_ENGINE_H_
