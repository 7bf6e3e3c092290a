#ifndef EK_COMPILER_FRONTEND_ONNX_TESTING_MODEL_MUTATOR_H_
#define EK_COMPILER_FRONTEND_ONNX_TESTING_MODEL_MUTATOR_H_

#include "base/rng.h"
#include "onnx/onnx_pb.h"

// Changes that know what a model is made of, for fuzzing: bytes changed at
// random seldom get past the protobuf.
namespace edgekiln::compiler::onnx_import {

// Changes one thing in the graph, in a graph inside one of its nodes, or in a
// function: an operator, an attribute, who reads what, a shape, a type, values.
// The result is a model file, seldom a model that makes sense.
void MutateModel(Rng& rng, onnx::ModelProto& model);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_TESTING_MODEL_MUTATOR_H_
