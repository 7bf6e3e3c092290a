#include "simfarm/conformance/register_job/random_jobs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "target/layout.h"
#include "target/register_jobs.h"
#include "target/resolve.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

using Jobs = v1::RegisterJobs;
using V = target::JobVariable;
using target::JobOperand;

class ProgramBuilder {
 public:
  ProgramBuilder(const v1::Machine& machine, int32_t engine, Rng& rng)
      : machine_(machine),
        view_(*target::RegisterJobsView::Create(machine, engine)),
        rng_(rng),
        used_(machine.memories_size()) {
    for (int32_t m = 0; m < machine.memories_size(); ++m) {
      std::string& bytes = program_.memories.emplace_back();
      if (m != view_.own_memory() && m != view_.record_memory()) continue;
      for (int64_t i = 0; i < kRandomMemoryBytes; ++i) {
        bytes.push_back(static_cast<char>(rng.Below(256)));
      }
    }
  }

  void AddJob() {
    const auto position = static_cast<int32_t>(
        rng_.Below(static_cast<uint64_t>(view_.jobs().jobs_size())));
    kernel_ = view_.jobs().jobs(position).kernel();
    weights_ =
        target::WeightRangeOf(view_.jobs().jobs(position).weight_values());
    do {
      job_ = {};
      job_[V::kKernel] = view_.jobs().jobs(position).code();
      ChooseShapes();
      ChooseNumbers(position);
    } while (!view_.CheckJob(position, job_).ok());
    for (const JobOperand which : view_.OperandsOf(position)) {
      if (which != JobOperand::kBias) PlaceOperand(position, which);
    }
    if (view_.HasTable(position)) PlaceTable();
    if (kernel_ == Jobs::ADDITION) MaybeWriteOver();
    PlaceRecord();
    const auto writes = view_.Encode(job_);
    ASSERT_TRUE(writes.ok()) << writes.status();
    if (!writes->record.empty()) {
      program_.records.push_back({program_.writes.size(), view_.record_memory(),
                                  static_cast<uint64_t>(job_[V::kRecordAddr]),
                                  writes->record});
    }
    for (const target::RegisterWrite& write : writes->writes) {
      const bool start = write.offset == view_.jobs().start_offset();
      const auto held = held_.find(write.offset);
      if (!start && held != held_.end() && held->second == write.value &&
          rng_.Below(2) == 0) {
        continue;
      }
      held_[write.offset] = write.value;
      program_.writes.push_back({write.offset, write.value});
    }
  }

  JobProgram Finish() { return std::move(program_); }

 private:
  void ChooseShapes() {
    for (const V axis : {V::kInH, V::kInW, V::kOutH, V::kOutW}) {
      job_[axis] = rng_.InRange(1, 5);
    }
    job_[V::kInC] = rng_.InRange(1, 20);
    job_[V::kOutC] = rng_.InRange(1, 36);
    job_[V::kDepthMultiplier] = rng_.InRange(1, 3);
    if (kernel_ == Jobs::DEPTHWISE_CONVOLUTION) {
      job_[V::kOutC] =
          rng_.InRange(1, job_[V::kInC] * job_[V::kDepthMultiplier]);
    }
    for (const auto& [kernel, stride, dilation, pad] :
         {std::array{V::kKernelH, V::kStrideH, V::kDilationH, V::kPadTop},
          std::array{V::kKernelW, V::kStrideW, V::kDilationW, V::kPadLeft}}) {
      job_[kernel] = rng_.InRange(1, 3);
      job_[stride] = rng_.InRange(1, 3);
      job_[dilation] = rng_.InRange(1, 2);
      job_[pad] = rng_.InRange(0, job_[kernel] - 1);
    }
    job_[V::kCountPad] = rng_.InRange(0, 1);
    const bool pools =
        kernel_ == Jobs::AVERAGE_POOLING || kernel_ == Jobs::MAXIMUM_POOLING;
    if (!pools) return;
    // Every window has an element.
    const auto limit = [this](V out, V in, V pad, V stride) {
      job_[out] =
          std::min(job_[out], (job_[in] - 1 + job_[pad]) / job_[stride] + 1);
    };
    limit(V::kOutH, V::kInH, V::kPadTop, V::kStrideH);
    limit(V::kOutW, V::kInW, V::kPadLeft, V::kStrideW);
  }

