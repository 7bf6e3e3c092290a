#ifndef EK_COMPILER_FRONTEND_ONNX_TESTING_SEED_MODELS_H_
#define EK_COMPILER_FRONTEND_ONNX_TESTING_SEED_MODELS_H_

#include <string>
#include <vector>

// Small valid models that between them reach every converter: where fuzzing
// starts from, and what tests damage.
namespace edgekiln::compiler::onnx_import {

std::vector<std::string> SeedModels();

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_TESTING_SEED_MODELS_H_
