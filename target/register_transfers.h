#ifndef EK_TARGET_REGISTER_TRANSFERS_H_
#define EK_TARGET_REGISTER_TRANSFERS_H_

// Transfers of a link that is part of an engine's window and that registers of
// the window start: encoding to and decoding from registers. Shared by compiler
// and simulator; docs/targets/register_job.md, section 7.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"

namespace edgekiln::target {

// What one transfer moves. Memories are positions in Machine.memories;
// addresses count bytes as Transfers.reversed_bytes says.
struct Transfer {
  int32_t from_memory = 0;
  int32_t to_memory = 0;
  int64_t from_addr = 0;
  int64_t to_addr = 0;
  int64_t bytes = 0;
};
bool operator==(const Transfer& a, const Transfer& b);

// Of Transfers.Write, in the order of Transfer.
const std::vector<std::string>& TransferVariableNames();

// A register of the window and what it is told.
struct TransferValue {
  int32_t position = 0;  // In RegisterJobs.registers.
  uint32_t value = 0;
};

// Immutable, hence thread-safe; holds its own copy of the tables.
class RegisterTransfers {
 public:
  // `engine` has jobs with transfers. INVALID_ARGUMENT names what is wrong with
  // them: an unknown register or variable, a link that they cannot start, an
  // operand in its memories whose bytes are reversed otherwise, a transfer that
  // its registers tell otherwise.
  static absl::StatusOr<RegisterTransfers> Create(const v1::Machine& machine,
                                                  int32_t engine);

  // In the order of writes. OUT_OF_RANGE names a register too narrow for its
  // value, or a variable that the registers tell otherwise.
  absl::StatusOr<std::vector<TransferValue>> Encode(
      const Transfer& transfer) const;

  // What registers that hold these values start, by position in
  // RegisterJobs.registers; nothing if it is a job. OUT_OF_RANGE on overflow,
  // for memories that the link does not join, and without bytes.
  absl::StatusOr<std::optional<Transfer>> Decode(
      absl::Span<const int64_t> held) const;

  // Of a byte at `address`, as Transfer counts it; and the other way round.
  int64_t Place(int64_t address) const { return address ^ flip_; }
  int64_t reversed_bytes() const { return flip_ + 1; }

  // Of the registers in the window, in the order of writes; at least one.
  const std::vector<uint32_t>& offsets() const { return offsets_; }

 private:
  static constexpr int kVariables = 5;

  struct Write {
    int32_t position = 0;
    int32_t bits = 0;
    Expression value;
  };

  absl::Status AddWrites(const v1::RegisterJobs& jobs,
                         const std::vector<Constant>& constants);
  absl::Status AddFields(const v1::RegisterJobs& jobs,
                         const std::vector<Constant>& constants);
  // The link in the window.
  absl::Status AddLink(const v1::Machine& machine, int32_t engine);
  absl::Status CheckOperands(const v1::Machine& machine, int32_t engine) const;
  absl::Status TryTransfers(const v1::Machine& machine) const;

  std::vector<int32_t> from_, to_;  // Memories of the link.
  int32_t registers_ = 0;
  int64_t flip_ = 0;  // reversed_bytes - 1, or 0.
  std::vector<Write> writes_;
  std::vector<uint32_t> offsets_;
  Expression is_transfer_;
  std::array<Expression, kVariables> fields_;
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_REGISTER_TRANSFERS_H_
