// What people see: whole screens at the widths of windows, and that nothing of
// them is wider than the window, whatever models and chips are called.

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "client/render/comparison.h"
#include "client/render/error_block.h"
#include "client/render/report.h"
#include "client/render/report_diff.h"
#include "client/render/stages.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "reports/text/table.h"
#include "tests/support/golden.h"

namespace edgekiln::client {
namespace {

std::string WithoutColours(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      out += text[at];
      continue;
    }
    at = text.find('m', at);
  }
  return out;
}

v1::Report NewReport(const std::string& target, int64_t cycles) {
  v1::Report report;
  const bool parsed = google::protobuf::TextFormat::ParseFromString(
      R"pb(
        job_id: "j505f711ec9fe106a"
        model_name: "resnet8_int8.tflite"
        totals {
          macs: 12501632
          engine_macs: 12501632
          host_cycles: 1100
          fidelity: ESTIMATE
          io: IO_INTEGER
          cycles_other_io: 556074
          dma_bytes_read: 85197
          dma_bytes_written: 10
        }
        engines { name: "dla" clock_hz: 500000000 busy_cycles: 495426 }
        engines {
          name: "host"
          clock_hz: 500000000
          busy_cycles: 1100
          host: true
        }
        layers {
          id: "activation.relu"
          op: "conv2d"
          engine: "dla"
          cycles: 27821
          stall_cycles: 141
          utilization: 0.248
          sram_bytes: 127590
          tiles: 4
        }
        layers {
          id: "batch_normalization_2.fusedbatchnormv3_read_variable"
          op: "conv2d"
          engine: "dla"
          cycles: 147464
          utilization: 0.25
          sram_bytes: 35200
          tiles: 1
        }
        layers {
          id: "identity_int8"
          op: "softmax"
          engine: "host"
          cycles: 1100
          reason: "no engine of this target has softmax"
        }
        memory {
          memories { name: "flash" used_bytes: 83660 capacity_bytes: 67108864 }
          memories { name: "ram" used_bytes: 3072 capacity_bytes: 67108864 }
          memories { name: "sram" used_bytes: 127590 capacity_bytes: 524288 }
        }
        gates {
          name: "cycles"
          limit: 300000
          value: 176385
          unit: "cycles"
          passed: true
        }
        gates { name: "memory.sram" limit: 65536 value: 127590 unit: "bytes" }
        accuracy {
          metric: "top1"
          value: 0.83
          samples: 100
          reference: FLOAT
          reference_value: 0.85
          interval { value: 0.83 low: 0.744 high: 0.891 }
          disagreement {
            samples: 100
            count: 4
            interval { value: 0.04 low: 0.0157 high: 0.0984 }
            right_to_wrong: 2
            sample: [ 7, 31, 66, 90 ]
          }
        }
        bit_exact { outputs_compared: 16000 }
        stages { name: "import" cache: HIT }
        stages { name: "tile" cache: MISS seconds: 0.25 cpu_seconds: 0.2 }
        stages { name: "simulate[0]" cache: MISS seconds: 0.5 cpu_seconds: 0.4 }
        stages { name: "simulate[1]" cache: MISS seconds: 0.5 cpu_seconds: 0.4 }
        calibration: "cifar10_calib.npz, percentile 99.99 %"
        recipe: "default"
        warnings: "input 'image' is stored NCHW, the chip wants NHWC: the caller transposes"
      )pb",
      &report);
  EXPECT_TRUE(parsed);
  report.set_target_name(target);
  report.mutable_totals()->set_cycles(cycles);
  report.mutable_totals()->set_latency_ms(static_cast<double>(cycles) / 5e5);
  return report;
}

v1::ErrorDetail NewError() {
  v1::ErrorDetail error;
  error.set_what("the activations of the network do not fit");
  error.set_where("memory sram, layer 'batch_normalization_2'");
  error.set_limit("65 536 bytes");
  error.set_need("127 590 bytes, of which 98 304 for 'activation.relu'");
  error.set_fix("use a target with more of this memory, or a smaller model");
  error.set_reason("TARGET_TOO_SMALL");
  error.set_fault(v1::ErrorDetail::USER);
  return error;
}

