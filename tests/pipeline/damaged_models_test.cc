// Models with a few damaged bytes, through the whole compiler: each compiles or
// is refused as the user's; none takes the process with it. So do network
// documents, whose graphs no front end has made.

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/document/network_document.h"
#include "gtest/gtest.h"
#include "tests/pipeline/byte_damage.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"
#include "tests/support/user_error.h"

namespace edgekiln::tests {
namespace {

constexpr int kMutants = 400;

void CompileDamaged(const std::string& whole) {
  const v1::ResolvedTarget target =
      TargetWithScratchpad("extends: \"dla-64-o-512k\"", 512 << 10);
  Rng rng(21);
  int refused = 0;
  int compiled = 0;
  for (int i = 0; i < kMutants; ++i) {
    SCOPED_TRACE(i);
    std::string bytes = whole;
    DamageBytes(rng, bytes);
    const auto graph = SimplifiedGraph(bytes);
    if (!graph.ok()) {
      ExpectUserError(graph.status());
      ++refused;
      continue;
    }
    const auto result = CompileQuantized(*graph, target);
    if (!result.ok()) ExpectUserError(result.status());
    ++(result.ok() ? compiled : refused);
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(compiled, 0);
}

class DamagedTfliteTest : public testing::TestWithParam<const char*> {};

TEST_P(DamagedTfliteTest, CompilesOrIsRefused) {
  const std::string file = absl::StrCat("models/", GetParam(), ".tflite");
  EK_REQUIRE_SHARED(file);
  CompileDamaged(ReadWholeFile(SharedPath(file)));
}

INSTANTIATE_TEST_SUITE_P(Networks, DamagedTfliteTest,
                         testing::Values("resnet8_int8", "dscnn_int8",
                                         "ad_int8", "person_detect_int8"),
                         [](const auto& info) { return info.param; });

// Float: the partition puts it on the host.
TEST(DamagedOnnxTest, CompilesOrIsRefused) {
  CompileDamaged(ReadWholeFile(SourcePath("docs/example/digits.onnx")));
}

v1::NetworkOrigin Origin() {
  v1::NetworkOrigin origin;
  origin.mutable_model()->set_hash(std::string(64, '0'));
  origin.set_io(v1::IO_INTEGER);
  return origin;
}

// The damage is in the graph: any other is noticed by its SHA-256.
void CompileDamagedDocuments(const std::string& model) {
  const auto whole = SimplifiedGraph(model);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::string graph = compiler::GraphToProto(*whole).SerializeAsString();
  const v1::ResolvedTarget target =
      TargetWithScratchpad("extends: \"dla-64-o-512k\"", 512 << 10);
  Rng rng(22);
  int refused = 0;
  int compiled = 0;
  for (int i = 0; i < kMutants; ++i) {
    SCOPED_TRACE(i);
    std::string bytes = graph;
    DamageBytes(rng, bytes);
    const auto document = compiler::WriteNetworkDocument(Origin(), bytes);
    ASSERT_TRUE(document.ok()) << document.status();
    const auto read = compiler::ReadNetworkDocument(*document);
    if (!read.ok()) {
      ExpectUserError(read.status());
      ++refused;
      continue;
    }
    const auto result = CompileQuantized(read->graph, target);
    if (!result.ok()) ExpectUserError(result.status());
    ++(result.ok() ? compiled : refused);
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(compiled, 0);
}

TEST_P(DamagedTfliteTest, ItsDocumentCompilesOrIsRefused) {
  const std::string file = absl::StrCat("models/", GetParam(), ".tflite");
  EK_REQUIRE_SHARED(file);
  CompileDamagedDocuments(ReadWholeFile(SharedPath(file)));
}

TEST(DamagedOnnxTest, ItsDocumentCompilesOrIsRefused) {
  CompileDamagedDocuments(
      ReadWholeFile(SourcePath("docs/example/digits.onnx")));
}

}  // namespace
}  // namespace edgekiln::tests
