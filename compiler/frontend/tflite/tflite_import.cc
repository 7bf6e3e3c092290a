#include "compiler/frontend/tflite/tflite_import.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/convert_operator.h"
#include "compiler/frontend/tflite/model_reader.h"
#include "compiler/ir/layer_id.h"
#include "compiler/ir/tensor_views.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

// More inputs than any op of a real model has.
constexpr size_t kMaxOperands = 1024;
// Names of unsupported ops in one error.
constexpr size_t kMaxNamesInError = 8;

// All unsupported ops at once: fixing them one error at a time is a nuisance.
absl::Status CheckOperators(const TfliteModelReader& reader) {
  std::vector<std::string> refused;
  for (int64_t i = 0; i < reader.num_operators(); ++i) {
    const tflite::Operator& op = reader.op(i);
    EK_ASSIGN_OR_RETURN(const tflite::BuiltinOperator code,
                        reader.OperatorCodeOf(op));
    if (IsConvertible(code)) continue;
    if (refused.size() == kMaxNamesInError) {
      refused.emplace_back("...");
      break;
    }
    const bool custom = code == tflite::BuiltinOperator::CUSTOM;
    refused.push_back(absl::StrCat(custom ? "custom op " : "",
                                   reader.NameOf(op), " (op ", i, ")"));
  }
  if (refused.empty()) return absl::OkStatus();
  return TfliteUnsupported(
      absl::StrCat("unsupported TensorFlow Lite ops: ",
                   absl::StrJoin(refused, ", ")),
      "subgraph 0",
      "the built-in ops listed in docs/numerics.md; no custom ops",
      "export the model without these ops");
}

class Importer {
 public:
  explicit Importer(TfliteModelReader reader) : reader_(std::move(reader)) {}

  absl::StatusOr<Graph> Run() {
    EK_RETURN_IF_ERROR(CheckOperators(reader_));
    tensor_ids_.assign(reader_.num_tensors(), kNoTensor);
    if (reader_.subgraph().name() != nullptr) {
      graph_.name = SanitizeText(reader_.subgraph().name()->str(), 256);
    }
    EK_ASSIGN_OR_RETURN(graph_.inputs, Operands(reader_.subgraph().inputs()),
                        "graph inputs");
    for (int64_t i = 0; i < reader_.num_operators(); ++i) {
      EK_RETURN_IF_ERROR(ImportOperator(i));
    }
    EK_ASSIGN_OR_RETURN(graph_.outputs, Operands(reader_.subgraph().outputs()),
                        "graph outputs");
    if (graph_.outputs.empty()) {
      return TfliteBroken("model without outputs", "subgraph 0");
    }
    DropUnreferenced();
    EK_RETURN_IF_ERROR(VerifyGraph(graph_), "TensorFlow Lite model");
    return std::move(graph_);
  }

 private:
  // Reads the tensors behind a list of indices, each tensor once.
  absl::StatusOr<std::vector<TensorId>> Operands(
      const flatbuffers::Vector<int32_t>* indices) {
    std::vector<TensorId> ids;
    if (indices == nullptr) return ids;
    if (indices->size() > kMaxOperands) {
      return TfliteUnsupported(absl::StrCat(indices->size(), " operands"), "",
                               absl::StrCat(kMaxOperands), "split the op");
    }
    for (const int32_t index : *indices) {
      EK_RETURN_IF_ERROR(reader_.CheckTensorIndex(index, /*optional=*/true));
      if (index == -1) {
        ids.push_back(kNoTensor);
        continue;
      }
      if (tensor_ids_[index] == kNoTensor) {
        EK_ASSIGN_OR_RETURN(Tensor tensor, reader_.ReadTensor(index));
        tensor_ids_[index] = static_cast<TensorId>(graph_.tensors.size());
        graph_.tensors.push_back(std::move(tensor));
      }
      ids.push_back(tensor_ids_[index]);
    }
    return ids;
  }

