#include "client/render/hot_spots.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxNameWidth = 48;
constexpr int kMaxTextWidth = 100;

class HotSpotText {
 public:
  HotSpotText(const v1::Report& report, const Style& style)
      : report_(report),
        spots_(report.hot_spots()),
        style_(style),
        cycles_differ_(spots_.cycles() != spots_.instructions()) {}

  std::string Functions() const {
    if (spots_.functions().empty()) return "";
    std::vector<Table::Column> columns = {
        {"FUNCTION"},
        {.title = "LAYER", .drop = 2},
        {.title = "CALLS", .align = Align::kRight, .drop = 3}};
    AddCountColumns(columns);
    Table table(std::move(columns));
    for (int i = 0; i < std::min(spots_.functions_size(), kShownFunctions);
         ++i) {
      const v1::HotSpots::Function& function = spots_.functions(i);
      std::vector<std::string> row = {NameOf(function.name()),
                                      LayerOf(function),
                                      GroupDigits(function.calls())};
      AddCounts(function.instructions(), function.cycles(), row);
      table.AddRow(std::move(row));
    }
    return table.Render(style_) +
           Rest(spots_.functions_size() - kShownFunctions, "function") + "\n";
  }

  std::string Lines() const {
    if (spots_.lines().empty()) return "";
    std::vector<Table::Column> columns = {{"LINE"}};
    AddCountColumns(columns);
    columns.push_back({.title = "SOURCE", .drop = 2});
    Table table(std::move(columns));
    for (int i = 0; i < std::min(spots_.lines_size(), kShownLines); ++i) {
      const v1::HotSpots::Line& line = spots_.lines(i);
      const std::string place = PlaceOf(line.file(), line.line());
      std::vector<std::string> row = {
          place.empty() ? absl::StrCat("no line, ", NameOf(line.function()))
                        : place};
      AddCounts(line.instructions(), line.cycles(), row);
      row.push_back(ClipEnd(CleanText(line.text()), kMaxTextWidth));
      table.AddRow(std::move(row));
    }
    return table.Render(style_) +
           Rest(spots_.lines_size() - kShownLines, "line") + "\n";
  }

  std::string Loops() const {
    std::string out;
    for (int i = 0; i < std::min(spots_.loops_size(), kShownLoops); ++i) {
      out += Loop(spots_.loops(i));
    }
    return out;
  }

 private:
  static std::string NameOf(const std::string& name) {
    return name.empty() ? "no symbol"
                        : ClipMiddle(CleanText(name), kMaxNameWidth);
  }

  static std::string PlaceOf(const std::string& file, int32_t line) {
    if (file.empty()) return "";
    return absl::StrCat(ClipMiddle(CleanText(file), kMaxNameWidth), ":", line);
  }

  std::string LayerOf(const v1::HotSpots::Function& function) const {
    if (function.optional_layer_case() != v1::HotSpots::Function::kLayer ||
        function.layer() < 0 || function.layer() >= report_.layers_size()) {
      return "-";
    }
    return ClipMiddle(CleanText(report_.layers(function.layer()).id()),
                      kMaxNameWidth);
  }

  // Where an instruction takes a cycle, one column tells both.
  void AddCountColumns(std::vector<Table::Column>& columns) const {
    columns.push_back({"INSTRUCTIONS", Align::kRight});
    if (cycles_differ_) columns.push_back({"CYCLES", Align::kRight});
    columns.push_back({"%", Align::kRight});
  }

  void AddCounts(int64_t instructions, int64_t cycles,
                 std::vector<std::string>& row) const {
    row.push_back(GroupDigits(instructions));
    if (cycles_differ_) row.push_back(GroupDigits(cycles));
    row.push_back(Share(cycles));
  }

  std::string Share(int64_t cycles) const {
    if (spots_.cycles() <= 0) return "-";
    return absl::StrFormat("%.1f", 100.0 * static_cast<double>(cycles) /
                                       static_cast<double>(spots_.cycles()));
  }

  std::string Rest(int count, absl::string_view what) const {
    if (count <= 0) return "";
    return style_.Dim(absl::StrCat(Count(count, absl::StrCat("more ", what),
                                         absl::StrCat("more ", what, "s")),
                                   ": --json")) +
           "\n";
  }

  // Of a long loop what lies around the instruction that takes most.
  static int FirstShown(const v1::HotSpots::Loop& loop) {
    int hottest = 0;
    for (int i = 0; i < loop.instructions_size(); ++i) {
      if (loop.instructions(i).cycles() > loop.instructions(hottest).cycles()) {
        hottest = i;
      }
    }
    const int last = loop.instructions_size() - kShownLoopInstructions;
    return std::clamp(hottest - kShownLoopInstructions / 2, 0,
                      std::max(last, 0));
  }

  std::string Loop(const v1::HotSpots::Loop& loop) const {
    std::string out;
    for (const std::string& line :
         WrapWords(absl::StrCat(
                       "loop in ", NameOf(loop.function()), "   ",
                       Count(loop.iterations(), "iteration", "iterations"),
                       "   ", GroupDigits(loop.executed()), " instructions   ",
                       Share(loop.cycles()), " % of cycles"),
                   style_.width())) {
      absl::StrAppend(&out, style_.Bold(line), "\n");
    }
    std::vector<Table::Column> columns = {{"EXECUTED", Align::kRight}};
    if (cycles_differ_) columns.push_back({"CYCLES", Align::kRight});
    columns.push_back({"ADDRESS"});
    columns.push_back({"INSTRUCTION"});
    columns.push_back({.title = "LINE", .drop = 2});
    Table table(std::move(columns));
    const int begin = FirstShown(loop);
    const int end =
        std::min(begin + kShownLoopInstructions, loop.instructions_size());
    for (int i = begin; i < end; ++i) {
      const v1::HotSpots::Instruction& at = loop.instructions(i);
      std::vector<std::string> row = {GroupDigits(at.executed())};
      if (cycles_differ_) row.push_back(GroupDigits(at.cycles()));
      row.push_back(absl::StrFormat("%08x", at.address()));
      row.push_back(CleanText(at.text()));
      row.push_back(PlaceOf(at.file(), at.line()));
      table.AddRow(std::move(row));
    }
    return absl::StrCat(
        out, table.Render(style_),
        Rest(loop.instructions_size() - (end - begin), "instruction"), "\n");
  }

  const v1::Report& report_;
  const v1::HotSpots& spots_;
  const Style& style_;
  const bool cycles_differ_;
};

}  // namespace

std::string RenderHotSpots(const v1::Report& report, const Style& style) {
  if (!report.has_hot_spots()) return "";
  const HotSpotText text(report, style);
  return absl::StrCat(text.Functions(), text.Lines(), text.Loops());
}

}  // namespace edgekiln::client
