// What the screens look like at four widths, as text to be looked at, and that
// nothing is wider than the window at any width, whatever the names.
// EK_UPDATE_GOLDENS=1 accepts a change.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <locale.h>
#include <wchar.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/render/comparison.h"
#include "client/render/error_block.h"
#include "client/render/event_line.h"
#include "client/render/model.h"
#include "client/render/progress.h"
#include "client/render/report.h"
#include "client/render/report_diff.h"
#include "client/render/stages.h"
#include "tests/support/golden.h"

namespace edgekiln::client {
namespace {

constexpr int kNarrowest = 60;
constexpr int kWidest = 200;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

v1::Report Digits(const std::string& target, int64_t scale = 1) {
  const struct {
    const char* id;
    const char* op;
    const char* engine;
    int64_t cycles;
    double utilization;
    int64_t stalls;
    int64_t sram_bytes;
    int tiles;
  } layers[] = {
      {"conv1", "conv2d", "dla", 7168, 0.246, 96, 15376, 2},
      {"conv2", "conv2d", "dla", 28232, 0.5, 0, 23440, 1},
      {"block1_conv1/Conv2D_1;block1_conv1/Relu_batchnorm_folded", "conv2d",
       "dla", 56456, 0.5, 0, 31424, 1},
      {"block1_add", "add", "dla", 98, 0, 0, 18816, 1},
      {"block2_dw", "depthwise_conv2d", "dla", 449, 0.491, 0, 8512, 1},
      {"flatten", "reshape", "dla", 0, 0, 0, 0, 0},
      {"softmax", "softmax", "host", 1204, 0, 0, 0, 0},
  };
  auto report = Parse<v1::Report>(R"pb(
    job_id: "j660f676cd44a805b"
    model_name: "digits.onnx"
    totals {
      cycles: 93607
      macs: 6098432
      engine_macs: 6098432
      host_cycles: 1204
      latency_ms: 0.1872
      dma_bytes_read: 58352
      dma_bytes_written: 10
      fidelity: CYCLE_APPROXIMATE
      io: IO_INTEGER
      cycles_other_io: 110387
    }
    engines { name: "dla" clock_hz: 500000000 busy_cycles: 92403 }
    engines { name: "host" clock_hz: 500000000 busy_cycles: 1204 host: true }
    memory {
      memories { name: "flash" used_bytes: 58352 capacity_bytes: 67108864 }
      memories { name: "ram" used_bytes: 784 capacity_bytes: 67108864 }
      memories { name: "sram" used_bytes: 75320 capacity_bytes: 524288 }
    }
    accuracy {
      metric: "top1"
      value: 0.967
      samples: 1000
      reference: FLOAT
      reference_value: 0.966
      interval { value: 0.967 low: 0.954 high: 0.976 }
    }
    bit_exact { outputs_compared: 44804000 }
    gates {
      name: "cycles"
      limit: 90000
      value: 93607
      unit: "cycles"
      layer: "block1_conv1"
    }
    stages { name: "import" cache: HIT }
    stages { name: "simulate[0]" cache: MISS seconds: 0.5 cpu_seconds: 0.4 }
    calibration: "DATA"
    warnings: "input 'image' is stored NCHW and is transposed before the first layer"
  )pb");
  report.set_target_name(target);
  v1::Report::Totals& totals = *report.mutable_totals();
  totals.set_cycles(totals.cycles() * scale);
  totals.set_latency_ms(totals.latency_ms() * static_cast<double>(scale));
  report.mutable_gates(0)->set_value(static_cast<double>(totals.cycles()));
  for (const auto& l : layers) {
    v1::Report::Layer& layer = *report.add_layers();
    layer.set_id(l.id);
    layer.set_op(l.op);
    layer.set_engine(l.engine);
    layer.set_cycles(l.cycles * scale);
    layer.set_utilization(l.utilization);
    layer.set_stall_cycles(l.stalls);
    layer.set_sram_bytes(l.sram_bytes);
    layer.set_tiles(l.tiles);
    if (layer.engine() == "host") layer.set_reason("no engine has softmax");
  }
  return report;
}

v1::ErrorDetail TooSmall() {
  return Parse<v1::ErrorDetail>(R"pb(
    fault: USER
    reason: "SRAM_TOO_SMALL"
    what: "the smallest tile of a layer does not fit the engine's memory"
    where: "layer block1_conv1 of digits.onnx on tiny"
    limit: "4096 bytes of SRAM"
    need: "6 208 bytes"
    fix: "a target with more SRAM, or a layer with fewer channels: see /work/a/path/that/is/long/enough/to/be/copied/with/the/mouse.txt"
  )pb");
}

std::vector<v1::Report> Several() {
  std::vector<v1::Report> reports = {Digits("dla-64-o-512k"),
                                     Digits("toy-two-array", 3)};
  reports[0].clear_gates();
  reports[1].mutable_memory()->mutable_memories(2)->set_name("shared");
  v1::Report& failed = reports.emplace_back();
  failed.set_model_name("digits.onnx");
  failed.set_target_name("tiny");
  *failed.mutable_error() = TooSmall();
  return reports;
}

v1::ModelDescription Model() {
  return Parse<v1::ModelDescription>(R"pb(
    name: "digits"
    format: "onnx"
    macs: 6098432
    parameters: 56312
    inputs {
      name: "image"
      shape: 1
      shape: 1
      shape: 28
      shape: 28
      type: "float32"
    }
    outputs {
      name: "logits"
      shape: 1
      shape: 10
      type: "int8"
      quantization { scale: 0.1271304 zero_point: -3 }
    }
    layers {
      id: "conv1/Conv2D_1;conv1/Relu_batchnorm_folded"
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
}

v1::ReportDiff Diff() {
  return Parse<v1::ReportDiff>(R"pb(
    a {
      source: "main.json"
      model_name: "digits.onnx"
      target_name: "dla-64-o-512k"
    }
    b {
      source: "new.json"
      model_name: "digits.onnx"
      target_name: "dla-64-o-512k"
    }
    caveats: "A was made by edgekiln 0.1.0 and B by edgekiln 0.2.0, so that the compiler may be the difference"
    totals { name: "cycles" a: 178781 b: 195561 change: 16780 percent: 9.4 }
    totals { name: "memory.flash" a: 58352 b: 58352 }
    layers {
      id: "conv1/Conv2D_1;conv1/Relu_batchnorm_folded"
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
}

std::string Log(const Style& style) {
  const auto request = Parse<v1::CreateJobRequest>(R"pb(
    targets { name: "dla-64-o-512k" }
  )pb");
  std::string out;
  for (const char* text :
       {"state: RUNNING",
        "stage_finished { name: 'tile' cache: MISS seconds: 1 }",
        "log { stage: 'import' severity: WARNING text: 'input image is stored "
        "NCHW and is transposed before the first layer' }"}) {
    out += EventLine(Parse<v1::JobEvent>(text), request, absl::UTCTimeZone(),
                     style);
  }
  v1::JobEvent counted;
  *counted.mutable_counted()->mutable_report() = Digits("dla-64-o-512k");
  return out + EventLine(counted, request, absl::UTCTimeZone(), style);
}

// The live line of a job whose samples flow.
std::string Live(const Style& style) {
  ProgressModel model(absl::ZeroDuration());
  const auto event = [&](const char* text, int seconds) {
    model.Apply(Parse<v1::JobEvent>(text), absl::Seconds(seconds));
  };
  event("stage_started { name: 'simulate[0]' }", 1);
  event("samples { done: 0 total: 2000 }", 1);
  event(
      "samples { done: 320 total: 2000 labelled: 320 correct: 266 "
      "accuracy { value: 0.831 low: 0.786 high: 0.868 } }",
      8);
  const int width = style.width() == 0 ? kWidest : style.width();
  return model.Line(absl::Seconds(8), width) + "\n";
}

struct Screen {
  const char* name;
  std::string (*render)(const Style&);
};

const Screen kScreens[] = {
    {"report",
     [](const Style& style) {
       return RenderReport(Digits("dla-64-o-512k"), style);
     }},
    {"comparison",
     [](const Style& style) { return RenderComparison(Several(), style); }},
    {"inspect",
     [](const Style& style) {
       return RenderModel(Model(), "digits.onnx", style, "dla-64-o-512k");
     }},
    {"diff",
     [](const Style& style) { return RenderReportDiff(Diff(), style); }},
    {"error",
     [](const Style& style) {
       return RenderError(TooSmall(), style, "error",
                          {"one limit that is broken, and how, in some words"});
     }},
    {"log", Log},
    {"progress", Live},
    {"stages",
     [](const Style& style) {
       return RenderStages(Digits("dla-64-o-512k").stages(), style);
     }},
};

TEST(ScreensTest, LookAsTheyDid) {
  for (const Screen& screen : kScreens) {
    std::string all;
    for (const int width : {60, 80, 120, 200}) {
      absl::StrAppend(
          &all, "=== ", width, "\n",
          screen.render(Style::Of({.width = width, .utf8 = width == kWidest})));
    }
    absl::StrAppend(&all, "=== no terminal\n", screen.render(Style::Plain()));
    tests::ExpectMatchesGolden(
        absl::StrCat("client/render/screens/", screen.name, ".golden"), all);
  }
}

// As the C library sees it, which knows more characters than we do.
class Columns {
 public:
  Columns() : locale_(newlocale(LC_ALL_MASK, "C.UTF-8", nullptr)) {
    previous_ = uselocale(locale_);
  }
  ~Columns() {
    uselocale(previous_);
    freelocale(locale_);
  }
  bool known() const { return locale_ != nullptr; }

  // Without colours; -1 for what moves the cursor.
  static int Of(const std::string& line) {
    std::wstring wide;
    mbstate_t state = {};
    for (size_t at = 0; at < line.size();) {
      if (line[at] == '\x1b') {
        at = line.find('m', at) + 1;
        continue;
      }
      wchar_t point = 0;
      const size_t bytes =
          mbrtowc(&point, line.data() + at, line.size() - at, &state);
      if (bytes == 0 || bytes > 4) return -1;
      wide += point;
      at += bytes;
    }
    return wcswidth(wide.data(), wide.size());
  }

 private:
  locale_t locale_;
  locale_t previous_;
};

void ExpectFits(const std::string& text, int width, const std::string& what,
                const std::string& may_be_longer = "\n") {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    if (line.find(may_be_longer) != std::string::npos) continue;
    const int columns = Columns::Of(line);
    ASSERT_GE(columns, 0) << what << ": " << line;
    ASSERT_LE(columns, width) << what << " at " << width << ":\n" << line;
  }
}

TEST(ScreensTest, NoLineIsWiderThanTheWindow) {
  const Columns columns;
  ASSERT_TRUE(columns.known());
  for (const Screen& screen : kScreens) {
    for (int width = kNarrowest; width <= kWidest; ++width) {
      for (const bool utf8 : {false, true}) {
        const Style style =
            Style::Of({.colours = true, .width = width, .utf8 = utf8});
        ExpectFits(screen.render(style), width, screen.name,
                   "/work/a/path");  // Left whole, to be copied.
      }
    }
  }
}

// Names of models and chips can be anything.
const std::string kNames[] = {
    std::string(300, 'x'),
    "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k",
    "\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4"
    "\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4"
    "\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4\xE5\xB1\xA4",
    "\xF0\x9F\x94\xA5 e\xCC\x81\xCC\x81 \xE2\x80\xAE rtl \xE2\x80\x8B "
    "\x1b[2J\r\n",
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 2",
    "",
};

v1::Report Nasty(const std::string& name) {
  v1::Report report = Digits(name);
  report.set_model_name(name);
  report.set_recipe(name);
  report.set_quantization(name);
  report.add_warnings(name);
  report.mutable_bit_exact()->set_mismatches(INT64_MAX);
  report.mutable_bit_exact()->set_first_mismatch(name);
  report.mutable_totals()->set_cycles(INT64_MAX);
  report.mutable_gates(0)->set_name(name);
  report.mutable_memory()->mutable_memories(0)->set_name(name);
  report.mutable_engines(1)->set_name(name);
  for (v1::Report::Layer& layer : *report.mutable_layers()) {
    layer.set_id(name);
    layer.set_op(name);
    layer.set_engine(name);
    layer.set_reason(name);
    layer.set_cycles(INT64_MAX / 8);
    layer.set_stall_cycles(INT64_MIN / 8);
    layer.set_sram_bytes(INT64_MAX);
  }
  report.mutable_stages(0)->set_name(name);
  return report;
}

TEST(ScreensTest, NoNameMakesALineWiderThanTheWindow) {
  const Columns columns;
  ASSERT_TRUE(columns.known());
  for (const std::string& name : kNames) {
    const v1::Report report = Nasty(name);
    std::vector<v1::Report> several(40, report);
    for (size_t i = 0; i < several.size(); i += 3) several[i] = Digits(name);
    v1::ModelDescription model = Model();
    model.set_name(name);
    for (auto& layer : *model.mutable_layers()) {
      layer.set_id(name);
      layer.set_reason(name);
    }
    model.mutable_inputs(0)->set_name(name);
    for (int width = kNarrowest; width <= kWidest; ++width) {
      const Style style =
          Style::Of({.colours = true, .width = width, .utf8 = true});
      ExpectFits(RenderReport(report, style), width, "report");
      ExpectFits(RenderComparison(several, style), width, "comparison");
      ExpectFits(RenderModel(model, name, style, name), width, "inspect");
      ExpectFits(RenderStages(report.stages(), style), width, "stages");
    }
  }
}

// What is counted or waited for is told above the live line, which is one line.
TEST(ScreensTest, ProgressFitsTheWindowWhateverItTells) {
  const Columns columns;
  ASSERT_TRUE(columns.known());
  for (const std::string& name : kNames) {
    for (const int width : {60, 61, 80, 120, 200}) {
      std::string out;
      Progress::Options options;
      options.style = ProgressStyle::kPlain;
      options.write = [&](absl::string_view text) {
        out.append(text.data(), text.size());
      };
      options.width = [&] { return width; };
      options.now = [] { return absl::ZeroDuration(); };
      ProgressModel model(absl::ZeroDuration());
      {
        Progress progress(options);
        v1::JobEvent counted;
        *counted.mutable_counted()->mutable_report() = Nasty(name);
        progress.OnEvent(counted);
        v1::JobEvent waiting;
        waiting.mutable_waiting()->set_reason(name);
        progress.OnEvent(waiting);
        model.Apply(waiting, absl::ZeroDuration());
      }
      ExpectFits(out, width, "progress");
      ExpectFits(model.Line(absl::ZeroDuration(), width), width, "line");
    }
  }
}

}  // namespace
}  // namespace edgekiln::client
