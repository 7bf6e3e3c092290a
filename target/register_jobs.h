#ifndef EK_TARGET_REGISTER_JOBS_H_
#define EK_TARGET_REGISTER_JOBS_H_

// The jobs of an engine of model REGISTER_JOB: encoding to and decoding from
// registers, layouts of operands, occupancy. Shared by compiler and simulator;
// docs/targets/register_job.md defines what jobs compute.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "target/cell_rows.h"
#include "target/expression.h"
#include "target/register_transfers.h"
#include "target/variable_values.h"

namespace edgekiln::target {

// The variables of a job. Addresses are of the memory that an operand lies in.
enum class JobVariable {
  kKernel,  // RegisterJobs.Job.code.
  kInH,
  kInW,
  kInC,
  kOutH,
  kOutW,
  kOutC,
  kKernelH,
  kKernelW,
  kStrideH,
  kStrideW,
  kDilationH,
  kDilationW,
  kPadTop,
  kPadLeft,
  kDepthMultiplier,
  kInAddr,
  kIn2Addr,
  kWeightsAddr,
  kTableAddr,
  kOutAddr,
  kInZeroPoint,
  kIn2ZeroPoint,
  kOutZeroPoint,
  kClampMin,
  kClampMax,
  kInMultiplier,
  kInShift,
  kIn2Multiplier,
  kIn2Shift,
  kOutMultiplier,
  kOutShift,
  kLeftShift,
  kRounding,  // 0: half up; 1: half to even; 2: floor.
  kOutInt32,  // 1: sums with bias, neither rescaled nor limited.
  kCountPad,  // 1: padding counts in an average, as in_zero_point.
  // Of engines with a converter of sums; 0 without registers for them.
  kConverts,  // 1: sums become results by it; 0: by factors.
  kGain,
  kCodeMin,
  kCodeMax,
  kCodeShift,
  kShift,       // Of results BY_SHIFT.
  kRecordAddr,  // Of engines with a record, in the memory that it lies in.
};
inline constexpr int kNumJobVariables =
    static_cast<int>(JobVariable::kRecordAddr) + 1;

// As descriptors write it: "in_h".
absl::string_view JobVariableName(JobVariable variable);
std::optional<JobVariable> FindJobVariable(absl::string_view name);

using JobVariables = VariableValues<JobVariable, kNumJobVariables>;

// A convolution's weights are [o, h, w, i], a depthwise one's [o, h, w]; a bias
// is the bytes of int32 values, [o, b]; `affine` those of int16 pairs, scale
// and offset, [o, b].
enum class JobOperand { kIn, kIn2, kWeights, kBias, kAffine, kOut };
inline constexpr int kNumJobOperands = 6;
inline constexpr JobOperand kAllJobOperands[] = {
    JobOperand::kIn,   JobOperand::kIn2,    JobOperand::kWeights,
    JobOperand::kBias, JobOperand::kAffine, JobOperand::kOut};
absl::string_view JobOperandName(JobOperand operand);  // "in2"

// Of the table that CONVOLUTION, DEPTHWISE_CONVOLUTION and REQUANTIZATION read:
// int32 bias, multiplier, shift per output channel; with a converter bias,
// scale, offset.
inline constexpr int64_t kJobTableEntryBytes = 12;
inline constexpr int64_t kJobTableAlignment = 4;

// Of bias and affine: the axis `b`, least significant byte first.
inline constexpr int64_t kJobChannelBytes = 4;
// Whether the operand has such bytes for each output channel.
constexpr bool IsOfChannels(JobOperand operand) {
  return operand == JobOperand::kBias || operand == JobOperand::kAffine;
}
// Whether it is constant: may lie in the host's memory.
constexpr bool IsConstant(JobOperand operand) {
  return operand == JobOperand::kWeights || IsOfChannels(operand);
}

// Largest shift of results BY_SHIFT.
inline constexpr int64_t kMaxJobShift = 31;

// Most bytes of a record; it lies on a multiple of the alignment.
inline constexpr int64_t kMaxJobRecordBytes = 4096;
inline constexpr int64_t kJobRecordAlignment = 4;

// Addresses are 0 to this.
inline constexpr int64_t kMaxJobAddress = int64_t{1} << 32;

// Of a converter's results, which have 16 bits.
inline constexpr int64_t kMaxJobCodeShift = 15;

// Largest extent, kernel, stride, dilation and padding.
inline constexpr int64_t kMaxJobExtent = 65536;

// The range of values that a register holds.
int64_t LeastHeld(const v1::RegisterJobs::Register& reg);
int64_t MostHeld(const v1::RegisterJobs::Register& reg);

// Small enough that the cycles of a million jobs fit 64 bits.
inline constexpr int64_t kMaxOccupancyCycles = 1'000'000'000'000;

// The variables and operands that a kernel depends on, without those of a
// converter and of a record, which not all engines have.
std::vector<JobVariable> VariablesOfKernel(
    v1::RegisterJobs::Kernel kernel,
    v1::RegisterJobs::Results results = v1::RegisterJobs::BY_TABLE);
std::vector<JobOperand> OperandsOfKernel(
    v1::RegisterJobs::Kernel kernel,
    v1::RegisterJobs::Results results = v1::RegisterJobs::BY_TABLE);
bool HasJobTable(
    v1::RegisterJobs::Kernel kernel,
    v1::RegisterJobs::Results results = v1::RegisterJobs::BY_TABLE);
// Whether there are jobs of that kernel with such results.
bool CanHaveResults(v1::RegisterJobs::Kernel kernel,
                    v1::RegisterJobs::Results results);
// Those of a converter that results BY_TABLE may go through.
std::vector<JobVariable> ConverterVariables();

// The smallest and the largest weight that is no error of a job.
struct WeightRange {
  int64_t min = -128;
  int64_t max = 127;
};
WeightRange WeightRangeOf(v1::WeightValues values);

// INVALID_ARGUMENT TARGET_INVALID for what is wrong with a register job engine.
absl::Status InvalidRegisterJobs(std::string what, std::string where,
                                 std::string fix);

class RegisterJobsView;

// The same for the places of a job's weights and of what its output channels
// have beside them.
absl::Status InvalidConstantPlaces(const RegisterJobsView& view, int32_t job,
                                   std::string what);

struct RegisterWrite {
  uint32_t offset = 0;
  uint32_t value = 0;
};

// What the host does for a job.
struct JobCode {
  std::vector<uint32_t> record;       // Words to store first; often none.
  std::vector<RegisterWrite> writes;  // The start last.
};

// Immutable, hence thread-safe; holds its own copy of the tables.
class RegisterJobsView {
 public:
  // INVALID_ARGUMENT if the engine has no jobs, or names what is wrong with
  // them: an expression, a duplicate register, a variable that a kernel needs
  // and no register tells.
  static absl::StatusOr<RegisterJobsView> Create(const v1::Machine& machine,
                                                 int32_t engine);

