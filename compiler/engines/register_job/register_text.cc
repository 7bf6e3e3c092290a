#include "compiler/engines/register_job/register_text.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace edgekiln::compiler::register_job {
namespace {

constexpr size_t kWriteBytes = 8;
constexpr absl::string_view kStart = "start";

// Empty if no register has the offset.
absl::string_view NameOf(const v1::RegisterJobs& jobs, uint32_t offset) {
  if (offset == jobs.start_offset()) return kStart;
  for (const v1::RegisterJobs::Register& reg : jobs.registers()) {
    if (reg.offset() == offset) return reg.name();
  }
  return "";
}

bool FindOffset(const v1::RegisterJobs& jobs, absl::string_view name,
                uint32_t* offset) {
  if (name == kStart) {
    *offset = jobs.start_offset();
    return true;
  }
  for (const v1::RegisterJobs::Register& reg : jobs.registers()) {
    if (reg.name() != name) continue;
    *offset = reg.offset();
    return true;
  }
  return false;
}

uint32_t WordAt(absl::string_view bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) {
    word |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i]))
            << (8 * i);
  }
  return word;
}

void AppendWord(uint32_t word, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>((word >> shift) & 0xff));
  }
}

}  // namespace

absl::StatusOr<std::string> WritesToText(const v1::RegisterJobs& jobs,
                                         absl::string_view bytes) {
  if (bytes.size() % kWriteBytes != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "word %d: %d bytes: a write has %d", bytes.size() / kWriteBytes,
        bytes.size() % kWriteBytes, kWriteBytes));
  }
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += kWriteBytes) {
    const uint32_t offset = WordAt(bytes, at);
    const absl::string_view name = NameOf(jobs, offset);
    if (name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("word %d: no register has the offset 0x%x",
                          at / kWriteBytes, offset));
    }
    absl::StrAppendFormat(&text, "%s 0x%08x\n", name, WordAt(bytes, at + 4));
  }
  return text;
}

absl::StatusOr<std::string> WritesFromText(const v1::RegisterJobs& jobs,
                                           absl::string_view text) {
  std::string bytes;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const auto refuse = [&](absl::string_view why) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_number, ": ", why));
    };
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() != 2) return refuse("expected NAME VALUE");
    uint32_t offset = 0;
    if (!FindOffset(jobs, words[0], &offset)) {
      return refuse(
          absl::StrCat("the engine has no register '", words[0], "'"));
    }
    uint32_t value = 0;
    if (!absl::SimpleHexAtoi(words[1], &value)) {
      return refuse(absl::StrCat("'", words[1],
                                 "' is not a hexadecimal value of 32 bits"));
    }
    AppendWord(offset, bytes);
    AppendWord(value, bytes);
  }
  return bytes;
}

}  // namespace edgekiln::compiler::register_job
