#include "target/parameters.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

using ::testing::HasSubstr;

v1::TargetDescriptor TwoParameters(const std::string& more = "") {
  v1::TargetDescriptor descriptor;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("parameters { name: \"rows\" default_value: 1 max: 9 }"
                   "parameters { name: \"columns\" default_value: 2 max: 9 }"
                   "constraints { expr: \"rows <= columns\" message: \"m\" }",
                   more),
      &descriptor));
  return descriptor;
}

std::string SetTo(const std::string& name, int value) {
  return absl::StrCat("set { name: \"", name, "\" value: ", value, " }");
}

TEST(ParametersTest, ValuesAreSortedByName) {
  const v1::TargetDescriptor descriptor = TwoParameters(SetTo("columns", 5));
  const auto values = ParameterValues(descriptor, descriptor.set());
  ASSERT_TRUE(values.ok()) << values.status();
  ASSERT_EQ(values->size(), 2u);
  EXPECT_EQ((*values)[0].name, "columns");
  EXPECT_EQ((*values)[0].value, 5);
  EXPECT_EQ((*values)[1].name, "rows");
  EXPECT_EQ((*values)[1].value, 1);
}

TEST(ParametersTest, AnUnknownOneIsNamedWithAllThatThereAre) {
  const v1::TargetDescriptor descriptor = TwoParameters(SetTo("banks", 5));
  const auto values = ParameterValues(descriptor, descriptor.set());
  ASSERT_FALSE(values.ok());
  EXPECT_THAT(values.status().message(), HasSubstr("banks"));
  EXPECT_THAT(values.status().message(), HasSubstr("rows, columns"));
}

// Each preset begins with the defaults.
TEST(ParametersTest, PresetsAreCheckedEachByItself) {
  const std::string wide =
      absl::StrCat("presets { name: \"wide\" ", SetTo("columns", 9), " }");
  const std::string tall =
      absl::StrCat("presets { name: \"tall\" ", SetTo("rows", 5), " }");
  EXPECT_TRUE(CheckPresets(TwoParameters(wide)).ok());
  const absl::Status status = CheckPresets(TwoParameters(wide + tall));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("preset \"tall\""));
  EXPECT_THAT(status.message(), HasSubstr("columns = 2, rows = 5"));
}

}  // namespace
}  // namespace edgekiln::target
