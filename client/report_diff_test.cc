#include "client/render/report_diff.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "client/exit_code.h"
#include "client/parse_reports.h"
#include "reports/diff.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

v1::Report Parse(const std::string& text) {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &report));
  return report;
}

v1::Report Before() {
  return Parse(R"pb(
    model_name: "net.tflite"
    model { hash: "1a2b3c4d5e6f" }
    target_name: "dla-64"
    target { hash: "aa" }
    totals { cycles: 2000 macs: 500 dma_bytes_read: 64 }
    memory { flash_bytes: 100 ram_bytes: 50 sram_peak_bytes: 8 }
    accuracy { metric: "top1" value: 0.9 samples: 100 }
    layers { id: "conv1" op: "conv2d" engine: "dla" cycles: 1000 tiles: 4 }
    layers { id: "conv2" op: "conv2d" engine: "dla" cycles: 700 tiles: 2 }
    layers { id: "same" op: "add" engine: "dla" cycles: 100 }
    layers { id: "gone" op: "pad" engine: "cpu" cycles: 150 }
    layers { id: "softmax" op: "softmax" engine: "cpu" cycles: 50 }
  )pb");
}

v1::Report After() {
  v1::Report report = Parse(R"pb(
    model_name: "net.tflite"
    model { hash: "1a2b3c4d5e6f" }
    target_name: "dla-128"
    target { hash: "bb" }
    totals { cycles: 2200 macs: 500 dma_bytes_read: 64 }
    memory { flash_bytes: 100 ram_bytes: 40 sram_peak_bytes: 8 }
    accuracy { metric: "top1" value: 0.89 samples: 100 }
    layers { id: "conv1" op: "conv2d" engine: "dla" cycles: 600 tiles: 8 }
    layers {
      id: "conv2"
      op: "conv2d"
      engine: "cpu"
      cycles: 1300
      reason: "kernel too large"
    }
    layers { id: "new" op: "mul" engine: "dla" cycles: 150 }
    layers { id: "same" op: "add" engine: "dla" cycles: 100 }
    layers { id: "softmax" op: "softmax" engine: "cpu" cycles: 50 tiles: 1 }
  )pb");
  return report;
}

TEST(ReportDiffTest, TableShowsWhatChangedLargestFirst) {
  const v1::ReportDiff diff = DiffReports(Before(), "41", After(), "new.json");
  EXPECT_EQ(RenderReportDiff(diff, Style::Plain()),
            R"(A  41   net.tflite on dla-64
B  new.json   net.tflite on dla-128
unequal targets: dla-64 (aa) and dla-128 (bb)

TOTAL                    A        B        CHANGE      %
cycles               2 000    2 200          +200  +10.0
macs                   500      500             -      -
dma_bytes_read          64       64             -      -
dma_bytes_written        0        0             -      -
flash_bytes            100      100             -      -
ram_bytes               50       40           -10  -20.0
sram_peak_bytes          8        8             -      -
accuracy           90.00 %  89.00 %  -1.00 points      -

LAYER    CYCLES A  CYCLES B  CHANGE      %  WHAT ELSE
conv2         700     1 300    +600  +85.7  engine dla -> cpu, tiles 2 -> 0, because kernel too large
conv1       1 000       600    -400  -40.0  tiles 4 -> 8
gone          150         -    -150      -  removed, was on cpu
new             -       150    +150      -  added, on dla
softmax        50        50       -      -  tiles 0 -> 1
1 layer without a change
)");
}

TEST(ReportDiffTest, ColoursByDirectionAndOnlyWhenAsked) {
  const v1::ReportDiff diff = DiffReports(Before(), "a", After(), "b");
  const std::string plain = RenderReportDiff(diff, Style::Plain());
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  const std::string coloured = RenderReportDiff(diff, Style::Coloured());
  const auto begin = [](const std::string& text) {
    return text.substr(0, text.find('|'));
  };
  const std::string red = begin(Style::Coloured().Red("|"));
  const std::string green = begin(Style::Coloured().Green("|"));
  // Slower and less accurate; faster.
  EXPECT_NE(coloured.find(red + "conv2"), std::string::npos) << coloured;
  EXPECT_NE(coloured.find(green + "conv1"), std::string::npos) << coloured;
  EXPECT_NE(coloured.find(red + "accuracy"), std::string::npos) << coloured;
}

