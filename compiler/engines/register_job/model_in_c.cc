#include "compiler/engines/register_job/model_in_c.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
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

static const struct job_kind kinds[] = {
@kinds@};

static int64_t find_record(const int64_t *r) {
  (void)r;
  return @record_address@;
}

static int find_transfer(const int64_t *r, struct job_transfer *t) {
  (void)r;
  (void)t;
@transfer@}

static void decode(const int64_t *r, int64_t *v) {
  int i;
  for (i = 0; i < JOB_VARIABLES; ++i) v[i] = 0;
@fields@}

static int refuse(int kind, const int64_t *v) {
  (void)v;
  switch (kind) {
@conditions@    default:
      break;
  }
  return -1;
}

static void set(struct job_operand *operand, int axis, int64_t divide,
                int64_t modulo, int64_t stride) {
  struct job_term *const term = &operand->term[operand->terms++];
  term->axis = axis;
  term->divide = divide;
  term->modulo = modulo;
  term->stride = stride;
}

@masks@static void place(int kind, const int64_t *v, struct job_operand *o) {
  (void)v;
  switch (kind) {
@places@    default:
      break;
  }
}

static const struct job_engine engine = {
    @memory@,      registers,
    @count@,       @record@,
    @start@,
    @status@,
    kinds, @kind_count@,
    find_record, find_transfer, decode, refuse, place};
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

std::string NameInC(target::JobVariable variable) {
  return absl::StrCat("JOB_",
                      absl::AsciiStrToUpper(target::JobVariableName(variable)));
}

std::string NameInC(absl::string_view operand) {
  return absl::StrCat("JOB_", absl::AsciiStrToUpper(operand));
}

// The parts of kEngine. Expressions with sum(), which have no C here, make it
// incomplete.
class EngineText {
 public:
  EngineText(const v1::Machine& machine, const target::RegisterJobsView& view)
      : machine_(machine), jobs_(view.jobs()), view_(view) {
    for (const v1::Setting& parameter : machine.parameters()) {
      constants_.push_back({parameter.name(), parameter.value()});
    }
    for (int r = 0; r < jobs_.registers_size(); ++r) {
      register_names_.push_back(jobs_.registers(r).name());
      registers_in_c_.push_back(absl::StrCat("r[", r, "]"));
    }
    for (int i = 0; i < target::kNumJobVariables; ++i) {
      const auto variable = static_cast<target::JobVariable>(i);
      variable_names_.emplace_back(target::JobVariableName(variable));
      variables_in_c_.push_back(absl::StrCat("v[", NameInC(variable), "]"));
    }
  }

  bool is_complete() const { return is_complete_; }

  std::string Registers() const {
    std::string out;
    for (const Jobs::Register& reg : jobs_.registers()) {
      absl::StrAppendFormat(&out, "    {0x%xu, %d, %d, %d, %d},\n",
                            reg.offset(), reg.bits(), reg.is_signed() ? 1 : 0,
                            reg.in_record() ? 1 : 0, reg.low_bit());
    }
    return out;
  }

  std::string Kinds() const {
    std::string out;
    for (const Jobs::Job& job : jobs_.jobs()) {
      const target::WeightRange weights =
          target::WeightRangeOf(job.weight_values());
      absl::StrAppend(&out, "    {", job.code(), ", JOB_",
                      Jobs::Kernel_Name(job.kernel()), ", JOB_",
                      Jobs::Results_Name(job.results()), ", ", weights.min,
                      ", ", weights.max, "},\n");
    }
    return out;
  }

  absl::StatusOr<std::string> RecordAddress() {
    if (view_.record_memory() < 0) return "0";
    const absl::string_view name =
        target::JobVariableName(target::JobVariable::kRecordAddr);
    for (const Jobs::Field& field : jobs_.fields()) {
      if (field.variable() == name) return OfRegisters(field.value_expr());
    }
    for (int r = 0; r < jobs_.registers_size(); ++r) {
      if (jobs_.registers(r).value_expr() == name) return registers_in_c_[r];
    }
    return absl::InvalidArgumentError("nothing tells where the record lies");
  }

