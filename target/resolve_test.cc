#include "target/resolve.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/memories.h"

namespace edgekiln::target {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::HasSubstr;

std::string TextOf(const std::string& name) {
  for (const BuiltinTarget& target : BuiltinTargets()) {
    if (target.name == name) return target.text;
  }
  ADD_FAILURE() << "no built-in " << name;
  return "";
}

v1::ResolvedTarget Resolve(const std::string& text) {
  const auto resolved = ResolveTarget(text);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? *resolved : v1::ResolvedTarget();
}

int64_t Capacity(const v1::ResolvedTarget& target, const std::string& name) {
  for (const v1::ResolvedMemory& memory : target.machine().memories()) {
    if (memory.name() == name) return memory.capacity_bytes();
  }
  return -1;
}

std::string Message(const std::string& text) {
  const auto resolved = ResolveTarget(text);
  EXPECT_FALSE(resolved.ok());
  return std::string(resolved.status().message());
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) absl::StrAppend(&all, text);
  return all;
}

TEST(ResolveTest, PresetHoldsTheNumbersOfTheComparison) {
  const v1::ResolvedTarget target = Resolve(TextOf("dla-128-i-1m"));
  EXPECT_EQ(target.name(), "dla-128-i-1m");
  EXPECT_EQ(Capacity(target, "sram"), 1 << 20);
  const v1::Machine& machine = target.machine();
  EXPECT_EQ(machine.clock_hz(), 500000000);
  ASSERT_EQ(machine.engines_size(), 1);
  EXPECT_EQ(machine.engines(0).macs_per_cycle(), 128);
  ASSERT_EQ(machine.links_size(), 1);
  EXPECT_EQ(machine.links(0).bytes_per_cycle(), 16);
  EXPECT_EQ(machine.links(0).setup_cycles(), 20);
  EXPECT_EQ(machine.engines(0).queue_depth(), 4);
  EXPECT_EQ(machine.memories(PrivateMemoryOf(machine, 0)).name(), "sram");
  for (int i = 1; i < machine.parameters_size(); ++i) {
    EXPECT_LT(machine.parameters(i - 1).name(), machine.parameters(i).name());
  }
}

TEST(ResolveTest, SavedPresetWithEditedNumbers) {
  const std::string text =
      absl::StrReplaceAll(TextOf("dla-64-o-512k"),
                          {{"set { name: \"pes\" value: 64 }\nset { name: "
                            "\"output_parallel\" value: 1 }\n"
                            "set { name: \"sram_bytes\" value: 524288 }",
                            "set { name: \"pes\" value: 96 }\nset { name: "
                            "\"output_parallel\" value: 1 }\n"
                            "set { name: \"sram_bytes\" value: 196608 }"}});
  const v1::ResolvedTarget target = Resolve(text);
  EXPECT_EQ(Capacity(target, "sram"), 196608);
  EXPECT_EQ(target.machine().engines(0).macs_per_cycle(), 96);

  for (const char* base : {"dla", "dla-64-o-512k", "dla-64-o-256m"}) {
    v1::ResolvedTarget small =
        Resolve(absl::StrCat("extends: \"", base,
                             "\" set { name: \"pes\" value: 96 } "
                             "set { name: \"sram_bytes\" value: 196608 }"));
    EXPECT_EQ(small.name(), absl::StrCat(base, "+pes=96+sram_bytes=196608"));
    small.set_name(target.name());
    EXPECT_EQ(small.SerializeAsString(), target.SerializeAsString());
  }
}

TEST(ResolveTest, SramSizeLeavesCapabilitiesAlone) {
  const v1::ResolvedTarget small = Resolve(TextOf("dla-64-o-512k"));
  const v1::ResolvedTarget large = Resolve(TextOf("dla-64-o-256m"));
  EXPECT_EQ(small.capabilities().SerializeAsString(),
            large.capabilities().SerializeAsString());
  EXPECT_NE(small.machine().SerializeAsString(),
            large.machine().SerializeAsString());
  EXPECT_EQ(small.capabilities().engines(0).patterns_size(), 15);
}