TEST(ReportDiffTest, OtherFormsOfInputsAndOutputsAreACaveat) {
  v1::Report before = Before();
  before.mutable_totals()->set_io(v1::IO_FLOAT);
  before.mutable_totals()->set_cycles_other_io(1500);
  v1::Report after = Before();
  after.mutable_totals()->set_io(v1::IO_INTEGER);
  const auto caveats = [&] {
    const v1::ReportDiff diff = DiffReports(before, "a", after, "b");
    return std::vector<std::string>(diff.caveats().begin(),
                                    diff.caveats().end());
  };
  EXPECT_EQ(caveats(), (std::vector<std::string>{
                           "unequal forms of inputs and outputs: --io float "
                           "and --io int"}));
  // Older reports do not tell.
  before.mutable_totals()->clear_io();
  EXPECT_EQ(caveats().size(), 1u);
  after.mutable_totals()->set_io(v1::IO_FLOAT);
  EXPECT_EQ(caveats().size(), 0u);
  // Integer models have one form only.
  after.mutable_totals()->set_io(v1::IO_INTEGER);
  before.mutable_totals()->set_cycles_other_io(before.totals().cycles());
  EXPECT_EQ(caveats().size(), 0u);
}

TEST(ReportDiffTest, NamesWhateverMakesNumbersIncomparable) {
  v1::Report other = After();
  other.mutable_model()->set_hash("ff");
  other.set_model_name("other.tflite");
  other.set_recipe("serial");
  other.set_offload("none");
  other.mutable_compiler()->set_program("gcc");
  other.mutable_compiler()->set_version("12");
  other.mutable_compiler()->set_digest("0123456789");
  other.set_calibration("SYNTHETIC");
  other.set_quantization("zero points 0");
  other.set_version("2");
  other.mutable_accuracy()->set_samples(7);
  const v1::ReportDiff diff = DiffReports(Before(), "a", other, "b");
  const std::vector<std::string> caveats(diff.caveats().begin(),
                                         diff.caveats().end());
  EXPECT_EQ(caveats,
            (std::vector<std::string>{
                "unequal models: net.tflite (1a2b3c4d) and other.tflite (ff)",
                "unequal targets: dla-64 (aa) and dla-128 (bb)",
                "unequal recipes: default and serial",
                "unequal offload: all and none",
                "unequal compilers: none and gcc 12 (01234567)",
                "unequal calibration: none and SYNTHETIC",
                "unequal needs of quantization: none and zero points 0",
                "unequal versions of edgekiln: none and 2",
                "accuracies of 100 and 7 samples"}));
  EXPECT_EQ(diff.b().recipe(), "serial");
  EXPECT_EQ(diff.b().offload(), "none");
  EXPECT_EQ(DiffReports(Before(), "a", Before(), "a").caveats_size(), 0);
  // A baseline that is older than recipes and offload.
  v1::Report newer = Before();
  newer.set_recipe("default");
  newer.set_offload("all");
  EXPECT_EQ(DiffReports(Before(), "a", newer, "b").caveats_size(), 0);
}

TEST(ReportDiffTest, LayersOfOneIdAreMatchedInOrder) {
  v1::Report a;
  v1::Report b;
  for (const int cycles : {1, 2, 3}) {
    v1::Report::Layer& layer = *a.add_layers();
    layer.set_id("x");
    layer.set_cycles(cycles);
    *b.add_layers() = layer;
  }
  b.add_layers()->set_id("x");
  b.mutable_layers(1)->set_cycles(7);
  const v1::ReportDiff diff = DiffReports(a, "a", b, "b");
  ASSERT_EQ(diff.layers_size(), 4);
  EXPECT_EQ(diff.layers(0).change(), 5);
  int added = 0;
  for (const v1::ReportDiff::Layer& layer : diff.layers()) {
    added += layer.presence() == v1::ReportDiff::ADDED ? 1 : 0;
  }
  EXPECT_EQ(added, 1);
}

