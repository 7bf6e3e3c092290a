#include "client/render/quantization.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/render/report.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/golden.h"

namespace edgekiln::client {
namespace {

v1::Report QuantizedReport() {
  v1::Report report;
  const bool parsed = google::protobuf::TextFormat::ParseFromString(
      R"pb(
        job_id: "j505f711ec9fe106a"
        model_name: "resnet8_fp32.onnx"
        target_name: "dla-64-o-512k"
        calibration: "DATA"
        quantization: "conv2d per tensor"
        accuracy {
          metric: "top1"
          value: 0.86
          samples: 200
          reference: FLOAT
          reference_value: 0.865
          interval { value: 0.86 low: 0.805 high: 0.901 }
        }
        quantized {
          samples: 200
          output_sqnr_db: 32.06
          layers {
            id: "conv_1"
            op: "conv2d"
            weights: INT8
            weight_sqnr_db: 44.31
            worst_channel: 11
            worst_channel_sqnr_db: 38.02
            range_low: -0.5
            range_high: 2.25
            scale: 0.0107
            zero_point: -81
            saturated: 0.00123
            output_sqnr_db: 41.5
            network_sqnr_db: 45
          }
          layers {
            id: "conv_with_a_name_that_is_longer_than_any_table_would_show_it"
            op: "conv2d"
            weights: INT4
            per_tensor: true
            weight_sqnr_db: 18.4
            range_low: 0
            range_high: 6
            scale: 0.0235
            zero_point: -128
            saturated: 0.000001
            output_sqnr_db: 20.9
            network_sqnr_db: 35
          }
          layers {
            id: "pool"
            op: "max_pool2d"
            range_low: 0
            range_high: 6
            scale: 0.0235
            zero_point: -128
          }
          layers {
            id: "top_k"
            op: "top_k"
            is_float: true
            reason: "no integer form"
          }
        }
      )pb",
      &report);
  EXPECT_TRUE(parsed);
  return report;
}

TEST(RenderQuantizationTest, ScreensFitTheirWindows) {
  for (const int width : {60, 80, 120, 200}) {
    const std::string text =
        RenderReport(QuantizedReport(), Style::Terminal(width));
    std::string plain;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\x1b') {
        at = text.find('m', at);
      } else {
        plain += text[at];
      }
    }
    size_t begin = 0;
    while (begin < plain.size()) {
      const size_t end = plain.find('\n', begin);
      EXPECT_LE(TextWidth(plain.substr(begin, end - begin)), width);
      begin = end + 1;
    }
    tests::ExpectMatchesGolden(
        absl::StrCat("client/render/testdata/quantization_", width, ".txt"),
        plain);
  }
}

