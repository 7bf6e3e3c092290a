#include "simfarm/hot_spots/hot_spots.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "simfarm/hot_spots/code_view.h"
#include "simfarm/hot_spots/loops.h"
#include "simfarm/simulators/rv32/disassemble.h"
#include "simfarm/simulators/rv32/symbols.h"

namespace edgekiln::simfarm {
namespace {

// Longer ones are cut.
constexpr int kMaxTextBytes = 200;
constexpr int kMaxNameBytes = 256;

// Names come from the ELF file, which may hold any bytes.
std::string SafeName(absl::string_view name) {
  return SanitizeText(std::string(name), kMaxNameBytes);
}

// Lines of source files, split when they are first asked for.
class SourceText {
 public:
  explicit SourceText(const v1::CSourceTree& sources) {
    for (const v1::CSourceTree::File& file : sources.files()) {
      texts_.try_emplace(file.path(), file.text());
    }
  }

  // Without the spaces around it; empty if there is no such line.
  absl::string_view Line(absl::string_view file, int32_t line) {
    const auto text = texts_.find(file);
    if (text == texts_.end()) return "";
    const auto [lines, is_new] = lines_.try_emplace(text->first);
    if (is_new) lines->second = absl::StrSplit(text->second, '\n');
    if (line < 1 || static_cast<size_t>(line) > lines->second.size()) return "";
    const absl::string_view stripped = absl::StripAsciiWhitespace(
        lines->second[static_cast<size_t>(line) - 1]);
    return stripped;
  }

 private:
  std::map<absl::string_view, absl::string_view> texts_;
  std::map<absl::string_view, std::vector<absl::string_view>> lines_;
};

// Most cycles first, then as they came; `max` of them.
template <typename Rows>
void SortAndCut(Rows* rows, int max) {
  std::stable_sort(
      rows->begin(), rows->end(),
      [](const auto& a, const auto& b) { return a.cycles() > b.cycles(); });
  if (rows->size() > max) rows->DeleteSubrange(max, rows->size() - max);
}

class HotSpotFinder {
 public:
  HotSpotFinder(const FirmwareProfile& profile, const LineTable& lines,
                const v1::CSourceTree& sources)
      : profile_(profile),
        lines_(lines),
        symbols_(profile.executable.functions),
        text_(sources) {}

  v1::HotSpots Find() {
    result_.set_instructions(profile_.instructions);
    result_.set_cycles(profile_.cycles);
    AddFunctions();
    AddLines();
    for (const HotLoop& loop : FindHotLoops(profile_, kMaxHotLoops)) {
      AddLoop(loop);
    }
    return std::move(result_);
  }

 private:
  std::string NameAt(uint32_t pc) const {
    const rv32::Function* const function = symbols_.Find(pc);
    return function == nullptr ? "" : SafeName(function->name);
  }

  void AddFunctions() {
    std::map<uint32_t, v1::HotSpots::Function> functions;
    v1::HotSpots::Function unnamed;
    for (const rv32::PcCount& count : profile_.addresses) {
      const rv32::Function* const function = symbols_.Find(count.pc);
      v1::HotSpots::Function& row =
          function == nullptr ? unnamed : functions[function->address];
      row.set_instructions(row.instructions() + count.executions);
      row.set_cycles(row.cycles() + count.cycles);
      if (function == nullptr) continue;
      row.set_name(SafeName(function->name));
      int64_t calls = row.calls();
      if (count.pc == function->address) calls += count.executions;
      calls -= JumpsToBegin(*function, count);
      row.set_calls(calls);
    }
    for (auto& [address, row] : functions) {
      if (const auto line = lines_.FindFunction(address)) {
        row.set_file(SafeName(line->file));
        row.set_line(line->line);
      }
      const auto layer = profile_.layer_of_function.find(address);
      if (layer != profile_.layer_of_function.end()) {
        row.set_layer(layer->second);
      }
      *result_.add_functions() = std::move(row);
    }
    if (unnamed.instructions() != 0 || unnamed.cycles() != 0) {
      *result_.add_functions() = std::move(unnamed);
    }
    SortAndCut(result_.mutable_functions(), kMaxHotFunctions);
  }

