#include "compiler/engines/dla/disassembler.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace edgekiln::compiler::dla {
namespace {

// Long enough for any line that Disassemble prints, and for an error message.
constexpr size_t kMaxQuoted = 60;

absl::Status LineError(int64_t line, absl::string_view text,
                       absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(
      "line ", line, ": ", problem, ": ", text.substr(0, kMaxQuoted)));
}

absl::StatusOr<target::CommandWord> ParseLine(const target::IsaView& isa,
                                              int64_t number,
                                              absl::string_view line) {
  std::vector<absl::string_view> parts =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  target::CommandWord word;
  word.command = isa.FindCommand(parts[0]);
  if (word.command < 0) return LineError(number, line, "unknown mnemonic");
  if (parts.size() > 1 && parts[1] == "half_even") {
    word.half_even = true;
    parts.erase(parts.begin() + 1);
  }
  absl::string_view value;
  if (word.command == isa.register_write()) {
    if (parts.size() != 3) return LineError(number, line, "needs two operands");
    word.reg = isa.FindRegister(parts[1]);
    if (word.reg < 0) return LineError(number, line, "unknown register");
    value = parts[2];
  } else if (parts.size() == 3 && parts[1] == "wait") {
    value = parts[2];
  } else if (parts.size() != 1) {
    return LineError(number, line,
                     "needs \"half_even\", \"wait N\", both or nothing");
  }
  if (!value.empty() && !absl::SimpleAtoi(value, &word.immediate)) {
    return LineError(number, line, "not a number");
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
  for (size_t i = 0; i < code.size() / bytes; ++i) {
    const auto index = static_cast<int64_t>(i);
    EK_ASSIGN_OR_RETURN(const target::CommandWord word,
                        isa.Decode(isa.ReadWord(code, index)),
                        absl::StrCat("word ", index));
    absl::StrAppend(&text, isa.command(word.command).mnemonic());
    if (word.half_even) absl::StrAppend(&text, " half_even");
    if (word.command == isa.register_write()) {
      absl::StrAppend(&text, " ", isa.reg(word.reg).name(), " ",
                      word.immediate);
    } else if (word.immediate != 0) {
      absl::StrAppend(&text, " wait ", word.immediate);
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
    EK_ASSIGN_OR_RETURN(const target::CommandWord word,
                        ParseLine(isa, number, line));
    EK_ASSIGN_OR_RETURN(const uint64_t bits, isa.Encode(word),
                        absl::StrCat("line ", number));
    isa.AppendWord(bits, code);
  }
  return code;
}

}  // namespace edgekiln::compiler::dla
