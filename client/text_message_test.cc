#include "client/text_message.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/exit_code.h"
#include "edgekiln/v1/quantization.pb.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

absl::Status Read(const std::string& text, v1::QuantizationConfig& config) {
  return ParseTextMessage(text, "q.txtpb",
                          {.what = "quantization config",
                           .schema = "the schema",
                           .max_bytes = 4096},
                          config);
}

TEST(ParseTextMessageTest, ReadsWhatTheSchemaHas) {
  v1::QuantizationConfig config;
  const absl::Status status = Read(
      "ranges { method: KL }\n"
      "layers { layer: 'conv*' scheme { weights: INT4 } }  # why\n",
      config);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.ranges().method(), v1::CalibrateOptions::KL);
  ASSERT_EQ(config.layers_size(), 1);
  EXPECT_EQ(config.layers(0).scheme().weights(), v1::LayerScheme::INT4);
}

TEST(ParseTextMessageTest, WhatTheSchemaLacksIsNamedWithTheNearest) {
  const struct {
    const char* text;
    const char* where;
    const char* what;
    const char* fix;
  } kCases[] = {
      {"samples: 8\nrange { }", "q.txtpb:2:", "range", "\"ranges\""},
      {"layers {\n\n layer: 'a' scheme { rouding: NEAREST } }",
       "q.txtpb:3:", "rouding", "\"rounding\""},
      {"scheme { weights: INT5 }", "q.txtpb:1:", "INT5", "\"INT8\""},
      {"ranges { method: ENTROPY }", "q.txtpb:1:", "ENTROPY",
       "use one of MIN_MAX, PERCENTILE"},
      {"unheard_of: 1", "q.txtpb:1:", "unheard_of", "the schema has all keys"},
      {"scheme {", "q.txtpb:1:", "not a quantization config", "the schema"},
  };
  for (const auto& row : kCases) {
    v1::QuantizationConfig config;
    const absl::Status status = Read(row.text, config);
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << row.text;
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << row.text;
    EXPECT_EQ(detail->where.find(row.where), 0u) << detail->where;
    EXPECT_NE(detail->what.find(row.what), std::string::npos) << detail->what;
    EXPECT_NE(detail->fix.find(row.fix), std::string::npos)
        << row.text << ": " << detail->fix;
  }
}

TEST(ParseTextMessageTest, ErrorsNameThePlaceOfWhatIsWrong) {
  const struct {
    const char* text;
    const char* where;
  } kCases[] = {
      // The parser names the next token of the first four.
      {"scheme {\n  weights: INT5  # why\n\n\n}", "q.txtpb:2:12"},
      {"ranges {\n  method:\n    ENTROPY\n}\nsamples: 1", "q.txtpb:3:5"},
      {"samples: 3\n  unheard_of\n: 1", "q.txtpb:2:3"},
      {"samples: 3\n samples\n\n: 4", "q.txtpb:2:2"},
      {"samples: 99999999999\n", "q.txtpb:1:10"},
      {"samples:\n  'many'", "q.txtpb:2:3"},
      {"scheme {\n", "q.txtpb:2:1"},
  };
  for (const auto& row : kCases) {
    v1::QuantizationConfig config;
    const absl::Status status = Read(row.text, config);
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << row.text << ": " << status;
    EXPECT_EQ(detail->where, row.where) << row.text << ": " << detail->what;
  }
}

TEST(ParseTextMessageTest, StringsThatAreNotUtf8AreRefusedWithTheirPlace) {
  const struct {
    std::string text;
    const char* where;
  } kCases[] = {
      {"samples: 1\nlayers { layer: 'caf\xe9' }", "q.txtpb:2:17"},
      {"layers {\n layer:\n  \"\\303x\" }", "q.txtpb:3:3"},
      {"layers { layer: 'ok' '\\303' 'x' }", "q.txtpb:1:17"},
  };
  for (const auto& row : kCases) {
    v1::QuantizationConfig config;
    const absl::Status status = Read(row.text, config);
    EXPECT_EQ(ExitCodeFor(status), ExitCode::kUsage) << row.text;
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << row.text << ": " << status;
    EXPECT_EQ(detail->where, row.where) << row.text;
    EXPECT_NE(detail->fix, "");
  }
  for (const std::string text :
       {"layers { layer: 'caf\xc3\xa9' }  # \xe9",
        "layers { layer: '\\303' '\\251' }", "layers { layer: 'a\\tb' }"}) {
    v1::QuantizationConfig config;
    const absl::Status status = Read(text, config);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(ParseTextMessageTest, BoundsSizeAndDepth) {
  v1::QuantizationConfig config;
  EXPECT_FALSE(Read(std::string(4097, ' '), config).ok());
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "layers { ";
  EXPECT_FALSE(Read(deep, config).ok());
}

}  // namespace
}  // namespace edgekiln::client