  void ChooseNumbers(int32_t position) {
    for (const V zero : {V::kInZeroPoint, V::kIn2ZeroPoint, V::kOutZeroPoint}) {
      job_[zero] = rng_.InRange(-128, 127);
    }
    job_[V::kClampMin] = rng_.InRange(-128, 0);
    job_[V::kClampMax] = rng_.InRange(job_[V::kClampMin], 127);
    for (const V multiplier :
         {V::kInMultiplier, V::kIn2Multiplier, V::kOutMultiplier}) {
      // Powers of two make ties.
      job_[multiplier] = rng_.Below(3) == 0 ? 1 << 30 : RandomMultiplier();
    }
    job_[V::kLeftShift] = rng_.InRange(0, 22);
    job_[V::kInShift] = rng_.InRange(-4, 1);
    job_[V::kIn2Shift] = rng_.InRange(-4, 1);
    job_[V::kOutShift] = rng_.InRange(-4, 2) - job_[V::kLeftShift];
    job_[V::kShift] =
        rng_.Below(4) == 0 ? rng_.InRange(0, 31) : rng_.InRange(0, 10);
    if (view_.HasTable(position) || kernel_ == Jobs::AVERAGE_POOLING ||
        kernel_ == Jobs::ADDITION) {
      job_[V::kRounding] = rng_.InRange(0, MostRounding());
    }
    ChooseConverter();
    job_[V::kOutInt32] = rng_.Below(4) == 0 ? 1 : 0;
  }

  // An average is not rounded down; and some engines have no bit to tell it.
  int64_t MostRounding() {
    if (kernel_ == Jobs::AVERAGE_POOLING) return 1;
    target::JobVariables job = job_;
    job[V::kRounding] = 2;
    return view_.Encode(job).ok() ? 2 : 1;
  }

  void ChooseConverter() {
    if (!view_.has_converter()) return;
    job_[V::kConverts] = rng_.Below(4) == 0 ? 0 : 1;
    job_[V::kGain] = rng_.InRange(1, 60);
    job_[V::kCodeMin] = rng_.InRange(-40, 0);
    job_[V::kCodeMax] = rng_.InRange(job_[V::kCodeMin], 40);
    job_[V::kCodeShift] = rng_.InRange(0, 8);
  }

  void StoreInt32(int64_t value, int32_t memory, int64_t address) {
    const auto narrow = static_cast<int32_t>(value);
    std::memcpy(&At(memory, address), &narrow, 4);
  }

  int64_t RandomMultiplier() {
    return rng_.InRange(1 << 29, (int64_t{1} << 31) - 1);
  }

  int64_t BaseOf(int32_t memory) const {
    return static_cast<int64_t>(machine_.memories(memory).base_address());
  }
  // Byte of a memory by its address.
  char& At(int32_t memory, int64_t address) {
    return program_.memories[memory].at(address - BaseOf(memory));
  }

  // Address of room that nothing else takes.
  int64_t Take(int32_t memory, int64_t bytes) {
    int64_t& used = used_[memory];
    used += 4 * rng_.InRange(0, 5);
    const int64_t at = used;
    used += (bytes + 3) / 4 * 4;
    EXPECT_LE(used, kRandomMemoryBytes);
    return BaseOf(memory) + at;
  }

  void PlaceOperand(int32_t position, JobOperand which) {
    const auto layout = view_.OperandLayout(position, which, job_);
    ASSERT_TRUE(layout.ok()) << layout.status();
    const int32_t memory = view_.MemoryOf(position, which);
    const bool wide = layout->element_bits() == 32;
    const int64_t size = layout->size_bytes();
    const auto operands = view_.OperandsOf(position);
    const bool biased =
        which == JobOperand::kWeights &&
        std::count(operands.begin(), operands.end(), JobOperand::kBias) > 0;
    // Biases lie behind the weights, or between them.
    const int64_t at = Take(memory, size + 3 + (biased ? 64 : 0)) +
                       (wide ? 0 : rng_.InRange(0, 3));
    V address = V::kOutAddr;
    if (which == JobOperand::kIn) address = V::kInAddr;
    if (which == JobOperand::kIn2) address = V::kIn2Addr;
    if (which == JobOperand::kWeights) address = V::kWeightsAddr;
    job_[address] = at;
    for (int64_t i = 0; which == JobOperand::kWeights && i < size; ++i) {
      char& weight = At(memory, at + i);
      const int64_t value = static_cast<int8_t>(weight);
      if (value >= weights_.min && value <= weights_.max) continue;
      weight = static_cast<char>(rng_.InRange(weights_.min, weights_.max));
    }
    if (biased) StoreBiases(position);
    if (!wide || which != JobOperand::kIn) return;
    for (int64_t i = 0; i < size; i += 4) {
      StoreInt32(rng_.InRange(-70'000, 70'000), memory, at + i);
    }
  }

