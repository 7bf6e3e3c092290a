#include "compiler/passes/integer_io.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/border_conversion.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/op_traits.h"

namespace edgekiln::compiler {
namespace {

std::vector<bool> StateTensors(const Graph& graph) {
  std::vector<bool> in_state(graph.tensors.size(), false);
  for (const State& state : graph.states) {
    in_state[state.input] = true;
    in_state[state.output] = true;
  }
  return in_state;
}

std::vector<bool> OutputTensors(const Graph& graph) {
  std::vector<bool> is_output(graph.tensors.size(), false);
  for (const TensorId id : graph.outputs) is_output[id] = true;
  return is_output;
}

bool ReadsFirstOnly(const Op& op, TensorId id) {
  return op.outputs.size() == 1 && !op.inputs.empty() && op.inputs[0] == id &&
         std::count(op.inputs.begin(), op.inputs.end(), id) == 1;
}

void RemoveOps(const std::vector<bool>& removed, Graph& graph) {
  size_t kept = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (removed[i]) continue;
    if (kept != i) graph.ops[kept] = std::move(graph.ops[i]);
    ++kept;
  }
  graph.ops.resize(kept);
  RemoveUnusedTensors(graph);
}

// That the caller converts a port between the source model's type and `to`. Of
// a port that it converts already, only the integers change, by a shift.
void Record(ConvertedPort port, v1::ElementType to,
            std::vector<ConvertedPort>& ports) {
  const auto before = [](const ConvertedPort& a, const ConvertedPort& b) {
    return a.port < b.port;
  };
  auto at = std::lower_bound(ports.begin(), ports.end(), port, before);
  if (at == ports.end() || at->port != port.port) at = ports.insert(at, port);
  if (at->type == to) ports.erase(at);  // Shifted back.
}

// From the inputs down to what rounds them.
class InputSide {
 public:
  explicit InputSide(Graph& graph)
      : graph_(graph),
        readers_(Consumers(graph)),
        is_output_(OutputTensors(graph)),
        in_state_(StateTensors(graph)),
        removed_(graph.ops.size(), false),
        replaced_(graph.tensors.size(), kNoTensor) {}

  bool Run() {
    bool changed = false;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const std::optional<Region> region = RegionOf(graph_.inputs[i]);
      if (!region.has_value()) continue;
      Convert(static_cast<int32_t>(i), *region);
      changed = true;
    }
    if (!changed) return false;
    for (Op& op : graph_.ops) {
      for (TensorId& input : op.inputs) {
        while (input != kNoTensor && replaced_[input] != kNoTensor) {
          input = replaced_[input];
        }
      }
    }
    RemoveOps(removed_, graph_);
    return true;
  }

 private:
  // What lies between an input and the ops that round it.
  struct Region {
    IntegerForm form;
    std::vector<int32_t> movers;       // They choose values.
    std::vector<int32_t> conversions;  // They go.
  };

  std::optional<Region> RegionOf(TensorId input) const {
    Region region;
    bool rounds = false;
    std::vector<TensorId> open = {input};
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      if (is_output_[id] || in_state_[id] || readers_[id].empty()) {
        return std::nullopt;
      }
      for (const int32_t reader : readers_[id]) {
        const Op& op = graph_.ops[reader];
        if (!ReadsFirstOnly(op, id)) return std::nullopt;
        if (const auto form = FormThatItGives(graph_, op)) {
          if (rounds && !(*form == region.form)) return std::nullopt;
          region.form = *form;
          rounds = true;
          region.conversions.push_back(reader);
          continue;
        }
        if (WidensToFloat32(graph_, op)) {
          region.conversions.push_back(reader);
        } else if (ChoosesValues(op)) {
          region.movers.push_back(reader);
        } else {
          return std::nullopt;
        }
        open.push_back(op.outputs[0]);
      }
    }
    for (const int32_t mover : region.movers) {
      if (!TakesForm(graph_, graph_.ops[mover], region.form)) {
        return std::nullopt;
      }
    }
    return region;
  }

  void Convert(int32_t port, const Region& region) {
    const TensorId input = graph_.inputs[port];
    Record({port, graph_.tensors[input].type, region.form.rounding},
           region.form.type, graph_.converted_inputs);
    SetForm(region.form, graph_.tensors[input]);
    for (const int32_t mover : region.movers) {
      SetForm(region.form, graph_.tensors[graph_.ops[mover].outputs[0]]);
    }
    for (const int32_t conversion : region.conversions) {
      Op& op = graph_.ops[conversion];
      if (is_output_[op.outputs[0]]) {
        // The output keeps its name, the memory is the same.
        op.attributes = ReshapeAttributes();
        continue;
      }
      removed_[conversion] = true;
      replaced_[op.outputs[0]] = op.inputs[0];
    }
  }

  Graph& graph_;
  const std::vector<std::vector<int32_t>> readers_;
  const std::vector<bool> is_output_;
  const std::vector<bool> in_state_;
  std::vector<bool> removed_;       // By op.
  std::vector<TensorId> replaced_;  // By tensor: what is read instead.
};

