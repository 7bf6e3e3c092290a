#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "target/engine_model.h"

namespace edgekiln::target {
namespace {

// The tutorial's (docs/new_chip.md), which tests of chips have.
constexpr auto kNotShipped = v1::EngineDescriptor::TINY_VECTOR;

TEST(EngineModelsTest, TheTutorialsIsNotShipped) {
  EXPECT_EQ(FindEngineModel(kNotShipped).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(EngineModelsTest, EveryModelHasOneWithFoldersOfItsOwn) {
  std::set<std::string> folders;
  const auto* models = v1::EngineDescriptor::Model_descriptor();
  for (int i = 0; i < models->value_count(); ++i) {
    const int number = models->value(i)->number();
    if (number == v1::EngineDescriptor::MODEL_UNSPECIFIED ||
        number == kNotShipped) {
      continue;
    }
    const absl::StatusOr<const EngineModel*> model =
        FindEngineModel(static_cast<v1::EngineDescriptor::Model>(number));
    ASSERT_TRUE(model.ok()) << models->value(i)->name();
    EXPECT_TRUE(folders.insert(std::string((*model)->folder())).second);
  }
  EXPECT_FALSE(folders.empty());
}

TEST(EngineModelsTest, RefusalListsTheModels) {
  const absl::Status status =
      FindEngineModel(v1::EngineDescriptor::MODEL_UNSPECIFIED).status();
  ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->where, "model");
  EXPECT_EQ(detail->limit, "COARSE_DLA, REGISTER_JOB");
}

}  // namespace
}  // namespace edgekiln::target
