#include "compiler/ir/interpreter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/buffer_layout.h"
#include "compiler/ir/tensor_views.h"
#include "ops/evaluate.h"
#include "ops/real_zero.h"

namespace edgekiln::compiler {
namespace {

class ReferenceInterpreter : public Interpreter {
 public:
  ReferenceInterpreter(Graph graph, const InterpreterOptions& options,
                       BufferLayout layout)
      : graph_(std::move(graph)),
        options_(options),
        layout_(std::move(layout)),
        storage_(new char[layout_.bytes + BufferLayout::kAlignmentBytes]) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.get());
    base_ = storage_.get() + (-address % BufferLayout::kAlignmentBytes);
    state_of_input_.resize(graph_.inputs.size(), -1);
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(),
                                   graph_.states[s].input);
      state_of_input_[input - graph_.inputs.begin()] = static_cast<int32_t>(s);
    }
    SetToZero();
  }

  // Once, before anything else.
  absl::Status Prepare() {
    for (const Op& op : graph_.ops) {
      EK_ASSIGN_OR_RETURN(Step step, Prepare(op), absl::StrCat("op ", op.id));
      steps_.push_back(std::move(step));
    }
    return absl::OkStatus();
  }

  absl::Status Run(absl::Span<const absl::string_view> inputs) override {
    ran_ = false;
    if (inputs.size() != graph_.inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(inputs.size(), " input values for a graph with ",
                       graph_.inputs.size(), " inputs"));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorId id = graph_.inputs[i];
      absl::string_view value = inputs[i];
      if (value.empty() && state_of_input_[i] >= 0) {
        value = states_[state_of_input_[i]];
      }
      if (std::ssize(value) != BytesOf(id)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input '", graph_.tensors[id].name, "' has ", value.size(),
            " bytes; its shape and type need ", BytesOf(id)));
      }
      if (!value.empty()) {
        std::memcpy(AddressOf(id), value.data(), value.size());
      }
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      EK_RETURN_IF_ERROR(steps_[i].op->Run(steps_[i].inputs, steps_[i].outputs,
                                           options_.cpu_path),
                         absl::StrCat("op ", graph_.ops[i].id));
      if (options_.after_op) EK_RETURN_IF_ERROR(ShowOutputs(i));
    }
    ran_ = true;
    for (size_t s = 0; s < states_.size(); ++s) {
      states_[s] = std::string(value(graph_.states[s].output));
    }
    return absl::OkStatus();
  }

  const std::vector<std::string>& states() const override { return states_; }

  absl::Status SetStates(std::vector<std::string> values) override {
    if (values.empty()) {
      SetToZero();
      return absl::OkStatus();
    }
    bool fits = values.size() == states_.size();
    for (size_t s = 0; fits && s < values.size(); ++s) {
      fits = values[s].size() == states_[s].size();
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          "values do not fit the states of the graph");
    }
    states_ = std::move(values);
    return absl::OkStatus();
  }

  absl::string_view value(TensorId tensor) const override {
    if (graph_.tensors[tensor].is_constant()) {
      return *graph_.tensors[tensor].data;
    }
    if (!ran_ || !layout_.kept[tensor] || layout_.offset[tensor] < 0) return "";
    return absl::string_view(AddressOf(tensor), BytesOf(tensor));
  }

  const Graph& graph() const override { return graph_; }

 private:
  // One op with its views, made once: neither graph nor storage ever move.
  struct Step {
    std::unique_ptr<ops::PreparedOp> op;
    std::vector<ops::TensorView> inputs;
    std::vector<ops::MutableTensorView> outputs;
  };

  void SetToZero() {
    states_.clear();
    for (const State& state : graph_.states) {
      const Tensor& tensor = graph_.tensors[state.input];
      states_.push_back(ops::RealZero(
          tensor.type, tensor.num_elements(),
          tensor.quantization ? tensor.quantization->zero_point[0] : 0));
    }
  }

  absl::Status ShowOutputs(size_t op) const {
    std::vector<absl::string_view> outputs;
    for (const TensorId id : graph_.ops[op].outputs) {
      outputs.emplace_back(AddressOf(id), BytesOf(id));
    }
    return options_.after_op(static_cast<int32_t>(op), outputs);
  }

  char* AddressOf(TensorId id) const { return base_ + layout_.offset[id]; }

  int64_t BytesOf(TensorId id) const {
    const Tensor& tensor = graph_.tensors[id];
    return tensor.num_elements() * ElementBytes(tensor.type);
  }

  absl::StatusOr<Step> Prepare(const Op& op) const {
    Step step;
    step.inputs = ViewsOf(graph_, op.inputs);
    std::vector<ops::TensorView> output_types;
    for (const TensorId id : op.outputs) {
      output_types.push_back(ViewOf(graph_.tensors[id]));
      const ops::TensorView& view = output_types.back();
      step.outputs.push_back(
          {view.type, view.shape, AddressOf(id), view.quantization});
    }
    EK_ASSIGN_OR_RETURN(step.op,
                        ops::Prepare(op.attributes, step.inputs, output_types));
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId id = op.inputs[i];
      if (id == kNoTensor || graph_.tensors[id].is_constant()) continue;
      step.inputs[i].data = AddressOf(id);
    }
    return step;
  }

  const Graph graph_;
  const InterpreterOptions options_;
  const BufferLayout layout_;
  const std::unique_ptr<char[]> storage_;
  char* base_ = nullptr;  // Into storage_, aligned.
  std::vector<Step> steps_;
  std::vector<int32_t> state_of_input_;  // -1: none.
  std::vector<std::string> states_;
  bool ran_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Interpreter>> Interpreter::Create(
    const Graph& graph, const InterpreterOptions& options) {
  EK_RETURN_IF_ERROR(VerifyGraph(graph));
  const bool keep_all = options.keep == InterpreterOptions::Keep::kAllTensors;
  BufferLayout layout = LayOutBuffers(graph, keep_all);
  if (layout.bytes > options.max_buffer_bytes) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.fault = Fault::kUser,
         .reason = "INTERPRETER_MEMORY",
         .what = "the values of the network do not fit the memory allowed for "
                 "the reference interpreter",
         .where = absl::StrCat("graph '", graph.name, "'"),
         .limit = absl::StrCat(options.max_buffer_bytes, " bytes"),
         .need = absl::StrCat(layout.bytes, " bytes"),
         .fix = "use a smaller batch or input"});
  }
  auto interpreter =
      std::make_unique<ReferenceInterpreter>(graph, options, std::move(layout));
  EK_RETURN_IF_ERROR(interpreter->Prepare());
  return interpreter;
}

absl::StatusOr<std::vector<std::string>> Evaluate(
    const Graph& graph, absl::Span<const absl::string_view> inputs,
    const InterpreterOptions& options) {
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<Interpreter> interpreter,
                      Interpreter::Create(graph, options));
  EK_RETURN_IF_ERROR(interpreter->Run(inputs));
  std::vector<std::string> values;
  for (const TensorId output : graph.outputs) {
    values.emplace_back(interpreter->value(output));
  }
  return values;
}

}  // namespace edgekiln::compiler