// Pitches count bytes, of which a sum has four.
TEST(ResolveTest, NarrowPitchesHoldFewerSums) {
  const std::string text = absl::StrReplaceAll(
      TextOf("dla"), {{"name: \"OUT_PIXEL_PITCH\" index: 22 bits: 32",
                       "name: \"OUT_PIXEL_PITCH\" index: 22 bits: 10"},
                      {"name: \"IN_PIXEL_PITCH\" index: 20 bits: 32",
                       "name: \"IN_PIXEL_PITCH\" index: 20 bits: 11"}});
  std::map<std::string, std::string> needs;  // By op, form and expression.
  const v1::ResolvedTarget target = Resolve(text);
  for (const v1::OpPattern& pattern :
       target.capabilities().engines(0).patterns()) {
    const bool sums =
        pattern.numerics().requantization() == v1::Numerics::NOT_REQUANTIZED;
    for (const auto& condition : pattern.where()) {
      needs[absl::StrCat(pattern.ops(0), sums ? " sums: " : ": ",
                         condition.expr())] = condition.need();
    }
  }
  EXPECT_EQ(needs["conv2d: out_c <= 1023"], "outputs up to 1023 channels");
  EXPECT_EQ(needs["conv2d sums: 4 * out_c <= 1023"],
            "outputs up to 255 channels");
  EXPECT_EQ(needs["conv2d sums: in_c <= 2047"], "inputs up to 2047 channels");
  EXPECT_EQ(needs["requantize: 4 * in_c <= 2047"], "inputs up to 511 channels");
  EXPECT_EQ(needs["requantize: out_c <= 1023"], "outputs up to 1023 channels");
}

// Values stand for parameters, and what registers imply is added.
TEST(ResolveTest, PatternsHoldValuesAlone) {
  const auto resolve = [](const std::string& pattern) {
    std::string text = TextOf("dla");
    const std::string op = "ops: \"add\"";
    text.replace(text.find(op), op.size(), pattern);
    return Resolve(text).capabilities().engines(0);
  };
  const auto engine = resolve(
      "ops: \"add\" where { expr: \"in_c <= pes - queue_depth\" need: \"up to "
      "{2 * pes} of {pes}\" }");
  ASSERT_EQ(engine.patterns_size(), 15);
  const v1::OpPattern& add = engine.patterns(3);
  ASSERT_EQ(add.ops(0), "add");
  ASSERT_GT(add.where_size(), 2);
  EXPECT_EQ(add.where(0).expr(), "in_c <= 64 - 4");
  EXPECT_EQ(add.where(0).need(), "up to 128 of 64");
  EXPECT_EQ(add.where(1).expr(), "one_shape");
  EXPECT_EQ(add.where(1).need(), "operands of one shape");

  EXPECT_EQ(resolve("ops: \"add\" when_expr: \"pes > 64\"").patterns_size(),
            14);
  const auto kept = resolve("ops: \"add\" when_expr: \"pes == 64\"");
  ASSERT_EQ(kept.patterns_size(), 15);
  EXPECT_EQ(kept.patterns(3).when_expr(), "");

  // Of later ops of a chain, too.
  const auto chain = resolve("ops: [\"add\", \"add\"]");
  std::vector<std::string> conditions;
  for (const auto& condition : chain.patterns(3).where()) {
    conditions.push_back(condition.expr());
  }
  EXPECT_THAT(conditions, testing::Contains("out_c <= 65535"));
  EXPECT_THAT(conditions, testing::Contains("add2_out_c <= 65535"));
}

// The commands would leave the values as they are.
TEST(ResolveTest, ElementwiseCommandsDoNotRequantize) {
  std::string text = TextOf("dla");
  const std::string op = "ops: \"leaky_relu\"\n    numerics {";
  ASSERT_NE(text.find(op), std::string::npos);
  text.replace(text.find(op), op.size(),
               op + " requantization: MULTIPLIER_AND_SHIFT");
  EXPECT_THAT(Message(text),
              HasSubstr("requantization is given, but the command of "
                        "leaky_relu keeps the quantization of its input"));
}

