#include "target/register_jobs.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/models/register_job.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

using Jobs = v1::RegisterJobs;
using V = JobVariable;

v1::Machine ToyArray() {
  return ResolveTarget("extends: \"toy-array\"")->machine();
}

Jobs& JobsOf(v1::Machine& machine) {
  return *machine.mutable_engines(0)->mutable_jobs();
}

Jobs::Register& RegisterOf(v1::Machine& machine, const std::string& name) {
  for (Jobs::Register& reg : *JobsOf(machine).mutable_registers()) {
    if (reg.name() == name) return reg;
  }
  ADD_FAILURE() << name;
  return *JobsOf(machine).mutable_registers(0);
}

// A convolution that uses most of what toy-array packs.
JobVariables SomeJob() {
  JobVariables job;
  for (int i = 0; i < kNumJobVariables; ++i) job[static_cast<V>(i)] = 1;
  job[V::kInH] = 5;
  job[V::kInW] = 6;
  job[V::kOutC] = 20;
  job[V::kStrideH] = 2;
  job[V::kStrideW] = 3;
  job[V::kInZeroPoint] = -7;
  job[V::kClampMin] = -128;
  job[V::kClampMax] = 127;
  job[V::kRounding] = 0;
  // It has no converter, no record, and no results BY_SHIFT.
  job[V::kShift] = job[V::kRecordAddr] = 0;
  for (const V variable : ConverterVariables()) job[variable] = 0;
  return job;
}

uint32_t WordAt(const JobCode& code, uint32_t offset) {
  for (const RegisterWrite& write : code.writes) {
    if (write.offset == offset) return write.value;
  }
  ADD_FAILURE() << offset;
  return 0;
}

TEST(RegisterJobsTest, NamesAreThoseOfVariables) {
  for (int i = 0; i < kNumJobVariables; ++i) {
    const auto variable = static_cast<V>(i);
    EXPECT_EQ(FindJobVariable(JobVariableName(variable)), variable);
  }
  EXPECT_EQ(JobVariableName(V::kCountPad), "count_pad");
  EXPECT_EQ(FindJobVariable("in_d"), std::nullopt);
}

TEST(RegisterJobsTest, WritesWhatTheExpressionsSayAndTheStartLast) {
  const auto view = *RegisterJobsView::Create(ToyArray(), 0);
  const auto writes = view.Encode(SomeJob());
  ASSERT_TRUE(writes.ok()) << writes.status();
  EXPECT_EQ(WordAt(*writes, 0x04), 5u * 65536 + 6);  // IN_SIZE
  EXPECT_EQ(WordAt(*writes, 0x10), 19u);             // OUT_CHANNELS_M1
  EXPECT_EQ(WordAt(*writes, 0x18), 1u * 65536 + 2);  // STEP_M1
  EXPECT_EQ(WordAt(*writes, 0x3c), 0xf9u);           // IN_ZERO
  EXPECT_EQ(WordAt(*writes, 0x48), 255u);            // CLAMP
  EXPECT_EQ(WordAt(*writes, 0x60), 0b110u);          // FLAGS
  EXPECT_EQ(writes->writes.back().offset, view.jobs().start_offset());
  EXPECT_EQ(writes->writes.back().value, view.jobs().start_value());
  EXPECT_EQ(writes->writes.size(), view.jobs().registers_size() + 1u);
}

TEST(RegisterJobsTest, UnderstandsWhatItWrites) {
  const auto view = *RegisterJobsView::Create(ToyArray(), 0);
  std::vector<int64_t> held(view.jobs().registers_size());
  const auto writes = view.Encode(SomeJob());
  ASSERT_TRUE(writes.ok()) << writes.status();
  for (const RegisterWrite& write : writes->writes) {
    const int32_t position = view.FindRegister(write.offset);
    if (position >= 0) held[position] = view.Held(position, write.value);
  }
  EXPECT_TRUE(*view.Decode(held) == SomeJob());
}

TEST(RegisterJobsTest, NamesARegisterThatIsTooNarrow) {
  const auto view = *RegisterJobsView::Create(ToyArray(), 0);
  JobVariables job = SomeJob();
  job[V::kOutC] = 65537;
  const absl::Status status = view.Encode(job).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("OUT_CHANNELS_M1 does not hold 65536"),
            std::string::npos)
      << status;
  job = SomeJob();
  job[V::kInZeroPoint] = -129;
  EXPECT_FALSE(view.Encode(job).ok());
}

