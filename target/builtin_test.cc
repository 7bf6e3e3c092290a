#include "target/builtin.h"

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "edgekiln/v1/target.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

TEST(BuiltinTest, AllPresetsInOrder) {
  std::vector<std::string> listed;
  std::vector<std::string> hidden;
  for (const BuiltinTarget& target : BuiltinTargets()) {
    (target.listing == Listing::kListed ? listed : hidden)
        .push_back(target.name);
  }
  EXPECT_THAT(
      listed,
      testing::ElementsAre(
          "dla", "dla-64-i-512k", "dla-64-i-1m", "dla-64-i-256m",
          "dla-64-o-512k", "dla-64-o-1m", "dla-64-o-256m", "dla-128-i-512k",
          "dla-128-i-1m", "dla-128-i-256m", "dla-128-o-512k", "dla-128-o-1m",
          "dla-128-o-256m", "dla-64-i-512k-swdw", "dla-64-i-256m-swdw",
          "dla-64-o-512k-swdw", "dla-64-o-256m-swdw", "dla-128-i-512k-swdw",
          "dla-128-i-256m-swdw", "dla-128-o-512k-swdw", "dla-128-o-256m-swdw",
          "dla-64-i-512k-nodw", "dla-64-i-256m-nodw", "dla-64-o-512k-nodw",
          "dla-64-o-256m-nodw", "dla-128-i-512k-nodw", "dla-128-i-256m-nodw",
          "dla-128-o-512k-nodw", "dla-128-o-256m-nodw", "rv32im",
          "rv32im-1m-256k", "rv32imc", "rv32imc-1m-256k", "rv32imf",
          "rv32imf-1m-256k", "cortex-m0plus", "cortex-m0plus-64k-16k",
          "cortex-m4", "cortex-m4-512k-128k", "cortex-m7", "cortex-m7-1m-320k",
          "cortex-m55", "cortex-m55-1m-512k", "x86-64", "x86-64-1m-1m", "diana",
          "diana-cpu", "diana-digital", "diana-analog", "toy-array",
          "toy-array-b8", "toy-array-int32", "toy-array-tensor", "toy-int4",
          "toy-mixed", "toy-shift", "toy-shift-floor", "toy-ternary",
          "toy-ternary-sums", "toy-two-array", "toy-two-array-int32"));
  EXPECT_THAT(hidden,
              testing::ElementsAre(
                  "diana-digital-unit", "diana-analog-unit", "toy-array-unit",
                  "toy-int4-unit", "toy-mixed-unit", "toy-shift-unit",
                  "toy-ternary-unit", "toy-two-array-unit", "unit"));
}

TEST(BuiltinTest, EveryOneResolvesUnderItsNameAndDiffers) {
  std::set<std::string> machines;
  for (const BuiltinTarget& target : BuiltinTargets()) {
    const auto resolved = ResolveTarget(target.text);
    ASSERT_TRUE(resolved.ok()) << target.name << ": " << resolved.status();
    EXPECT_EQ(resolved->name(), target.name);
    EXPECT_FALSE(target.doc.empty());
    machines.insert(resolved->machine().SerializeAsString());
  }
  // "dla" without settings is dla-64-o-512k.
  EXPECT_EQ(machines.size(), BuiltinTargets().size() - 1);
}

TEST(BuiltinTest, DescriptorIsWhatItsTextSays) {
  for (const BuiltinTarget& target : BuiltinTargets()) {
    auto parsed = ParseDescriptor(target.text);
    ASSERT_TRUE(parsed.ok()) << target.name << ": " << parsed.status();
    parsed->clear_presets();
    const auto found = FindBuiltinDescriptor(target.name);
    ASSERT_TRUE(found.has_value()) << target.name;
    EXPECT_EQ(found->descriptor.SerializeAsString(),
              parsed->SerializeAsString())
        << target.name;
    EXPECT_EQ(found->file, target.file);
  }
  // In the texts, but not the name of one; and no text has it.
  EXPECT_FALSE(FindBuiltinDescriptor("OP_CONV").has_value());
  EXPECT_FALSE(FindBuiltinDescriptor("dla-65").has_value());
  EXPECT_FALSE(FindBuiltinDescriptor("").has_value());
}

// Of chips with engines, but for what a constraint rules out, in words that
// name the parameters.
TEST(BuiltinTest, EachParameterMayHaveItsLeastValue) {
  std::set<std::string> files;
  for (const BuiltinTarget& target : BuiltinTargets()) {
    if (!files.insert(target.file).second) continue;
    const auto found = FindBuiltinDescriptor(target.name);
    ASSERT_TRUE(found.has_value()) << target.name;
    if (found->descriptor.engines().empty()) continue;
    for (const v1::Parameter& parameter : found->descriptor.parameters()) {
      const absl::Status resolved =
          ResolveTarget(absl::StrCat("extends: \"", target.name,
                                     "\" set { name: \"", parameter.name(),
                                     "\" value: ", parameter.min(), " }"))
              .status();
      if (resolved.ok()) continue;
      const auto detail = GetErrorDetail(resolved);
      ASSERT_TRUE(detail.has_value()) << resolved;
      EXPECT_EQ(detail->what, "a constraint of the target does not hold")
          << target.name << ": " << parameter.name() << ": " << resolved;
    }
  }
}

TEST(BuiltinTest, PresetTextIsComplete) {
  for (const BuiltinTarget& target : BuiltinTargets()) {
    if (target.name != "dla-64-o-512k") continue;
    EXPECT_THAT(target.text, testing::HasSubstr(
                                 "set { name: \"sram_bytes\" value: 524288 }"));
    EXPECT_THAT(target.text, testing::Not(testing::HasSubstr("\nextends:")));
    EXPECT_THAT(target.text, testing::HasSubstr("mnemonic: \"OP_CONV\""));
  }
}

}  // namespace
}  // namespace edgekiln::target