TEST(ResolveTest, ParametersAreNoVariablesOfLaterOps) {
  std::string text = absl::StrCat(
      TextOf("dla"),
      "parameters { name: \"add2_in_c\" default_value: 1 min: 1 max: 1 "
      "provenance: ASSUMED }\n");
  const std::string op = "ops: \"add\"";
  text.replace(text.find(op), op.size(),
               "ops: [\"add\", \"add\"] where { expr: \"add2_in_c < 4\" "
               "need: \"n\" }");
  EXPECT_THAT(Message(text),
              HasSubstr("\"add2_in_c\" is a parameter and a variable of the "
                        "ops; where: patterns add, add: where 1: expr"));
}

// Every register that holds what a layer is.
TEST(ResolveTest, RegistersImplyConditions) {
  std::string text = TextOf("dla");
  for (const auto& [name, index] :
       {std::pair("PAD_TOP", 17), std::pair("OUT_PIXEL_PITCH", 22)}) {
    const std::string begin =
        absl::StrCat("{ name: \"", name, "\" index: ", index, " bits: ");
    const size_t at = text.find(begin);
    ASSERT_NE(at, std::string::npos);
    text.replace(at + begin.size(), 2, "3");
  }
  std::vector<std::string> said;
  const v1::ResolvedTarget target = Resolve(text);
  for (const auto& condition :
       target.capabilities().engines(0).patterns(0).where()) {
    said.push_back(absl::StrCat(condition.expr(), ": ", condition.need()));
  }
  EXPECT_THAT(
      said,
      testing::IsSupersetOf(
          {"batch == 1: batch 1", "groups == 1: convolutions without groups",
           "kernel_h <= 65535: kernels up to 65535 rows",
           "max(pad_top, pad_bottom) <= 7: paddings up to 7 rows at top and "
           "bottom",
           "out_c <= 7: outputs up to 7 channels",
           "dilation_w <= 65535: dilations up to 65535 columns"}));
}

TEST(ResolveTest, ProseAndProvenanceDoNotReachTheResult) {
  const std::string text = TextOf("dla");
  const std::string edited =
      absl::StrReplaceAll(text, {{"provenance: ASSUMED", "provenance: READ"},
                                 {"doc: \"", "doc: \"Changed. "},
                                 {"source: \"", "source: \"Changed. "},
                                 {"# ", "# changed "}});
  ASSERT_NE(text, edited);
  v1::ResolvedTarget before = Resolve(text);
  v1::ResolvedTarget after = Resolve(edited);
  // What lists of recipes show; no stage is handed it.
  for (v1::ResolvedTarget* target : {&before, &after}) {
    for (v1::ResolvedRecipe& recipe : *target->mutable_recipes()) {
      recipe.clear_doc();
    }
  }
  EXPECT_EQ(before.SerializeAsString(), after.SerializeAsString());
}

TEST(ResolveTest, UnitIsTrivial) {
  const v1::ResolvedTarget unit = Resolve(TextOf("unit"));
  EXPECT_EQ(unit.name(), "unit");
  EXPECT_EQ(unit.machine().engines(0).macs_per_cycle(), 1);
  EXPECT_EQ(unit.machine().engines(0).queue_depth(), 1);
}

struct EditCase {
  std::string name;
  std::string from;
  std::string to;
  std::string message;
};

class ResolveEditTest : public testing::TestWithParam<EditCase> {};