TEST(RegisterJobsTest, TellsTheNumbersOfAConverter) {
  const auto view = *RegisterJobsView::Create(
      ResolveTarget("extends: \"toy-ternary\"")->machine(), 0);
  JobVariables job = SomeJob();
  job[V::kConverts] = 1;
  job[V::kGain] = 300;
  job[V::kCodeMin] = -32;
  job[V::kCodeMax] = 31;
  job[V::kCodeShift] = 15;
  const auto writes = view.Encode(job);
  ASSERT_TRUE(writes.ok()) << writes.status();
  EXPECT_EQ(WordAt(*writes, 0x60), 0b11100u);  // FLAGS
  EXPECT_EQ(WordAt(*writes, 0x64), 300u);      // GAIN
  EXPECT_EQ(WordAt(*writes, 0x68), (32768u - 32) * 65536 + 32768 + 31);
  EXPECT_EQ(WordAt(*writes, 0x6c), 15u);  // CODE_SHIFT
  // An engine without one does not convert.
  const auto array = *RegisterJobsView::Create(ToyArray(), 0);
  EXPECT_FALSE(array.has_converter());
  EXPECT_TRUE(view.has_converter());
}

// Two values share a register: either may be too large for its half of it.
TEST(RegisterJobsTest, NamesAVariableThatTheRegistersTellOtherwise) {
  const auto view = RegisterJobsView::Create(ToyArray(), 0);
  ASSERT_TRUE(view.ok()) << view.status();
  JobVariables job = SomeJob();
  job[V::kKernel] = view->jobs().jobs(view->FindJob(Jobs::CONVOLUTION)).code();
  EXPECT_TRUE(view->Encode(job).ok());
  job[V::kKernelW] = 65536;
  const absl::Status status = view->Encode(job).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("the registers tell 2 for kernel_h"),
            std::string::npos)
      << status;
  // No job is larger than the page says, whatever registers hold.
  v1::Machine machine = ToyArray();
  RegisterOf(machine, "IN_CHANNELS").set_bits(32);
  const auto wide = RegisterJobsView::Create(machine, 0);
  ASSERT_TRUE(wide.ok()) << wide.status();
  job = SomeJob();
  job[V::kKernel] = 1;
  job[V::kInC] = 65536;
  EXPECT_TRUE(wide->Encode(job).ok()) << wide->Encode(job).status();
  job[V::kInC] = 65537;
  EXPECT_EQ(wide->Encode(job).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(RegisterJobModelTest, ImpliesWhatRegistersHoldHoweverAnOpIsCut) {
  v1::Machine machine = ToyArray();
  RegisterOf(machine, "IN_CHANNELS").set_bits(6);
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
  const std::string channels =
      "(in_c) <= 63: at most 63 in register IN_CHANNELS";
  const std::string window =
      "(kernel_h * 65536 + kernel_w) <= 4294967295: at most 4294967295 in "
      "register WINDOW";
  EXPECT_EQ(of("conv2d").count(channels), 1u);
  EXPECT_EQ(of("conv2d").count(window), 1u);
  EXPECT_EQ(of("fully_connected").count(channels), 1u);
  EXPECT_EQ(of("fully_connected").count(window), 0u);
  // Its channels are cut.
  EXPECT_EQ(of("depthwise_conv2d").count(channels), 0u);
  EXPECT_EQ(of("depthwise_conv2d").count(window), 1u);
  EXPECT_EQ(of("add"),
            std::set<std::string>{"one_shape: operands of one shape"});
  EXPECT_TRUE(of("softmax").empty());
}

TEST(RegisterJobsTest, LayoutsAreBlocks) {
  const auto view = *RegisterJobsView::Create(ToyArray(), 0);
  JobVariables job = SomeJob();
  job[V::kOutH] = 2;
  job[V::kOutW] = 3;
  const int32_t convolution = view.FindJob(Jobs::CONVOLUTION);
  const auto out = view.OperandLayout(convolution, JobOperand::kOut, job);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->element_bits(), 32);
  EXPECT_EQ(out->size_bytes(), 4 * 2 * 2 * 3 * 16);  // Two blocks of 16.
  job[V::kOutInt32] = 0;
  EXPECT_EQ(
      view.OperandLayout(convolution, JobOperand::kOut, job)->element_bits(),
      8);
  EXPECT_FALSE(view.OperandLayout(convolution, JobOperand::kIn2, job).ok());
}

