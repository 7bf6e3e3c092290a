#include "target/isa_view.h"

#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::target {
namespace {

// Tables are indexed by opcode and register index.
constexpr int kMaxTableBits = 16;
constexpr int kMaxRegisterBits = 62;

absl::Status TableError(std::string what, std::string where) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = std::move(what),
                    .where = std::move(where)});
}

absl::Status WordError(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

template <typename Map>
int32_t FindIn(const Map& map, absl::string_view name) {
  const auto it = map.find(name);
  return it == map.end() ? -1 : it->second;
}

int32_t At(const std::vector<int32_t>& table, int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(table.size())) return -1;
  return table[index];
}

}  // namespace

uint64_t IsaView::Field::mask() const {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

absl::StatusOr<IsaView> IsaView::Create(const v1::Isa& isa) {
  auto own = std::make_shared<const v1::Isa>(isa);
  EK_ASSIGN_OR_RETURN(IsaView view, Borrow(*own));
  view.own_ = std::move(own);
  return view;
}

absl::StatusOr<IsaView> IsaView::Borrow(const v1::Isa& isa) {
  IsaView view;
  view.isa_ = &isa;
  EK_RETURN_IF_ERROR(view.ReadFields(), "isa");
  EK_RETURN_IF_ERROR(view.ReadRegisters(), "isa");
  EK_RETURN_IF_ERROR(view.ReadCommands(), "isa");
  return view;
}

absl::Status IsaView::ReadFields() {
  if (isa_->word_bytes() < 1 || isa_->word_bytes() > 8) {
    return TableError("word_bytes must be 1 to 8", "word_bytes");
  }
  for (const v1::BitField& field : isa_->fields()) {
    const std::string where = absl::StrCat("field ", field.name());
    const auto place = [&field] {
      return absl::StrCat(" (low_bit ", field.low_bit(), ", bits ",
                          field.bits(), ")");
    };
    if (field.low_bit() < 0 || field.bits() < 1 || field.low_bit() > 63 ||
        field.bits() > 64 ||
        field.low_bit() + field.bits() > 8 * isa_->word_bytes()) {
      return TableError(
          absl::StrCat("the field does not lie in the word", place()), where);
    }
    const Field read{field.low_bit(), field.bits()};
    Field* target = field.name() == "opcode"      ? &opcode_
                    : field.name() == "register"  ? &register_
                    : field.name() == "immediate" ? &immediate_
                    : field.name() == "rounding"  ? &rounding_
                                                  : nullptr;
    if (target == nullptr) {
      return TableError("unknown field name", where);
    }
    if (target->bits != 0) return TableError("the field occurs twice", where);
    *target = read;
    const uint64_t bits = read.mask() << read.low_bit;
    if ((used_bits_ & bits) != 0) {
      return TableError(absl::StrCat("the field overlaps another", place()),
                        where);
    }
    used_bits_ |= bits;
  }
  if (opcode_.bits == 0 || register_.bits == 0 || immediate_.bits == 0) {
    return TableError("needs the fields opcode, register and immediate",
                      "fields");
  }
  if (rounding_.bits > 1) {
    return TableError("the field rounding is wider than 1 bit", "fields");
  }
  if (opcode_.bits > kMaxTableBits || register_.bits > kMaxTableBits) {
    return TableError(absl::StrCat("opcode or register field is wider than ",
                                   kMaxTableBits, " bits"),
                      "fields");
  }
  return absl::OkStatus();
}

absl::Status IsaView::ReadRegisters() {
  register_by_index_.assign(size_t{1} << register_.bits, -1);
  register_by_name_.reserve(static_cast<size_t>(isa_->registers_size()));
  for (int32_t i = 0; i < isa_->registers_size(); ++i) {
    const v1::RegisterDescriptor& reg = isa_->registers(i);
    const auto where = [&reg] { return absl::StrCat("register ", reg.name()); };
    if (reg.index() < 0 ||
        static_cast<uint64_t>(reg.index()) > register_.mask()) {
      return TableError("the index does not fit its field", where());
    }
    if (reg.bits() < 1 || reg.bits() > immediate_.bits ||
        reg.bits() > kMaxRegisterBits) {
      return TableError(absl::StrCat("the register does not fit the immediate "
                                     "(bits ",
                                     reg.bits(), ")"),
                        where());
    }
    if (register_by_index_[reg.index()] >= 0) {
      return TableError("the index is used twice", where());
    }
    register_by_index_[reg.index()] = i;
    if (!register_by_name_.emplace(reg.name(), i).second) {
      return TableError("the name is used twice", where());
    }
  }
  return absl::OkStatus();
}

absl::Status IsaView::ReadCommands() {
  command_by_opcode_.assign(size_t{1} << opcode_.bits, -1);
  command_by_mnemonic_.reserve(static_cast<size_t>(isa_->commands_size()));
  for (int32_t i = 0; i < isa_->commands_size(); ++i) {
    const v1::CommandDescriptor& command = isa_->commands(i);
    const auto where = [&command] {
      return absl::StrCat("command ", command.mnemonic());
    };
    if (command.opcode() < 0 ||
        static_cast<uint64_t>(command.opcode()) > opcode_.mask()) {
      return TableError("the opcode does not fit its field", where());
    }
    if (command_by_opcode_[command.opcode()] >= 0) {
      return TableError("the opcode is used twice", where());
    }
    if (command.takes_rounding() && rounding_.bits == 0) {
      return TableError("takes_rounding without a field rounding", where());
    }
    command_by_opcode_[command.opcode()] = i;
    if (!command_by_mnemonic_.emplace(command.mnemonic(), i).second) {
      return TableError("the mnemonic is used twice", where());
    }
  }
  register_write_ = FindCommand("REG_WRITE");
  return absl::OkStatus();
}

int32_t IsaView::FindRegister(absl::string_view name) const {
  return FindIn(register_by_name_, name);
}

int32_t IsaView::FindRegisterIndex(int64_t index) const {
  return At(register_by_index_, index);
}

int32_t IsaView::FindCommand(absl::string_view mnemonic) const {
  return FindIn(command_by_mnemonic_, mnemonic);
}

int32_t IsaView::FindOpcode(int64_t opcode) const {
  return At(command_by_opcode_, opcode);
}

int64_t IsaView::MinValue(int32_t reg) const {
  const v1::RegisterDescriptor& r = isa_->registers(reg);
  return r.is_signed() ? -(int64_t{1} << (r.bits() - 1)) : 0;
}

int64_t IsaView::MaxValue(int32_t reg) const {
  const v1::RegisterDescriptor& r = isa_->registers(reg);
  return (int64_t{1} << (r.is_signed() ? r.bits() - 1 : r.bits())) - 1;
}

absl::StatusOr<uint64_t> IsaView::Encode(const CommandWord& word) const {
  if (word.command < 0 || word.command >= num_commands()) {
    return WordError(absl::StrCat("no command ", word.command));
  }
  const v1::CommandDescriptor& command = isa_->commands(word.command);
  uint64_t bits = static_cast<uint64_t>(command.opcode()) << opcode_.low_bit;
  if (word.half_even) {
    if (!command.takes_rounding()) {
      return WordError(absl::StrCat(command.mnemonic(), " takes no rounding"));
    }
    bits |= uint64_t{1} << rounding_.low_bit;
  }
  if (word.command == register_write_) {
    if (word.reg < 0 || word.reg >= num_registers()) {
      return WordError(absl::StrCat("no register ", word.reg));
    }
    if (word.immediate < MinValue(word.reg) ||
        word.immediate > MaxValue(word.reg)) {
      return WordError(absl::StrCat(
          "value ", word.immediate, " is outside ", reg(word.reg).name(), "'s ",
          MinValue(word.reg), " to ", MaxValue(word.reg)));
    }
    bits |= static_cast<uint64_t>(reg(word.reg).index()) << register_.low_bit;
  } else if (word.reg != -1) {
    return WordError(absl::StrCat(command.mnemonic(), " takes no register"));
  } else if (word.immediate < 0 ||
             static_cast<uint64_t>(word.immediate) > immediate_.mask()) {
    return WordError(absl::StrCat("immediate ", word.immediate, " of ",
                                  command.mnemonic(), " is outside 0 to ",
                                  immediate_.mask()));
  }
  const uint64_t immediate =
      static_cast<uint64_t>(word.immediate) & immediate_.mask();
  return bits | immediate << immediate_.low_bit;
}

absl::StatusOr<CommandWord> IsaView::Decode(uint64_t bits) const {
  if ((bits & ~used_bits_) != 0) {
    return WordError(
        absl::StrFormat("reserved bits 0x%x are set", bits & ~used_bits_));
  }
  const uint64_t opcode = bits >> opcode_.low_bit & opcode_.mask();
  const uint64_t index = bits >> register_.low_bit & register_.mask();
  const uint64_t immediate = bits >> immediate_.low_bit & immediate_.mask();
  CommandWord word{.command = command_by_opcode_[opcode]};
  if (word.command < 0) {
    return WordError(absl::StrFormat("unknown opcode 0x%02x", opcode));
  }
  word.half_even = (bits >> rounding_.low_bit & rounding_.mask()) != 0;
  if (word.half_even && !command(word.command).takes_rounding()) {
    return WordError(absl::StrCat("the rounding bit is set in ",
                                  command(word.command).mnemonic()));
  }
  if (word.command != register_write_) {
    if (index != 0) {
      return WordError(absl::StrCat("register field is ", index, " in ",
                                    command(word.command).mnemonic()));
    }
    if (immediate >
        static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return WordError("the immediate is too large");
    }
    word.immediate = static_cast<int64_t>(immediate);
    return word;
  }
  word.reg = register_by_index_[index];
  if (word.reg < 0) return WordError(absl::StrCat("unknown register ", index));
  word.immediate = static_cast<int64_t>(immediate);
  if (reg(word.reg).is_signed() && immediate_.bits < 64 &&
      (immediate >> (immediate_.bits - 1)) != 0) {
    word.immediate = static_cast<int64_t>(immediate | ~immediate_.mask());
  }
  if (word.immediate < MinValue(word.reg) ||
      word.immediate > MaxValue(word.reg)) {
    return WordError(absl::StrCat(
        "value ", word.immediate, " is outside ", reg(word.reg).name(), "'s ",
        MinValue(word.reg), " to ", MaxValue(word.reg)));
  }
  return word;
}

void IsaView::AppendWord(uint64_t bits, std::string& code) const {
  for (int i = 0; i < word_bytes(); ++i) {
    code.push_back(static_cast<char>(bits >> (8 * i) & 0xff));
  }
}

uint64_t IsaView::ReadWord(absl::string_view code, int64_t index) const {
  uint64_t bits = 0;
  for (int i = 0; i < word_bytes(); ++i) {
    bits |= static_cast<uint64_t>(
                static_cast<uint8_t>(code[index * word_bytes() + i]))
            << (8 * i);
  }
  return bits;
}

}  // namespace edgekiln::target
