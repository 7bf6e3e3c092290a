// Jobs of an engine with a record, shifted results, operands in other memories
// and reversed bytes: the made-up chip of tests/support.

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "target/memories.h"
#include "target/models/register_job.h"
#include "target/register_jobs.h"
#include "target/resolve.h"
#include "tests/support/message_keys.h"
#include "tests/support/record_chip.h"

namespace edgekiln::target {
namespace {

using Jobs = v1::RegisterJobs;
using V = JobVariable;
using tests::RecordChipText;

v1::ResolvedTarget Chip(const std::vector<tests::ParameterValue>& set = {}) {
  const auto target = ResolveTarget(RecordChipText(set));
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? *target : v1::ResolvedTarget();
}

// A convolution of 3 x 3 from 5 to 20 channels.
JobVariables Convolution() {
  JobVariables job;
  for (int i = 0; i < kNumJobVariables; ++i) job[static_cast<V>(i)] = 0;
  job[V::kKernel] = 1;
  job[V::kInH] = 6;
  job[V::kInW] = 7;
  job[V::kInC] = 5;
  job[V::kOutH] = 4;
  job[V::kOutW] = 3;
  job[V::kOutC] = 20;
  job[V::kKernelH] = job[V::kKernelW] = 3;
  job[V::kStrideH] = 1;
  job[V::kStrideW] = 2;
  job[V::kDilationH] = job[V::kDilationW] = 1;
  job[V::kPadLeft] = 1;
  job[V::kDepthMultiplier] = 1;
  job[V::kInAddr] = 0x100;
  job[V::kOutAddr] = 0x800;
  job[V::kWeightsAddr] = 0x10200;
  job[V::kShift] = 9;
  job[V::kClampMin] = -128;
  job[V::kClampMax] = 127;
  job[V::kRecordAddr] = 0x10100;
  return job;
}

TEST(RegisterRecordsTest, WordsHoldTheRegistersThatShareThem) {
  const auto view = *RegisterJobsView::Create(Chip().machine(), 0);
  const auto code = view.Encode(Convolution());
  ASSERT_TRUE(code.ok()) << code.status();
  std::vector<uint32_t> want(16, 0);
  want[0] = 1 | 9 << 8;  // KERNEL, SHIFT, DEPTH.
  want[1] = 0x100;
  want[2] = 0x800;
  want[4] = 6 | 7 << 16;
  want[5] = 5 | 20 << 16;
  want[6] = 4 | 3 << 16;
  want[7] = 2 | 2 << 4 | 1 << 12 | 1 << 20;
  want[8] = 0x80u | 0x7fu << 24;
  EXPECT_EQ(code->record, want);
  ASSERT_EQ(code->writes.size(), 3u);
  EXPECT_EQ(code->writes[0].offset, 0x50u);
  EXPECT_EQ(code->writes[0].value, 0x10100u);
  EXPECT_EQ(code->writes[1].value, 0x10200u);
  EXPECT_EQ(code->writes[2].offset, 0u);
  EXPECT_EQ(code->writes[2].value, 1u);
}

TEST(RegisterRecordsTest, DecodesWindowAndRecord) {
  const auto view = *RegisterJobsView::Create(Chip().machine(), 0);
  const auto code = view.Encode(Convolution());
  ASSERT_TRUE(code.ok()) << code.status();
  std::vector<int64_t> held(view.jobs().registers_size());
  for (const RegisterWrite& write : code->writes) {
    const int32_t position = view.FindRegister(write.offset);
    if (position >= 0) held[position] = view.Held(position, write.value);
  }
  view.HeldInRecord(code->record, absl::MakeSpan(held));
  EXPECT_TRUE(*view.Decode(held) == Convolution());
  EXPECT_EQ(view.record_memory(), 0);
  EXPECT_EQ(view.record_bytes(), 64);
  EXPECT_EQ(view.record_bits()[0], 0xffff1f0fu);
  EXPECT_EQ(view.record_bits()[9], 0u);
  // Offsets of the record are none of the window.
  EXPECT_EQ(view.FindRegister(0x04), -1);
}

TEST(RegisterRecordsTest, RefusesWhatRegistersCannotTell) {
  const auto view = *RegisterJobsView::Create(Chip().machine(), 0);
  const struct {
    V variable;
    int64_t value;
    const char* says;
  } kRows[] = {
      {V::kShift, 32, "register SHIFT does not hold 32"},
      {V::kClampMin, -129, "register CLAMP_MIN does not hold -129"},
      {V::kRecordAddr, 0x10102, "record_addr is 65794"},
      {V::kDilationH, 2, "the registers tell 1 for dilation_h, which is 2"},
  };
  for (const auto& row : kRows) {
    JobVariables job = Convolution();
    job[row.variable] = row.value;
    const absl::Status status = view.Encode(job).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_TRUE(absl::StrContains(status.message(), row.says)) << status;
  }
}

TEST(RegisterRecordsTest, OperandsLieWhereTheDescriptorSays) {
  const v1::Machine machine = Chip().machine();
  const auto view = *RegisterJobsView::Create(machine, 0);
  const JobVariables job = Convolution();
  const int32_t convolution = view.FindJob(Jobs::CONVOLUTION);
  EXPECT_EQ(view.own_memory(), 1);
  EXPECT_EQ(view.own_memory(), LocalMemoryOf(machine, 0));
  EXPECT_EQ(view.OperandsOf(convolution),
            (std::vector{JobOperand::kIn, JobOperand::kWeights,
                         JobOperand::kBias, JobOperand::kOut}));
  EXPECT_FALSE(view.HasTable(convolution));
  EXPECT_EQ(view.MemoryOf(convolution, JobOperand::kIn), 1);
  EXPECT_EQ(view.MemoryOf(convolution, JobOperand::kWeights), 0);
  EXPECT_EQ(view.MemoryOf(convolution, JobOperand::kBias), 0);
  EXPECT_EQ(*view.AddressOf(convolution, JobOperand::kIn, job), 0x100);
  EXPECT_EQ(*view.AddressOf(convolution, JobOperand::kWeights, job), 0x10200);
  EXPECT_EQ(*view.AddressOf(convolution, JobOperand::kBias, job),
            0x10200 + 5 * 9 * 16);
  JobVariables far = job;
  far[V::kWeightsAddr] = kMaxJobAddress;
  EXPECT_EQ(view.AddressOf(convolution, JobOperand::kBias, far).status().code(),
            absl::StatusCode::kOutOfRange);

  const auto bias = view.OperandLayout(convolution, JobOperand::kBias, job);
  ASSERT_TRUE(bias.ok()) << bias.status();
  EXPECT_EQ(bias->extents(0), 20);
  EXPECT_EQ(bias->extents(1), 4);
  EXPECT_EQ(bias->element_bits(), 8);
  EXPECT_EQ(bias->reversed_bytes(), 4);
  EXPECT_EQ(bias->size_bytes(), 5 * 9 * 16 + 64 + 64);
  // Sums are not told apart by a variable of other results.
  JobVariables sums = job;
  sums[V::kOutInt32] = 1;
  EXPECT_EQ(
      view.OperandLayout(convolution, JobOperand::kOut, sums)->element_bits(),
      8);
  EXPECT_FALSE(
      view.OperandLayout(view.FindJob(Jobs::ADDITION), JobOperand::kBias, job)
          .ok());
}

TEST(RegisterRecordsTest, JobsMeetTheirConditions) {
  const auto view =
      *RegisterJobsView::Create(Chip({{"most_channels", 40}}).machine(), 0);
  const int32_t convolution = view.FindJob(Jobs::CONVOLUTION);
  JobVariables job = Convolution();
  EXPECT_TRUE(view.CheckJob(convolution, job).ok());
  job[V::kOutC] = 41;
  absl::Status status = view.CheckJob(convolution, job);
  EXPECT_EQ(GetErrorDetail(status)->reason, "JOB_REFUSED");
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(absl::StrContains(
      status.message(),
      "the engine needs up to 40 channels (here in_c 5, out_c 41)"))
      << status;
  // Two blocks of 36 * 9 * 16 and 64 bytes.
  job = Convolution();
  job[V::kInC] = 36;
  status = view.CheckJob(convolution, job);
  EXPECT_EQ(GetErrorDetail(status)->reason, "STAGED_TOO_LARGE");
  EXPECT_EQ(GetErrorDetail(status)->need, "10496 bytes");
  EXPECT_EQ(GetErrorDetail(status)->limit, "4096 bytes");
  EXPECT_TRUE(absl::StrContains(status.message(), "memory weight_mem"))
      << status;
  // Weights and biases count.
  const int32_t depthwise = view.FindJob(Jobs::DEPTHWISE_CONVOLUTION);
  job[V::kInC] = job[V::kOutC] = 1;
  job[V::kKernelH] = 16;
  job[V::kKernelW] = 15;
  EXPECT_TRUE(view.CheckJob(depthwise, job).ok());
  job[V::kKernelW] = 16;
  EXPECT_EQ(GetErrorDetail(view.CheckJob(depthwise, job))->need, "4160 bytes");
}

TEST(RegisterRecordsTest, ImpliesConditionsThatNoCutChanges) {
  const v1::Machine machine = Chip().machine();
  const auto of = [&](const char* op) {
    std::set<std::string> conditions;
    const auto implied =
        RegisterJobModel().ImpliedConditions(machine, 0, op, /*sums=*/false);
    EXPECT_TRUE(implied.ok()) << implied.status();
    for (const auto& condition : *implied) {
      conditions.insert(absl::StrCat(condition.expr(), ": ", condition.need()));
    }
    return conditions;
  };
  const std::string dilation =
      "max(dilation_h, dilation_w) == 1: dilations of 1";
  EXPECT_EQ(of("conv2d").count(dilation), 1u);
  EXPECT_EQ(of("depthwise_conv2d").count(dilation), 1u);
  EXPECT_EQ(of("fully_connected").count(dilation), 0u);
  EXPECT_EQ(of("depthwise_conv2d")
                .count("depth_multiplier == 1: a depth multiplier of 1"),
            1u);
  // Channels are cut.
  for (const std::string& condition : of("depthwise_conv2d")) {
    EXPECT_FALSE(absl::StrContains(condition, "one channel")) << condition;
  }
  EXPECT_EQ(of("conv2d").count(
                "(kernel_h - 1) <= 15: at most 15 in register KERNEL_H"),
            1u);
  // A job of one output channel has all input channels.
  const std::string stage =
      " <= 4096: constants of an output channel in at most 4096 bytes of "
      "weight_mem";
  const auto stages = [&](const char* op) {
    std::vector<std::string> of_stage;
    for (const std::string& condition : of(op)) {
      if (absl::EndsWith(condition, stage)) of_stage.push_back(condition);
    }
    return of_stage;
  };
  EXPECT_EQ(
      stages("conv2d"),
      std::vector<std::string>{
          "(ceildiv(1, 16) * (in_c * kernel_h * kernel_w * 16 + 64))" + stage});
  EXPECT_EQ(stages("fully_connected"),
            std::vector<std::string>{
                "(ceildiv(1, 16) * (in_c * 1 * 1 * 16 + 64))" + stage});
  EXPECT_EQ(
      stages("depthwise_conv2d"),
      std::vector<std::string>{"(kernel_h * kernel_w * 16) + (64)" + stage});
  EXPECT_TRUE(stages("add").empty());
}

TEST(RegisterRecordsTest, MachineHasTheCostsAndTheLink) {
  const v1::Machine machine = Chip().machine();
  EXPECT_EQ(machine.engines(0).job_cycles(), 100);
  EXPECT_EQ(machine.engines(0).record_word_cycles(), 2);
  EXPECT_EQ(machine.links(0).granule_bytes(), 32);
  ASSERT_TRUE(machine.links(0).has_window());
  EXPECT_EQ(machine.links(0).window(), 0);
  const v1::Machine other = ResolveTarget("extends: \"toy-array\"")->machine();
  EXPECT_EQ(other.links(0).granule_bytes(), 1);
  EXPECT_FALSE(other.links(0).has_window());
  EXPECT_EQ(other.engines(0).job_cycles(), 0);
}

TEST(RegisterRecordsTest, SaysWhatIsWrongWithADescriptor) {
  const struct {
    const char* from;
    const char* to;
    const char* says;
  } kRows[] = {
      // The record.
      {"in_record: true", "", "no register is in the record"},
      {"value_expr: \"kernel\" in_record: true", "value_expr: \"kernel\"",
       "already used by a register"},
      {"    record {\n      memory: \"l2\"\n      bytes: 64\n      "
       "word_cycles_expr: \"record_word_cycles\"\n      provenance: "
       "ASSUMED\n    }\n",
       "", "registers are in a record, but there is none"},
      {"    record {\n      memory: \"l2\"",
       "    record {\n      memory: \"l3\"", "no memory is called \"l3\""},
      {"    record {\n      memory: \"l2\"",
       "    record {\n      memory: \"l1\"",
       "memory l1 is not one that the host writes"},
      {"bytes: 64", "bytes: 62", "record: bytes"},
      {"bytes: 64", "bytes: 0", "record: bytes"},
      {"bytes: 64", "bytes: 4100", "record: bytes"},
      {"bytes: 64", "bytes: 32", "the offset is no word of the record"},
      {"offset: 0x20 bits: 8 value_expr: \"clamp_min\"",
       "offset: 0x22 bits: 8 value_expr: \"clamp_min\"",
       "the offset is no word of the record"},
      {"low_bit: 24", "low_bit: 25", "low_bit + bits is more than 32"},
      {"low_bit: 24", "low_bit: 7", "overlaps another register"},
      {"bits: 32 value_expr: \"weights_addr\"",
       "bits: 31 low_bit: 1 value_expr: \"weights_addr\"",
       "low_bit is given, but the register is not in the record"},
      {"word_cycles_expr: \"record_word_cycles\"", "",
       "record: word_cycles_expr"},
      {"word_cycles_expr: \"record_word_cycles\"", "word_cycles_expr: \"0\"",
       "a word of the record takes no time"},
      {"word_cycles_expr: \"record_word_cycles\"\n      provenance: ASSUMED",
       "word_cycles_expr: \"record_word_cycles\"", "record"},
      {"value_expr: \"record_addr\"", "value_expr: \"0\"",
       "no register outside the record tells record_addr"},
      {"job_cycles_expr: \"job_cycles\"", "job_cycles_expr: \"0 - 1\"",
       "job_cycles_expr"},
      // Results and operands.
      {"code: 4", "code: 4 results: BY_SHIFT",
       "results that the kernel does not have"},
      {"value_expr: \"shift\"", "value_expr: \"0\"", "no register tells shift"},
      {"address_expr: \"weights_addr + in_c * kernel_h * kernel_w * 16\"", "",
       "address_expr is missing"},
      {"address_expr: \"weights_addr + in_c * kernel_h * kernel_w * 16\"",
       "address_expr: \"weights_addr + in_d\"", "in_d"},
      {"name: \"bias\"", "name: \"biases\"", "the kernel has no such operand"},
      {"axis: \"b\" stride_bytes_expr: \"16\"",
       "axis: \"b\" stride_bytes_expr: \"1\"", "operand bias"},
      {"memory: \"l2\"\n        reversed_bytes: 4\n        staged_in",
       "reversed_bytes: 4\n        staged_in",
       "one memory beside the host's, for constants and activations"},
      {"name: \"in2\"", "name: \"in2\" memory: \"l2\"",
       "activations lie in the engine's own memory"},
      {"memory: \"l2\"\n        address_expr",
       "memory: \"weight_mem\"\n        address_expr",
       "the engine reaches no constants in memory weight_mem"},
      {"reached_by: [\"host\", \"array\"]", "reached_by: \"host\"",
       "is not one that the host writes and the engine reads"},
      {"reversed_bytes: 4", "reversed_bytes: 3", "reversed_bytes is 3"},
      {"staged_in: \"weight_mem\"", "staged_in: \"l2\"",
       "memory l2 is not the engine's alone, for constants alone"},
      {"staged_in: \"weight_mem\"", "staged_in: \"weights\"",
       "no memory is called \"weights\""},
      {"name: \"weight_mem\"\n  holds: CONSTANTS",
       "name: \"weight_mem\"\n  holds: [CONSTANTS, ACTIVATIONS]",
       "memory weight_mem is not the engine's alone, for constants alone"},
      // Conditions.
      {"expr: \"max(in_c, out_c) <= 1\"", "expr: \"max(in_c, out_d) <= 1\"",
       "out_d"},
      {"expr: \"max(in_c, out_c) <= 1\"", "expr: \"1 <= 1\"",
       "the condition has no variable of the job"},
      {"expr: \"max(in_c, out_c) <= 1\"", "expr: \"max(in_c, out_c) <= 0\"",
       "one channel"},
      {"need: \"one channel\"", "", "need is missing"},
      {"{most_channels}", "{most_channel}", "most_channel"},
      {"{most_channels}", "{most_channels", "braces"},
      // Links.
      {"window: \"array\"", "window: \"arrays\"", "window"},
      {"owner: \"host\"", "owner: \"array\"",
       "window is given, but the link is not the host's"},
      {"granule_bytes: 32", "granule_bytes: -1", "granule_bytes"},
      {"granule_bytes: 32", "granule_bytes: 8192", "granule_bytes"},
      // Numerics.
      {"roundings: FLOOR", "roundings: HALF_UP", "the job rounds down"},
      {"requantization: SHIFT\n      roundings: FLOOR\n      largest_shift: 31",
       "requantization: MULTIPLIER_AND_SHIFT\n      roundings: FLOOR",
       "requantization: the job shifts"},
      {"largest_shift: 31", "largest_shift: 32", "largest_shift"},
      {"largest_shift: 31", "", "largest_shift"},
      {"bits: 5 value_expr: \"shift\"", "bits: 4 value_expr: \"shift\"",
       "the registers do not tell so many"},
      {"one_input_scale: true", "", "one_input_scale"},
      {"weights: INT8", "weights: INT8 per_channel: true", "scale per channel"},
      {"roundings: FLOOR", "roundings: FLOOR activation_zero_points: true",
       "zero points"},
  };
  for (const auto& row : kRows) {
    const std::string text = RecordChipText();
    const std::string changed = absl::StrReplaceAll(text, {{row.from, row.to}});
    ASSERT_NE(changed, text) << row.from;
    const absl::Status status = ResolveTarget(changed).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
        << row.from << " -> " << row.to << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), row.says))
        << row.from << " -> " << row.to << ": " << status;
  }
}

