#include "client/render/comparison.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgekiln::client {
namespace {

v1::Report Counted(const std::string& target, int64_t cycles) {
  v1::Report report;
  report.set_model_name("net.onnx");
  report.set_target_name(target);
  report.mutable_totals()->set_cycles(cycles);
  report.mutable_totals()->set_latency_ms(0.5);
  return report;
}

void AddMemory(const std::string& name, int64_t bytes, v1::Report& report) {
  v1::MemoryUse& use = *report.mutable_memory()->add_memories();
  use.set_name(name);
  use.set_used_bytes(bytes);
}

TEST(RenderComparisonTest, ColumnsThatSayNothingAreLeftOut) {
  EXPECT_EQ(
      RenderComparison({Counted("a", 1000), Counted("b", 20)}, Style::Plain()),
      "net.onnx on 2 targets\n\n"
      "TARGET  CYCLES  LATENCY  ON ENGINES  VERDICT\n"
      "a        1 000   0.5 ms           -  counted\n"
      "b           20   0.5 ms           -  counted\n");
  v1::Report compiled;
  compiled.set_target_name("a");
  EXPECT_EQ(RenderComparison({compiled, compiled}, Style::Plain()),
            "model on 2 targets\n\n"
            "TARGET  VERDICT\n"
            "a       compiled\n"
            "a       compiled\n");
}

// Chips call the memory of their engines as they like.
TEST(RenderComparisonTest, MemoriesThatNotAllTargetsHaveAreOneColumn) {
  std::vector<v1::Report> reports = {Counted("a", 1), Counted("b", 1),
                                     Counted("c", 1)};
  AddMemory("ram", 1024, reports[0]);
  AddMemory("sram", 2048, reports[0]);
  AddMemory("tile", 512, reports[1]);
  AddMemory("acc", 512, reports[1]);
  AddMemory("ram", 3072, reports[1]);
  EXPECT_EQ(RenderComparison(reports, Style::Plain()),
            "net.onnx on 3 targets\n\n"
            "TARGET  CYCLES  LATENCY  ON ENGINES      RAM  OTHER MEMORY  "
            "VERDICT\n"
            "a            1   0.5 ms           -  1.0 KiB       2.0 KiB  "
            "counted\n"
            "b            1   0.5 ms           -  3.0 KiB       1.0 KiB  "
            "counted\n"
            "c            1   0.5 ms           -        -             -  "
            "counted\n");
}

// The worst first, whatever else is true.
TEST(RenderComparisonTest, Verdicts) {
  v1::Report report = Counted("a", 1);
  const auto verdict = [&] {
    const std::string text = RenderComparison({report}, Style::Plain());
    const size_t row = text.find("\na ") + 1;
    const size_t at = text.rfind("  ", text.find('\n', row)) + 2;
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(verdict(), "counted");
  v1::Report::Gate& gate = *report.add_gates();
  gate.set_passed(true);
  EXPECT_EQ(verdict(), "in limits");
  report.mutable_bit_exact();
  EXPECT_EQ(verdict(), "bit-exact, in limits");
  gate.set_passed(false);
  EXPECT_EQ(verdict(), "1 limit broken");
  report.mutable_bit_exact()->set_mismatches(2);
  EXPECT_EQ(verdict(), "NOT EXACT");
  report.mutable_error()->set_reason("SRAM_TOO_SMALL");
  EXPECT_EQ(verdict(), "failed: SRAM_TOO_SMALL");
}

TEST(RenderComparisonTest, NotesOfAllTargetsAreToldOnce) {
  std::vector<v1::Report> reports = {Counted("a", 1), Counted("b", 1)};
  for (v1::Report& report : reports) report.add_warnings("N is taken for 1");
  reports[1].add_warnings("only here");
  const std::string text = RenderComparison(reports, Style::Plain());
  EXPECT_EQ(text.substr(text.find("\n\nwarn") + 2),
            "warning     N is taken for 1\n"
            "warning     only here\n");
}

}  // namespace
}  // namespace edgekiln::client
