#include "testing/tiny_vector/compiler/text.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::tiny_vector {
namespace {

// Only register writes have an immediate.
absl::Status CheckImmediate(const target::IsaView& isa,
                            const target::CommandWord& word) {
  if (word.command == isa.register_write() || word.immediate == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("a command with an immediate");
}

absl::StatusOr<target::CommandWord> ParseLine(const target::IsaView& isa,
                                              absl::string_view line) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  target::CommandWord word;
  word.command = isa.FindCommand(parts[0]);
  if (word.command < 0) return absl::InvalidArgumentError("unknown mnemonic");
  if (word.command != isa.register_write()) {
    if (parts.size() == 1) return word;
    return absl::InvalidArgumentError("the command has no operands");
  }
  if (parts.size() != 3) {
    return absl::InvalidArgumentError("needs a register and a value");
  }
  word.reg = isa.FindRegister(parts[1]);
  if (word.reg < 0) return absl::InvalidArgumentError("unknown register");
  if (!absl::SimpleAtoi(parts[2], &word.immediate)) {
    return absl::InvalidArgumentError("not a number");
  }
  return word;
}

}  // namespace

absl::StatusOr<std::string> Disassemble(const target::IsaView& isa,
                                        absl::string_view code) {
  const auto bytes = static_cast<size_t>(isa.word_bytes());
  if (code.size() % bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("word ", code.size() / bytes, ": cut off after ",
                     code.size() % bytes, " of ", bytes, " bytes"));
  }
  std::string text;
  const auto words = static_cast<int64_t>(code.size() / bytes);
  for (int64_t i = 0; i < words; ++i) {
    const std::string where = absl::StrCat("word ", i);
    EK_ASSIGN_OR_RETURN(const target::CommandWord word,
                        isa.Decode(isa.ReadWord(code, i)), where);
    EK_RETURN_IF_ERROR(CheckImmediate(isa, word), where);
    absl::StrAppend(&text, isa.command(word.command).mnemonic());
    if (word.command == isa.register_write()) {
      absl::StrAppend(&text, " ", isa.reg(word.reg).name(), " ",
                      word.immediate);
    }
    text.push_back('\n');
  }
  return text;
}

absl::StatusOr<std::string> Assemble(const target::IsaView& isa,
                                     absl::string_view text) {
  std::string code;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) continue;
    const std::string where = absl::StrCat("line ", number);
    EK_ASSIGN_OR_RETURN(const target::CommandWord word, ParseLine(isa, line),
                        where);
    EK_ASSIGN_OR_RETURN(const uint64_t bits, isa.Encode(word), where);
    isa.AppendWord(bits, code);
  }
  return code;
}

}  // namespace edgekiln::compiler::tiny_vector
