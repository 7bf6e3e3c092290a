#ifndef EK_TARGET_ISA_VIEW_H_
#define EK_TARGET_ISA_VIEW_H_

// Encoding and look-up over the field, register and command tables of an
// instruction set. Encoder, disassembler and simulator share these tables and
// nothing else.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// One command word by meaning. `command` and `reg` are positions in
// Isa.commands and Isa.registers.
struct CommandWord {
  int32_t command = 0;
  int32_t reg = -1;        // -1 unless the command is the register write.
  int64_t immediate = 0;   // Signed for a signed register.
  bool half_even = false;  // The field "rounding".
  bool operator==(const CommandWord&) const = default;
};

// Words of at most 64 bits with the fields "opcode", "register" and
// "immediate", perhaps also "rounding" of one bit, which is 0 in commands that
// do not take it; all other bits are reserved and 0. Immutable.
class IsaView {
 public:
  // INVALID_ARGUMENT for overlapping fields, a missing field, an opcode or
  // index that does not fit, or names that occur twice. The view and its copies
  // share a copy of `isa`.
  static absl::StatusOr<IsaView> Create(const v1::Isa& isa);
  // The same over `isa` itself, which must outlive all of them unchanged.
  static absl::StatusOr<IsaView> Borrow(const v1::Isa& isa);

  const v1::Isa& isa() const { return *isa_; }
  int word_bytes() const { return isa_->word_bytes(); }
  int num_registers() const { return isa_->registers_size(); }
  int num_commands() const { return isa_->commands_size(); }
  const v1::RegisterDescriptor& reg(int32_t position) const {
    return isa_->registers(position);
  }
  const v1::CommandDescriptor& command(int32_t position) const {
    return isa_->commands(position);
  }

  // Positions; -1 if there is none.
  int32_t FindRegister(absl::string_view name) const;
  int32_t FindRegisterIndex(int64_t index) const;
  int32_t FindCommand(absl::string_view mnemonic) const;
  int32_t FindOpcode(int64_t opcode) const;
  // The command that writes a register ("REG_WRITE").
  int32_t register_write() const { return register_write_; }

  // Smallest and largest value of a register.
  int64_t MinValue(int32_t reg) const;
  int64_t MaxValue(int32_t reg) const;

  // INVALID_ARGUMENT, with the reason only, for values that do not fit.
  absl::StatusOr<uint64_t> Encode(const CommandWord& word) const;
  // INVALID_ARGUMENT, with the reason only, for an unknown opcode or register,
  // a bit that is set and must not be, or a value outside the register's range.
  absl::StatusOr<CommandWord> Decode(uint64_t bits) const;

  // Little-endian words in a stream.
  void AppendWord(uint64_t bits, std::string& code) const;
  uint64_t ReadWord(absl::string_view code, int64_t index) const;

 private:
  struct Field {
    int low_bit = 0;
    int bits = 0;
    uint64_t mask() const;  // Of the value, at bit 0.
  };
  absl::Status ReadFields();
  absl::Status ReadRegisters();
  absl::Status ReadCommands();

  std::shared_ptr<const v1::Isa> own_;  // Null where it is borrowed.
  const v1::Isa* isa_ = nullptr;
  Field opcode_;
  Field register_;
  Field immediate_;
  Field rounding_;  // Of 0 bits if there is none.
  uint64_t used_bits_ = 0;
  int32_t register_write_ = -1;
  // Names lie in `isa_`.
  absl::flat_hash_map<absl::string_view, int32_t> register_by_name_;
  absl::flat_hash_map<absl::string_view, int32_t> command_by_mnemonic_;
  std::vector<int32_t> register_by_index_;
  std::vector<int32_t> command_by_opcode_;
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_ISA_VIEW_H_
