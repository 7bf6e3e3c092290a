#ifndef EK_COMPILER_FRONTEND_ONNX_TESTING_RECURRENT_REFERENCE_H_
#define EK_COMPILER_FRONTEND_ONNX_TESTING_RECURRENT_REFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// LSTM and GRU by the equations of the ONNX standard, one element at a time,
// for tests. Nothing of it is shared with ops/.
namespace edgekiln::compiler::onnx_import {

inline constexpr int64_t kSteps = 4, kBatch = 2, kInput = 3, kHidden = 5;

// A function as a model names it, with the parameters that it is given.
struct Function {
  std::string name;
  std::optional<float> alpha = std::nullopt;
  std::optional<float> beta = std::nullopt;
};

struct RecurrentCase {
  const char* name;
  std::string direction = "forward";
  std::vector<Function> functions = {};  // Of all directions; empty: default.
  bool bias = true, lengths = false, initial = false, peepholes = false;
  bool batch_first = false;
  float clip = 0;
  bool flag = false;  // input_forget or linear_before_reset.

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

// The values of one model in the order that the standard states.
struct Values {
  std::vector<float> x, w, r, b, h0, c0, p;
  std::vector<int32_t> lengths = {kSteps, kSteps};
};

Values RandomValues(const RecurrentCase& c, int64_t gates);

// [outer, middle, inner] -> [middle, outer, inner].
std::vector<float> Turned(const std::vector<float>& values, int64_t outer,
                          int64_t middle, int64_t inner);

// The outputs, laid out as the model has them.
struct Expected {
  std::vector<float> y, h, c;
};

Expected Reference(const RecurrentCase& c, const Values& v, bool lstm);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_TESTING_RECURRENT_REFERENCE_H_