// A key that is left out is refused, or makes another chip.
TEST(RegisterRecordsTest, KeysCannotBeDroppedUnnoticed) {
  const std::set<std::string> kMeanAnotherChip = {
      "links.granule_bytes", "links.window", "memories.alignment_bytes",
      "memories.base_address", "engines.patterns",
      "engines.jobs.job_cycles_expr",
      // To where nothing else is.
      "engines.jobs.registers.offset", "engines.jobs.registers.in_record",
      "engines.jobs.jobs.operands.reversed_bytes",
      "engines.jobs.jobs.operands.staged_in", "host.name"};
  const auto whole = ResolveTarget(RecordChipText());
  ASSERT_TRUE(whole.ok()) << whole.status();
  auto descriptor = ParseDescriptor(RecordChipText());
  ASSERT_TRUE(descriptor.ok()) << descriptor.status();
  std::set<std::string> other;
  tests::ForKeys(&*descriptor, "", [&](const std::string& path) {
    if (absl::StartsWith(path, "parameters")) return;
    std::string rest;
    ASSERT_TRUE(
        google::protobuf::TextFormat::PrintToString(*descriptor, &rest));
    const auto without = ResolveTarget(rest);
    if (!without.ok()) {
      const std::string key = path.substr(path.rfind('.') + 1);
      EXPECT_TRUE(absl::StrContains(without.status().message(), key))
          << path << ": " << without.status();
    } else if (without->SerializeAsString() != whole->SerializeAsString()) {
      other.insert(path);
    } else {
      EXPECT_EQ(path, "doc");
    }
  });
  EXPECT_EQ(other, kMeanAnotherChip);
}

// Samples are made to meet conditions, however they are written.
TEST(RegisterRecordsTest, FindsJobsThatMeetConditions) {
  for (const char* expr : {"out_c == 16 * floordiv(out_c, 16)", "in_h == in_w",
                           "out_c == 2 * in_c", "kernel_h * kernel_w <= 9",
                           "in_addr == 64 * floordiv(in_addr, 64)"}) {
    const std::string text = absl::StrReplaceAll(
        RecordChipText(),
        {{"code: 1\n", absl::StrCat("code: 1\n      where { expr: \"", expr,
                                    "\" need: \"it\" }\n")}});
    EXPECT_TRUE(ResolveTarget(text).ok())
        << expr << ResolveTarget(text).status();
  }
}

}  // namespace
}  // namespace edgekiln::target
