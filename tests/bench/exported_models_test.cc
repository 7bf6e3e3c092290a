// What compiler/export/ writes, run by ONNX Runtime: the classes are those that
// our interpreter finds. Skipped where the runtime is absent.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compiler/export/onnx_export.h"
#include "compiler/export/testing/quantized_models.h"
#include "compiler/export/testing/round_trip.h"
#include "gtest/gtest.h"
#include "tests/bench/onnxruntime.h"
#include "tests/support/shared_data.h"

namespace edgekiln::bench {
namespace {

using compiler::Graph;
using compiler::LargestOf;
using compiler::ModelCase;

// Where tools/bench --install-onnxruntime puts it; "" if it is not there.
std::string RuntimeLibrary() {
  const std::filesystem::path packages =
      std::filesystem::path(EK_ONNXRUNTIME_FOLDER) /
      "node_modules/onnxruntime-node/bin";
  std::error_code absent;
  for (const auto& version :
       std::filesystem::directory_iterator(packages, absent)) {
    const std::filesystem::path library =
        version.path() / "linux/x64/libonnxruntime.so.1";
    if (std::filesystem::exists(library)) return library;
  }
  return "";
}

class ExportedModelsTest : public testing::TestWithParam<ModelCase> {};

TEST_P(ExportedModelsTest, GivesTheSameClassInOnnxRuntime) {
  const std::string library = RuntimeLibrary();
  if (library.empty()) {  // No package of Debian's, so not in CI either.
    GTEST_SKIP() << "no ONNX Runtime under " EK_ONNXRUNTIME_FOLDER
                    "; tools/bench --install-onnxruntime installs it";
  }
  const ModelCase& row = GetParam();
  EK_REQUIRE_SHARED(row.model);
  if (*row.data != '\0') EK_REQUIRE_SHARED(row.data);
  std::string data;
  if (*row.data != '\0') {
    data = tests::ReadWholeFile(tests::SharedPath(row.data));
  }
  const auto model = compiler::QuantizedModelOf(
      row, tests::ReadWholeFile(tests::SharedPath(row.model)), data);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto bytes = compiler::ExportQdqOnnx(model->graph);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto again = compiler::ExportedAndImported(model->graph);
  ASSERT_TRUE(again.ok()) << again.status();
  const auto runtime = LoadOnnxRuntime(library);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  const auto session = (*runtime)->Open(*bytes, "");
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<size_t> sizes;
  for (const compiler::TensorId id : model->graph.outputs) {
    const compiler::Tensor& output = model->graph.tensors[id];
    sizes.push_back(static_cast<size_t>(output.num_elements()) * sizeof(float));
  }
  int equal = 0;
  for (const std::vector<std::string>& sample : model->samples) {
    const auto values = (*session)->RunOn(sample, sizes);
    ASSERT_TRUE(values.ok()) << values.status();
    std::string all;
    for (const std::string& value : *values) all += value;
    const auto ours = compiler::OutputsOf(model->graph, sample);
    ASSERT_TRUE(ours.ok()) << ours.status();
    ASSERT_EQ(all.size(), ours->size());
    EXPECT_EQ(LargestOf(all), LargestOf(*ours));
    const auto even = compiler::OutputsOf(*again, sample);
    ASSERT_TRUE(even.ok()) << even.status();
    EXPECT_EQ(LargestOf(all), LargestOf(*even));
    equal += all == *even ? 1 : 0;
  }
  RecordProperty("samples", static_cast<int>(model->samples.size()));
  RecordProperty("equal_in_every_bit", equal);
}

INSTANTIATE_TEST_SUITE_P(All, ExportedModelsTest,
                         testing::ValuesIn(compiler::ModelCases()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::bench