// From the ops that make real values of integers down to the outputs.
class OutputSide {
 public:
  explicit OutputSide(Graph& graph)
      : graph_(graph),
        producers_(Producers(graph)),
        readers_(Consumers(graph)),
        in_state_(StateTensors(graph)),
        is_output_(OutputTensors(graph)),
        leads_out_(graph.tensors.size(), false),
        removed_(graph.ops.size(), false) {
    source_types_.reserve(graph.outputs.size());
    for (const TensorId id : graph.outputs) {
      source_types_.push_back(graph.tensors[id].type);
    }
    converted_.resize(graph.outputs.size(), false);
  }

  bool Run() {
    FindWaysOut();
    bool changed = false;
    const size_t ops = graph_.ops.size();
    for (size_t i = 0; i < ops; ++i) {
      if (TakesFormOff(graph_, graph_.ops[i])) {
        changed |= Convert(static_cast<int32_t>(i));
      }
    }
    if (!changed) return false;
    for (size_t i = 0; i < converted_.size(); ++i) {
      if (!converted_[i]) continue;
      Record({static_cast<int32_t>(i), source_types_[i], v1::HALF_UP},
             graph_.tensors[graph_.outputs[i]].type, graph_.converted_outputs);
    }
    RemoveOps(removed_, graph_);
    return true;
  }

 private:
  bool IsWayOut(const Op& op, TensorId from) const {
    return ReadsFirstOnly(op, from) && leads_out_[op.outputs[0]] &&
           (ChoosesValues(op) || NarrowsFloat32(graph_, op));
  }

