#ifndef EK_TESTS_CONFORMANCE_ONNX_CONFORMANCE_CASE_H_
#define EK_TESTS_CONFORMANCE_ONNX_CONFORMANCE_CASE_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "onnx/onnx_pb.h"

// One case of ONNX's own conformance tests: a folder with model.onnx and
// test_data_set_N/{input,output}_M.pb.
namespace edgekiln::tests {

absl::StatusOr<onnx::ModelProto> ReadCaseModel(const std::string& folder);

// The first data set of a case.
struct CaseValues {
  struct Value {
    std::string name;
    std::string file;  // Path of the .pb.
    compiler::Tensor tensor;
  };
  std::vector<Value> inputs;  // Those that have values.
  std::vector<Value> outputs;
};
// UNIMPLEMENTED for values that are no tensors of numbers.
absl::StatusOr<CaseValues> ReadCaseValues(const std::string& folder);

// Whether the values are those expected, by the rules below; OK if so.
absl::Status CompareValues(const compiler::Tensor& actual,
                           const compiler::Tensor& expected);

// The inputs whose binding the text of an error asks for.
std::set<std::string> InputsToBind(const std::string& text);

// Imports, simplifies if told to, interprets, and compares with every data set
// by the rules of onnx.backend.test: |y - expected| <= 1e-7 + 1e-3 *
// |expected|, equal types and shapes. Graph inputs that the importer says have
// to be bound are bound to the data set's values: what it says must be enough.
absl::Status RunCase(const std::string& folder, bool simplify);

// Kinds of the ops (ops::OpKind) that are left of a case after simplification
// if all graph inputs but the first are constants of the first data set; with
// " of plain integers" behind if their results have no real value.
absl::StatusOr<std::set<std::string>> CaseOpKinds(const std::string& folder);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CONFORMANCE_ONNX_CONFORMANCE_CASE_H_
