#ifndef EDGEKILN_COMPILER_FRONTEND_ONNX_SEED_MODELS_H_
#define EDGEKILN_COMPILER_FRONTEND_ONNX_SEED_MODELS_H_

#include <string>
#include <vector>

// Small valid models that between them reach every converter: where fuzzing
// starts from, and what tests damage.
namespace edgekiln::compiler::onnx_import {

std::vector<std::string> SeedModels();

}  // namespace edgekiln::compiler::onnx_import

#endif  // EDGEKILN_COMPILER_FRONTEND_ONNX_SEED_MODELS_H_