// By the target's own names, once; what one side does not have, neither shows.
TEST(ReportDiffTest, MemoriesThatBothHaveReplaceTheUnnamedOnes) {
  v1::Report a = Before();
  v1::Report b = After();
  for (const auto& [name, bytes] :
       {std::pair{"rom", 100}, std::pair{"dtcm", 50}, std::pair{"l1", 8}}) {
    v1::MemoryUse& use = *a.mutable_memory()->add_memories();
    use.set_name(name);
    use.set_used_bytes(bytes);
  }
  *b.mutable_memory()->add_memories() = a.memory().memories(0);
  *b.mutable_memory()->add_memories() = a.memory().memories(1);
  b.mutable_memory()->mutable_memories(1)->set_used_bytes(75);
  const v1::ReportDiff diff = DiffReports(a, "a", b, "b");
  const std::string text = RenderReportDiff(diff, Style::Plain());
  EXPECT_NE(
      text.find("memory.rom             100      100             -      -"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("memory.dtcm             50       75           +25  +50.0"),
      std::string::npos)
      << text;
  for (const char* absent : {"memory.l1", "flash_bytes", "sram_peak_bytes"}) {
    EXPECT_EQ(text.find(absent), std::string::npos) << text;
  }
}

TEST(ReportDiffTest, FirmwareHasInstructionsAndSections) {
  v1::Report a = Parse(R"pb(
    totals { cycles: 900 instructions: 800 setup_instructions: 24 }
    memory {
      sections {
        text_bytes: 5000
        rodata_bytes: 300
        data_bytes: 16
        bss_bytes: 4096
        stack_bytes: 176
      }
    }
  )pb");
  v1::Report b = a;
  b.mutable_totals()->set_instructions(400);
  b.mutable_memory()->mutable_sections()->set_text_bytes(6000);
  b.mutable_memory()->mutable_sections()->set_stack_bytes(352);
  const auto text = [&] {
    return RenderReportDiff(DiffReports(a, "a", b, "b"), Style::Plain());
  };
  for (const char* row :
       {"instructions          800    400    -400   -50.0\n",
        "setup_instructions     24     24       -       -\n",
        "sections.text       5 000  6 000  +1 000   +20.0\n",
        "sections.rodata       300    300       -       -\n",
        "sections.data          16     16       -       -\n",
        "sections.bss        4 096  4 096       -       -\n",
        "sections.stack        176    352    +176  +100.0\n"}) {
    EXPECT_NE(text().find(row), std::string::npos) << row << text();
  }
  b.mutable_memory()->mutable_sections()->set_stack_bytes(0);
  EXPECT_EQ(text().find("sections.stack"), std::string::npos) << "no bound";
  b.mutable_memory()->clear_sections();
  b.mutable_totals()->clear_instructions();
  for (const char* word : {"sections", "instructions"}) {
    EXPECT_EQ(text().find(word), std::string::npos) << text();
  }
}

TEST(ReportDiffTest, AccuracyOfOneSideIsShownWithoutAChange) {
  v1::Report b = After();
  b.clear_accuracy();
  const v1::ReportDiff diff = DiffReports(Before(), "a", b, "b");
  EXPECT_FALSE(diff.accuracy().has_points());
  const std::string text = RenderReportDiff(diff, Style::Plain());
  EXPECT_NE(text.find("accuracy           90.00 %      -       -      -"),
            std::string::npos)
      << text;
}

TEST(ReportDiffTest, MetricsCompareWithThemselves) {
  const struct {
    const char* a;
    double a_value;
    const char* b;
    double b_value;
    bool points;
    const char* row;
    const char* caveat;
  } kCases[] = {
      {"auc", 0.85, "auc", 0.9, true,
       "auc                0.8500  0.9000   +0.05", ""},
      {"mse", 2.5, "mse", 3, false, "mse                  2.5      3    +0.5",
       ""},
      {"top1", 0.9, "auc", 0.8, false,
       "accuracy             0.9    0.8       -",
       "unequal metrics: top1 and auc"},
  };
  for (const auto& one : kCases) {
    v1::Report a = Before();
    v1::Report b = After();
    a.mutable_accuracy()->set_metric(one.a);
    a.mutable_accuracy()->set_value(one.a_value);
    b.mutable_accuracy()->set_metric(one.b);
    b.mutable_accuracy()->set_value(one.b_value);
    for (v1::Report* report : {&a, &b}) {
      report->mutable_accuracy()->set_less_is_better(
          report->accuracy().metric() == "mse");
    }
    const v1::ReportDiff diff = DiffReports(a, "a", b, "b");
    EXPECT_EQ(diff.accuracy().has_points(), one.points) << one.row;
    const std::string text = RenderReportDiff(diff, Style::Plain());
    EXPECT_NE(text.find(one.row), std::string::npos) << text;
    EXPECT_NE(text.find(one.caveat), std::string::npos) << text;
    // Errors may be above 1, and files may hold them.
    EXPECT_TRUE(ParseReports(ToJson(a), "x").ok()) << one.row;
  }
}

TEST(ReportDiffTest, ReadsWhatJsonPrinted) {
  v1::Report report = Before();
  // Beyond what a double holds.
  report.mutable_totals()->set_cycles((int64_t{1} << 53) + 1);
  const auto one = ParseReports(ToJson(report), "x");
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ((*one)[0].SerializeAsString(), report.SerializeAsString());
  const v1::Report after = After();
  const auto two = ParseReports(ToJsonArray({&report, &after}), "x");
  ASSERT_TRUE(two.ok()) << two.status();
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[1].SerializeAsString(), after.SerializeAsString());
  EXPECT_TRUE(
      ParseReports("{\"layers\": [{\"id\": \"a\"}], \"newer\": 1}", "x").ok());
}