  // A tensor leads out if it is used for nothing but outputs.
  void FindWaysOut() {
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      for (const TensorId id : graph_.ops[i].outputs) {
        leads_out_[id] = !in_state_[id] &&
                         (is_output_[id] || !readers_[id].empty()) &&
                         std::all_of(readers_[id].begin(), readers_[id].end(),
                                     [&](int32_t reader) {
                                       return IsWayOut(graph_.ops[reader], id);
                                     });
      }
    }
  }

  // Whether the tensor can take another's place as an output, under its name.
  bool CanBeOutput(TensorId id) const {
    return producers_[id] >= 0 && !is_output_[id] && !in_state_[id];
  }

  // `root` makes real values of integers. What leads from it to outputs becomes
  // integers; what else reads the real values still does.
  bool Convert(int32_t root) {
    const TensorId integers = graph_.ops[root].inputs[0];
    const TensorId real = graph_.ops[root].outputs[0];
    if (graph_.tensors[integers].is_constant() || in_state_[real]) return false;
    const IntegerForm form = FormOf(graph_.tensors[integers]);
    std::vector<int32_t> region;  // Each op behind the one that it reads.
    bool read_elsewhere = false;
    for (const int32_t reader : readers_[real]) {
      if (IsWayOut(graph_.ops[reader], real)) {
        region.push_back(reader);
      } else {
        read_elsewhere = true;
      }
    }
    if (region.empty() && !is_output_[real]) return false;
    for (size_t i = 0; i < region.size(); ++i) {
      const Op& op = graph_.ops[region[i]];
      if (ChoosesValues(op) && !TakesForm(graph_, op, form)) return false;
      const std::vector<int32_t>& next = readers_[op.outputs[0]];
      region.insert(region.end(), next.begin(), next.end());
    }
    if (is_output_[real] && read_elsewhere && !CanBeOutput(integers)) {
      return false;
    }
    for (const int32_t op : region) {
      if (graph_.ops[op].inputs[0] == real) graph_.ops[op].inputs[0] = integers;
      SetForm(form, graph_.tensors[graph_.ops[op].outputs[0]]);
      MarkConverted(graph_.ops[op].outputs[0]);
    }
    ConvertRoot(root, form, read_elsewhere);
    for (const int32_t op : region) {
      if (!ChoosesValues(graph_.ops[op])) Drop(op);
    }
    return true;
  }

  void ConvertRoot(int32_t root, const IntegerForm& form, bool read_elsewhere) {
    const TensorId integers = graph_.ops[root].inputs[0];
    const TensorId real = graph_.ops[root].outputs[0];
    if (!is_output_[real]) {
      removed_[root] = !read_elsewhere;
      return;
    }
    MarkConverted(real);
    if (!read_elsewhere) {
      SetForm(form, graph_.tensors[real]);
      return Drop(root);
    }
    MakeOutput(integers, real);
    graph_.tensors[real].name =
        names().TensorName(graph_.tensors[integers].name + ".float");
  }

  void MarkConverted(TensorId output) {
    if (!is_output_[output]) return;
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (graph_.outputs[i] == output) converted_[i] = true;
    }
  }

  // The op's result, integers by now, are those that it reads.
  void Drop(int32_t op) {
    const TensorId from = graph_.ops[op].inputs[0];
    const TensorId to = graph_.ops[op].outputs[0];
    if (is_output_[to]) {
      if (!CanBeOutput(from)) {
        graph_.ops[op].attributes = ReshapeAttributes();
        return;
      }
      MakeOutput(from, to);
    }
    for (const int32_t reader : readers_[to]) {
      std::vector<TensorId>& inputs = graph_.ops[reader].inputs;
      std::replace(inputs.begin(), inputs.end(), to, from);
    }
    removed_[op] = true;
  }

  void MakeOutput(TensorId id, TensorId instead_of) {
    graph_.tensors[id].name = graph_.tensors[instead_of].name;
    std::replace(graph_.outputs.begin(), graph_.outputs.end(), instead_of, id);
    is_output_[id] = true;
    is_output_[instead_of] = false;
  }

  FreshNames& names() {
    if (!names_.has_value()) names_.emplace(graph_);
    return *names_;
  }

  Graph& graph_;
  const std::vector<int32_t> producers_;
  const std::vector<std::vector<int32_t>> readers_;
  const std::vector<bool> in_state_;
  std::vector<bool> is_output_;
  std::vector<bool> leads_out_;                // By tensor.
  std::vector<bool> removed_;                  // By op.
  std::vector<v1::ElementType> source_types_;  // By output.
  std::vector<bool> converted_;                // By output.
  std::optional<FreshNames> names_;
};

}  // namespace

bool UseIntegerPorts(Graph& graph) {
  // Behind one conversion there may be another: float32 to uint8 to int8. A
  // chain of more is nobody's network.
  constexpr int kMost = 2;
  int inputs = 0;
  int outputs = 0;
  while (inputs < kMost && InputSide(graph).Run()) ++inputs;
  while (outputs < kMost && OutputSide(graph).Run()) ++outputs;
  return inputs + outputs > 0;
}

bool SetIoForm(v1::IoForm form, Graph& graph) {
  const bool changed = UseIntegerPorts(graph);
  if (form != v1::IO_FLOAT) return changed;
  // As it came, if there is nothing to convert.
  return UseSourcePorts(graph) || changed;
}

}  // namespace edgekiln::compiler
