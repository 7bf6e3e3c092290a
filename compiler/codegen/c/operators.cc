#include "compiler/codegen/c/operators.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/arena.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/c/kernels.h"
#include "compiler/codegen/c/network_files.h"
#include "compiler/codegen/c/network_writer.h"
#include "compiler/codegen/c/steps.h"

namespace edgekiln::compiler {
namespace {

class OperatorWriter {
 public:
  OperatorWriter(const Graph& graph, const std::map<TensorId, CPlace>& places,
                 const std::string& prefix, CRecipe recipe)
      : graph_(graph),
        places_(places),
        recipe_(recipe),
        kernels_(KernelLibrary::Builtin(), v1::X86_64),
        writer_(graph_, prefix) {
    // Only what ops need between their steps is planned here.
    graph_.inputs.clear();
    graph_.outputs.clear();
    graph_.states.clear();
    // Constants are read where they lie.
    for (const auto& [id, place] : places) {
      ConstantData& data = graph_.tensors[id].data;
      if (data.has_value())
        data = ConstantData::Borrowed(*graph.tensors[id].data);
    }
  }

  absl::StatusOr<COperators> Write() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op op = graph_.ops[i];
      EK_RETURN_IF_ERROR(AddOperator(static_cast<int64_t>(i), op),
                         absl::StrCat("op ", op.id));
    }
    result_.text = Text(PlanArena(graph_, uses_));
    result_.constant_bytes = writer_.constant_bytes();
    return std::move(result_);
  }

 private:
  absl::Status AddOperator(int64_t index, const Op& op) {
    COperators::Operator made;
    std::string body;
    for (const CStep& step : StepsOf(op, graph_)) {
      EK_RETURN_IF_ERROR(AddStep(step, body, made.can_fail));
    }
    bodies_.push_back(body);
    if (!body.empty()) {
      made.function = CLayerFunction(writer_.prefix(), index, op.id);
    }
    result_.operators.push_back(std::move(made));
    return absl::OkStatus();
  }

  absl::Status AddStep(const CStep& step, std::string& body, bool& can_fail) {
    StepUse use;
    StepWriter w(writer_, step);
    const bool writes = std::any_of(
        step.outputs.begin(), step.outputs.end(),
        [this](TensorId id) { return graph_.tensors[id].num_elements() > 0; });
    if (writes) {
      EK_RETURN_IF_ERROR(kernels_.Emit(w, recipe_).status());
      absl::StrAppend(&body, w.Block());
      can_fail = can_fail || w.can_fail();
    }
    for (const size_t i : w.read()) {
      if (IsBetween(step.inputs[i])) use.reads.push_back(step.inputs[i]);
    }
    for (const TensorId id : step.outputs) {
      if (IsBetween(id)) use.writes.push_back(id);
    }
    use.scratch = w.scratch();
    uses_.push_back(std::move(use));
    return absl::OkStatus();
  }

  // Whether it lies in the arena: it is between two steps of an op.
  bool IsBetween(TensorId id) const {
    return !places_.contains(id) && !graph_.tensors[id].is_constant();
  }

  std::string Text(const ArenaPlan& plan) {
    const std::string& p = writer_.prefix();
    CodeWriter c;
    c.Raw(LayerAttribute(p));
    c.Line("");
    if (!plan.tensors.empty() || !plan.scratch.empty()) {
      result_.scratch_bytes = plan.bytes;
      c.Line("static union {");
      c.Line("  uint64_t align;");
      c.Line("  uint8_t bytes[", plan.bytes, "];");
      c.Line("} ", p, "_arena;");
      c.Line("");
      c.Raw(AddressFunction(p));
    }
    for (const auto& [id, place] : places_) {
      c.Line("#define ", writer_.TensorName(id), " edgekiln_at(", place.memory,
             ", ", absl::StrFormat("0x%xu", place.address), ")");
    }
    for (const auto& [id, offset] : plan.tensors) {
      c.Line("#define ", writer_.TensorName(id), " ", p, "_at(", offset, ")");
    }
    for (const auto& [number, offset] : plan.scratch) {
      c.Line("#define ", writer_.ScratchName(number), " ", p, "_at(", offset,
             ")");
    }
    c.Line("");
    c.Raw(writer_.constants_text());
    c.Line("");
    c.Raw(writer_.helpers().Text());
    for (size_t i = 0; i < bodies_.size(); ++i) Function(i, c);
    return c.text();
  }

  void Function(size_t index, CodeWriter& c) const {
    if (bodies_[index].empty()) return;
    const COperators::Operator& made = result_.operators[index];
    const absl::string_view type = made.can_fail ? "int" : "void";
    c.Line(type, " ", made.function, "(void);");
    c.Line(CMacroPrefix(writer_.prefix()), "_LAYER ", type, " ", made.function,
           "(void) {");
    c.Raw(bodies_[index]);
    if (made.can_fail) c.Line("  return 0;");
    c.Line("}");
    c.Line("");
  }

  Graph graph_;  // With the tensors between steps.
  const std::map<TensorId, CPlace>& places_;
  const CRecipe recipe_;
  const KernelEmitter kernels_;
  NetworkWriter writer_;
  std::vector<std::string> bodies_;
  std::vector<StepUse> uses_;
  COperators result_;
};

}  // namespace

absl::StatusOr<COperators> EmitCOperators(
    const Graph& graph, const std::map<TensorId, CPlace>& places,
    const std::string& prefix, CRecipe recipe) {
  return OperatorWriter(graph, places, prefix, recipe).Write();
}

}  // namespace edgekiln::compiler
