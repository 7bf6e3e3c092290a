#ifndef EK_COMPILER_FRONTEND_TFLITE_GRAPH_BUILDER_H_
#define EK_COMPILER_FRONTEND_TFLITE_GRAPH_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/tflite/model_reader.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/layer_id.h"

namespace edgekiln::compiler::tflite_import {

// The graph while it grows: which tensor of the graph each one of the file is,
// which have a value yet, and what the state tensors hold by now. Values that
// follow from constants are computed at once, so that the shape arithmetic of a
// model is gone when an operator asks for a shape. Not thread-safe.
class GraphBuilder {
 public:
  explicit GraphBuilder(TfliteModelReader reader);

  const TfliteModelReader& reader() const { return reader_; }
  const Graph& graph() const { return graph_; }
  // Invalidated by whatever adds a tensor.
  const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }

  // The inputs and outputs of the file's subgraph. Outputs last.
  absl::Status AddInputs();
  absl::Status AddOutputs();

  // The tensors behind a list of the file's indices, each read once; an index
  // of -1 gives kNoTensor.
  absl::StatusOr<std::vector<TensorId>> Operands(
      const flatbuffers::Vector<int32_t>* indices);
  // Whether something has given the tensor its value.
  bool IsDefined(TensorId id) const { return defined_[id]; }
  // Whether the file leaves open what shape it has.
  bool HasOpenShape(TensorId id) const { return open_[id]; }
  void SetShape(TensorId id, std::vector<int64_t> shape);

  // A tensor of element type and quantization of `like`, with a name like
  // `name`.
  TensorId AddTensor(std::string name, const Tensor& like,
                     std::vector<int64_t> shape);
  // A constant of the same kind; its bytes are counted against the budget.
  absl::StatusOr<TensorId> AddConstant(std::string name, const Tensor& like,
                                       std::vector<int64_t> shape,
                                       std::string data);

  // Checks the op and appends it, or computes it if all of its inputs are
  // constants and it is cheap. Fills in op.id from op.name and the op's kind.
  absl::Status Append(Op op, absl::string_view fallback_id);

  // `id`, a tensor that keeps its value from one inference to the next, as an
  // input of the graph. UNIMPLEMENTED if it starts with something else than 0.
  absl::Status ReadState(TensorId id);
  // What `state` holds from here on: `next`, which has its type.
  void WriteState(TensorId state, TensorId next);

  // The verified graph without unused tensors. Not to be used after.
  absl::StatusOr<Graph> Finish();

 private:
  struct StateTensor {
    TensorId input = kNoTensor;
    TensorId current = kNoTensor;
  };

  TensorId Add(Tensor tensor, bool open);
  absl::Status Define(TensorId id);
  bool CanFold(const Op& op) const;
  absl::Status Fold(const Op& op);
  void DropUnused();

  TfliteModelReader reader_;
  Graph graph_;
  std::vector<TensorId> ids_;    // By index in the file.
  std::vector<bool> is_output_;  // By index in the file.
  std::vector<bool> defined_;    // By tensor of the graph, as the next two.
  std::vector<bool> open_;
  std::vector<bool> keeps_name_;  // An output of the model.
  std::vector<StateTensor> states_;
  LayerIdMaker layer_ids_;
};

}  // namespace edgekiln::compiler::tflite_import

#endif  // EK_COMPILER_FRONTEND_TFLITE_GRAPH_BUILDER_H_