  absl::StatusOr<std::string> Transfer(int32_t engine) {
    if (!jobs_.has_transfers()) return "  return 0;\n";
    std::string first, rest;
    for (const Jobs::Field& field : jobs_.transfers().fields()) {
      EK_ASSIGN_OR_RETURN(const std::string value,
                          OfRegisters(field.value_expr()),
                          absl::StrCat("transfers: ", field.variable()));
      if (field.variable() == "transfer") {
        first = absl::StrCat("  if ((", value, ") == 0) return 0;\n");
      } else {
        absl::StrAppend(&rest, "  t->", field.variable(), " = ", value, ";\n");
      }
    }
    return absl::StrCat(first, rest, "  t->is_joined = ", Joined(engine),
                        ";\n  t->reversed_bytes = ",
                        std::max(jobs_.transfers().reversed_bytes(), 1),
                        ";\n  return 1;\n");
  }

  absl::StatusOr<std::string> Fields() {
    std::string out;
    const auto assign = [&out](target::JobVariable variable,
                               const std::string& value) {
      absl::StrAppend(&out, "  v[", NameInC(variable), "] = ", value, ";\n");
    };
    // A field counts before a register that is the variable.
    for (int r = 0; r < jobs_.registers_size(); ++r) {
      const auto variable =
          target::FindJobVariable(jobs_.registers(r).value_expr());
      if (variable) assign(*variable, registers_in_c_[r]);
    }
    for (const Jobs::Field& field : jobs_.fields()) {
      const auto variable = target::FindJobVariable(field.variable());
      if (!variable) continue;
      EK_ASSIGN_OR_RETURN(const std::string value,
                          OfRegisters(field.value_expr()),
                          absl::StrCat("field ", field.variable()));
      assign(*variable, value);
    }
    return out;
  }

  absl::StatusOr<std::string> Conditions() {
    std::string out;
    for (int j = 0; j < jobs_.jobs_size(); ++j) {
      if (jobs_.jobs(j).where().empty()) continue;
      absl::StrAppend(&out, "    case ", j, ":\n");
      for (int w = 0; w < jobs_.jobs(j).where_size(); ++w) {
        EK_ASSIGN_OR_RETURN(const std::string condition,
                            OfVariables(jobs_.jobs(j).where(w).expr()),
                            absl::StrCat("condition ", w));
        absl::StrAppend(&out, "      if (", condition, " == 0) return ", w,
                        ";\n");
      }
      absl::StrAppend(&out, "      break;\n");
    }
    return out;
  }

  // Of all cells, by job.
  std::string Masks() const {
    std::string out;
    for (int j = 0; j < jobs_.jobs_size(); ++j) {
      for (const Jobs::Operand& operand : jobs_.jobs(j).operands()) {
        const auto& masks = operand.cell_rows().sign_masks();
        if (masks.empty()) continue;
        absl::StrAppend(&out, "static const uint32_t masks_", j, "[] = {",
                        absl::StrJoin(masks, ", "), "};\n\n");
      }
    }
    return out;
  }

  absl::StatusOr<std::string> Places() {
    std::string out;
    for (int j = 0; j < jobs_.jobs_size(); ++j) {
      absl::StrAppend(&out, "    case ", j, ":\n");
      for (const Jobs::Operand& operand : jobs_.jobs(j).operands()) {
        EK_RETURN_IF_ERROR(Place(j, operand, &out),
                           absl::StrCat("operand ", operand.name()));
      }
      absl::StrAppend(&out, "      break;\n");
    }
    return out;
  }

