#include "compiler/codegen/host/host_steps.h"

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

namespace edgekiln::compiler {
namespace {

class StepsWriter {
 public:
  StepsWriter(const v1::Program& program, const COperators& operators,
              const std::string& prefix)
      : program_(program),
        operators_(operators),
        p_(prefix),
        macro_(CMacroPrefix(prefix)) {}

  absl::StatusOr<HostSteps> Write() {
    EK_RETURN_IF_ERROR(AddSteps());
    CodeWriter c;
    Copy(c);
    Tables(c);
    Operators(c);
    Walk(c);
    return HostSteps{.text = c.text(),
                     .has_steps = !steps_.empty(),
                     .has_moves = !moves_.empty()};
  }

 private:
  enum Kind { kHost, kLaunch, kWait, kMove, kRecord, kWrites, kPoll, kKinds };
  static constexpr const char* kNames[kKinds] = {
      "HOST", "LAUNCH", "WAIT", "MOVE", "RECORD", "WRITES", "POLL"};

  void AddStep(Kind kind, int64_t a, int64_t b = 0, int64_t c = 0) {
    used_[kind] = true;
    steps_.push_back(absl::StrCat("{", macro_, "_", kNames[kind], ", ", a, ", ",
                                  b, "u, ", c, "u}"));
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
          AddStep(kPoll, step.poll().engine(), polls_.size());
          polls_.push_back(
              absl::StrFormat("{0x%xu, 0x%xu, 0x%xu}", step.poll().offset(),
                              step.poll().mask(), step.poll().value()));
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

  void AddWrites(const v1::Program::RegisterWrites& writes) {
    if (writes.has_record()) {
      AddStep(kRecord, std::ssize(records_), words_.size(),
              words_.size() + writes.record().words_size());
      records_.push_back(absl::StrFormat("{%d, 0x%xu}",
                                         writes.record().location().memory(),
                                         writes.record().location().address()));
      for (const uint32_t word : writes.record().words()) {
        words_.push_back(absl::StrFormat("0x%xu", word));
      }
    }
    AddStep(kWrites, writes.engine(), writes_.size(),
            writes_.size() + writes.writes_size());
    for (const v1::Program::RegisterWrites::Write& write : writes.writes()) {
      writes_.push_back(
          absl::StrFormat("{0x%xu, 0x%xu}", write.offset(), write.value()));
    }
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
    c.Line(" *   RECORD  words [b, c) to place a");
    c.Line(" *   WRITES  of registers [b, c) of engine a");
    c.Line(" *   POLL    b of engine a */");
    c.Line("enum {", absl::StrJoin(names, ", "), "};");
    c.Line("struct ", p_, "_step {");
    c.Line("  int32_t kind, a;");
    c.Line("  uint32_t b, c;");
    c.Line("};");
    Table(c, absl::StrCat("struct ", p_, "_step"), "steps", "", steps_);
    if (!polls_.empty()) {
      c.Line("/* Offset, mask, value. */");
      Table(c, "uint32_t", "polls", "[3]", polls_);
    }
    if (!writes_.empty()) {
      c.Line("/* Offset, value. */");
      Table(c, "uint32_t", "writes", "[2]", writes_);
    }
    if (!records_.empty()) {
      c.Line("struct ", p_, "_place {");
      c.Line("  int32_t memory;");
      c.Line("  uint64_t address;");
      c.Line("};");
      Table(c, absl::StrCat("struct ", p_, "_place"), "records", "", records_);
      Table(c, "uint32_t", "words", "", words_);
    }
    Table(c, "struct edgekiln_move", "moves", "", moves_);
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
    if (used_[kRecord] || used_[kWrites]) c.Line("uint32_t k;");
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
      case kRecord:
        return "        for (k = s->b; k < s->c; ++k) {\n"
               "          *(uint32_t *)edgekiln_at(\n"
               "              $_records[s->a].memory,\n"
               "              $_records[s->a].address + 4 * (k - s->b)) = "
               "$_words[k];\n"
               "        }\n";
      case kWrites:
        return "        for (k = s->b; k < s->c; ++k) {\n"
               "          edgekiln_write(s->a, $_writes[k][0], "
               "$_writes[k][1]);\n"
               "        }\n";
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
  // Entries of tables.
  std::vector<std::string> steps_, moves_, writes_, polls_, records_, words_;
  std::map<std::pair<int32_t, int32_t>, size_t> shapes_;
  std::string shape_functions_;
};

}  // namespace

absl::StatusOr<HostSteps> WriteHostSteps(const v1::Program& program,
                                         const COperators& operators,
                                         const std::string& prefix) {
  return StepsWriter(program, operators, prefix).Write();
}

}  // namespace edgekiln::compiler
