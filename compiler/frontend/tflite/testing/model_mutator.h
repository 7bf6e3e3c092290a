#ifndef EK_COMPILER_FRONTEND_TFLITE_TESTING_MODEL_MUTATOR_H_
#define EK_COMPILER_FRONTEND_TFLITE_TESTING_MODEL_MUTATOR_H_

#include <string>

#include "base/rng.h"

// Changes that know what a TensorFlow Lite file is made of: bytes changed at
// random seldom get past the verifier of flatbuffers.
namespace edgekiln::compiler {

// Changes a few numbers of a well-formed model, in place: operator codes,
// options, shapes, types, who reads what, scales, zero points, names. The file
// stays a flatbuffer; it is seldom a model that makes sense.
void MutateTflite(Rng& rng, std::string& model);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_TFLITE_TESTING_MODEL_MUTATOR_H_
