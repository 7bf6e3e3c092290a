#include "compiler/codegen/check_fit.h"

#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "compiler/ir/text.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

v1::ResolvedTarget Target(int64_t flash, int64_t ram, int64_t sram) {
  v1::ResolvedTarget target = *target::ResolveTarget("extends: \"dla\"");
  for (auto& memory : *target.mutable_machine()->mutable_memories()) {
    if (memory.name() == "flash") memory.set_capacity_bytes(flash);
    if (memory.name() == "ram") memory.set_capacity_bytes(ram);
    if (memory.name() == "sram") memory.set_capacity_bytes(sram);
  }
  return target;
}

constexpr int64_t kMuch = 1 << 20;

struct FitCase {
  const char* name;
  const char* graph;
  // The least that CheckFits accepts.
  int64_t flash;
  int64_t ram;
  const char* largest_constant;
  const char* largest_activation;
};

void PrintTo(const FitCase& row, std::ostream* out) { *out << row.name; }

class CheckFitTest : public testing::TestWithParam<FitCase> {
 protected:
  // OK, or the detail of the refusal.
  static ErrorDetail Refusal(int64_t flash, int64_t ram, int64_t sram = kMuch) {
    const absl::StatusOr<Graph> graph = ParseGraph(GetParam().graph);
    EXPECT_TRUE(graph.ok()) << graph.status();
    const absl::StatusOr<Graph> form =
        graph->tensors[graph->inputs[0]].type == v1::FLOAT32
            ? QuantizedForm(*graph)
            : *graph;
    EXPECT_TRUE(form.ok()) << form.status();
    const v1::ResolvedTarget target = Target(flash, ram, sram);
    const absl::Status fits =
        CheckFits(*form, target.capabilities(), target.machine(), v1::ALL);
    return GetErrorDetail(fits).value_or(ErrorDetail());
  }
};

TEST_P(CheckFitTest, AcceptsWhatMayFitAndNamesWhatCannot) {
  EXPECT_EQ(Refusal(GetParam().flash, GetParam().ram), ErrorDetail());
  if (GetParam().flash > 0) {
    const ErrorDetail error = Refusal(GetParam().flash - 1, kMuch);
    EXPECT_EQ(error.fault, Fault::kUser);
    EXPECT_EQ(error.reason, "MEMORY_TOO_SMALL");
    EXPECT_EQ(error.what, "the model's weights and constants do not fit");
    EXPECT_EQ(error.where, absl::StrCat("memory flash; largest: ",
                                        GetParam().largest_constant));
    EXPECT_EQ(error.limit, absl::StrCat(GetParam().flash - 1, " bytes"));
    EXPECT_EQ(error.need, absl::StrCat(GetParam().flash, " bytes at least"));
    EXPECT_NE(error.fix, "");
  }
  const ErrorDetail error = Refusal(kMuch, GetParam().ram - 1);
  EXPECT_EQ(error.reason, "MEMORY_TOO_SMALL");
  EXPECT_EQ(error.what, "the model's activations do not fit");
  EXPECT_EQ(error.where, absl::StrCat("memory ram; largest: ",
                                      GetParam().largest_activation));
  EXPECT_EQ(error.need, absl::StrCat(GetParam().ram, " bytes at least"));
}

