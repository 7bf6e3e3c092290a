#include "compiler/codegen/host/host_steps.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/host/move_loops.h"
#include "compiler/codegen/host/transfer_tables.h"

namespace edgekiln::compiler {
namespace {

class StepsWriter {
 public:
  StepsWriter(const v1::Program& program, const COperators& operators,
              const v1::Machine& machine, const std::string& prefix)
      : program_(program),
        operators_(operators),
        p_(prefix),
        macro_(CMacroPrefix(prefix)),
        transfers_(program, machine, prefix) {}

  absl::StatusOr<HostSteps> Write() {
    EK_RETURN_IF_ERROR(AddSteps());
    CodeWriter c;
    Copy(c);
    c.Raw(transfers_.Text());
    Tables(c);
    Operators(c);
    Walk(c);
    return HostSteps{.text = c.text(),
                     .has_steps = !steps_.empty(),
                     .has_moves = !moves_.empty()};
  }

 private:
  struct Step {
    int kind;
    int64_t a, b, c;
  };
  enum Kind {
    kHost,
    kLaunch,
    kWait,
    kMove,
    kTransfer,
    kRecord,
    kWrites,
    kPoll,
    kKinds
  };
  static constexpr const char* kNames[kKinds] = {
      "HOST", "LAUNCH", "WAIT", "MOVE", "TRANSFER", "RECORD", "WRITES", "POLL"};

  void AddStep(Kind kind, int64_t a, int64_t b = 0, int64_t c = 0) {
    used_[kind] = true;
    steps_.push_back({kind, a, b, c});
  }

