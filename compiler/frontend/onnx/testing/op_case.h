#ifndef EK_COMPILER_FRONTEND_ONNX_TESTING_OP_CASE_H_
#define EK_COMPILER_FRONTEND_ONNX_TESTING_OP_CASE_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/testing/test_model.h"
#include "gtest/gtest.h"

// Tables of what operators compute, and the test that runs them.
namespace edgekiln::compiler {

struct OpCase {
  const char* name;
  onnx_import::TestModel model;  // Input "x", perhaps "z"; output "y".
  std::vector<float> x;
  std::vector<float> z;
  std::vector<float> y;
  std::vector<int64_t> shape;  // Of y.
};

// 1 2 / 3 4, as many of them read it.
inline const std::vector<float> kPicture = {1, 2, 3, 4};

inline void PrintTo(const OpCase& row, std::ostream* out) { *out << row.name; }

// A model with the input x, or x and z, and the output y; no nodes yet.
onnx_import::TestModel Unary(std::vector<int64_t> shape, int opset = 13);
onnx_import::TestModel Binary(std::vector<int64_t> x, std::vector<int64_t> z,
                              int opset = 13);

// Its cases are instantiated by every file that has a table.
class OnnxOpTest : public testing::TestWithParam<OpCase> {};

inline std::string CaseName(const testing::TestParamInfo<OpCase>& info) {
  return info.param.name;
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_ONNX_TESTING_OP_CASE_H_
