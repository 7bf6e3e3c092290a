#include "compiler/engines/register_job/model_in_c.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "target/expression.h"
#include "target/register_jobs.h"

namespace edgekiln::compiler::register_job {
namespace {

using Jobs = v1::RegisterJobs;

struct EmbeddedFile {
  const char* name;
  const char* text;
};
constexpr EmbeddedFile kFiles[] = {
#include "compiler/engines/register_job/desk_files.inc"
};

constexpr char kEngine[] = R"(/* Made by edgekiln: engine @name@. */
#include "desk.h"
#include "job_model.h"

static const struct job_register registers[] = {
@registers@};

static void decode(const int64_t *r, int64_t *v) {
  int i;
  for (i = 0; i < JOB_VARIABLES; ++i) v[i] = 0;
@fields@}

static int find(int64_t code, int *kernel, int *least_weight,
                int *most_weight) {
@jobs@  return -1;
}

static void set(struct job_operand *operand, int axis, int64_t divide,
                int64_t modulo, int64_t stride) {
  struct job_term *const term = &operand->term[operand->terms++];
  term->axis = axis;
  term->divide = divide;
  term->modulo = modulo;
  term->stride = stride;
}

static void place(int job, const int64_t *v, struct job_operand *operands) {
  (void)v;
  switch (job) {
@places@    default:
      break;
  }
}

static const struct job_engine engine = {
    @memory@,      registers,
    @count@,       @start@,
    @status@,
    decode,        find,
    place};
static struct job_state state;

void engine_@engine@_write(uint32_t offset, uint32_t value);
void engine_@engine@_write(uint32_t offset, uint32_t value) {
  job_write(&engine, &state, offset, value);
  if (state.error != 0) desk_stop("@name@", state.error, state.where);
}

uint32_t engine_@engine@_read(uint32_t offset);
uint32_t engine_@engine@_read(uint32_t offset) {
  const uint32_t value = job_read(&engine, &state, offset);
  if (state.error != 0) desk_stop("@name@", state.error, state.where);
  return value;
}
)";

// Literals have 64 bits, as all values of an expression.
std::string WithWideLiterals(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto is_word = [&](size_t at) {
      return at < text.size() &&
             (absl::ascii_isalnum(static_cast<unsigned char>(text[at])) ||
              text[at] == '_');
    };
    size_t end = i + 1;
    if (is_word(i)) {
      while (is_word(end)) ++end;
    }
    absl::StrAppend(&out, text.substr(i, end - i));
    if (absl::ascii_isdigit(static_cast<unsigned char>(text[i]))) out += "LL";
    i = end;
  }
  return out;
}

// A variable of the model, "JOB_IN_H"; nothing for those that it lacks.
std::optional<std::string> CName(absl::string_view variable) {
  const auto known = target::FindJobVariable(variable);
  if (!known || *known > target::JobVariable::kCodeShift) return std::nullopt;
  return absl::StrCat("JOB_", absl::AsciiStrToUpper(variable));
}

class EngineText {
 public:
  EngineText(const v1::Machine& machine, int32_t engine)
      : machine_(machine), jobs_(machine.engines(engine).jobs()) {}

  // What the model does not know.
  bool IsBeyond() const {
    if (jobs_.has_record() || !jobs_.job_cycles_expr().empty()) return true;
    for (const Jobs::Register& reg : jobs_.registers()) {
      if (reg.in_record()) return true;
    }
    for (const Jobs::Field& field : jobs_.fields()) {
      if (HasSum(field.value_expr())) return true;
    }
    for (const Jobs::Job& job : jobs_.jobs()) {
      if (job.results() != Jobs::BY_TABLE || job.where_size() > 0) return true;
      for (const Jobs::Operand& operand : job.operands()) {
        if (!operand.memory().empty() || !operand.address_expr().empty() ||
            !operand.staged_in().empty() || operand.reversed_bytes() != 0 ||
            operand.name() == "bias") {
          return true;
        }
        for (const Jobs::Operand::Term& term : operand.terms()) {
          if (HasSum(term.divide_expr()) || HasSum(term.modulo_expr()) ||
              HasSum(term.stride_bytes_expr())) {
            return true;
          }
        }
      }
    }
    return false;
  }

  std::string Registers() const {
    std::string out;
    for (const Jobs::Register& reg : jobs_.registers()) {
      absl::StrAppendFormat(&out, "    {0x%xu, %d, %d},\n", reg.offset(),
                            reg.bits(), reg.is_signed() ? 1 : 0);
    }
    return out;
  }

  absl::StatusOr<std::string> Fields() const {
    std::string out;
    const auto assign = [&out](const std::string& name,
                               const std::string& value) {
      absl::StrAppend(&out, "  v[", name, "] = ", value, ";\n");
    };
    // A field counts before a register that is the variable.
    for (int r = 0; r < jobs_.registers_size(); ++r) {
      const auto name = CName(jobs_.registers(r).value_expr());
      if (name) assign(*name, absl::StrCat("r[", r, "]"));
    }
    for (const Jobs::Field& field : jobs_.fields()) {
      const auto name = CName(field.variable());
      if (!name) continue;
      EK_ASSIGN_OR_RETURN(
          const std::string value,
          InC(field.value_expr(),
              [this](absl::string_view word) { return RegisterName(word); }),
          absl::StrCat("field ", field.variable()));
      assign(*name, value);
    }
    return out;
  }