  // Some wrap.
  void StoreBiases(int32_t position) {
    const auto message = view_.OperandLayout(position, JobOperand::kBias, job_);
    const auto address = view_.AddressOf(position, JobOperand::kBias, job_);
    ASSERT_TRUE(message.ok() && address.ok());
    const auto layout = target::Layout::Create(*message);
    ASSERT_TRUE(layout.ok()) << layout.status();
    std::string dense;
    for (int64_t o = 0; o < job_[V::kOutC]; ++o) {
      const int64_t bias =
          rng_.Below(30) == 0 ? 0x7ffffff0 : rng_.InRange(-3000, 3000);
      for (int b = 0; b < 32; b += 8) {
        dense.push_back(static_cast<char>(bias >> b));
      }
    }
    const int32_t memory = view_.MemoryOf(position, JobOperand::kBias);
    layout->Scatter(dense.data(), &At(memory, *address));
  }

  void PlaceRecord() {
    const int32_t memory = view_.record_memory();
    if (memory < 0) return;
    job_[V::kRecordAddr] = Take(memory, view_.record_bytes());
  }

  // What is added lies where it was; both operands, perhaps.
  void MaybeWriteOver() {
    const uint64_t which = rng_.Below(6);
    if (which < 2) job_[V::kInAddr] = job_[V::kOutAddr];
    if (which == 1 || which == 2) job_[V::kIn2Addr] = job_[V::kOutAddr];
  }

  void PlaceTable() {
    const int32_t memory = view_.own_memory();
    const int64_t at =
        Take(memory, job_[V::kOutC] * target::kJobTableEntryBytes);
    job_[V::kTableAddr] = at;
    for (int64_t c = 0; c < job_[V::kOutC]; ++c) {
      const int64_t entry = at + c * target::kJobTableEntryBytes;
      const bool wraps = rng_.Below(30) == 0;
      StoreInt32(wraps ? 0x7ffffff0 : rng_.InRange(-3000, 3000), memory, entry);
      if (job_[V::kConverts] != 0) {
        // Some wrap in 16 bits.
        const int64_t most = rng_.Below(4) == 0 ? 32767 : 200;
        StoreInt32(rng_.InRange(-most, most), memory, entry + 4);
        StoreInt32(rng_.InRange(-most, most), memory, entry + 8);
        continue;
      }
      StoreInt32(rng_.Below(4) == 0 ? 1 << 30 : RandomMultiplier(), memory,
                 entry + 4);
      StoreInt32(rng_.InRange(-11, -4), memory, entry + 8);
    }
  }

  const v1::Machine& machine_;
  const target::RegisterJobsView view_;
  Rng& rng_;
  JobProgram program_;
  std::map<uint32_t, uint32_t> held_;  // By offset.
  std::vector<int64_t> used_;          // By memory.
  Jobs::Kernel kernel_ = Jobs::KERNEL_UNSPECIFIED;
  target::WeightRange weights_;
  target::JobVariables job_;
};

}  // namespace

v1::Machine RandomMachine(Rng& rng) {
  static constexpr int64_t kBlocks[] = {1, 2, 3, 8, 16};
  static constexpr int64_t kRates[] = {1, 7, 64};
  static constexpr const char* kChips[] = {"toy-array", "toy-two-array",
                                           "toy-shift", "toy-ternary",
                                           "toy-mixed", "toy-int4"};
  const auto target = target::ResolveTarget(absl::StrCat(
      "extends: \"", kChips[rng.Below(std::size(kChips))],
      "\" set { name: \"block\" value: ", kBlocks[rng.Below(5)],
      " } set { name: \"macs_a\" value: ", kRates[rng.Below(3)],
      " } set { name: \"fill_cycles\" value: ", rng.InRange(0, 9), " }"));
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? target->machine() : v1::Machine();
}

JobProgram RandomProgram(const v1::Machine& machine, int32_t engine, int jobs,
                         Rng& rng) {
  ProgramBuilder builder(machine, engine, rng);
  for (int i = 0; i < jobs; ++i) builder.AddJob();
  return builder.Finish();
}

}  // namespace edgekiln::simfarm::conformance::register_job
