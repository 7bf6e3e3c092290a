#include "compiler/quantize/growth_warning.h"

#include <string>

#include "edgekiln/v1/quantization.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void AddLayer(const char* id, double growth, v1::QuantizationReport& report) {
  v1::QuantizedLayer& layer = *report.add_layers();
  layer.set_id(id);
  layer.set_accumulator_bits(16);
  layer.set_scale_growth(growth);
}

TEST(GrowthWarningTest, IsOfTwoBitsAndMore) {
  v1::QuantizationReport report;
  EXPECT_EQ(GrowthWarning(report), "");
  AddLayer("conv1", 0, report);  // None grew.
  AddLayer("conv2", 3.99, report);
  EXPECT_EQ(GrowthWarning(report), "");
  AddLayer("conv3", 4, report);
  EXPECT_THAT(GrowthWarning(report),
              StartsWith("layer conv3 loses 2.0 bits of its weights: their "
                         "scale is 4.0 times as large"));
}

TEST(GrowthWarningTest, NamesTheWorstLayerAndWhatToDo) {
  v1::QuantizationReport report;
  AddLayer("conv1", 5, report);
  AddLayer("conv2", 12, report);
  AddLayer("fc", 4.5, report);
  const std::string warning = GrowthWarning(report);
  EXPECT_THAT(warning, StartsWith("layer conv2 loses 3.6 bits"));
  EXPECT_THAT(warning, HasSubstr("accumulator of 16 bits"));
  EXPECT_THAT(warning, HasSubstr("2 more layers lose two bits or more"));
  EXPECT_THAT(warning, HasSubstr("20 bits would keep"));
  EXPECT_THAT(warning, HasSubstr("layers { layer: \"conv2\" scheme { "
                                 "accumulator_bits: 32 } }"));
  EXPECT_THAT(warning, Not(HasSubstr("conv1")));
}

TEST(GrowthWarningTest, NamesNoMoreBitsThanSumsHave) {
  v1::QuantizationReport report;
  AddLayer("conv1", 4, report);
  report.mutable_layers(0)->set_accumulator_bits(31);
  EXPECT_THAT(GrowthWarning(report), HasSubstr(". 32 bits would keep"));
}

TEST(GrowthWarningTest, SuggestsATextThatParses) {
  const std::string id = "a\"b\\c/\xc3\xa4";
  v1::QuantizationReport report;
  AddLayer(id.c_str(), 5, report);
  const std::string warning = GrowthWarning(report);
  const size_t begin = warning.find("layers {");
  const size_t end = warning.rfind(" keeps them");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  v1::QuantizationConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      warning.substr(begin, end - begin), &config))
      << warning;
  ASSERT_EQ(config.layers_size(), 1);
  EXPECT_EQ(config.layers(0).layer(), id);
  EXPECT_EQ(config.layers(0).scheme().accumulator_bits(), 32);
}

}  // namespace
}  // namespace edgekiln::compiler
