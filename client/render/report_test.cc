#include "client/render/report.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "client/render/error_block.h"
#include "client/render/model.h"

namespace edgekiln::client {
namespace {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

TEST(RenderReportTest, CyclesOfTheOtherForm) {
  const struct {
    v1::IoForm io;
    int64_t other;
    const char* want;
  } cases[] = {
      {v1::IO_INTEGER, 236990,
       "cycles      195 561 (integer io; 236 990 with float io)   latency"},
      {v1::IO_FLOAT, 100,
       "cycles      195 561 (float io; 100 with integer io)   latency"},
      {v1::IO_INTEGER, 195561, "cycles      195 561   latency"},
      {v1::IO_FORM_UNSPECIFIED, 0, "cycles      195 561   latency"},
  };
  for (const auto& c : cases) {
    v1::Report report;
    report.mutable_totals()->set_cycles(195561);
    report.mutable_totals()->set_io(c.io);
    report.mutable_totals()->set_cycles_other_io(c.other);
    const std::string text = RenderReport(report, Style::Plain());
    EXPECT_NE(text.find(c.want), std::string::npos) << text;
  }
}

TEST(RenderReportTest, Full) {
  const auto report = Parse<v1::Report>(R"pb(
    model_name: "net.tflite"
    target_name: "dla-64-o-512k"
    totals {
      cycles: 2000
      macs: 98304
      io: IO_INTEGER
      engine_macs: 98304
      host_cycles: 500
      latency_ms: 0.02
      dma_bytes_read: 4096
      dma_bytes_written: 100
      fidelity: CYCLE_APPROXIMATE
    }
    engines { name: "dla" clock_hz: 100000000 busy_cycles: 1500 }
    engines { name: "host" clock_hz: 100000000 busy_cycles: 500 host: true }
    layers {
      id: "conv1"
      op: "conv2d"
      engine: "dla"
      cycles: 1500
      stall_cycles: 250
      utilization: 0.781
      sram_bytes: 2048
      tiles: 4
    }
    layers {
      id: "softmax"
      op: "softmax"
      engine: "host"
      cycles: 500
      reason: "no pattern of dla matches softmax"
    }
    memory {
      flash_bytes: 98406
      ram_bytes: 2048
      sram_peak_bytes: 2048
      memories { name: "rom" used_bytes: 98406 capacity_bytes: 67108864 }
      memories { name: "dtcm" used_bytes: 2048 capacity_bytes: 98500 }
    }
    gates {
      name: "cycles"
      limit: 2500
      value: 2000
      unit: "cycles"
      layer: "conv1"
      passed: true
    }
    gates { name: "memory.dtcm" limit: 1024 value: 2048 unit: "bytes" }
    accuracy {
      metric: "top1"
      value: 0.83
      samples: 100
      reference: SOURCE_INT8
      reference_value: 0.83
      top5_value: 0.99
      top5_reference_value: 1
    }
    bit_exact { outputs_compared: 1234567 }
    stages { name: "import" cache: HIT }
    stages { name: "simulate[0]" cache: MISS seconds: 0.5 cpu_seconds: 0.4 }
    stages { name: "simulate[1]" cache: MISS seconds: 0.25 cpu_seconds: 0.25 }
    stages { name: "simulate[2]" cache: HIT }
    warnings: "input 'x' is stored NCHW"
  )pb");
  EXPECT_EQ(RenderReport(report, Style::Plain()),
            R"(net.tflite on dla-64-o-512k

LAYER    OP       ENGINE  CYCLES      %    UTIL  STALL  SCRATCH  TILES
conv1    conv2d   dla      1 500   75.0  78.1 %    250  2.0 KiB      4
softmax  softmax  host       500   25.0       -      0        -      -
total                      2 000  100.0            250               4

cycles      2 000 (cycle-approximate)   latency 0.02 ms   98 304 MACs
dma         read 4.0 KiB   written 100 B
engine      dla   100 MHz   busy 1 500 cycles
engine      host   100 MHz   busy 500 cycles
host share  25.0 % of cycles   0.0 % of MACs
memory      rom 96.1 KiB of 64 MiB   dtcm 2.0 KiB of 96.2 KiB
accuracy    top1 83.00 % (83/100)   reference SOURCE_INT8 83.00 %
            top5 99.00 % (99/100)   reference SOURCE_INT8 100.00 %
bit-exact   1 234 567 values compared, 0 mismatches
gate        cycles 2 000, at most 2 500
GATE BROKEN memory.dtcm 2.0 KiB, at most 1.0 KiB: 1.0 KiB too many (+100.0 %)
on host     softmax: no pattern of dla matches softmax
warning     input 'x' is stored NCHW
stages      4, 2 from the cache   650 ms of CPU   (--stages lists them)
)");
  const std::string with_table =
      RenderReport(report, Style::Plain(), StageDetail::kTable);
  EXPECT_EQ(with_table.substr(with_table.find("\nSTAGE")), R"(
STAGE     CACHE            TIME     CPU
import    HIT                 -       -
simulate  1 HIT, 2 MISS  750 ms  650 ms
)");
}

TEST(RenderReportTest, BoundsWhereTheEngineHasThem) {
  const auto report = Parse<v1::Report>(R"pb(
    model_name: "net.tflite"
    totals { cycles: 2000 fidelity: EXACT }
    engines {
      name: "dla"
      clock_hz: 1000000
      busy_cycles: 1530
      bound_cycles: 1500
    }
    engines { name: "host" clock_hz: 1000000 busy_cycles: 400 host: true }
    layers {
      id: "conv1"
      op: "conv2d"
      engine: "dla"
      cycles: 1600
      bound_cycles: 1500
      compulsory_bytes: 1000
      dma_bytes_read: 240
      dma_bytes_written: 10
      tiles: 4
    }
    layers { id: "softmax" op: "softmax" engine: "host" cycles: 400 }
  )pb");
  const std::string text = RenderReport(report, Style::Plain());
  const auto has = [&](absl::string_view part) {
    return absl::StrContains(text, part);
  };
  EXPECT_TRUE(has(R"(
LAYER    OP       ENGINE  CYCLES      %  UTIL  STALL  SRAM  TILES   BOUND    DMA
conv1    conv2d   dla      1 600   80.0     -      0     -      4  93.8 %  0.25x
softmax  softmax  host       400   20.0     -      0     -      -       -      -
total                      2 000  100.0            0            4
)")) << text;
  EXPECT_TRUE(has("busy 1 530 cycles   proven bound 1 500 cycles (+2.00 %)\n"))
      << text;
  EXPECT_TRUE(has("busy 400 cycles\n")) << text;
}

// As an older daemon tells them.
TEST(RenderReportTest, MemoriesWithoutNames) {
  const auto report = Parse<v1::Report>(R"pb(
    model_name: "net.tflite"
    memory { flash_bytes: 98406 ram_bytes: 2048 sram_peak_bytes: 17 }
  )pb");
  EXPECT_EQ(RenderReport(report, Style::Plain()),
            R"(net.tflite
memory      flash 96.1 KiB   RAM 2.0 KiB   SRAM peak 17 B
)");
}

// One line for all layers that share a reason, however many there are.
TEST(RenderReportTest, GroupsHostLayersByWhatTheirReasonsShare) {
  auto report = Parse<v1::Report>(R"pb(
    engines { name: "dla" }
    engines { name: "host" host: true }
    layers { id: "t" op: "tanh" engine: "host" reason: "no engine has tanh" }
  )pb");
  for (int i = 0; i < 9; ++i) {
    auto& layer = *report.add_layers();
    layer.set_id("c" + std::to_string(i));
    layer.set_op("conv2d");
    layer.set_engine("host");
    layer.set_reason("dla needs batch 1 (here " + std::to_string(i + 2) + ")");
  }
  const std::string text = RenderReport(report, Style::Plain());
  EXPECT_NE(text.find("on host     t: no engine has tanh\n"
                      "on host     c0, c1, c2, c3, c4 and 4 more: dla needs "
                      "batch 1\n"),
            std::string::npos)
      << text;
}

// A reshape costs the host nothing, so that nobody need know why it is there.
// Columns and lines of engines are for chips that have some.
TEST(RenderReportTest, FirmwareSaysWhatItExecutedAndTakes) {
  const auto report = Parse<v1::Report>(R"pb(
    totals {
      cycles: 1200
      macs: 10
      io: IO_INTEGER
      cycles_other_io: 5400
      instructions: 1100
      setup_instructions: 24
      cycles_min: 1190
      cycles_max: 1210
    }
    engines { name: "rv32imc" host: true busy_cycles: 1200 }
    layers { id: "c" op: "conv2d" engine: "rv32imc" cycles: 1200 }
    memory { sections { text_bytes: 2048 stack_bytes: 176 } }
    compiler { program: "riscv64-unknown-elf-gcc" version: "12.2.0" }
  )pb");
  const std::string text = RenderReport(report, Style::Plain());
  for (const char* line :
       {"cycles      1 200 (integer io; about 5 400 with float io)   latency",
        "executed    1 100 instructions on the first sample   24 before the "
        "first inference   cycles by sample 1 190 to 1 210\n",
        "code        text 2.0 KiB   rodata 0 B   data 0 B   bss 0 B   stack "
        "176 B at most\n",
        "compiler    riscv64-unknown-elf-gcc 12.2.0\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  for (const char* word : {"UTIL", "TILES", "dma", "host share"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word << text;
  }
}

TEST(RenderReportTest, CyclesOfFirmwareWithoutSamplesAreOfZeros) {
  const auto report = Parse<v1::Report>(R"pb(
    totals { cycles: 1200 instructions: 1200 setup_instructions: 24 }
  )pb");
  const std::string text = RenderReport(report, Style::Plain());
  EXPECT_NE(text.find("executed    1 200 instructions on inputs of zeros   24 "
                      "before the first inference\n"),
            std::string::npos)
      << text;
}

TEST(RenderReportTest, HostLinesLeaveOutLayersWithoutCycles) {
  const auto report = Parse<v1::Report>(R"pb(
    totals { cycles: 10 }
    engines { name: "host" host: true }
    layers { id: "t" op: "tanh" engine: "host" cycles: 10 reason: "lacks it" }
    layers { id: "r" op: "reshape" engine: "host" reason: "moves no bytes" }
  )pb");
  const std::string text = RenderReport(report, Style::Plain());
  EXPECT_NE(text.find("on host     t: lacks it\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("moves no bytes"), std::string::npos) << text;
}

TEST(RenderReportTest, AHostThatPollsIsBusyWithIt) {
  auto report = Parse<v1::Report>(R"pb(
    engines { name: "array" clock_hz: 1000000 busy_cycles: 5 }
    engines { name: "host" clock_hz: 1000000 busy_cycles: 9 host: true }
    layers { id: "c" op: "conv2d" engine: "array" cycles: 9 job_cycles: 5 }
  )pb");
  EXPECT_NE(RenderReport(report, Style::Plain())
                .find("array   1 MHz   busy 5 cycles\n"
                      "engine      host   1 MHz   busy 9 cycles, polling "
                      "included\n"),
            std::string::npos)
      << RenderReport(report, Style::Plain());
  report.mutable_layers(0)->clear_job_cycles();
  EXPECT_NE(RenderReport(report, Style::Plain()).find("busy 9 cycles\n"),
            std::string::npos);
}

TEST(RenderReportTest, KindsWhereRequantizationIsALayerOfItsOwn) {
  auto report = Parse<v1::Report>(R"pb(
    engines { name: "array" clock_hz: 1000000 busy_cycles: 100 }
    engines { name: "host" clock_hz: 1000000 host: true }
    kinds { kind: CONV engine: "array" cycles: 75 }
    kinds { kind: REQUANT engine: "array" cycles: 25 }
    kinds { kind: REQUANT engine: "host" cycles: 9 }
  )pb");
  const std::string text = RenderReport(report, Style::Plain());
  EXPECT_NE(text.find("kinds       array   CONV 75 (75.0 %)   REQUANT 25 "
                      "(25.0 %)\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("kinds       host"), std::string::npos) << text;
  report.mutable_kinds(1)->set_kind(v1::OTHER);
  EXPECT_EQ(RenderReport(report, Style::Plain()).find("kinds"),
            std::string::npos);
}

TEST(RenderReportTest, SaysSyntheticAndMismatchesLoudly) {
  const auto report = Parse<v1::Report>(R"pb(
    model_name: "net.onnx"
    calibration: "SYNTHETIC"
    bit_exact {
      outputs_compared: 10
      mismatches: 1
      first_mismatch: "conv1 sample 0 index 3: 5 != 6"
    }
  )pb");
  EXPECT_EQ(RenderReport(report, Style::Plain()),
            R"(net.onnx
NOT EXACT   10 values compared, 1 mismatch
            first: conv1 sample 0 index 3: 5 != 6
SYNTHETIC   activation ranges were learned from seeded random inputs, so no accuracy is given; use --calibration DATA
)");
}

TEST(RenderReportTest, ARefusedTargetIsNotToldAboutItsCalibration) {
  for (const char* calibration : {"SYNTHETIC", "DATA"}) {
    v1::Report report;
    report.set_model_name("net.onnx");
    report.set_calibration(calibration);
    EXPECT_EQ(RenderReport(report, Style::Plain()), "net.onnx\n");
  }
}

TEST(RenderReportTest, TellsWhatTheTargetAskedOfQuantization) {
  v1::Report report;
  report.set_model_name("net.onnx");
  report.set_quantization("zero points 0");
  EXPECT_EQ(RenderReport(report, Style::Plain()), "net.onnx\n");
  report.mutable_bit_exact()->set_outputs_compared(1);
  EXPECT_NE(RenderReport(report, Style::Plain())
                .find("quantized   as the target's engines need it: zero "
                      "points 0\n"),
            std::string::npos);
}

TEST(RenderReportTest, ColoursOnlyWhenAsked) {
  v1::Report report;
  report.set_model_name("\x1b[2Jm");
  EXPECT_EQ(RenderReport(report, Style::Plain()).find('\x1b'),
            std::string::npos);
  EXPECT_NE(RenderReport(report, Style::Coloured()).find("\x1b[1m"),
            std::string::npos);
  EXPECT_EQ(RenderReport(report, Style::Coloured()).find("\x1b[2J"),
            std::string::npos);
}

TEST(RenderModelTest, WithPlacementAndProblem) {
  const auto model = Parse<v1::ModelDescription>(R"pb(
    name: "net"
    format: "tflite"
    quantized: true
    macs: 1000
    parameters: 20
    inputs {
      name: "in:0"
      shape: 1
      shape: 8
      type: "int8"
      quantization { scale: 0.5 zero_point: -3 }
    }
    outputs { name: "out" shape: 1 shape: 2 type: "float32" }
    layers {
      id: "fc"
      op: "fully_connected"
      macs: 1000
      parameters: 20
      output_shape: 1
      output_shape: 2
      output_type: "int8"
      engine: "dla"
      reason: "cheapest"
      inputs { extent: 1 extent: 8 }
      output_quantization { scale: 0.25 zero_point: 4 }
      weight_type: "int8"
      weight_scales: 2
    }
    layers {
      id: "sum"
      op: "add"
      inputs { extent: 2 }
      inputs {}
      engine: "host"
    }
    warnings: "N is taken for 1"
    problems { what: "op Foo" fix: "remove it" reason: "OP" fault: USER }
  )pb");
  EXPECT_EQ(RenderModel(model, "file.tflite", Style::Plain()),
            R"(net   tflite, quantized

input   in:0  [1,8]  int8     scale 0.5 zero point -3
output  out   [1,2]  float32

LAYER  OP               INPUT   OUTPUT  TYPE  SCALE, ZERO  WEIGHTS   MACS  PARAMS  ENGINE  REASON
fc     fully_connected  [1,8]   [1,2]   int8  0.25, 4      int8 x2  1 000      20  dla     cheapest
sum    add              [2] []  []            -            -            0       0  host
total                                                               1 000      20

warning: N is taken for 1

problem: op Foo
  fix:   remove it
  (reason OP, fault USER)
)");
}

TEST(RenderModelTest, ReasonsForTheHostAreNotClipped) {
  const std::string reason =
      "dla needs operands that are activations, which this one is not "
      "(operand 1 is constant)";
  v1::ModelDescription model;
  for (const char* id : {"add_1", "add_2"}) {
    auto& layer = *model.add_layers();
    layer.set_id(id);
    layer.set_op("add");
    layer.set_engine("host");
    layer.set_reason(reason);
  }
  const std::string text = RenderModel(model, "net.onnx", Style::Plain());
  EXPECT_NE(text.find("\n\non host  add_1, add_2: dla needs operands that are "
                      "activations, which this one is not\n"),
            std::string::npos)
      << text;
}

TEST(RenderErrorTest, AllFields) {
  const auto error = Parse<v1::ErrorDetail>(R"pb(
    fault: USER
    reason: "SRAM"
    what: "layer does not fit"
    where: "conv_3"
    limit: "SRAM 512 KiB"
    need: "640 KiB"
    fix: "a larger target"
    message: "job 7: stage tile: layer does not fit; where: conv_3"
  )pb");
  EXPECT_EQ(RenderError(error, Style::Plain()),
            R"(error: layer does not fit
  where: conv_3
  limit: SRAM 512 KiB
  need:  640 KiB
  fix:   a larger target
  while: job 7: stage tile
  (reason SRAM, fault USER)
)");
}

TEST(RenderErrorTest, LinesComeFirst) {
  v1::ErrorDetail error;
  error.set_what("2 limits are broken");
  error.set_fix("less");
  EXPECT_EQ(RenderError(error, Style::Plain(), "error", {"one", "two\x1b"}),
            "error: 2 limits are broken\n  - one\n  - two?\n  fix:   less\n");
}

TEST(RenderErrorTest, OnlyWhatIsThere) {
  v1::ErrorDetail error;
  EXPECT_EQ(RenderError(error, Style::Plain()), "error: no reason was given\n");
  error.set_message("m\x1b");
  EXPECT_EQ(RenderError(error, Style::Plain()), "error: m?\n");
  // A path that says no more than `where` does.
  error.set_what("w");
  error.set_where("stage tile");
  error.set_message("tile: w; where: stage tile");
  EXPECT_EQ(RenderError(error, Style::Plain()),
            "error: w\n  where: stage tile\n");
}

}  // namespace
}  // namespace edgekiln::client