  const v1::RegisterJobs& jobs() const { return jobs_; }
  // Null if no registers start transfers.
  const RegisterTransfers* transfers() const {
    return transfers_ ? &*transfers_ : nullptr;
  }

  // All registers of the job: writes in the order of `registers`, and the whole
  // record. OUT_OF_RANGE names a register too narrow for its value, or a
  // variable that is out of range or would be decoded as another value.
  absl::StatusOr<JobCode> Encode(const JobVariables& job) const;
  // Position in `registers` of the one in the window; -1 if none has the
  // offset.
  int32_t FindRegister(uint32_t offset) const;
  // What a register holds after a write of `value`: the low bits, sign-extended
  // if it is signed.
  int64_t Held(int32_t position, uint32_t value) const;
  // The job that registers with these values describe, by position, those of
  // the record included. Variables without register or field are 0.
  // OUT_OF_RANGE on overflow.
  absl::StatusOr<JobVariables> Decode(absl::Span<const int64_t> held) const;

  // The memory that records lie in, an index into Machine.memories; -1 if the
  // engine reads none.
  int32_t record_memory() const { return record_memory_; }
  int64_t record_bytes() const { return jobs_.record().bytes(); }
  // The bits of each word that are part of a register.
  absl::Span<const uint32_t> record_bits() const { return record_bits_; }
  // Puts what the registers of a record with these words hold into `held`, by
  // position.
  void HeldInRecord(absl::Span<const uint32_t> words,
                    absl::Span<int64_t> held) const;

  // Positions in `jobs`; -1 if there is none.
  int32_t FindJob(v1::RegisterJobs::Kernel kernel) const;
  int32_t FindCode(int64_t code) const;
  // The variables that a job depends on, those of the converter and of the
  // record included if the engine has one.
  const std::vector<JobVariable>& VariablesOf(int32_t job) const {
    return variables_[job];
  }
  // Whether the registers tell variable `kConverts`, and so the others of a
  // converter.
  bool has_converter() const { return has_converter_; }

  // 1 to kMaxOccupancyCycles, of the engine's clock. OUT_OF_RANGE if the
  // expression gives anything else or overflows.
  absl::StatusOr<int64_t> OccupancyCycles(int32_t job,
                                          const JobVariables& variables) const;

