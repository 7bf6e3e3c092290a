#ifndef EK_COMPILER_QUANTIZE_TESTING_FLOAT_OUTPUT_H_
#define EK_COMPILER_QUANTIZE_TESTING_FLOAT_OUTPUT_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {

// The first output of a float graph with one input.
inline std::vector<float> OutputFor(const Graph& graph,
                                    const std::vector<float>& x) {
  const auto values = Evaluate(
      graph, {absl::string_view(reinterpret_cast<const char*>(x.data()),
                                x.size() * sizeof(float))});
  EXPECT_TRUE(values.ok()) << values.status();
  if (!values.ok()) return {};
  std::vector<float> result(values->at(0).size() / sizeof(float));
  std::memcpy(result.data(), values->at(0).data(), values->at(0).size());
  return result;
}

// The same for five values from -1.5 to 2.5, again and again.
inline std::vector<float> Output(const Graph& graph) {
  std::vector<float> x;
  for (int64_t i = 0; i < graph.tensors[graph.inputs[0]].num_elements(); ++i) {
    x.push_back(static_cast<float>(i * 7 % 5) - 1.5f);
  }
  return OutputFor(graph, x);
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_TESTING_FLOAT_OUTPUT_H_