constexpr FitCase kCases[] = {
    // 8 weights of a byte each, and a table of 12 bytes a channel in place of
    // the bias. Input and output count as int8, 4 and 2 bytes.
    {"EngineLayer",
     R"(
%x : float32[1,4] = input
%w : float32[2,4] = constant [1, 1, 1, 1, 1, 1, 1, 1]
%b : float32[2] = constant [1, 1]
%y : float32[1,2] = fully_connected(%x, %w, %b) id fc
return %y
)",
     32, 6, "'w.int' (8 bytes)", "'x' (4 bytes), 'y' (2 bytes)"},
    // The same on the host, as it came: the bias counts.
    {"HostLayer",
     R"(
%x : uint8[1,4] scale 1 zero 0 = input
%w : uint8[2,4] scale 1 zero 3 = constant [1, 1, 1, 1, 1, 1, 1, 1]
%b : int32[2] = constant [1, 1]
%y : uint8[1,2] scale 64 zero 0 = fully_connected(%x, %w, %b) id fc
return %y
)",
     16, 6, "'w' (8 bytes), 'b' (8 bytes)", "'x' (4 bytes), 'y' (2 bytes)"},
    // No integer form: floats stay.
    {"FloatOnTheHost",
     R"(
%x : float32[1,4] = input
%y : float32[1,4] = cum_sum(%x) {axis 1} id e
return %y
)",
     0, 32, "", "'x' (16 bytes), 'y' (16 bytes)"},
    // Read twice, in flash once.
    {"SharedConstant",
     R"(
%x : int8[1,4] scale 1 zero 0 = input
%c : int8[1,4] scale 1 zero 0 = constant [1, 2, 3, 4]
%y : int8[1,4] scale 1 zero 0 = add(%x, %c) id a
%z : int8[1,4] scale 1 zero 0 = add(%y, %c) id b
return %z
)",
     4, 8, "'c' (4 bytes)", "'x' (4 bytes), 'y' (4 bytes)"},
    // Should a mask keep both float, the weights lie in flash once, as 16
    // bytes.
    {"SharedWeights",
     R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 1, 1, 1]
%h : float32[1,2] = fully_connected(%x, %w) id a
%y : float32[1,2] = fully_connected(%h, %w) id b
return %y
)",
     16, 2, "'w.int' (4 bytes)", "'x' (2 bytes)"},
};

