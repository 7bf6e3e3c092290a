// Hot spots of firmware whose counts are known, and of C with line tables.

#include "simfarm/hot_spots/hot_spots.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "simfarm/session/testing/test_firmware.h"
#include "tests/support/skip.h"

namespace edgekiln::simfarm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Layer `one` runs a loop of 3 instructions 1000 times, layer `two` calls
// `helper`, 4 instructions, 10 times and `spin`, which begins with its own loop
// of 2 instructions, twice for 7 rounds; layer `c` is C.
constexpr char kNetwork[] = R"(
__asm__(
  ".text\n.globl net_one\n.type net_one, @function\n"
  "net_one:\n"
  "  li t0, 1000\n"
  "1: addi t1, t1, 1\n"
  "  addi t0, t0, -1\n"
  "  bnez t0, 1b\n"
  "  ret\n"
  ".size net_one, . - net_one\n"
  ".type helper, @function\n"
  "helper:\n  mul t1, t1, t1\n  addi t1, t1, 1\n  nop\n  ret\n"
  ".size helper, . - helper\n"
  ".type spin, @function\n"
  "spin:\n  addi a0, a0, -1\n  bnez a0, spin\n  ret\n"
  ".size spin, . - spin\n"
  ".globl net_two\n.type net_two, @function\n"
  "net_two:\n"
  "  addi sp, sp, -16\n  sw ra, 12(sp)\n  li t0, 10\n"
  "1: call helper\n  addi t0, t0, -1\n  bnez t0, 1b\n"
  "  li a0, 7\n  call spin\n  li a0, 7\n  call spin\n"
  "  lw ra, 12(sp)\n  addi sp, sp, 16\n  ret\n"
  ".size net_two, . - net_two\n");
void net_one(void);
void net_two(void);
#line 1 "./network.c"
__attribute__((section(".arena"))) volatile signed char values[4];
void net_c(void) {
  int sum = 0;
  for (int i = 0; i < 500; ++i) {
      sum += values[i & 3] * 3;
  }
  values[1] = sum;
}
void net_setup(void) {}
int net_invoke(void) {
  net_one();
  net_two();
  net_c();
  return 0;
}
)";

constexpr char kSource[] = R"(__attribute__((section(".arena"))) ...
void net_c(void) {
  int sum = 0;
  for (int i = 0; i < 500; ++i) {
      sum += values[i & 3] * 3;
  }
)";

constexpr char kProgram[] = R"(
version: 3
inputs { type { name: "x" element_type: INT8 shape: 4 }
         location { memory: 1 address: 0x80001000 } }
outputs { type { name: "y" element_type: INT8 shape: 4 }
          location { memory: 1 address: 0x80001000 } }
layers { id: "one" } layers { id: "alias" } layers { id: "two" }
layers { id: "c" }
layouts { extents: 4 element_bits: 8 size_bytes: 4
          terms { axis: 0 stride_bytes: 1 } }
firmware { processor: RV32IM run: "ek_run" stack_bytes: 1024
           functions: "net_one" functions: "" functions: "net_two"
           functions: "net_c" }
)";

class HotSpotsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!firmware::HasCompiler()) EK_SKIP(firmware::kNoCompiler);
    const auto elf = firmware::Build(kNetwork, /*debug_info=*/true);
    ASSERT_TRUE(elf.ok()) << elf.status();
    v1::Program program;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(kProgram, &program));
    v1::Machine machine = firmware::Machine();
    v1::Setting& multiply = *machine.mutable_firmware()->add_costs();
    multiply.set_name("multiply");
    multiply.set_value(5);
    SessionOptions options;
    options.profile = true;
    auto session = LoadSession(program, *elf, machine, options);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ((*session)->profile(), nullptr);
    const std::string input(4, '\1');
    std::vector<std::string> outputs;
    const auto report = (*session)->RunChecked({input}, nullptr, &outputs);
    ASSERT_TRUE(report.ok()) << report.status();
    report_ = *report;
    profile_ = (*session)->profile();
    ASSERT_NE(profile_, nullptr);
    const auto lines = LineTable::Read(*elf);
    ASSERT_TRUE(lines.ok()) << lines.status();
    v1::CSourceTree sources;
    sources.add_files()->set_path("network.c");
    sources.mutable_files(0)->set_text(kSource);
    spots_ = FindHotSpots(*profile_, *lines, sources);
  }

  const v1::HotSpots::Function& FunctionNamed(const std::string& name) const {
    for (const v1::HotSpots::Function& function : spots_.functions()) {
      if (function.name() == name) return function;
    }
    ADD_FAILURE() << "no function " << name;
    return v1::HotSpots::Function::default_instance();
  }

  v1::SimReport report_;
  std::shared_ptr<const FirmwareProfile> profile_;
  v1::HotSpots spots_;
};