  std::string FindText() const {
    std::string out;
    for (int j = 0; j < jobs_.jobs_size(); ++j) {
      const Jobs::Job& job = jobs_.jobs(j);
      const target::WeightRange weights =
          target::WeightRangeOf(job.weight_values());
      absl::StrAppend(&out, "  if (code == ", job.code(),
                      ") {\n    *kernel = JOB_",
                      Jobs::Kernel_Name(job.kernel()),
                      ";\n    *least_weight = ", weights.min,
                      ";\n    *most_weight = ", weights.max, ";\n    return ",
                      j, ";\n  }\n");
    }
    return out;
  }

  absl::StatusOr<std::string> Places() const {
    std::string out;
    for (int j = 0; j < jobs_.jobs_size(); ++j) {
      absl::StrAppend(&out, "    case ", j, ":\n");
      for (const Jobs::Operand& operand : jobs_.jobs(j).operands()) {
        for (const Jobs::Operand::Term& term : operand.terms()) {
          EK_ASSIGN_OR_RETURN(const std::string set, SetText(operand, term),
                              absl::StrCat("operand ", operand.name()));
          absl::StrAppend(&out, set);
        }
      }
      absl::StrAppend(&out, "      break;\n");
    }
    return out;
  }

 private:
  using Naming = std::function<std::optional<std::string>(absl::string_view)>;

  static bool HasSum(absl::string_view text) {
    return absl::StrContains(text, "sum");
  }

  // The expression in C: it has the operators and calls of C.
  absl::StatusOr<std::string> InC(absl::string_view text,
                                  const Naming& name) const {
    EK_ASSIGN_OR_RETURN(
        const std::string replaced,
        target::ReplaceNames(
            text, [&](absl::string_view word) -> std::optional<std::string> {
              for (const v1::Setting& parameter : machine_.parameters()) {
                if (parameter.name() == word) {
                  return target::ValueText(parameter.value());
                }
              }
              return name(word);
            }));
    return WithWideLiterals(replaced);
  }

  std::optional<std::string> RegisterName(absl::string_view word) const {
    for (int r = 0; r < jobs_.registers_size(); ++r) {
      if (jobs_.registers(r).name() == word) return absl::StrCat("r[", r, "]");
    }
    return std::nullopt;
  }

  static std::optional<std::string> VariableName(absl::string_view word) {
    const auto name = CName(word);
    if (!name) return std::nullopt;
    return absl::StrCat("v[", *name, "]");
  }

  absl::StatusOr<std::string> SetText(const Jobs::Operand& operand,
                                      const Jobs::Operand::Term& term) const {
    const absl::string_view axes = operand.name() == "weights" ? "ohwi" : "hwc";
    const size_t axis =
        term.axis().size() == 1 ? axes.find(term.axis()) : std::string::npos;
    if (axis == std::string::npos) {
      return absl::InvalidArgumentError("a term has no axis");
    }
    std::string out =
        absl::StrCat("      set(&operands[JOB_",
                     absl::AsciiStrToUpper(operand.name()), "], ", axis);
    const auto add = [&](const std::string& text,
                         absl::string_view otherwise) -> absl::Status {
      if (text.empty()) {
        absl::StrAppend(&out, ", ", otherwise);
        return absl::OkStatus();
      }
      EK_ASSIGN_OR_RETURN(const std::string value, InC(text, VariableName));
      absl::StrAppend(&out, ", ", value);
      return absl::OkStatus();
    };
    EK_RETURN_IF_ERROR(add(term.divide_expr(), "1"));
    EK_RETURN_IF_ERROR(add(term.modulo_expr(), "0"));
    EK_RETURN_IF_ERROR(add(term.stride_bytes_expr(), "1"));
    return out + ");\n";
  }

  const v1::Machine& machine_;
  const Jobs& jobs_;
};

// For a comment and a string.
std::string Plain(absl::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, 64)) {
    plain += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return plain;
}

}  // namespace

absl::StatusOr<std::vector<EngineBackend::ModelFile>> ModelInC(
    const v1::Machine& machine, int32_t engine) {
  std::vector<EngineBackend::ModelFile> files;
  const EngineText text(machine, engine);
  if (text.IsBeyond()) return files;
  EK_ASSIGN_OR_RETURN(const auto view,
                      target::RegisterJobsView::Create(machine, engine));
  EK_ASSIGN_OR_RETURN(const std::string fields, text.Fields());
  EK_ASSIGN_OR_RETURN(const std::string places, text.Places());
  for (const EmbeddedFile& file : kFiles) {
    files.push_back({file.name, file.text});
  }
  const v1::Machine::Engine& described = machine.engines(engine);
  const Jobs& jobs = described.jobs();
  files.push_back(
      {absl::StrCat("engine_", engine, ".c"),
       absl::StrReplaceAll(
           kEngine,
           {{"@name@", Plain(described.name())},
            {"@registers@", text.Registers()},
            {"@fields@", fields},
            {"@jobs@", text.FindText()},
            {"@places@", places},
            {"@memory@", absl::StrCat(view.own_memory())},
            {"@count@", absl::StrCat(jobs.registers_size())},
            {"@start@", absl::StrFormat("0x%xu, 0x%xu", jobs.start_offset(),
                                        jobs.start_value())},
            {"@status@",
             absl::StrFormat("0x%xu, 0x%xu, 0x%xu", jobs.status_offset(),
                             jobs.status_mask(), jobs.status_done())},
            {"@engine@", absl::StrCat(engine)}})});
  return files;
}

}  // namespace edgekiln::compiler::register_job
