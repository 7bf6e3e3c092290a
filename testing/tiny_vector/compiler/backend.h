#ifndef EK_TESTING_TINY_VECTOR_COMPILER_BACKEND_H_
#define EK_TESTING_TINY_VECTOR_COMPILER_BACKEND_H_

#include "compiler/engines/backend.h"

namespace edgekiln::compiler::tiny_vector {

// Compiles for engines of model TINY_VECTOR
// (testing/tiny_vector/tiny_vector.md). All borders lie densely in system
// memory; nothing stays in the banks.
const EngineBackend& Backend();

}  // namespace edgekiln::compiler::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_COMPILER_BACKEND_H_
