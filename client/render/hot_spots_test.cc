#include "client/render/hot_spots.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/render/report.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

v1::Report Parse(const std::string& text) {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &report));
  return report;
}

constexpr char kReport[] = R"pb(
  layers { id: "conv1" cycles: 1000 }
  layers { id: "fc" cycles: 200 }
  hot_spots {
    instructions: 1200
    cycles: 1200
    functions {
      name: "net_conv1"
      file: "net.c"
      line: 7
      instructions: 900
      cycles: 900
      calls: 1
      layer: 0
    }
    functions { instructions: 300 cycles: 300 }
    lines {
      file: "net.c"
      line: 12
      function: "net_conv1"
      text: "sum += x[i] * w[i];"
      instructions: 800
      cycles: 800
    }
    lines { function: "memcpy" instructions: 300 cycles: 300 }
    loops {
      function: "net_conv1"
      iterations: 400
      executed: 800
      cycles: 800
      instructions {
        address: 0x20000010
        text: "addi a5,a5,1"
        executed: 400
        cycles: 400
        file: "net.c"
        line: 12
      }
      instructions {
        address: 0x20000012
        text: "bne a3,a5,0x20000010"
        executed: 400
        cycles: 400
      }
    }
  }
)pb";

TEST(HotSpotsTextTest, ShowsFunctionsLinesAndLoops) {
  EXPECT_EQ(RenderHotSpots(Parse(kReport), Style::Plain()),
            R"(FUNCTION   LAYER  CALLS  INSTRUCTIONS     %
net_conv1  conv1      1           900  75.0
no symbol  -          0           300  25.0

LINE             INSTRUCTIONS     %  SOURCE
net.c:12                  800  66.7  sum += x[i] * w[i];
no line, memcpy           300  25.0

loop in net_conv1   400 iterations   800 instructions   66.7 % of cycles
EXECUTED  ADDRESS   INSTRUCTION           LINE
     400  20000010  addi a5,a5,1          net.c:12
     400  20000012  bne a3,a5,0x20000010

)");
}

TEST(HotSpotsTextTest, StandBehindTheLayers) {
  const std::string text = RenderReport(Parse(kReport), Style::Plain());
  EXPECT_LT(text.find("total"), text.find("FUNCTION")) << text;
  v1::Report without = Parse(kReport);
  without.clear_hot_spots();
  EXPECT_EQ(RenderHotSpots(without, Style::Plain()), "");
}

TEST(HotSpotsTextTest, CyclesHaveAColumnWhereTheyAreOthers) {
  v1::Report report = Parse(kReport);
  EXPECT_EQ(RenderHotSpots(report, Style::Plain()).find("CYCLES"),
            std::string::npos);
  report.mutable_hot_spots()->set_cycles(2400);
  const std::string text = RenderHotSpots(report, Style::Plain());
  EXPECT_NE(text.find("INSTRUCTIONS  CYCLES     %"), std::string::npos) << text;
  EXPECT_NE(text.find("EXECUTED  CYCLES  ADDRESS"), std::string::npos) << text;
}

TEST(HotSpotsTextTest, ListsAreCutOff) {
  v1::Report report = Parse(kReport);
  v1::HotSpots& spots = *report.mutable_hot_spots();
  for (int i = 0; i < 20; ++i) {
    *spots.add_functions() = spots.functions(0);
    *spots.add_lines() = spots.lines(0);
    *spots.add_loops() = spots.loops(0);
  }
  for (int i = 0; i < 100; ++i) {
    v1::HotSpots::Instruction& at = *spots.mutable_loops(0)->add_instructions();
    at.set_address(0x20001000 + 4 * i);
    at.set_text(absl::StrCat("li a0,", i));
    at.set_cycles(i == 60 ? 9999 : 1);
  }
  const std::string text = RenderHotSpots(report, Style::Plain());
  EXPECT_NE(text.find("12 more functions: --json"), std::string::npos) << text;
  EXPECT_NE(text.find("12 more lines: --json"), std::string::npos) << text;
  // Of a long loop what lies around its hottest instruction.
  EXPECT_NE(text.find("62 more instructions: --json"), std::string::npos)
      << text;
  EXPECT_NE(text.find("li a0,60\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("li a0,0\n"), std::string::npos) << text;
  size_t loops = 0;
  for (size_t at = text.find("loop in"); at != std::string::npos;
       at = text.find("loop in", at + 1)) {
    ++loops;
  }
  EXPECT_EQ(loops, 3u);
}

// Of a daemon that is wrong, or hostile.
TEST(HotSpotsTextTest, LayersThatAreNotThereAreNotNamed) {
  v1::Report report = Parse(kReport);
  for (const int layer : {-1, 2, 1 << 30}) {
    report.mutable_hot_spots()->mutable_functions(0)->set_layer(layer);
    EXPECT_NE(RenderHotSpots(report, Style::Plain()).find("net_conv1  -"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace edgekiln::client