TEST(RenderQuantizationTest, PlainTextHasNoColours) {
  const std::string text = RenderReport(QuantizedReport(), Style::Plain());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

// Noise adds up: 45 dB beside 35 dB is a tenth of it.
TEST(RenderQuantizationTest, WhatCostsMostComesFirstWithItsShare) {
  const std::string text =
      RenderCostliest(QuantizedReport().quantized(), Style::Plain());
  const size_t most = text.find("conv_with");
  const size_t least = text.find("conv_1 ");
  ASSERT_NE(most, std::string::npos) << text;
  ASSERT_NE(least, std::string::npos) << text;
  EXPECT_LT(most, least) << text;
  EXPECT_NE(text.find("90.9 %"), std::string::npos) << text;
  EXPECT_NE(text.find("9.1 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("pool"), std::string::npos) << text;
  // Of what it is a share: not of the network's noise.
  EXPECT_NE(text.find("\nshares of the sum over layers, each quantized alone"),
            std::string::npos)
      << text;
  EXPECT_EQ(RenderCostliest({}, Style::Plain()), "");
}

TEST(RenderQuantizationTest, WithoutSamplesTheColumnsOfResultsAreLeftOut) {
  v1::QuantizationReport quantized = QuantizedReport().quantized();
  for (v1::QuantizedLayer& layer : *quantized.mutable_layers()) {
    layer.clear_output_sqnr_db();
  }
  const std::string text = RenderQuantizedLayers(quantized, Style::Plain());
  EXPECT_EQ(text.find("RESULT"), std::string::npos) << text;
  quantized.clear_samples();
  EXPECT_EQ(QuantizedOutputText(quantized), "");
}

TEST(RenderQuantizationTest, ScalesForSumsAreAColumnWhereSomeGrew) {
  v1::QuantizationReport quantized = QuantizedReport().quantized();
  std::string text = RenderQuantizedLayers(quantized, Style::Plain());
  EXPECT_EQ(text.find("SCALE FOR SUMS"), std::string::npos) << text;
  v1::QuantizedLayer& layer = *quantized.mutable_layers(0);
  layer.set_accumulator_bits(16);
  layer.set_scale_growth(2.347);
  text = RenderQuantizedLayers(quantized, Style::Plain());
  EXPECT_NE(text.find("SCALE FOR SUMS"), std::string::npos) << text;
  EXPECT_NE(text.find("x2.35 (16 bits)"), std::string::npos) << text;
}

TEST(RenderQuantizationTest, MethodsSideBySide) {
  v1::Report better = QuantizedReport();
  better.mutable_quantized()->set_output_sqnr_db(36.5);
  better.mutable_accuracy()->set_value(0.87);
  EXPECT_EQ(RenderMethods({{"minmax", QuantizedReport()},
                           {"output-mse (default)", better}},
                          Style::Plain()),
            "RANGES BY             OUTPUT dB  ACCURACY  TO FLOAT  COSTS MOST\n"
            "minmax                     32.1   86.00 %  -0.50 pp  "
            "conv_with_a_name_that_i...ny_table_would_show_it\n"
            "output-mse (default)       36.5   87.00 %  +0.50 pp  "
            "conv_with_a_name_that_i...ny_table_would_show_it\n");
}

TEST(RenderChoiceTest, ShowsWhatLayersCouldBe) {
  v1::SchemeChoice choice;
  EXPECT_EQ(RenderChoice(choice, Style::Plain()), "");
  EXPECT_EQ(ChoiceText(choice), "");
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(
        accuracy_budget_ppm: 5000
        samples: 100
        disagreement: 0.0031
        predicted_cycles: 43940
        most_exact_cycles: 78080
        assignments: 6
        layers {
          id: "conv"
          options { weights: INT8 network_cycles: 78080 network_sqnr_db: 38.5 }
          options {
            weights: TERNARY
            engine: "fast"
            network_cycles: 43940
            disagreement: 0.0031
            network_sqnr_db: 17.7
          }
          chosen: 1
          reason: "faster, and within the budget"
        }
      )",
      &choice));
  EXPECT_EQ(RenderChoice(choice, Style::Plain()),
            "COULD BE  WEIGHTS  ON    CYCLES  DIFFERS  OUTPUT dB  CHOSEN\n"
            "conv      int8     host  78 080   0.00 %       38.5\n"
            "          ternary  fast  43 940   0.31 %       17.7  faster, and "
            "within the budget\n");
  EXPECT_EQ(ChoiceText(choice),
            "43 940 cycles predicted, 78 080 with the most exact forms; "
            "expected to differ from float on 0.31 % of samples (budget 0.50 "
            "%), judged on 100 samples; 6 combinations measured, not all that "
            "are faster");
}

// The column is about weights; int8 activations go without saying.
TEST(RenderQuantizationTest, ActivationsOfOtherTypesAreNamed) {
  const auto scheme = [](const std::string& text) {
    v1::QuantizationReport quantized;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("layers { id: 'a' ", text, " }"), &quantized));
    return RenderQuantizedLayers(quantized, Style::Plain());
  };
  const std::string wide =
      "scale: 0.001 range_low: -32.768 range_high: 32.767 ";
  const std::string moved =
      "scale: 0.1 range_low: -1.3 range_high: 24.2 zero_point: 13 ";
  const std::string usual =
      "scale: 0.1 range_low: -1.3 range_high: 24.2 zero_point: -115 ";
  EXPECT_NE(scheme(wide + "weights: INT4").find("int4 channel, int16"),
            std::string::npos);
  EXPECT_NE(scheme(moved + "weights: INT8").find("int8 channel, uint8"),
            std::string::npos);
  EXPECT_NE(scheme(moved).find(" uint8 "), std::string::npos);
  EXPECT_EQ(scheme(usual + "weights: INT8").find("channel,"),
            std::string::npos);
}

}  // namespace
}  // namespace edgekiln::client
