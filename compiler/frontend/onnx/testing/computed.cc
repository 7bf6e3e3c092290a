#include "compiler/frontend/onnx/testing/computed.h"

#include <cstring>

#include "absl/strings/match.h"
#include "base/error.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {

absl::string_view AsBytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

std::vector<float> Computed(onnx_import::TestModel& model,
                            const std::vector<float>& x,
                            const ImportOptions& options) {
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes(), options);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  std::vector<absl::string_view> inputs;
  if (!graph->inputs.empty()) inputs.push_back(AsBytes(x));
  const auto outputs = Evaluate(*graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  std::vector<float> y((*outputs)[0].size() / sizeof(float));
  std::memcpy(y.data(), (*outputs)[0].data(), (*outputs)[0].size());
  return y;
}

std::string ErrorOf(onnx_import::TestModel& model,
                    const ImportOptions& options) {
  const absl::StatusOr<Graph> graph = ImportOnnx(model.bytes(), options);
  EXPECT_FALSE(graph.ok());
  if (graph.ok()) return "";
  const auto detail = GetErrorDetail(graph.status());
  EXPECT_TRUE(detail.has_value() && !detail->where.empty() &&
              !detail->fix.empty())
      << graph.status();
  return std::string(graph.status().message());
}

void ExpectSays(const std::string& message, absl::string_view part) {
  EXPECT_TRUE(absl::StrContains(message, part))
      << message << "\nlacks " << part;
}

}  // namespace edgekiln::compiler