  // Of a loop that begins with the function: they call nothing.
  int64_t JumpsToBegin(const rv32::Function& function,
                       const rv32::PcCount& count) const {
    const std::optional<rv32::Instruction> instruction =
        InstructionAt(profile_, count.pc);
    if (!instruction.has_value()) return 0;
    return JumpTarget(*instruction, count.pc) == function.address
               ? JumpsTaken(*instruction, count)
               : 0;
  }

  void AddLines() {
    // By file, line and function.
    std::map<std::tuple<std::string, int32_t, std::string>, v1::HotSpots::Line>
        rows;
    for (const rv32::PcCount& count : profile_.addresses) {
      const SourceLine line = lines_.Find(count.pc).value_or(SourceLine());
      v1::HotSpots::Line& row =
          rows[{SafeName(line.file), line.line, NameAt(count.pc)}];
      row.set_instructions(row.instructions() + count.executions);
      row.set_cycles(row.cycles() + count.cycles);
    }
    for (auto& [key, row] : rows) {
      row.set_file(std::get<0>(key));
      row.set_line(std::get<1>(key));
      row.set_function(std::get<2>(key));
      *result_.add_lines() = std::move(row);
    }
    SortAndCut(result_.mutable_lines(), kMaxHotLines);
    for (v1::HotSpots::Line& row : *result_.mutable_lines()) {
      row.set_text(SanitizeText(std::string(text_.Line(row.file(), row.line())),
                                kMaxTextBytes));
    }
  }

  // Instructions between those that were executed are shown as well.
  void AddLoop(const HotLoop& loop) {
    const std::vector<rv32::PcCount>& counts = profile_.addresses;
    v1::HotSpots::Loop& row = *result_.add_loops();
    row.set_function(NameAt(counts[loop.begin].pc));
    row.set_iterations(counts[loop.begin].executions);
    row.set_executed(loop.executed);
    row.set_cycles(loop.cycles);
    for (size_t i = loop.begin; i < loop.end; ++i) {
      AddInstruction(counts[i], row);
      if (i + 1 == loop.end) break;
      AddSkipped(counts[i].pc, counts[i + 1].pc, row);
    }
  }

  // Those between two that were executed.
  void AddSkipped(uint32_t pc, uint32_t end, v1::HotSpots::Loop& row) const {
    std::optional<rv32::Instruction> at = InstructionAt(profile_, pc);
    while (at.has_value()) {
      pc += at->length_bytes;
      if (pc >= end) return;
      at = InstructionAt(profile_, pc);
      if (at.has_value()) AddInstruction({.pc = pc}, row);
    }
  }

  void AddInstruction(const rv32::PcCount& count,
                      v1::HotSpots::Loop& row) const {
    v1::HotSpots::Instruction& instruction = *row.add_instructions();
    instruction.set_address(count.pc);
    instruction.set_executed(count.executions);
    instruction.set_cycles(count.cycles);
    if (const auto decoded = InstructionAt(profile_, count.pc)) {
      instruction.set_text(rv32::Disassemble(*decoded, count.pc));
    }
    if (const auto line = lines_.Find(count.pc)) {
      instruction.set_file(SafeName(line->file));
      instruction.set_line(line->line);
    }
  }

  const FirmwareProfile& profile_;
  const LineTable& lines_;
  const rv32::SymbolTable symbols_;
  SourceText text_;
  v1::HotSpots result_;
};

}  // namespace

v1::HotSpots FindHotSpots(const FirmwareProfile& profile,
                          const LineTable& lines,
                          const v1::CSourceTree& sources) {
  return HotSpotFinder(profile, lines, sources).Find();
}

}  // namespace edgekiln::simfarm
