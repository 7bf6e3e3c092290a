#ifndef EK_TESTS_E2E_FLOAT16_TWIN_H_
#define EK_TESTS_E2E_FLOAT16_TWIN_H_

#include <string>

namespace edgekiln::tests {

// How exporters halve an ONNX model.
enum class HalfForm {
  kAll,      // Weights, activations, inputs and outputs.
  kWeights,  // Weights only, with a Cast to float32 behind each.
};

// The float model `bytes` in float16. A model that cannot be read or has no
// float32 weight is a test failure and gives "".
std::string Float16Twin(const std::string& bytes, HalfForm form);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_E2E_FLOAT16_TWIN_H_