TEST(RegisterJobsTest, FindsJobs) {
  const auto view = *RegisterJobsView::Create(ToyArray(), 0);
  EXPECT_EQ(view.FindCode(view.jobs().jobs(2).code()), 2);
  EXPECT_EQ(view.FindCode(99), -1);
  const auto machine = ResolveTarget("extends: \"toy-two-array\"")->machine();
  const auto a = *RegisterJobsView::Create(machine, 0);
  EXPECT_EQ(a.FindJob(Jobs::ADDITION), -1);
}

struct Refusal {
  std::string what;  // In the message.
  std::function<void(v1::Machine&)> spoil;
};

TEST(RegisterJobModelTest, AcceptsTheToys) {
  for (const char* name : {"toy-array", "toy-array-unit", "toy-array-b8",
                           "toy-two-array", "toy-two-array-unit"}) {
    const auto target = ResolveTarget("extends: \"" + std::string(name) + "\"");
    ASSERT_TRUE(target.ok()) << name << target.status();
    for (int32_t e = 0; e < target->machine().engines_size(); ++e) {
      EXPECT_TRUE(RegisterJobModel().ValidateEngine(target->machine(), e).ok());
    }
  }
}

TEST(RegisterJobModelTest, SaysWhatIsWrongWithJobs) {
  const std::vector<Refusal> refusals = {
      {"occurs twice",
       [](v1::Machine& m) { RegisterOf(m, "IN_SIZE").set_name("OUT_SIZE"); }},
      {"already used by a register",
       [](v1::Machine& m) { RegisterOf(m, "IN_SIZE").set_offset(0); }},
      {"already used by a register",
       [](v1::Machine& m) { RegisterOf(m, "IN_SIZE").set_offset(0x82); }},
      {"already used by a register",
       [](v1::Machine& m) { RegisterOf(m, "IN_SIZE").set_offset(0x84); }},
      {"bits", [](v1::Machine& m) { RegisterOf(m, "IN_SIZE").set_bits(33); }},
      {"register IN_SIZE",
       [](v1::Machine& m) { RegisterOf(m, "IN_SIZE").set_value_expr("in_d"); }},
      {"no register tells in_c",
       [](v1::Machine& m) {
         RegisterOf(m, "IN_CHANNELS").set_value_expr("in_c + 0");
       }},
      {"no register tells in_c, in_zero_point",
       [](v1::Machine& m) {
         RegisterOf(m, "IN_CHANNELS").set_value_expr("in_c + 0");
         RegisterOf(m, "IN_ZERO").set_value_expr("in_zero_point + 0");
       }},
      // Rows and columns swapped where they are written.
      {"the registers tell",
       [](v1::Machine& m) {
         RegisterOf(m, "WINDOW").set_value_expr("kernel_w * 65536 + kernel_h");
       }},
      {"no such variable",
       [](v1::Machine& m) {
         JobsOf(m).mutable_fields(0)->set_variable("in_d");
       }},
      {"the variable occurs twice",
       [](v1::Machine& m) { *JobsOf(m).add_fields() = JobsOf(m).fields(0); }},
      {"code occurs twice",
       [](v1::Machine& m) { JobsOf(m).mutable_jobs(1)->set_code(1); }},
      {"an operand is missing",
       [](v1::Machine& m) {
         JobsOf(m).mutable_jobs(0)->mutable_operands()->RemoveLast();
       }},
      {"no axis",
       [](v1::Machine& m) {
         JobsOf(m)
             .mutable_jobs(0)
             ->mutable_operands(0)
             ->mutable_terms(0)
             ->set_axis("o");
       }},
      {"occupancy_cycles_expr",
       [](v1::Machine& m) {
         JobsOf(m).mutable_jobs(0)->set_occupancy_cycles_expr("out_h +");
       }},
      {"status", [](v1::Machine& m) { JobsOf(m).set_status_done(2); }},
      {"status", [](v1::Machine& m) { JobsOf(m).set_status_mask(0); }},
      {"not a multiple of 4",
       [](v1::Machine& m) { JobsOf(m).set_start_offset(0x81); }},
      {"takes no time",
       [](v1::Machine& m) { m.mutable_engines(0)->set_poll_cycles(0); }},
      {"needs one memory",
       [](v1::Machine& m) { m.mutable_memories(2)->clear_engines(); }},
      {"no link of the host",
       [](v1::Machine& m) { m.mutable_links(0)->mutable_to()->Clear(); }},
  };
  for (const Refusal& refusal : refusals) {
    v1::Machine machine = ToyArray();
    refusal.spoil(machine);
    const absl::Status status = RegisterJobModel().ValidateEngine(machine, 0);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
        << refusal.what << status;
    EXPECT_NE(status.message().find(refusal.what), std::string::npos)
        << refusal.what << ": " << status;
  }
}

