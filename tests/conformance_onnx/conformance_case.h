#ifndef EK_TESTS_CONFORMANCE_ONNX_CONFORMANCE_CASE_H_
#define EK_TESTS_CONFORMANCE_ONNX_CONFORMANCE_CASE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"

// One case of ONNX's own conformance tests: a folder with model.onnx and
// test_data_set_N/{input,output}_M.pb.
namespace edgekiln::tests {

absl::StatusOr<onnx::ModelProto> ReadCaseModel(const std::string& folder);

// Imports, simplifies if told to, interprets, and compares with every data set
// by the rules of onnx.backend.test: |y - expected| <= 1e-7 + 1e-3 *
// |expected|, equal types and shapes. Graph inputs that the importer says have
// to be bound are bound to the data set's values: what it says must be enough.
absl::Status RunCase(const std::string& folder, bool simplify);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CONFORMANCE_ONNX_CONFORMANCE_CASE_H_