INSTANTIATE_TEST_SUITE_P(All, CheckFitTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// What is between layers of the DLA may be in SRAM, or nowhere as a whole.
TEST(CheckFitTest, PiecesNeedNoRam) {
  const auto graph = ParseGraph(R"(
%x : int8[1,64,64,1] scale 1 zero 0 = input
%w : int8[16,1,1,1] scale 1 zero 0 = constant [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
%v : int8[1,1,1,16] scale 1 zero 0 = constant [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
%y : int8[1,64,64,16] scale 2 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id a
%z : int8[1,64,64,1] scale 64 zero 0 = conv2d(%y, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id b
return %z
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto refusal = [&](int64_t ram, int64_t sram,
                           v1::Offload offload = v1::ALL) {
    const v1::ResolvedTarget target = Target(kMuch, ram, sram);
    return GetErrorDetail(CheckFits(*graph, target.capabilities(),
                                    target.machine(), offload))
        .value_or(ErrorDetail());
  };
  EXPECT_EQ(refusal(4096, kMuch), ErrorDetail());
  EXPECT_EQ(refusal(4095, kMuch).reason, "MEMORY_TOO_SMALL");
  EXPECT_EQ(refusal(4096, 20'000), ErrorDetail());
  EXPECT_EQ(refusal(4095, 20'000).need, "4096 bytes at least");
  // A pixel of 16 channels, and what makes one of it.
  EXPECT_EQ(refusal(kMuch, 16 + 12 + 16 + 1), ErrorDetail());
  EXPECT_EQ(refusal(kMuch, 44).reason, "SRAM_TOO_SMALL");
  EXPECT_EQ(refusal(kMuch, 44).limit, "44 bytes of SRAM");
  // The host has no SRAM, and nothing but RAM.
  EXPECT_EQ(refusal(kMuch, 44, v1::PAYING), ErrorDetail());
  EXPECT_EQ(refusal(kMuch, 44, v1::NONE), ErrorDetail());
  EXPECT_EQ(refusal(4096, kMuch, v1::PAYING), ErrorDetail());
  EXPECT_EQ(refusal(4096, kMuch, v1::NONE).need, "69632 bytes at least");
}

// Of a float network calibration decides whether both operands of a maximum
// have one scale. If not, the host has it, which needs no SRAM.
TEST(CheckFitTest, OnlyAnOpThatIsTheEnginesNeedsSram) {
  const auto refusal = [](const std::string& op) {
    const auto graph = ParseGraph(absl::StrReplaceAll(R"(
%x : float32[1,1,64,8] = input
%z : float32[1,1,64,8] = input
%y : float32[1,1,64,8] = OP
return %y
)",
                                                      {{"OP", op}}));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto form = QuantizedForm(*graph);
    EXPECT_TRUE(form.ok()) << form.status();
    // Of an element each of operand and result, the second has no room.
    const v1::ResolvedTarget target = Target(kMuch, kMuch, 1);
    return GetErrorDetail(CheckFits(*form, target.capabilities(),
                                    target.machine(), v1::ALL))
        .value_or(ErrorDetail())
        .reason;
  };
  EXPECT_EQ(refusal("unary(%x) {function ABS} id y"), "SRAM_TOO_SMALL");
  EXPECT_EQ(refusal("unary(%x) {function LEAKY_RELU alpha 0.5} id y"),
            "SRAM_TOO_SMALL");
  EXPECT_EQ(refusal("unary(%x) {function LEAKY_RELU alpha 3} id y"), "");
  EXPECT_EQ(refusal("binary(%x, %z) {function MAXIMUM} id y"), "");
}

// Nor do an outline's weights tell whether an engine takes them all.
TEST(CheckFitTest, AnOpOfSomeWeightsMayBeTheHosts) {
  const auto graph = ParseGraph(R"(
%x : int8[1,1,64,8] scale 1 zero 0 = input
%w : int8[1,8] scale 1 zero 0 = constant [0, 0, 0, 0, 0, 0, 0, 0]
%y : int8[1,1,64,1] scale 1 zero 0 = fully_connected(%x, %w) id y
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::ResolvedTarget target = Target(kMuch, kMuch, 1);
  const auto refusal = [&] {
    return GetErrorDetail(CheckFits(*graph, target.capabilities(),
                                    target.machine(), v1::ALL))
        .value_or(ErrorDetail())
        .reason;
  };
  EXPECT_EQ(refusal(), "SRAM_TOO_SMALL");
  for (auto& pattern :
       *target.mutable_capabilities()->mutable_engines(0)->mutable_patterns()) {
    if (pattern.ops(0) != "fully_connected") continue;
    pattern.mutable_numerics()->set_weight_zero_points(false);
    pattern.mutable_numerics()->set_weight_values(v1::WEIGHTS_TERNARY);
  }
  EXPECT_EQ(refusal(), "");
}

// An output counts as what it is made of, an input as what is made of it, in
// whichever form they come. An input that is rounded in two ways stays real.
TEST(CheckFitTest, ConversionsAtPortsDoNotCount) {
  constexpr char kGraph[] = R"(
%x : float32[1,1,4,4] = input
%t : float32[1,4,4,1] = transpose(%x) {permutation [0, 2, 3, 1]} id t
%q : int8[1,4,4,1] scale 1 zero 0 = quantize(%t) id q
%r : int8[1,4,4,1] scale SCALE zero 0 = quantize(%t) id r
%a : int8[1,4,4,1] scale 1 zero 0 = clip(%q) {clamp {min 0}} id a
%b : int8[1,4,4,1] scale SCALE zero 0 = clip(%r) {clamp {min 0}} id b
%c : int8[1,4,4,1] scale 1 zero 0 = add(%a, %b) id c
%y : float32[1,4,4,1] = dequantize(%c) id y
return %y
)";
  const struct {
    const char* scale;
    int64_t ram;
  } cases[] = {
      {"1", 48},   // The three operands of the sum.
      {"2", 128},  // The real input and its transpose.
  };
  for (const auto& row : cases) {
    const auto graph =
        ParseGraph(absl::StrReplaceAll(kGraph, {{"SCALE", row.scale}}));
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const int64_t ram : {row.ram, row.ram - 1}) {
      const v1::ResolvedTarget target = Target(kMuch, ram, kMuch);
      const v1::Capabilities host;
      EXPECT_EQ(CheckFits(*graph, host, target.machine(), v1::ALL).ok(),
                ram == row.ram)
          << row.scale << " " << ram;
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