std::string Screens(const Style& style) {
  const std::vector<v1::Report> reports = {NewReport("dla-64-o-512k", 496534),
                                           NewReport("toy-array", 202787),
                                           NewReport("toy-two-array", 201457)};
  const auto part = [](const std::string& name) {
    return absl::StrCat("== ", name, "\n");
  };
  return absl::StrCat(part("report"), RenderReport(reports[0], style),
                      part("stages"), RenderStages(reports[0].stages(), style),
                      part("comparison"), RenderComparison(reports, style),
                      part("error"), RenderError(NewError(), style, "error"));
}

class ScreensTest : public testing::TestWithParam<int> {};

TEST_P(ScreensTest, AreAsLookedAt) {
  tests::ExpectMatchesGolden(
      absl::StrCat("client/render/testdata/screens_", GetParam(), ".txt"),
      WithoutColours(Screens(Style::Terminal(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(Widths, ScreensTest, testing::Values(60, 80, 120, 200),
                         testing::PrintToStringParamName());

// Names as models and files of other people have them.
std::string NastyName(Rng& rng) {
  static constexpr const char* kParts[] = {"a",
                                           "layer/",
                                           " ",
                                           "\xE6\xBC\xA2",
                                           "\xF0\x9F\x9A\x80",
                                           "e\xCC\x81",
                                           "\x1b[2J",
                                           "\xFF",
                                           "0 1",
                                           "\t",
                                           "batch_normalization_v3;"};
  std::string name;
  for (int64_t parts = rng.InRange(0, 40); parts > 0; --parts) {
    name += kParts[rng.InRange(0, std::size(kParts) - 1)];
  }
  return name;
}

int64_t NastyNumber(Rng& rng) {
  return rng.InRange(0, 3) == 0 ? std::numeric_limits<int64_t>::max()
                                : rng.InRange(0, 1'000'000);
}

v1::Report NastyReport(Rng& rng) {
  v1::Report report = NewReport(NastyName(rng), NastyNumber(rng));
  report.set_model_name(NastyName(rng));
  report.set_calibration(NastyName(rng));
  report.set_quantization(NastyName(rng));
  for (v1::Report::Layer& layer : *report.mutable_layers()) {
    layer.set_id(NastyName(rng));
    layer.set_op(NastyName(rng));
    layer.set_cycles(NastyNumber(rng));
    layer.set_stall_cycles(rng.InRange(0, 1'000'000));
    layer.set_sram_bytes(NastyNumber(rng));
    layer.set_reason(NastyName(rng));
  }
  for (v1::MemoryUse& use : *report.mutable_memory()->mutable_memories()) {
    use.set_name(NastyName(rng));
    use.set_used_bytes(NastyNumber(rng));
  }
  for (v1::Report::Gate& gate : *report.mutable_gates()) {
    gate.set_name(NastyName(rng));
    gate.set_layer(NastyName(rng));
  }
  report.mutable_bit_exact()->set_mismatches(rng.InRange(0, 1));
  report.mutable_bit_exact()->set_first_mismatch(NastyName(rng));
  report.add_warnings(NastyName(rng));
  report.add_stages()->set_name(NastyName(rng));
  return report;
}

TEST(ScreensFitTest, NoLineIsWiderThanTheWindow) {
  Rng rng(7);
  for (int width = 60; width <= 200; ++width) {
    const Style style = Style::Terminal(width);
    std::vector<v1::Report> reports;
    for (int i = 0; i < 4; ++i) reports.push_back(NastyReport(rng));
    v1::ErrorDetail error = NewError();
    error.set_what(NastyName(rng));
    error.set_where(NastyName(rng));
    error.set_fix(NastyName(rng));
    const std::string screens = absl::StrCat(
        Screens(style), RenderReport(reports[0], style, StageDetail::kTable),
        RenderComparison(reports, style),
        RenderError(error, style, NastyName(rng).substr(0, 8)));
    for (const absl::string_view line :
         absl::StrSplit(WithoutColours(screens), '\n')) {
      ASSERT_LE(TextWidth(CleanText(line)), width) << line;
    }
  }
}

}  // namespace
}  // namespace edgekiln::client
