#ifndef EK_TESTS_CONFORMANCE_ONNX_LISTED_OPERATORS_H_
#define EK_TESTS_CONFORMANCE_ONNX_LISTED_OPERATORS_H_

#include "onnx/onnx_pb.h"

namespace edgekiln::tests {

// Whether a model, its inner graphs included, uses only operators that the
// importer has promised to read.
bool UsesListedOperatorsOnly(const onnx::ModelProto& model);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CONFORMANCE_ONNX_LISTED_OPERATORS_H_