  // Operands of a job, and whether it reads the table.
  std::vector<JobOperand> OperandsOf(int32_t job) const;
  bool HasTable(int32_t job) const;

  // The memory that only the engine and the host's links reach, for
  // activations: an index into Machine.memories; -1 if there is none.
  int32_t own_memory() const { return own_memory_; }
  // Where an operand of the job lies; the table lies in own_memory().
  int32_t MemoryOf(int32_t job, JobOperand operand) const;
  // Whether the job's weights are cells: see CellsOf().
  bool HasCells(int32_t job) const;
  // How the weights of such a job are stored. OUT_OF_RANGE on overflow, or if
  // the descriptor's multiples are none, or they are more than a layout holds.
  absl::StatusOr<CellRows> CellsOf(int32_t job,
                                   const JobVariables& variables) const;
  // Of the operand's first byte. OUT_OF_RANGE on overflow, or if it is not 0 to
  // kMaxJobAddress.
  absl::StatusOr<int64_t> AddressOf(int32_t job, JobOperand operand,
                                    const JobVariables& variables) const;

  // OUT_OF_RANGE with reason JOB_REFUSED names a condition of the job's that
  // does not hold; with STAGED_TOO_LARGE, a memory that does not hold what is
  // staged in it.
  absl::Status CheckJob(int32_t job, const JobVariables& variables) const;
  // Position in `where` of the job of the first condition that does not hold;
  // -1 if all do.
  int32_t FailedCondition(int32_t job, const JobVariables& variables) const;
  // Variables that a condition of the job uses.
  std::vector<JobVariable> VariablesOfCondition(int32_t job,
                                                int32_t condition) const;

  // Layout of an operand from its address on, or, of reversed bytes, from the
  // begin of the group that has its address. Elements are int8; int32 for
  // `out` of a convolution with out_int32 and `in` of REQUANTIZATION. Of cells,
  // that of their bytes in one row.
  // INVALID_ARGUMENT if the kernel lacks the operand, OUT_OF_RANGE on overflow.
  // The layout may be illegal (layout.h).
  absl::StatusOr<v1::Layout> OperandLayout(int32_t job, JobOperand operand,
                                           const JobVariables& variables) const;

 private:
  struct Term {
    int32_t axis = 0;
    std::optional<Expression> divide;
    std::optional<Expression> modulo;
    Expression stride;
  };
  // RegisterJobs.CellRows.
  struct Cells {
    Expression rows_multiple;
    Expression columns_multiple;
    v1::RegisterJobs::CellRows described;
  };
  struct Operand {
    bool present = false;
    std::optional<Cells> cells;  // In place of terms and size.
    std::vector<Term> terms;
    Expression size;
    std::optional<Expression> address;
    int32_t memory = -1;
    int32_t staged_in = -1;
    int32_t reversed_bytes = 0;
  };
  struct Condition {
    Expression expression;
    std::string need;
  };
  struct Job {
    Expression occupancy;
    std::vector<Condition> conditions;
    std::array<Operand, kNumJobOperands> operands;
  };
  // A memory in which operands are staged.
  struct Stage {
    std::string name;
    int64_t capacity_bytes = 0;
  };
  class Builder;

  absl::Status CheckTold(const JobVariables& job,
                         absl::Span<const int64_t> held) const;
  absl::Status CheckStages(int32_t job, const JobVariables& variables) const;
  // Bytes of its room.
  absl::StatusOr<int64_t> SizeOf(int32_t job, JobOperand which,
                                 const JobVariables& variables) const;
  const Operand& operand(int32_t job, JobOperand which) const {
    return parsed_[job].operands[static_cast<size_t>(which)];
  }

  v1::RegisterJobs jobs_;
  // By register, over variables; nothing of those of transfers alone.
  std::vector<std::optional<Expression>> values_;
  std::optional<RegisterTransfers> transfers_;
  // By variable: over registers, or a register's position, or neither.
  std::array<std::optional<Expression>, kNumJobVariables> fields_;
  std::array<int32_t, kNumJobVariables> same_;
  std::vector<Job> parsed_;                          // By job.
  std::vector<std::vector<JobVariable>> variables_;  // Alike.
  bool has_converter_ = false;
  int32_t own_memory_ = -1;
  int32_t record_memory_ = -1;
  std::vector<uint32_t> record_bits_;  // By word.
  std::vector<Stage> stages_;          // By memory of the machine.
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_REGISTER_JOBS_H_