  absl::Status AddSteps() {
    int64_t host_ops = 0;
    for (const v1::Program::Step& step : program_.steps()) {
      switch (step.step_case()) {
        case v1::Program::Step::kHostOp:
          if (!operators_.operators[host_ops].function.empty()) {
            AddStep(kHost, host_ops, step.host_op().layer());
          }
          ++host_ops;
          break;
        case v1::Program::Step::kLaunch:
          AddStep(kLaunch, step.launch().stream(),
                  step.launch().first_command(), step.launch().end_command());
          break;
        case v1::Program::Step::kWait:
          AddStep(kWait, step.wait().engine());
          break;
        case v1::Program::Step::kMove:
          EK_RETURN_IF_ERROR(AddMove(step.move()));
          break;
        case v1::Program::Step::kRegisterWrites:
          AddWrites(step.register_writes());
          break;
        case v1::Program::Step::kPoll:
          AddStep(
              kPoll, step.poll().engine(),
              IndexOf(polls_, absl::StrFormat(
                                  "{0x%xu, 0x%xu, 0x%xu}", step.poll().offset(),
                                  step.poll().mask(), step.poll().value())));
          break;
        case v1::Program::Step::STEP_NOT_SET:
          return absl::InvalidArgumentError("a step does nothing");
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddMove(const v1::Program::Move& move) {
    const std::pair<int32_t, int32_t> pair = {move.from_layout(),
                                              move.to_layout()};
    for (const int32_t layout : {pair.first, pair.second}) {
      if (layout < 0 || layout >= program_.layouts_size()) {
        return absl::InvalidArgumentError("a move has no layout");
      }
    }
    if (transfers_.Starts(move)) {
      EK_ASSIGN_OR_RETURN(const auto entries, transfers_.Add(move), "a move");
      AddStep(kTransfer, entries.first, entries.second,
              transfers_.WindowOf(move));
      return absl::OkStatus();
    }
    const auto [shape, is_new] = shapes_.try_emplace(pair, shapes_.size());
    if (is_new) {
      EK_ASSIGN_OR_RETURN(
          const std::string text,
          MoveFunction(absl::StrCat(p_, "_copy_", shape->second),
                       program_.layouts(pair.first),
                       program_.layouts(pair.second)),
          "a move");
      absl::StrAppend(&shape_functions_, text, "\n");
    }
    AddStep(kMove, std::ssize(moves_));
    moves_.push_back(absl::StrFormat(
        "{%d, %d, 0x%xu, %d, %d, 0x%xu, %d, %d}", move.link(),
        move.from().memory(), move.from().address(), pair.first,
        move.to().memory(), move.to().address(), pair.second, shape->second));
    moves_by_link_ = moves_by_link_ || move.link() >= 0;
    moves_by_code_ = moves_by_code_ || move.link() < 0;
    return absl::OkStatus();
  }

  // Entries of a table, each once.
  struct Entries {
    std::vector<std::string> list;
    std::map<std::string, int64_t> index;
  };

  static int64_t IndexOf(Entries& entries, const std::string& entry) {
    const auto [found, is_new] =
        entries.index.try_emplace(entry, std::ssize(entries.list));
    if (is_new) entries.list.push_back(entry);
    return found->second;
  }

  void AddWrites(const v1::Program::RegisterWrites& writes) {
    if (writes.record().words_size() > 0) {
      std::vector<uint32_t> offsets;
      for (int k = 0; k < writes.record().words_size(); ++k) {
        offsets.push_back(4 * static_cast<uint32_t>(k));
      }
      const v1::Location& place = writes.record().location();
      AddWords(
          kRecord, place.memory(), place.address(), offsets,
          {writes.record().words().begin(), writes.record().words().end()});
    }
    if (writes.writes().empty()) return;
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> values;
    for (const v1::Program::RegisterWrites::Write& write : writes.writes()) {
      offsets.push_back(write.offset());
      values.push_back(write.value());
    }
    AddWords(kWrites, writes.engine(), 0, offsets, values);
  }

  // A step that writes these words. They are kept in memory, so that the
  // program has only what changes from one such step to the next.
  void AddWords(Kind kind, int32_t where, uint64_t address,
                const std::vector<uint32_t>& offsets,
                const std::vector<uint32_t>& words) {
    const auto [kept, is_new] =
        kept_.try_emplace({kind, offsets}, Kept{std::ssize(offsets_), {}});
    if (is_new) {
      offsets_.insert(offsets_.end(), offsets.begin(), offsets.end());
      kept->second.words.assign(words.size(), 0);
    }
    const auto first = std::ssize(changes_);
    for (size_t k = 0; k < words.size(); ++k) {
      // So that there is a change at all.
      const bool is_first = changes_.empty();
      if (kept->second.words[k] == words[k] && !is_first) continue;
      kept->second.words[k] = words[k];
      changes_.emplace_back(kept->second.first + static_cast<int64_t>(k),
                            words[k]);
    }
    const int64_t target = IndexOf(
        targets_, absl::StrFormat("{%d, %du, %uu, 0x%xu}", where,
                                  kept->second.first, words.size(), address));
    AddStep(kind, target, first, std::ssize(changes_));
  }

  void Copy(CodeWriter& c) const {
    if (moves_.empty()) return;
    c.Raw(shape_functions_);
    c.Open("void ", p_, "_copy(const struct edgekiln_move *move)");
    c.Line(
        "const uint8_t *const from = (const uint8_t *)edgekiln_at("
        "move->from_memory, move->from);");
    c.Line(
        "uint8_t *const to = (uint8_t *)edgekiln_at(move->to_memory, "
        "move->to);");
    c.Open("switch (move->shape)");
    for (size_t shape = 0; shape < shapes_.size(); ++shape) {
      c.Line("case ", shape, ":");
      c.Line("  ", p_, "_copy_", shape, "(from, to);");
      c.Line("  break;");
    }
    c.Line("default:");
    c.Line("  break;");
    c.Close();
    c.Close();
    c.Line("");
  }

  void Table(CodeWriter& c, absl::string_view type, absl::string_view name,
             absl::string_view behind,
             const std::vector<std::string>& entries) const {
    if (entries.empty()) return;
    c.Line("static const ", type, " ", p_, "_", name, "[", entries.size(), "]",
           behind, " = {");
    for (const std::string& entry : entries) c.Line("  ", entry, ",");
    c.Line("};");
    c.Line("");
  }

  void Tables(CodeWriter& c) const {
    if (steps_.empty()) return;
    std::vector<std::string> names;
    for (int kind = 0; kind < kKinds; ++kind) {
      if (used_[kind]) names.push_back(absl::StrCat(macro_, "_", kNames[kind]));
    }
    c.Line("/* What the host does, one step after another:");
    c.Line(" *   HOST    operator a, of layer b");
    c.Line(" *   LAUNCH  stream a, commands [b, c)");
    c.Line(" *   WAIT    for engine a");
    c.Line(" *   MOVE    move a");
    c.Line(" *   TRANSFER  transfers [a, b) of engine c");
    c.Line(" *   RECORD  all words of target a, after changes [b, c)");
    c.Line(" *   WRITES  the same of registers");
    c.Line(" *   POLL    b of engine a */");
    c.Line("enum {", absl::StrJoin(names, ", "), "};");
    c.Line("struct ", p_, "_step {");
    c.Line("  ", TypeOfSteps(), " kind, a, b, c;");
    c.Line("};");
    std::vector<std::string> steps;
    for (const Step& step : steps_) {
      steps.push_back(absl::StrCat("{", macro_, "_", kNames[step.kind], ", ",
                                   step.a, "u, ", step.b, "u, ", step.c, "u}"));
    }
    Table(c, absl::StrCat("struct ", p_, "_step"), "steps", "", steps);
    if (!polls_.list.empty()) {
      c.Line("/* Offset, mask, value. */");
      Table(c, "uint32_t", "polls", "[3]", polls_.list);
    }
    if (!targets_.list.empty()) TablesOfWords(c);
    Table(c, "struct edgekiln_move", "moves", "", moves_);
  }

  // The narrowest that has room for all steps.
  const char* TypeOfSteps() const {
    const bool fits =
        std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
          return std::max({step.a, step.b, step.c}) <= UINT16_MAX;
        });
    return fits ? "uint16_t" : "uint32_t";
  }

  void TablesOfWords(CodeWriter& c) const {
    c.Line("/* Words as they were written last. */");
    c.Line("static uint32_t ", p_, "_words[", offsets_.size(), "];");
    c.Line("struct ", p_, "_target {");
    c.Line("  int32_t where; /* Memory or engine. */");
    c.Line("  uint32_t first, count; /* Of the words. */");
    c.Line("  uint64_t address;");
    c.Line("};");
    Table(c, absl::StrCat("struct ", p_, "_target"), "targets", "",
          targets_.list);
    std::vector<std::string> offsets, places, values;
    for (const uint32_t offset : offsets_) {
      offsets.push_back(absl::StrFormat("0x%xu", offset));
    }
    for (const auto& [place, value] : changes_) {
      places.push_back(absl::StrCat(place, "u"));
      values.push_back(absl::StrFormat("0x%xu", value));
    }
    if (used_[kWrites]) Table(c, "uint32_t", "offsets", "", offsets);
    c.Line("/* Changes: which word, and its new value. */");
    Table(c, offsets_.size() <= UINT16_MAX ? "uint16_t" : "uint32_t", "changed",
          "", places);
    Table(c, "uint32_t", "values", "", values);
  }

  void Operators(CodeWriter& c) const {
    if (!used_[kHost]) return;
    c.Open("static int ", p_, "_operator(int32_t number)");
    c.Open("switch (number)");
    for (size_t i = 0; i < operators_.operators.size(); ++i) {
      const COperators::Operator& made = operators_.operators[i];
      if (made.function.empty()) continue;
      c.Line("case ", i, ":");
      c.Line("  ", made.can_fail ? "return " : "", made.function, "();");
      if (!made.can_fail) c.Line("  return 0;");
    }
    c.Line("default:");
    c.Line("  return 1;");
    c.Close();
    c.Close();
    c.Line("");
  }

  void Walk(CodeWriter& c) const {
    if (steps_.empty()) return;
    c.Open("static int ", p_, "_walk(void)");
    c.Line("uint32_t i;");
    if (!targets_.list.empty()) {
      c.Line("uint32_t k;");
      c.Line("for (k = 0; k < ", offsets_.size(), "u; ++k) ", p_,
             "_words[k] = 0;");
    }
    c.Open("for (i = 0; i < ", steps_.size(), "u; ++i)");
    c.Line("const struct ", p_, "_step *const s = &", p_, "_steps[i];");
    c.Open("switch (s->kind)");
    for (int kind = 0; kind < kKinds; ++kind) {
      if (!used_[kind]) continue;
      c.Line("case ", macro_, "_", kNames[kind], ":");
      c.Raw(absl::StrReplaceAll(BodyOf(static_cast<Kind>(kind)), {{"$", p_}}));
      c.Line("  break;");
    }
    c.Line("default:");
    c.Line("  break;");
    c.Close();
    c.Close();
    c.Line("return 0;");
    c.Close();
    c.Line("");
  }

  // Then goes through the words of the target.
  static constexpr char kChange[] =
      "        for (k = s->b; k < s->c; ++k) $_words[$_changed[k]] = "
      "$_values[k];\n"
      "        for (k = 0; k < $_targets[s->a].count; ++k) {\n";

  std::string BodyOf(Kind kind) const {
    switch (kind) {
      case kHost:
        return "        if ($_operator(s->a) != 0) return (int)s->b + 1;\n";
      case kLaunch:
        return "        edgekiln_launch(s->a, s->b, s->c);\n";
      case kWait:
        return "        edgekiln_wait(s->a);\n";
      case kMove:
        if (!moves_by_code_) {
          return "        edgekiln_transfer(&$_moves[s->a]);\n";
        }
        if (!moves_by_link_) return "        $_copy(&$_moves[s->a]);\n";
        return "        if ($_moves[s->a].link < 0) {\n"
               "          $_copy(&$_moves[s->a]);\n"
               "        } else {\n"
               "          edgekiln_transfer(&$_moves[s->a]);\n"
               "        }\n";
      case kTransfer: {
        std::string body;
        const std::vector<int32_t> windows = transfers_.Windows();
        for (const int32_t window : windows) {
          absl::StrAppend(&body, "        ",
                          windows.size() > 1
                              ? absl::StrCat("if (s->c == ", window, "u) ")
                              : "",
                          "$_transfer_", window, "(s->a, s->b);\n");
        }
        return body;
      }
      case kRecord:
        return absl::StrCat(
            kChange,
            "          *(uint32_t *)edgekiln_at(\n"
            "              $_targets[s->a].where,\n"
            "              $_targets[s->a].address + 4 * k) =\n"
            "              $_words[$_targets[s->a].first + k];\n"
            "        }\n");
      case kWrites:
        return absl::StrCat(
            kChange,
            "          edgekiln_write($_targets[s->a].where,\n"
            "                         $_offsets[$_targets[s->a].first + k],\n"
            "                         $_words[$_targets[s->a].first + k]);\n"
            "        }\n");
      default:
        return "        while ((edgekiln_read(s->a, $_polls[s->b][0]) & "
               "$_polls[s->b][1]) !=\n"
               "               $_polls[s->b][2]) {\n"
               "        }\n";
    }
  }

  const v1::Program& program_;
  const COperators& operators_;
  const std::string p_;
  const std::string macro_;
  bool used_[kKinds] = {};
  bool moves_by_link_ = false;
  bool moves_by_code_ = false;
  std::vector<Step> steps_;
  std::vector<std::string> moves_;
  Entries polls_, targets_;
  // Words that steps of one kind write to the same offsets.
  struct Kept {
    int64_t first = 0;  // In offsets_.
    std::vector<uint32_t> words;
  };
  std::map<std::pair<Kind, std::vector<uint32_t>>, Kept> kept_;
  std::vector<uint32_t> offsets_;                      // Of all that are kept.
  std::vector<std::pair<int64_t, uint32_t>> changes_;  // Index, new value.
  std::map<std::pair<int32_t, int32_t>, size_t> shapes_;
  std::string shape_functions_;
  TransferTables transfers_;
};

}  // namespace

absl::StatusOr<HostSteps> WriteHostSteps(const v1::Program& program,
                                         const COperators& operators,
                                         const v1::Machine& machine,
                                         const std::string& prefix) {
  return StepsWriter(program, operators, machine, prefix).Write();
}

}  // namespace edgekiln::compiler