 private:
  // Whether the link in the window joins the memories of a transfer.
  std::string Joined(int32_t engine) const {
    std::string joined = "0";
    for (const v1::ResolvedLink& link : machine_.links()) {
      if (!link.has_window() || link.window() != engine) continue;
      const auto one_of = [](absl::string_view name, const auto& memories) {
        return absl::StrCat(
            "(",
            absl::StrJoin(memories, " || ",
                          [&](std::string* out, int32_t memory) {
                            absl::StrAppend(out, "t->", name, " == ", memory);
                          }),
            ")");
      };
      joined = absl::StrCat(one_of("from_memory", link.from()), " && ",
                            one_of("to_memory", link.to()));
    }
    return joined;
  }

  absl::StatusOr<std::string> InC(absl::string_view text,
                                  const std::vector<std::string>& names,
                                  const std::vector<std::string>& names_in_c) {
    EK_ASSIGN_OR_RETURN(const auto expression,
                        target::Expression::Compile(text, constants_, names));
    const auto calls = expression.AsCalls(names_in_c);
    is_complete_ = is_complete_ && calls.has_value();
    return calls.value_or("0");
  }
  absl::StatusOr<std::string> OfRegisters(absl::string_view text) {
    return InC(text, register_names_, registers_in_c_);
  }
  absl::StatusOr<std::string> OfVariables(absl::string_view text,
                                          absl::string_view otherwise = "0") {
    return InC(text.empty() ? otherwise : text, variable_names_,
               variables_in_c_);
  }

  absl::Status Place(int job, const Jobs::Operand& operand, std::string* out) {
    const std::string name = NameInC(operand.name());
    const auto assign = [&](absl::string_view field, absl::string_view value) {
      absl::StrAppend(out, "      o[", name, "].", field, " = ", value, ";\n");
    };
    const auto assign_expression = [&](absl::string_view field,
                                       absl::string_view text) -> absl::Status {
      EK_ASSIGN_OR_RETURN(const std::string value, OfVariables(text));
      assign(field, value);
      return absl::OkStatus();
    };
    const auto* const which = std::find_if(
        std::begin(target::kAllJobOperands), std::end(target::kAllJobOperands),
        [&](target::JobOperand known) {
          return target::JobOperandName(known) == operand.name();
        });
    if (which == std::end(target::kAllJobOperands)) {
      return absl::InvalidArgumentError("no operand of a job");
    }
    assign("memory", absl::StrCat(view_.MemoryOf(job, *which)));
    if (!operand.address_expr().empty()) {
      EK_RETURN_IF_ERROR(assign_expression("address", operand.address_expr()));
    }
    if (operand.reversed_bytes() != 0) {
      assign("reversed_bytes", absl::StrCat(operand.reversed_bytes()));
    }
    if (!operand.staged_in().empty()) {
      for (int m = 0; m < machine_.memories_size(); ++m) {
        const v1::ResolvedMemory& memory = machine_.memories(m);
        if (memory.name() != operand.staged_in()) continue;
        assign("staged_in", absl::StrCat(m));
        assign("staged_capacity", absl::StrCat(memory.capacity_bytes()));
      }
      if (!operand.has_cell_rows()) {
        EK_RETURN_IF_ERROR(
            assign_expression("size", operand.size_bytes_expr()));
      }
    }
    if (operand.has_cell_rows()) {
      const Jobs::CellRows& cells = operand.cell_rows();
      assign("has_cells", "1");
      EK_RETURN_IF_ERROR(
          assign_expression("cells.rows_multiple", cells.rows_multiple_expr()));
      EK_RETURN_IF_ERROR(assign_expression("cells.columns_multiple",
                                           cells.columns_multiple_expr()));
      assign("cells.last_row_first", cells.last_row_first() ? "1" : "0");
      assign("cells.sign_rows", absl::StrCat(cells.sign_rows()));
      assign("cells.sign_columns", absl::StrCat(cells.sign_columns()));
      assign("cells.sign_masks",
             cells.sign_masks().empty() ? "0" : absl::StrCat("masks_", job));
      assign("cells.sign_mask_count", absl::StrCat(cells.sign_masks_size()));
    }
    is_complete_ = is_complete_ && operand.terms_size() <= kMostModelTerms;
    for (const Jobs::Operand::Term& term : operand.terms()) {
      EK_RETURN_IF_ERROR(SetTerm(*which, name, term, out));
    }
    return absl::OkStatus();
  }

