#include "compiler/engines/register_job/testing/run_steps.h"

#include <algorithm>
#include <cstring>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "ops/quantized_parameters.h"
#include "ops/requantize.h"
#include "target/layout.h"
#include "target/memories.h"
#include "target/register_jobs.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobOperand;
using target::JobVariable;
using target::JobVariables;
using v1::RegisterJobs;

int64_t OffsetOf(const v1::Layout& layout, absl::Span<const int64_t> index) {
  int64_t offset = 0;
  for (const v1::Layout::Term& term : layout.terms()) {
    int64_t digit = index[term.axis()] / std::max<int64_t>(term.divide(), 1);
    if (term.modulo() > 0) digit %= term.modulo();
    offset += digit * term.stride_bytes();
  }
  return offset;
}

// One job of a ToyMachine().
class Job {
 public:
  Job(const target::RegisterJobsView& view, const JobVariables& v,
      std::string& memory)
      : view_(view), v_(v), memory_(memory) {
    job_ = view.FindCode(v[JobVariable::kKernel]);
    kernel_ = view.jobs().jobs(job_).kernel();
    in_ = LayoutOf(JobOperand::kIn);
    out_ = LayoutOf(JobOperand::kOut);
    if (kernel_ == RegisterJobs::ADDITION) in2_ = LayoutOf(JobOperand::kIn2);
    if (kernel_ == RegisterJobs::CONVOLUTION ||
        kernel_ == RegisterJobs::DEPTHWISE_CONVOLUTION) {
      weights_ = LayoutOf(JobOperand::kWeights);
    }
  }

  void Run() {
    CheckOverlaps();
    for (int64_t y = 0; y < v_[JobVariable::kOutH]; ++y) {
      for (int64_t x = 0; x < v_[JobVariable::kOutW]; ++x) {
        for (int64_t c = 0; c < v_[JobVariable::kOutC]; ++c) Write(y, x, c);
      }
    }
  }