  absl::Status ImportOperator(int64_t index) {
    const tflite::Operator& from = reader_.op(index);
    const std::string place = OperatorPlace(index, reader_.NameOf(from));
    EK_ASSIGN_OR_RETURN(const tflite::BuiltinOperator code,
                        reader_.OperatorCodeOf(from));
    Op op;
    EK_ASSIGN_OR_RETURN(op.inputs, Operands(from.inputs()), place);
    EK_ASSIGN_OR_RETURN(op.outputs, Operands(from.outputs()), place);
    if (op.outputs.size() != 1 || op.outputs[0] == kNoTensor) {
      return TfliteBroken(absl::StrCat(op.outputs.size(), " outputs"), place,
                          "1 output");
    }
    op.name = graph_.tensors[op.outputs[0]].name;
    const std::string where =
        absl::StrCat(place, ", output '", SanitizeText(op.name, 80), "'");
    EK_RETURN_IF_ERROR(CheckPrecision(op, where));
    EK_RETURN_IF_ERROR(ConvertOperator(from, code, graph_, op), where);
    EK_RETURN_IF_ERROR(ops::CheckOp(op.attributes, ViewsOf(graph_, op.inputs),
                                    ViewsOf(graph_, op.outputs)),
                       where);
    op.id =
        ids_.Make(op.name, absl::StrCat(std::string(op.kind()), "_", index));
    graph_.ops.push_back(std::move(op));
    return absl::OkStatus();
  }

  // Float activations on integer weights compute in a mixture of both that
  // differs from runtime to runtime.
  absl::Status CheckPrecision(const Op& op, const std::string& where) const {
    if (op.inputs.size() < 2 || op.inputs[0] == kNoTensor ||
        op.inputs[1] == kNoTensor) {
      return absl::OkStatus();
    }
    const Tensor& x = graph_.tensors[op.inputs[0]];
    const Tensor& w = graph_.tensors[op.inputs[1]];
    const bool mixed = x.type == v1::FLOAT32 && w.is_constant() &&
                       (w.type == v1::INT8 || w.type == v1::UINT8);
    if (!mixed) return absl::OkStatus();
    return TfliteUnsupported(
        absl::StrCat("dynamic-range quantization: float activations with ",
                     v1::ElementType_Name(w.type), " weights in tensor '",
                     SanitizeText(w.name, 80), "'"),
        where, "activations and weights both float, or both quantized",
        "convert with full integer quantization (a representative data set), "
        "or without quantization");
  }

  // Shapes, axes and paddings have become attributes.
  void DropUnreferenced() {
    std::vector<bool> used(graph_.tensors.size(), false);
    const auto mark = [&](const std::vector<TensorId>& ids) {
      for (const TensorId id : ids) {
        if (id != kNoTensor) used[id] = true;
      }
    };
    mark(graph_.inputs);
    mark(graph_.outputs);
    for (const Op& op : graph_.ops) {
      mark(op.inputs);
      mark(op.outputs);
    }
    std::vector<TensorId> renumbered(graph_.tensors.size(), kNoTensor);
    std::vector<Tensor> kept;
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      renumbered[i] = static_cast<TensorId>(kept.size());
      kept.push_back(std::move(graph_.tensors[i]));
    }
    graph_.tensors = std::move(kept);
    const auto renumber = [&](std::vector<TensorId>& ids) {
      for (TensorId& id : ids) {
        if (id != kNoTensor) id = renumbered[id];
      }
    };
    renumber(graph_.inputs);
    renumber(graph_.outputs);
    for (Op& op : graph_.ops) {
      renumber(op.inputs);
      renumber(op.outputs);
    }
  }

  TfliteModelReader reader_;
  Graph graph_;
  std::vector<TensorId> tensor_ids_;  // By index in the file.
  LayerIdMaker ids_;
};

}  // namespace

absl::StatusOr<Graph> ImportTflite(absl::string_view bytes) {
  // The format is read in place and wants its own alignment.
  constexpr uintptr_t kAlignment = 16;
  std::unique_ptr<char[]> copy;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) {
    copy.reset(new char[bytes.size()]);  // operator new aligns to 16.
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    bytes = absl::string_view(copy.get(), bytes.size());
  }
  EK_ASSIGN_OR_RETURN(TfliteModelReader reader, TfliteModelReader::Open(bytes));
  return Importer(std::move(reader)).Run();
}

}  // namespace edgekiln::compiler