// "name calls instructions cycles layer".
std::string Text(const v1::HotSpots::Function& function) {
  return absl::StrCat(function.name(), " ", function.calls(), " ",
                      function.instructions(), " ", function.cycles(), " ",
                      function.layer());
}

TEST_F(HotSpotsTest, FunctionsHaveWhatTheyExecuteThemselves) {
  EXPECT_EQ(Text(FunctionNamed("net_one")), "net_one 1 3002 3002 0");
  EXPECT_EQ(Text(FunctionNamed("helper")), "helper 10 40 80 2");
  EXPECT_EQ(Text(FunctionNamed("spin")), "spin 2 30 30 2");
  EXPECT_EQ(
      Text(FunctionNamed("net_two")),
      absl::StrCat("net_two 1 ", 3 + 30 + 4 + 3, " ", 3 + 30 + 4 + 3, " 2"));
  EXPECT_EQ(FunctionNamed("net_c").calls(), 1);
  EXPECT_EQ(FunctionNamed("net_c").layer(), 3);
  EXPECT_EQ(FunctionNamed("net_c").file(), "network.c");
  EXPECT_EQ(FunctionNamed("net_c").line(), 2);
  EXPECT_EQ(FunctionNamed("net_one").file(), "");
}

TEST_F(HotSpotsTest, SumsAreThoseOfTheInference) {
  EXPECT_EQ(spots_.instructions(), report_.instructions());
  EXPECT_EQ(spots_.cycles(), report_.cycles());
  const auto expect_sums = [&](const auto& rows) {
    int64_t instructions = 0;
    int64_t cycles = 0;
    int64_t last = report_.cycles();
    for (const auto& row : rows) {
      instructions += row.instructions();
      cycles += row.cycles();
      EXPECT_LE(row.cycles(), last) << "sorted";
      last = row.cycles();
    }
    EXPECT_EQ(instructions, report_.instructions());
    EXPECT_EQ(cycles, report_.cycles());
  };
  expect_sums(spots_.functions());
  expect_sums(spots_.lines());
}

TEST_F(HotSpotsTest, LinesHaveTheirText) {
  const v1::HotSpots::Line* hottest = nullptr;
  for (const v1::HotSpots::Line& line : spots_.lines()) {
    if (line.file().empty()) continue;
    hottest = &line;
    break;
  }
  ASSERT_NE(hottest, nullptr);
  EXPECT_EQ(hottest->file(), "network.c");
  EXPECT_EQ(hottest->line(), 5);
  EXPECT_EQ(hottest->function(), "net_c");
  EXPECT_EQ(hottest->text(), "sum += values[i & 3] * 3;");
  EXPECT_GE(hottest->instructions(), 3 * 500);
}

TEST_F(HotSpotsTest, LoopsAreDisassembled) {
  ASSERT_GE(spots_.loops_size(), 2);
  const v1::HotSpots::Loop& c = spots_.loops(0);
  EXPECT_EQ(c.function(), "net_c");
  EXPECT_EQ(c.iterations(), 500);
  int64_t cycles = 0;
  for (const v1::HotSpots::Instruction& each : c.instructions()) {
    cycles += each.cycles();
    EXPECT_EQ(each.executed(), 500);
    EXPECT_EQ(each.file(), "network.c");
  }
  EXPECT_EQ(cycles, c.cycles());

  const v1::HotSpots::Loop& loop = spots_.loops(1);
  EXPECT_EQ(loop.function(), "net_one");
  EXPECT_EQ(loop.iterations(), 1000);
  EXPECT_EQ(loop.executed(), 3000);
  EXPECT_EQ(loop.cycles(), 3000);
  std::vector<std::string> texts;
  for (const v1::HotSpots::Instruction& each : loop.instructions()) {
    EXPECT_EQ(each.executed(), 1000);
    texts.push_back(each.text());
  }
  EXPECT_THAT(texts, ElementsAre("addi t1,t1,1", "addi t0,t0,-1",
                                 HasSubstr("bnez t0,0x2000")));
}

}  // namespace
}  // namespace edgekiln::simfarm