 private:
  // From an operand's first byte to its layout's end, gaps included.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  Range RangeOf(JobVariable address, const v1::Layout& layout) const {
    return {v_[address], v_[address] + layout.size_bytes()};
  }

  // The result has no byte in common with what it is made of.
  void CheckOverlaps() const {
    const Range out = RangeOf(JobVariable::kOutAddr, out_);
    EXPECT_LE(out.end, std::ssize(memory_));
    std::vector<Range> others = {RangeOf(JobVariable::kInAddr, in_)};
    if (kernel_ == RegisterJobs::ADDITION) {
      others.push_back(RangeOf(JobVariable::kIn2Addr, in2_));
    }
    if (target::HasJobTable(kernel_)) {
      others.push_back(RangeOf(JobVariable::kWeightsAddr, weights_));
      const int64_t table = v_[JobVariable::kTableAddr];
      EXPECT_EQ(table % target::kJobTableAlignment, 0);
      others.push_back({table, table + v_[JobVariable::kOutC] *
                                           target::kJobTableEntryBytes});
    }
    for (const Range& other : others) {
      EXPECT_LE(other.end, std::ssize(memory_));
      EXPECT_TRUE(other.end <= out.begin || out.end <= other.begin)
          << other.begin << " to " << other.end << ", result " << out.begin
          << " to " << out.end;
    }
  }

  v1::Layout LayoutOf(JobOperand operand) {
    auto layout = view_.OperandLayout(job_, operand, v_);
    EXPECT_TRUE(layout.ok()) << layout.status();
    return layout.value_or(v1::Layout());
  }

  int64_t Int8(JobVariable address, const v1::Layout& layout,
               absl::Span<const int64_t> index) const {
    return static_cast<int8_t>(
        memory_.at(static_cast<size_t>(v_[address] + OffsetOf(layout, index))));
  }
  int32_t Int32(int64_t at) const {
    int32_t value = 0;
    std::memcpy(&value, memory_.data() + at, 4);
    return value;
  }

  // Of channel c: bias, multiplier, shift.
  int32_t Table(int64_t c, int64_t field) const {
    return Int32(v_[JobVariable::kTableAddr] + 12 * c + 4 * field);
  }
  v1::Rounding rounding() const {
    return static_cast<v1::Rounding>(v_[JobVariable::kRounding]);
  }

  int64_t Finish(int64_t value) const {
    value += v_[JobVariable::kOutZeroPoint];
    return std::clamp(value, v_[JobVariable::kClampMin],
                      v_[JobVariable::kClampMax]);
  }

  // Nothing outside of the image.
  template <typename Visit>
  void Window(int64_t y, int64_t x, const Visit& visit) const {
    for (int64_t ky = 0; ky < v_[JobVariable::kKernelH]; ++ky) {
      for (int64_t kx = 0; kx < v_[JobVariable::kKernelW]; ++kx) {
        const int64_t h = y * v_[JobVariable::kStrideH] -
                          v_[JobVariable::kPadTop] +
                          ky * v_[JobVariable::kDilationH];
        const int64_t w = x * v_[JobVariable::kStrideW] -
                          v_[JobVariable::kPadLeft] +
                          kx * v_[JobVariable::kDilationW];
        if (h < 0 || h >= v_[JobVariable::kInH] || w < 0 ||
            w >= v_[JobVariable::kInW]) {
          continue;
        }
        visit(h, w, ky, kx);
      }
    }
  }

  int64_t Dot(int64_t y, int64_t x, int64_t c) const {
    int64_t sum = Table(c, 0);
    Window(y, x, [&](int64_t h, int64_t w, int64_t ky, int64_t kx) {
      const auto add = [&](int64_t i, absl::Span<const int64_t> weight) {
        sum += (Int8(JobVariable::kInAddr, in_, {h, w, i}) -
                v_[JobVariable::kInZeroPoint]) *
               Int8(JobVariable::kWeightsAddr, weights_, weight);
      };
      if (kernel_ == RegisterJobs::DEPTHWISE_CONVOLUTION) {
        add(c / v_[JobVariable::kDepthMultiplier], {c, ky, kx});
        return;
      }
      for (int64_t i = 0; i < v_[JobVariable::kInC]; ++i) {
        add(i, {c, ky, kx, i});
      }
    });
    return sum;
  }

  int64_t Rescaled(int64_t sum, int64_t c) const {
    return Finish(ops::Rescale(static_cast<int32_t>(sum),
                               {Table(c, 1), Table(c, 2), rounding()}));
  }

  int64_t Term(JobVariable address, const v1::Layout& layout,
               JobVariable zero_point, JobVariable multiplier,
               JobVariable shift, absl::Span<const int64_t> index) const {
    const int64_t value = (Int8(address, layout, index) - v_[zero_point])
                          << v_[JobVariable::kLeftShift];
    return ops::Rescale(static_cast<int32_t>(value),
                        {static_cast<int32_t>(v_[multiplier]),
                         static_cast<int32_t>(v_[shift]), rounding()});
  }

  int64_t Sum(absl::Span<const int64_t> index) const {
    const int64_t a =
        Term(JobVariable::kInAddr, in_, JobVariable::kInZeroPoint,
             JobVariable::kInMultiplier, JobVariable::kInShift, index);
    const int64_t b =
        Term(JobVariable::kIn2Addr, in2_, JobVariable::kIn2ZeroPoint,
             JobVariable::kIn2Multiplier, JobVariable::kIn2Shift, index);
    return Finish(ops::Rescale(
        static_cast<int32_t>(a + b),
        {static_cast<int32_t>(v_[JobVariable::kOutMultiplier]),
         static_cast<int32_t>(v_[JobVariable::kOutShift]), rounding()}));
  }

  int64_t Pooled(int64_t y, int64_t x, int64_t c) const {
    int64_t sum = 0;
    int64_t count = 0;
    int64_t most = -128;
    Window(y, x, [&](int64_t h, int64_t w, int64_t, int64_t) {
      const int64_t value = Int8(JobVariable::kInAddr, in_, {h, w, c});
      sum += value;
      most = std::max(most, value);
      ++count;
    });
    const int64_t value = kernel_ == RegisterJobs::MAXIMUM_POOLING
                              ? most
                              : ops::RoundedAverage(sum, count);
    return std::clamp(value, v_[JobVariable::kClampMin],
                      v_[JobVariable::kClampMax]);
  }

  int64_t Value(int64_t y, int64_t x, int64_t c) const {
    switch (kernel_) {
      case RegisterJobs::ADDITION:
        return Sum({y, x, c});
      case RegisterJobs::AVERAGE_POOLING:
      case RegisterJobs::MAXIMUM_POOLING:
        return Pooled(y, x, c);
      case RegisterJobs::REQUANTIZATION:
        return Rescaled(
            Int32(v_[JobVariable::kInAddr] + OffsetOf(in_, {y, x, c})) +
                Table(c, 0),
            c);
      default:
        break;
    }
    const int64_t sum = Dot(y, x, c);
    return v_[JobVariable::kOutInt32] == 1 ? sum : Rescaled(sum, c);
  }

  void Write(int64_t y, int64_t x, int64_t c) {
    const int64_t value = Value(y, x, c);
    const int64_t at = v_[JobVariable::kOutAddr] + OffsetOf(out_, {y, x, c});
    if (v_[JobVariable::kOutInt32] == 1) {
      const auto word = static_cast<int32_t>(value);
      std::memcpy(memory_.data() + at, &word, 4);
    } else {
      memory_.at(static_cast<size_t>(at)) = static_cast<char>(value);
    }
  }

  const target::RegisterJobsView& view_;
  const JobVariables v_;
  std::string& memory_;
  int32_t job_ = 0;
  RegisterJobs::Kernel kernel_;
  v1::Layout in_;
  v1::Layout in2_;
  v1::Layout weights_;
  v1::Layout out_;
};