TEST(RegisterJobModelTest, PatternsNeedTheirJob) {
  v1::Machine machine = ResolveTarget("extends: \"toy-two-array\"")->machine();
  v1::OpPattern pattern;
  pattern.add_ops("add");
  pattern.mutable_numerics()->add_activations(v1::INT8);
  EXPECT_FALSE(RegisterJobModel().ValidatePattern(pattern, machine, 0).ok());
  EXPECT_TRUE(RegisterJobModel().ValidatePattern(pattern, machine, 1).ok());
  // Every op of a chain.
  pattern.add_ops("softmax");
  EXPECT_FALSE(RegisterJobModel().ValidatePattern(pattern, machine, 1).ok());
}

// What a chip resolves to with `from` replaced by `to`; lines that hold one of
// `dropped` are left out.
absl::Status Changed(const std::string& name, const std::string& from,
                     const std::string& to,
                     const std::vector<std::string>& dropped = {}) {
  std::string text;
  for (const BuiltinTarget& target : BuiltinTargets()) {
    if (target.name == name) text = target.text;
  }
  std::vector<std::string> lines =
      absl::StrSplit(absl::StrReplaceAll(text, {{from, to}}), '\n');
  std::erase_if(lines, [&dropped](const std::string& line) {
    return std::any_of(dropped.begin(), dropped.end(),
                       [&line](const std::string& each) {
                         return absl::StrContains(line, each);
                       });
  });
  return ResolveTarget(absl::StrJoin(lines, "\n")).status();
}

TEST(RegisterJobModelTest, PatternsSayNoMoreThanJobsDo) {
  const struct {
    absl::Status status;
    const char* says;
  } kRows[] = {
      {Changed("toy-array", "[HALF_UP, HALF_EVEN]", "[HALF_UP, FLOOR]"),
       "FLOOR is no rounding of all of the ops"},  // Pools.
      {Changed("toy-two-array",
               "roundings: [HALF_UP, HALF_EVEN]\n      accumulator_bits: 32\n  "
               "  }\n    when_expr",
               "roundings: FLOOR\n      accumulator_bits: 32\n    }\n    "
               "when_expr"),
       "no register tells rounding 2"},
      {Changed("toy-shift", "FLAGS - 4 * floordiv(FLAGS, 4)",
               "FLAGS - 2 * floordiv(FLAGS, 2)"),
       ""},  // Only the preset rounds down.
      {Changed("toy-shift-floor", "FLAGS - 4 * floordiv(FLAGS, 4)",
               "FLAGS - 2 * floordiv(FLAGS, 2)"),
       "no register tells rounding 2"},
      {Changed("toy-ternary",
               "weights: INT8\n      weight_values: WEIGHTS_TERNARY",
               "weights: INT8\n      weight_values: WEIGHTS_INT4"),
       "weight_values: the job takes fewer"},
      {Changed("toy-ternary", "requantization: SHIFT\n      roundings: FLOOR",
               "requantization: ADC converter { min: -1 max: 1 max_gain: 1 }"
               "roundings: FLOOR"),
       "requantization: ADC is of sums of products"},
      {Changed("toy-ternary", "weights: INT8", "weights: INT8", {"\"GAIN\""}),
       "no register tells gain"},
      {Changed("toy-ternary", "max_gain: 4096", "max_gain: 65536"),
       "converter: the registers do not tell all of it"},
      {Changed("toy-ternary", " + 16 * converts", "",
               {"\"GAIN\"", "\"CODES\"", "\"CODE_SHIFT\"", "\"converts\"",
                "\"code_min\"", "\"code_max\""}),
       "no register tells converts"},
      {Changed("toy-ternary", "kind: OTHER",
               "kind: OTHER weight_values: WEIGHTS_INT4"),
       "weight_values of a kernel without weights"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.says);
    EXPECT_EQ(row.status.ok(), *row.says == '\0') << row.status;
    EXPECT_TRUE(absl::StrContains(row.status.message(), row.says))
        << row.status;
  }
}

}  // namespace
}  // namespace edgekiln::target
