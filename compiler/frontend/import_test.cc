#include "compiler/frontend/import.h"

#include <string>

#include "base/error.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

TEST(SniffFormatTest, LooksAtTheFirstBytes) {
  const struct {
    std::string bytes;
    ModelFormat expected;
  } cases[] = {
      {std::string("\x1c\0\0\0TFL3", 8), ModelFormat::kTflite},
      {std::string("\x1c\0\0\0TFL", 7), ModelFormat::kUnknown},
      {std::string("\x08\x07\x12\x05", 4), ModelFormat::kOnnx},
      {std::string("\x3a\x05", 2), ModelFormat::kOnnx},
      {"", ModelFormat::kUnknown},
      {"PK\3\4", ModelFormat::kUnknown},
      {"\x89HDF", ModelFormat::kUnknown},
  };
  for (const auto& c : cases) EXPECT_EQ(SniffFormat(c.bytes), c.expected);
}

TEST(ImportModelTest, ForeignFilesAreRefused) {
  const absl::StatusOr<Graph> graph = ImportModel("PK\3\4 a zip");
  ASSERT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
  const auto detail = GetErrorDetail(graph.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "MODEL_FORMAT");
  EXPECT_FALSE(detail->fix.empty());
}

TEST(ImportModelTest, BothFormatsArrive) {
  for (const char* file :
       {"models/resnet8_int8.tflite", "models/mnist_cnn_fp32.onnx"}) {
    EK_REQUIRE_SHARED(file);
    const auto graph =
        ImportModel(tests::ReadWholeFile(tests::SharedPath(file)));
    EXPECT_TRUE(graph.ok()) << file << ": " << graph.status();
  }
}

}  // namespace
}  // namespace edgekiln::compiler