  absl::Status SetTerm(target::JobOperand which, const std::string& name,
                       const Jobs::Operand::Term& term, std::string* out) {
    const absl::string_view axes = which == target::JobOperand::kWeights
                                       ? "ohwi"
                                   : target::IsOfChannels(which) ? "ob"
                                                                 : "hwc";
    const size_t axis =
        term.axis().size() == 1 ? axes.find(term.axis()) : std::string::npos;
    if (axis == std::string::npos) {
      return absl::InvalidArgumentError("a term has no axis");
    }
    EK_ASSIGN_OR_RETURN(const std::string divide,
                        OfVariables(term.divide_expr(), "1"));
    EK_ASSIGN_OR_RETURN(const std::string modulo,
                        OfVariables(term.modulo_expr(), "0"));
    EK_ASSIGN_OR_RETURN(const std::string stride,
                        OfVariables(term.stride_bytes_expr(), "1"));
    absl::StrAppend(out, "      set(&o[", name, "], ", axis, ", ", divide, ", ",
                    modulo, ", ", stride, ");\n");
    return absl::OkStatus();
  }

  const v1::Machine& machine_;
  const Jobs& jobs_;
  const target::RegisterJobsView& view_;
  bool is_complete_ = true;
  std::vector<target::Constant> constants_;
  std::vector<std::string> register_names_, registers_in_c_;
  std::vector<std::string> variable_names_, variables_in_c_;
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
  EK_ASSIGN_OR_RETURN(const auto view,
                      target::RegisterJobsView::Create(machine, engine));
  EngineText text(machine, view);
  EK_ASSIGN_OR_RETURN(const std::string record_address, text.RecordAddress());
  EK_ASSIGN_OR_RETURN(const std::string transfer, text.Transfer(engine));
  EK_ASSIGN_OR_RETURN(const std::string fields, text.Fields());
  EK_ASSIGN_OR_RETURN(const std::string conditions, text.Conditions());
  EK_ASSIGN_OR_RETURN(const std::string places, text.Places());
  const v1::Machine::Engine& described = machine.engines(engine);
  const Jobs& jobs = described.jobs();
  if (!text.is_complete() || jobs.registers_size() > kMostModelRegisters) {
    return files;
  }
  for (const EmbeddedFile& file : kFiles) {
    files.push_back({file.name, file.text});
  }
  files.push_back(
      {absl::StrCat("engine_", engine, ".c"),
       absl::StrReplaceAll(
           kEngine,
           {{"@name@", Plain(described.name())},
            {"@registers@", text.Registers()},
            {"@kinds@", text.Kinds()},
            {"@record_address@", record_address},
            {"@transfer@", transfer},
            {"@fields@", fields},
            {"@conditions@", conditions},
            {"@masks@", text.Masks()},
            {"@places@", places},
            {"@memory@", absl::StrCat(view.own_memory())},
            {"@count@", absl::StrCat(jobs.registers_size())},
            {"@record@",
             absl::StrCat(view.record_memory(), ", ", view.record_bytes())},
            {"@start@", absl::StrFormat("0x%xu, 0x%xu", jobs.start_offset(),
                                        jobs.start_value())},
            {"@status@",
             absl::StrFormat("0x%xu, 0x%xu, 0x%xu", jobs.status_offset(),
                             jobs.status_mask(), jobs.status_done())},
            {"@kind_count@", absl::StrCat(jobs.jobs_size())},
            {"@engine@", absl::StrCat(engine)}})});
  return files;
}

}  // namespace edgekiln::compiler::register_job