void RunMove(const v1::Machine& machine, const RegionCode& code,
             const v1::Program::Move& move, Memories& memories) {
  const auto at = [&](const v1::Location& location) {
    return memories.bytes[location.memory()].data() +
           (location.address() -
            machine.memories(location.memory()).base_address());
  };
  const auto from = target::Layout::Create(code.layouts[move.from_layout()]);
  const auto to = target::Layout::Create(code.layouts[move.to_layout()]);
  ASSERT_TRUE(from.ok() && to.ok()) << from.status() << to.status();
  ASSERT_EQ(from->extents(), to->extents());
  std::string dense(static_cast<size_t>(from->dense_bytes()), '\0');
  from->Gather(at(move.from()), dense.data());
  to->Scatter(dense.data(), at(move.to()));
}

// Each register of a ToyMachine() is a variable.
JobVariables VariablesOf(const v1::Program::RegisterWrites& writes) {
  JobVariables variables;
  for (const auto& write : writes.writes()) {
    const auto v = static_cast<int>(write.offset() / 4);
    if (v >= target::kNumJobVariables) continue;
    const auto variable = static_cast<JobVariable>(v);
    const bool address =
        variable >= JobVariable::kInAddr && variable <= JobVariable::kOutAddr;
    variables[variable] = address
                              ? int64_t{write.value()}
                              : int64_t{static_cast<int32_t>(write.value())};
  }
  return variables;
}

}  // namespace

void RunSteps(const v1::Machine& machine, const v1::RegionPlan& plan,
              const RegionCode& code, Memories& memories) {
  const auto view = target::RegisterJobsView::Create(machine, plan.engine());
  ASSERT_TRUE(view.ok()) << view.status();
  int32_t running = -1;  // None.
  const auto finish = [&] {
    if (running < 0) return;
    Job(*view, VariablesOf(code.steps[running].front().register_writes()),
        memories.bytes[target::LocalMemoryOf(machine, plan.engine())])
        .Run();
    running = -1;
  };
  for (int32_t s = 0; s < plan.steps_size(); ++s) {
    for (const int32_t job : plan.steps(s).after()) {
      ASSERT_LT(job, s);
      ASSERT_EQ(plan.steps(job).kind(), v1::RegionPlan::Step::JOB);
      if (running == job) finish();
    }
    const bool is_job = plan.steps(s).kind() == v1::RegionPlan::Step::JOB;
    ASSERT_EQ(is_job, code.steps[s].front().has_register_writes());
    if (is_job) {
      ASSERT_LT(running, 0) << "step " << s << " finds it busy";
      running = s;
    } else {
      RunMove(machine, code, code.steps[s].front().move(), memories);
    }
  }
  finish();
}

}  // namespace edgekiln::compiler::register_job
