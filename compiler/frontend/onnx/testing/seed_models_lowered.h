#ifndef EK_COMPILER_FRONTEND_ONNX_TESTING_SEED_MODELS_LOWERED_H_
#define EK_COMPILER_FRONTEND_ONNX_TESTING_SEED_MODELS_LOWERED_H_

#include <vector>

#include "compiler/frontend/onnx/testing/test_model.h"

namespace edgekiln::compiler::onnx_import {

// The seed models (seed_models.h) of operators that become several ops or
// constants, and of those that index tensors steer.
void AddLoweredSeeds(std::vector<TestModel>& models);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_TESTING_SEED_MODELS_LOWERED_H_