TEST_P(ResolveEditTest, IsRefused) {
  std::string text = TextOf("dla");
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  EXPECT_THAT(Message(text), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, ResolveEditTest,
    testing::ValuesIn(std::vector<EditCase>{
        {"UnknownKey", "schema_version: 1", "schema_version: 1\nmemorys {}",
         "unknown key \"memorys\" in TargetDescriptor; where: line 9; "
         "fix: did you mean \"memories\"?"},
        {"KeyLikeNoOther", "schema_version: 1", "schema_version: 1\nfoo {}",
         "unknown key \"foo\" in TargetDescriptor; where: line 9; "
         "fix: see `edgekiln targets show dla` for the schema"},
        {"SettingLikeNoOther", "schema_version: 1",
         "schema_version: 1 set { name: \"colour\" value: 1 }",
         "where: set \"colour\"; fix: parameters are: pes, "},
        {"HostOpLikeNoOther", "op: \"softmax\"", "op: \"frobnicate\"",
         "fix: see `edgekiln targets show dla` for costs"},
        {"UnknownNestedKey", "capacity_bytes_expr:", "capacity_expr:",
         "did you mean \"capacity_bytes_expr\"?"},
        {"UnknownEnum", "COARSE_DLA", "FINE_DLA",
         "\"FINE_DLA\" for field \"model\".; where: line "},
        {"UnknownEnumIsToldTheOthers", "provenance: PUBLISHED",
         "provenance: HEARSAY",
         "; fix: provenance: PUBLISHED, READ, FITTED, ASSUMED"},
        {"WrongType", "bits: 32", "bits: \"x\"", "line"},
        {"NotUtf8", "name: \"dla\"\n", "name: \"dl\xE9\"\n",
         "a text is not UTF-8; where: name"},
        {"NotUtf8Escaped", "name: \"output_parallel\"",
         "name: \"output\\351parallel\"",
         "a text is not UTF-8; where: parameters.name"},
        {"SchemaVersion", "schema_version: 1", "schema_version: 2",
         "unknown schema version"},
        {"NoName", "name: \"dla\"\n", "", "no name"},
        {"DefaultOutOfRange", "default_value: 64", "default_value: 1025",
         "where: parameter \"pes\"; limit: min 1, max 1024"},
        {"NoProvenance", "  provenance: PUBLISHED\n", "",
         "provenance is missing; where: parameter \"pes\""},
        {"ParameterTwice", "name: \"output_parallel\"", "name: \"pes\"",
         "occurs twice"},
        {"UnknownSetting", "schema_version: 1",
         "schema_version: 1 set { name: \"sram_byte\" value: 1 }",
         "did you mean \"sram_bytes\"?"},
        {"SettingOutOfRange", "schema_version: 1",
         "schema_version: 1 set { name: \"sram_bytes\" value: 63 }",
         "limit: 64 to 268435456 bytes"},
        {"SettingTwice", "schema_version: 1",
         "schema_version: 1 set { name: \"pes\" value: 1 } "
         "set { name: \"pes\" value: 2 }",
         "set twice"},
        {"ConstraintFails", "schema_version: 1",
         "schema_version: 1 constraints { expr: \"pes < 64\" message: \"m\" }",
         "where: pes = 64; limit: pes < 64; fix: m"},
        {"PresetOutOfRange", "name: \"pes\" value: 128",
         "name: \"pes\" value: 0", "preset \"dla-128-i-512k\""},
        {"NoClock", "clock_hz_expr: \"clock_hz\"\n", "",
         "clock_hz_expr: unexpected end"},
        {"BadExpression", "\"sram_bytes\"\n  base_address",
         "\"sram_bytes +\"\n  base_address",
         "memory \"sram\": capacity_bytes_expr"},
        {"MemoriesOverlap", "base_address: 0x80000000", "base_address: 4096",
         "overlap"},
        {"MemoryTooHigh", "base_address: 0x80000000",
         "base_address: 0xffffffff", "above the 32-bit address space"},
        {"NoScratchpad", "  reached_by: \"dla\"\n", "",
         "one memory of its own"},
        {"NobodyReaches", "reached_by: \"dla\"", "reached_by: \"dlb\"",
         "memory \"sram\": reached_by; fix: did you mean \"dla\"?"},
        {"HoldsNothing", "holds: [CODE, CONSTANTS]", "", "holds is missing"},
        {"NoActivations", "holds: ACTIVATIONS", "holds: CONSTANTS",
         "no memory that the host reaches holds ACTIVATIONS"},
        {"OddAlignment", "holds: ACTIVATIONS",
         "holds: ACTIVATIONS alignment_bytes: 3", "a power of two"},
        {"NegativeAlignment", "holds: ACTIVATIONS",
         "holds: ACTIVATIONS alignment_bytes: -1", "alignment_bytes is -1"},
        {"LinkOfNobody", "owner: \"dla\"", "owner: \"dle\"",
         "link \"dma\": owner"},
        {"LinkOfTheHost", "owner: \"dla\"", "owner: \"host\"",
         "one memory of its own"},
        {"LinkFromNowhere", "from: [\"flash\", \"ram\"",
         "from: [\"flesh\", \"ram\"", "did you mean \"flash\"?"},
        {"LinkReadsLess", "from: [\"flash\", \"ram\"", "from: [\"ram\"",
         "the engine's link does not read a memory"},
        {"NoContention", "contention: OVERLAPPED", "", "contention is missing"},
        {"PlainLink", "dimensions: 2", "dimensions: 1", "that moves rows"},
        {"ZeroBandwidth", "bytes_per_cycle_expr: \"dma_bytes_per_cycle\"",
         "bytes_per_cycle_expr: \"0\"",
         "link dma: value 0 is out of range; where: bytes_per_cycle"},
        {"HostClockFarAboveTheChips", "clock_hz_expr: \"clock_hz\"\n\nmemories",
         "clock_hz_expr: \"499998\"\n\nmemories",
         "a clock of 500000000 Hz; where: clock_hz; limit: 1000 times the "
         "clock_hz of the chip, which is 499998"},
        {"ZeroIssue", "issue_cycles_expr: \"register_write_cycles\"",
         "issue_cycles_expr: \"0\"",
         "issue_cycles_expr gives 0 cycles; where: command REG_WRITE; limit: 1 "
         "to "
         "1000000 cycles; fix: "},
        {"LongIssue", "issue_cycles_expr: \"register_write_cycles\"",
         "issue_cycles_expr: \"1000001\"",
         "issue_cycles_expr gives 1000001 cycles"},
        {"OccupancyOfUnknownRegister", "KERNEL_H*KERNEL_W *", "KERNEL_Q *",
         "unknown name \"KERNEL_Q\""},
        {"OpcodeTwice", "opcode: 0x11", "opcode: 0x10", "opcode is used twice"},
        {"OpcodeTooWide", "opcode: 0x11", "opcode: 0x111", "does not fit"},
        {"ReadsUnknownRegister", "reads: [\"IN_ADDR\",", "reads: [\"IN_ADR\",",
         "leaves out a register"},
        {"AddressTooNarrow", "name: \"OUT_ADDR\" index: 4 bits: 32",
         "name: \"OUT_ADDR\" index: 4 bits: 18",
         "too narrow for memory sram; where: isa: register OUT_ADDR"},
        {"SystemAddressTooNarrow",
         "name: \"DMA_SYSTEM_ADDR\" index: 40 bits: 32",
         "name: \"DMA_SYSTEM_ADDR\" index: 40 bits: 31",
         "too narrow for memory ram; where: isa: register DMA_SYSTEM_ADDR"},
        {"RowsTooNarrow", "name: \"DMA_ROWS\" index: 43 bits: 32",
         "name: \"DMA_ROWS\" index: 43 bits: 19", "fix: bits: 20"},
        {"UnknownCommand", "\"OP_E_ABS\"", "\"OP_E_SIN\"", "no such command"},
        {"WrongUnit", "unit: DMA_UNIT", "unit: COMPUTE_UNIT", "wrong unit"},
        {"PatternNeedsCommand", "mnemonic: \"OP_E_ADD\"",
         "mnemonic: \"OP_E_SUB\"", "no such command"},
        {"UnknownOp", "ops: \"conv2d\"", "ops: \"conv2b\"",
         "no op is called \"conv2b\"; where: patterns: ops; fix: did you mean "
         "\"conv2d\"?"},
        {"NotAnOp", "ops: \"conv2d\"", "ops: \"rounding\"",
         "no op is called \"rounding\""},
        {"OpOfAnotherModel", "ops: \"conv2d\"",
         "ops: \"conv2d\" ops: \"transposed_conv\"",
         "the engine model has no command for transposed_conv; where: patterns "
         "conv2d, transposed_conv"},
        {"UnknownVariable", "ops: \"conv2d\"",
         "ops: \"conv2d\" where { expr: \"kernel_x < 9\" need: \"n\" }",
         "no parameter or variable \"kernel_x\"; where: patterns conv2d: where "
         "1: expr; fix: did you mean \"kernel_h\"?"},
        {"VariableOfALaterOp", "ops: \"conv2d\"",
         "ops: \"conv2d\" where { expr: \"add_in_c < 9\" need: \"n\" }",
         "no parameter or variable \"add_in_c\""},
        {"BadCondition", "ops: \"conv2d\"",
         "ops: \"conv2d\" where { expr: \"kernel_h <\" need: \"n\" }",
         "where 1: expr: unexpected end"},
        {"ConditionOfParameters", "ops: \"conv2d\"",
         "ops: \"conv2d\" where { expr: \"pes > 9\" need: \"n\" }",
         "no variable of the ops; where: patterns conv2d: where 1: expr; fix: "
         "write it as when_expr"},
        {"NoNeed", "ops: \"conv2d\"",
         "ops: \"conv2d\" where { expr: \"kernel_h < 9\" }", "need is missing"},
        {"NeedOfNoParameter", "ops: \"conv2d\"",
         "ops: \"conv2d\" where { expr: \"kernel_h < 9\" need: \"{kernel_h}\" "
         "}",
         "no parameter or variable \"kernel_h\"; where: patterns conv2d: where "
         "1: need"},
        {"NeedOfOneBrace", "ops: \"conv2d\"",
         "ops: \"conv2d\" where { expr: \"kernel_h < 9\" need: \"{pes\" }",
         "braces that do not pair off"},
        {"NeedInParentheses", "ops: \"conv2d\"",
         "ops: \"conv2d\" where { expr: \"kernel_h < 9\" need: \"a (b)\" }",
         "half a sentence"},
        {"LongNeed", "ops: \"conv2d\"",
         absl::StrCat("ops: \"conv2d\" where { expr: \"kernel_h < 9\" need: \"",
                      std::string(201, 'n'), "\" }"),
         "limit: 1 to 200 bytes on one line"},
        {"ManyConditions", "ops: \"conv2d\"",
         absl::StrCat("ops: \"conv2d\"", Repeated("where {} ", 65)),
         "too many entries; where: patterns conv2d: where; limit: 64"},
        {"ManyPatterns", "  patterns {",
         absl::StrCat(Repeated("  patterns {}\n", 256), "  patterns {"),
         "too many entries; where: patterns; limit: 256; need: 271"},
        {"LongConditions", "  patterns {",
         absl::StrCat(
             Repeated("  patterns { ops: [\"conv2d\", \"conv2d\", \"conv2d\", "
                      "\"conv2d\", \"conv2d\", \"conv2d\"] numerics { "
                      "activations: INT8 weights: INT8 requantization: SHIFT "
                      "roundings: HALF_UP accumulator_bits: 32 } }\n",
                      240),
             "  patterns {"),
         "the conditions are too long, with those that registers imply"},
        {"BadWhen", "ops: \"max_pool2d\"",
         "ops: \"max_pool2d\" when_expr: \"kernel_h < 9\"",
         "no parameter or variable \"kernel_h\"; where: patterns max_pool2d: "
         "when_expr"},
        {"TooManyOps", "ops: \"conv2d\"",
         "ops: [\"conv2d\", \"add\", \"add\", \"add\", \"add\", \"add\", "
         "\"add\", \"add\", \"add\"]",
         "too many ops"},
        {"NoActivationTypes", "activations: INT8", "",
         "activations is missing, or a type is unknown or occurs twice; where: "
         "patterns conv2d: numerics: activations"},
        {"ActivationsOfAnotherModel", "activations: INT8",
         "activations: [INT8, INT16]", "can only be INT8"},
        {"NoWeights", "weights: INT8", "", "weights is missing"},
        {"WeightsTwice", "weights: INT8", "weights: [INT8, INT8]",
         "occurs twice; where: patterns conv2d: numerics: weights"},
        {"WeightsOfAnAddition", "ops: \"conv2d\"", "ops: \"add\"",
         "weights is given, but the ops have no weights; where: patterns add"},
        {"ZeroPointsOfWeights", "registers { name: \"WEIGHT_ZERO_POINT\"",
         "registers { name: \"WEIGHT_ZERO\"",
         "no such register; where: register WEIGHT_ZERO;"},
        {"NoRegisterOfZeroPoints",
         "    registers { name: \"WEIGHT_ZERO_POINT\" index: 46 bits: 8 "
         "is_signed: true }\n",
         "", "no register WEIGHT_ZERO_POINT"},
        {"NoRequantization", "requantization: MULTIPLIER_AND_SHIFT", "",
         "requantization is missing or unknown"},
        {"RequantizationOfAPool", "ops: \"max_pool2d\"\n    numerics {",
         "ops: \"max_pool2d\"\n    numerics { requantization: SHIFT",
         "requantization is given, but the ops keep"},
        {"NoAccumulator", "accumulator_bits: 32", "",
         "accumulator_bits is missing"},
        {"NarrowAccumulator", "accumulator_bits: 32", "accumulator_bits: 7",
         "accumulator_bits is 7"},
        {"AccumulatorOfAPool", "ops: \"max_pool2d\"\n    numerics {",
         "ops: \"max_pool2d\"\n    numerics { accumulator_bits: 32",
         "accumulator_bits is given, but"},
        {"NoRoundings", "roundings: [HALF_UP, HALF_EVEN]", "",
         "roundings is missing"},
        {"ConverterWithoutAdc", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: SHIFT converter { max_gain: 1 }",
         "converter is given without requantization: ADC"},
        {"ShiftOfMultipliers", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: MULTIPLIER_AND_SHIFT largest_shift: 31",
         "largest_shift is given without requantization: SHIFT; where: "
         "patterns conv2d: numerics: largest_shift"},
        {"FarShift", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: SHIFT largest_shift: 32",
         "largest_shift is 32; where: patterns conv2d: numerics: "
         "largest_shift; fix: 1 to 31"},
        {"ShiftToTheLeft", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: SHIFT largest_shift: -1", "largest_shift is -1"},
        {"AddendsOfALayer", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: MULTIPLIER_AND_SHIFT one_input_scale: true",
         "one_input_scale is given, but no op is an add"},
        {"MisspeltAddends", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: MULTIPLIER_AND_SHIFT one_input_scal: true",
         "one_input_scal"},
        {"AdcWithoutConverter", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: ADC", "min is not below max"},
        {"AdcWithoutGain", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: ADC converter { min: -1 max: 1 }",
         "max_gain is below 1"},
        {"AdcOfManyShifts", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: ADC converter { min: -1 max: 1 max_gain: 1 "
         "max_shift: 16 }",
         "max_shift is not 0 to 15"},
        {"AdcOfManyCodes", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: ADC converter { min: -32769 max: 1 max_gain: 1 }",
         "one has more than 16 bits"},
        {"AdcRoundsUp", "requantization: MULTIPLIER_AND_SHIFT",
         "requantization: ADC converter { min: -1 max: 1 max_gain: 1 }",
         "roundings of a converter is FLOOR alone"},
        {"RoundsDown", "roundings: [HALF_UP, HALF_EVEN]", "roundings: FLOOR",
         "roundings: FLOOR, but no command rounds down"},
        {"PoolRoundsDown", "ops: \"max_pool2d\"\n    numerics {",
         "ops: \"max_pool2d\"\n    numerics { roundings: FLOOR",
         "FLOOR is no rounding of all of the ops; where: patterns max_pool2d"},
        {"WeightValuesOfAPool", "ops: \"max_pool2d\"\n    numerics {",
         "ops: \"max_pool2d\"\n    numerics { weight_values: WEIGHTS_INT4",
         "weight_values is given, but the ops have no weights"},
        {"WeightValuesWithZeroPoints", "weights: INT8",
         "weights: INT8 weight_values: WEIGHTS_INT4",
         "weight_values are those of symmetric INT8 weights"},
        {"RoundsWithoutRounding",
         "opcode: 0x33\n      unit: COMPUTE_UNIT\n      takes_rounding: true",
         "opcode: 0x33\n      unit: COMPUTE_UNIT",
         "HALF_EVEN, but command OP_E_ADD has no takes_rounding"},
        {"RoundsNothing", "opcode: 0x31", "opcode: 0x31 takes_rounding: true",
         "the command rounds nothing; where: command OP_C_MIN"},
        {"NoRoundingField", "fields { name: \"rounding\" low_bit: 16 bits: 1 }",
         "", "takes_rounding without a field rounding"},
        {"UnknownHostOp", "op: \"softmax\"", "op: \"softmac\"",
         "did you mean \"softmax\"?"},
        {"NoDefaultCost", "op: \"default\"", "op: \"mul\"", "\"default\""}}),
    [](const auto& info) { return info.param.name; });

TEST(ResolveTest, ExtendsIsClosed) {
  EXPECT_THAT(Message("extends: \"dla-64-o-512m\""),
              HasSubstr("did you mean \"dla-64-o-512k\"?"));
  EXPECT_THAT(Message("extends: \"zynq\""),
              HasSubstr("fix: `edgekiln targets list` shows all of them"));
  EXPECT_THAT(Message("extends: \"dla\" memories { name: \"x\" }"),
              HasSubstr("where: memories"));
  EXPECT_THAT(Message(""), HasSubstr("schema version"));
  EXPECT_THAT(Message(std::string(2 << 20, ' ')), HasSubstr("too large"));
  EXPECT_THAT(Message(std::string("\xff\xfe\0\x01", 4)), HasSubstr("line 1"));
}

TEST(ResolveTest, ExtremesOfParameters) {
  for (const char* set :
       {"name: \"pes\" value: 1", "name: \"pes\" value: 1024",
        "name: \"sram_bytes\" value: 1024", "name: \"sram_bytes\" value: 1025",
        "name: \"ram_bytes\" value: 2147483648",
        "name: \"flash_bytes\" value: 2147483648",
        "name: \"queue_depth\" value: 1"}) {
    const auto resolved =
        ResolveTarget(absl::StrCat("extends: \"dla\" set { ", set, " }"));
    EXPECT_TRUE(resolved.ok()) << set << ": " << resolved.status();
  }
}

TEST(ResolveTest, TellsWhichFilesItExtends) {
  const auto files = [](absl::string_view text) {
    const auto resolved = ResolveTargetAndFiles(text);
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    return resolved.ok() ? resolved->files : std::vector<std::string>{"?"};
  };
  EXPECT_THAT(files("extends: \"dla-64-o-512k\""), testing::ElementsAre("dla"));
  EXPECT_THAT(files("extends: \"unit\""), testing::ElementsAre("unit", "dla"));
  for (const BuiltinTarget& target : BuiltinTargets()) {
    if (target.name == "dla-128-i-1m") {
      EXPECT_THAT(files(target.text), testing::IsEmpty());
    }
  }
}

}  // namespace
}  // namespace edgekiln::target