TEST(ReportDiffTest, RefusesWhatIsNoReport) {
  for (const std::string json :
       {"",
        "[]",
        "{}",
        "null",
        "7",
        "{\"layers\": 3}",
        "{\"layers\": [",
        "[{}]",
        "not json",
        "{\"totals\": {\"cycles\": \"many\"}}",
        "]}",
        "{}]}",
        "{\"totals\": {\"cycles\": \"-9223372036854775808\"}}",
        "{\"totals\": {}, \"memory\": {\"ramBytes\": -1}}",
        "{\"totals\": {}, \"memory\": {\"memories\": [{\"usedBytes\": -1}]}}",
        "{\"layers\": [{\"cycles\": -1}]}",
        "{\"totals\": {}, \"accuracy\": {\"value\": \"NaN\"}}",
        "{\"totals\": {}, \"accuracy\": {\"value\": 1.5}}",
        "{\"totals\": {}, \"accuracy\": {\"value\": -0.5}}",
        "{\"totals\": {}, \"accuracy\": {\"value\": \"Infinity\", "
        "\"lessIsBetter\": true}}"}) {
    const auto reports = ParseReports(json, "file.json");
    ASSERT_FALSE(reports.ok()) << json;
    EXPECT_EQ(ExitCodeFor(reports.status()), ExitCode::kUsage) << json;
    EXPECT_NE(reports.status().message().find("file.json"),
              absl::string_view::npos)
        << reports.status();
    // What the text is wrapped in to be read is nobody's business.
    EXPECT_EQ(reports.status().message().find("\"reports\""),
              absl::string_view::npos)
        << reports.status();
  }
  EXPECT_FALSE(ParseReports(std::string(100000, '['), "deep").ok());
  EXPECT_FALSE(
      ParseReports("{\"layers\":" + std::string(100000, '['), "deep").ok());
}

}  // namespace
}  // namespace edgekiln::client
