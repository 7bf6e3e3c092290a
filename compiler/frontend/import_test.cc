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

// The type check knows neither the file nor what to do about it.
TEST(ImportModelTest, EveryErrorNamesAPlaceAndAFix) {
  constexpr char kFile[] = "models/resnet8_int8.tflite";
  EK_REQUIRE_SHARED(kFile);
  const std::string model = tests::ReadWholeFile(tests::SharedPath(kFile));
  int refused = 0;
  for (size_t at = model.size() / 2; at < model.size(); at += 97) {
    std::string damaged = model;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    const absl::StatusOr<Graph> graph = ImportModel(damaged);
    if (graph.ok()) continue;
    ++refused;
    const auto detail = GetErrorDetail(graph.status());
    ASSERT_TRUE(detail.has_value()) << graph.status();
    EXPECT_FALSE(detail->where.empty()) << at << ": " << graph.status();
    EXPECT_FALSE(detail->fix.empty()) << at << ": " << graph.status();
  }
  EXPECT_GT(refused, 0);
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
