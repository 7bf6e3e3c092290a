// The screens of inspect, report diff and jobs log at the widths of windows,
// and that nothing of them is wider, whatever layers are called.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/render/event_line.h"
#include "client/render/model.h"
#include "client/render/report_diff.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/golden.h"

namespace edgekiln::client {
namespace {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

v1::ModelDescription NewModel(const std::string& name) {
  auto model = Parse<v1::ModelDescription>(R"pb(
    format: "onnx"
    macs: 6098432
    parameters: 56312
    inputs { shape: 1 shape: 1 shape: 28 shape: 28 type: "float32" }
    outputs {
      name: "logits"
      shape: 1
      shape: 10
      type: "int8"
      quantization { scale: 0.1271304 zero_point: -3 }
    }
    layers {
      op: "conv2d"
      macs: 1806336
      parameters: 416
      output_shape: 1
      output_shape: 28
      output_shape: 28
      output_shape: 16
      output_type: "int8"
      engine: "dla"
      reason: "cheapest"
      inputs { extent: 1 extent: 28 extent: 28 extent: 1 }
      output_quantization { scale: 0.0235 zero_point: -128 }
      weight_type: "int8"
      weight_scales: 16
    }
    layers {
      id: "softmax"
      op: "softmax"
      output_shape: 1
      output_shape: 10
      output_type: "int8"
      engine: "host"
      reason: "no engine of this chip has a softmax, whatever its axis is"
      inputs { extent: 1 extent: 10 }
    }
    warnings: "the batch size N is not given and is taken for 1"
  )pb");
  model.set_name(name);
  model.mutable_inputs(0)->set_name(name);
  model.mutable_layers(0)->set_id(name);
  return model;
}

v1::ReportDiff NewDiff(const std::string& name) {
  auto diff = Parse<v1::ReportDiff>(R"pb(
    a { source: "main.json" target_name: "dla-64-o-512k" }
    b { source: "new.json" target_name: "dla-64-o-512k" }
    caveats: "A was made by edgekiln 0.1.0 and B by edgekiln 0.2.0: the compiler may be the difference"
    totals { name: "cycles" a: 178781 b: 195561 change: 16780 percent: 9.4 }
    layers {
      a { cycles: 7168 }
      b { cycles: 23948 }
      change: 16780
      differences: "tiles 2 -> 4"
      differences: "SRAM 15.0 KiB -> 11.2 KiB"
    }
    layers {
      id: "conv2"
      a { cycles: 28232 }
      b { cycles: 28232 }
    }
  )pb");
  diff.mutable_a()->set_model_name(name);
  diff.mutable_b()->set_model_name(name);
  diff.mutable_layers(0)->set_id(name);
  return diff;
}

std::string Log(const std::string& name, const Style& style) {
  v1::CreateJobRequest request;
  request.add_targets()->set_name(name);
  std::string out;
  for (const char* text :
       {"state: RUNNING",
        "stage_finished { name: 'tile' cache: MISS seconds: 1 }",
        "log { stage: 'import' severity: WARNING text: 'input image is stored "
        "NCHW and is transposed before the first layer' }",
        "error { what: 'the smallest tile of a layer does not fit the memory "
        "of its engine' }"}) {
    out += EventLine(Parse<v1::JobEvent>(text), request, absl::UTCTimeZone(),
                     style);
  }
  v1::JobEvent counted;
  v1::Report& report = *counted.mutable_counted()->mutable_report();
  report.set_model_name(name);
  report.set_target_name("dla-64-o-512k");
  report.mutable_totals()->set_cycles(178781);
  return out + EventLine(counted, request, absl::UTCTimeZone(), style);
}

std::string Screens(const std::string& name, const Style& style) {
  return absl::StrCat("== inspect\n",
                      RenderModel(NewModel(name), "", style, "dla-64-o-512k"),
                      "== diff\n", RenderReportDiff(NewDiff(name), style),
                      "== log\n", Log(name, style));
}

std::string WithoutColours(const std::string& text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = text.find('m', at);
    } else {
      plain += text[at];
    }
  }
  return plain;
}

class InquiryScreensTest : public testing::TestWithParam<int> {};

TEST_P(InquiryScreensTest, AreAsLookedAt) {
  tests::ExpectMatchesGolden(
      absl::StrCat("client/render/testdata/inquiries_", GetParam(), ".txt"),
      WithoutColours(Screens("conv1/Conv2D_1;conv1/Relu_batchnorm_folded",
                             Style::Terminal(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(Widths, InquiryScreensTest,
                         testing::Values(60, 80, 120, 200),
                         testing::PrintToStringParamName());

TEST(InquiryScreensFitTest, NoLineIsWiderThanTheWindow) {
  const std::string names[] = {
      "",
      "conv1",
      std::string(300, 'x'),
      "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27",
      "\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2"
      "\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC"
      "\xA2",
      "\x1b[2J\xF0\x9F\x9A\x80 e\xCC\x81\t\xFF"};
  for (const std::string& name : names) {
    for (int width = 60; width <= 200; ++width) {
      const std::string screens =
          WithoutColours(Screens(name, Style::Terminal(width)));
      for (const absl::string_view line : absl::StrSplit(screens, '\n')) {
        ASSERT_LE(TextWidth(line), width) << line;
      }
    }
  }
}

}  // namespace
}  // namespace edgekiln::client
