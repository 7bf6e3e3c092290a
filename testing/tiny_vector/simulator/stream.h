#ifndef EK_TESTING_TINY_VECTOR_SIMULATOR_STREAM_H_
#define EK_TESTING_TINY_VECTOR_SIMULATOR_STREAM_H_

#include <memory>

#include "simfarm/simulators/engine.h"

// The simulator of engine model TINY_VECTOR
// (testing/tiny_vector/tiny_vector.md).
namespace edgekiln::simfarm::tiny_vector {

std::unique_ptr<EngineSimulator> NewSimulator();

}  // namespace edgekiln::simfarm::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_SIMULATOR_STREAM_H_
