#include "tests/conformance_onnx/conformance_case.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/import.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "ops/shape_inference.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::ImportOptions;
using compiler::Tensor;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Model and values of one data set.
struct DataSet {
  std::map<std::string, std::string> inputs;  // Files by input name.
  std::vector<std::string> outputs;
};

absl::StatusOr<DataSet> ReadDataSet(const onnx::GraphProto& graph,
                                    const std::string& folder) {
  DataSet set;
  for (int i = 0; i < graph.input_size(); ++i) {
    const auto file = ReadFile(absl::StrCat(folder, "/input_", i, ".pb"));
    if (file.ok()) set.inputs[graph.input(i).name()] = *file;
  }
  for (int i = 0; i < graph.output_size(); ++i) {
    EK_ASSIGN_OR_RETURN(std::string file,
                        ReadFile(absl::StrCat(folder, "/output_", i, ".pb")));
    set.outputs.push_back(std::move(file));
  }
  return set;
}

absl::StatusOr<Tensor> ParseTensor(const std::string& file) {
  onnx::TensorProto proto;
  if (!proto.ParseFromString(file)) {
    return absl::InvalidArgumentError("a value is no tensor");
  }
  return compiler::onnx_import::DecodeTensor(proto, "value");
}

// The inputs whose binding the error asks for.
std::set<std::string> AskedFor(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value()) return {};
  return InputsToBind(detail->fix);
}

absl::StatusOr<Graph> Import(const std::string& model, const DataSet& set,
                             ImportOptions options = {}) {
  while (true) {
    absl::StatusOr<Graph> graph = compiler::ImportModel(model, options);
    if (graph.ok()) return graph;
    bool more = false;
    for (const std::string& name : AskedFor(graph.status())) {
      const auto file = set.inputs.find(name);
      if (file == set.inputs.end()) continue;
      more = options.bound_inputs.emplace(name, file->second).second || more;
    }
    if (!more) return graph.status();
  }
}

bool Close(double value, double expected) {
  if (std::isnan(expected)) return std::isnan(value);
  if (std::isinf(expected)) return value == expected;
  return std::abs(value - expected) <= 1e-7 + 1e-3 * std::abs(expected);
}

absl::Status Compare(const Tensor& actual, const std::string& file) {
  EK_ASSIGN_OR_RETURN(const Tensor expected, ParseTensor(file));
  return CompareValues(actual, expected);
}

absl::Status RunDataSet(const onnx::ModelProto& model, const DataSet& set,
                        bool simplify) {
  EK_ASSIGN_OR_RETURN(Graph graph, Import(model.SerializeAsString(), set),
                      "import");
  if (simplify) {
    EK_RETURN_IF_ERROR(compiler::Simplify(graph), "simplify");
  }
  std::vector<Tensor> values;
  for (const compiler::TensorId id : graph.inputs) {
    const auto file = set.inputs.find(graph.tensors[id].name);
    if (file == set.inputs.end()) {
      return absl::InternalError(
          absl::StrCat("no value for input ", graph.tensors[id].name));
    }
    EK_ASSIGN_OR_RETURN(Tensor value, ParseTensor(file->second));
    values.push_back(std::move(value));
  }
  std::vector<absl::string_view> inputs;
  for (const Tensor& value : values) inputs.push_back(*value.data);
  EK_ASSIGN_OR_RETURN(std::vector<std::string> results,
                      compiler::Evaluate(graph, inputs), "interpret");
  if (results.size() != set.outputs.size()) {
    return absl::InternalError("another number of outputs");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor actual = graph.tensors[graph.outputs[i]];
    actual.quantization.reset();
    actual.data = compiler::ConstantData(std::move(results[i]));
    EK_RETURN_IF_ERROR(Compare(actual, set.outputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<onnx::ModelProto> ReadCaseModel(const std::string& folder) {
  EK_ASSIGN_OR_RETURN(const std::string bytes,
                      ReadFile(absl::StrCat(folder, "/model.onnx")));
  onnx::ModelProto model;
  if (model.ParseFromString(bytes)) return model;
  return absl::InvalidArgumentError("the model does not parse");
}

std::set<std::string> InputsToBind(const std::string& text) {
  std::set<std::string> names;
  const std::string flag = "--bind-input '";
  for (size_t at = text.find(flag); at != std::string::npos;
       at = text.find(flag, at)) {
    at += flag.size();
    names.insert(text.substr(at, text.find('=', at) - at));
  }
  return names;
}

absl::Status CompareValues(const Tensor& actual, const Tensor& expected) {
  if (actual.type != expected.type || actual.shape != expected.shape) {
    return absl::InternalError(
        absl::StrCat("output is ", v1::ElementType_Name(actual.type), "[",
                     absl::StrJoin(actual.shape, ","), "], expected ",
                     v1::ElementType_Name(expected.type), "[",
                     absl::StrJoin(expected.shape, ","), "]"));
  }
  EK_ASSIGN_OR_RETURN(const std::vector<double> y,
                      compiler::onnx_import::Numbers(actual));
  EK_ASSIGN_OR_RETURN(const std::vector<double> want,
                      compiler::onnx_import::Numbers(expected));
  if (y.size() != want.size()) {
    return absl::InternalError("values cannot be compared");
  }
  for (size_t i = 0; i < y.size(); ++i) {
    if (!Close(y[i], want[i])) {
      return absl::InternalError(
          absl::StrCat("element ", i, " is ", y[i], ", expected ", want[i]));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CaseValues> ReadCaseValues(const std::string& folder) {
  EK_ASSIGN_OR_RETURN(const onnx::ModelProto model, ReadCaseModel(folder));
  CaseValues values;
  const auto read = [&](absl::string_view kind, int index,
                        const std::string& name,
                        std::vector<CaseValues::Value>& list) {
    CaseValues::Value value;
    value.name = name;
    value.file =
        absl::StrCat(folder, "/test_data_set_0/", kind, "_", index, ".pb");
    const auto file = ReadFile(value.file);
    if (!file.ok()) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(value.tensor, ParseTensor(*file));
    list.push_back(std::move(value));
    return absl::OkStatus();
  };
  for (int i = 0; i < model.graph().input_size(); ++i) {
    EK_RETURN_IF_ERROR(
        read("input", i, model.graph().input(i).name(), values.inputs));
  }
  for (int i = 0; i < model.graph().output_size(); ++i) {
    EK_RETURN_IF_ERROR(
        read("output", i, model.graph().output(i).name(), values.outputs));
  }
  return values;
}

absl::StatusOr<std::set<std::string>> CaseOpKinds(const std::string& folder) {
  EK_ASSIGN_OR_RETURN(const onnx::ModelProto model, ReadCaseModel(folder));
  EK_ASSIGN_OR_RETURN(
      const DataSet set,
      ReadDataSet(model.graph(), absl::StrCat(folder, "/test_data_set_0")));
  ImportOptions options;
  for (int i = 1; i < model.graph().input_size(); ++i) {
    const auto file = set.inputs.find(model.graph().input(i).name());
    if (file != set.inputs.end()) options.bound_inputs.insert(*file);
  }
  EK_ASSIGN_OR_RETURN(Graph graph,
                      Import(model.SerializeAsString(), set, options));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  std::set<std::string> kinds;
  for (const compiler::Op& op : graph.ops) {
    const Tensor& output = graph.tensors[op.outputs[0]];
    const bool real = output.quantization.has_value() ||
                      output.type == v1::FLOAT32 ||
                      output.type == v1::FLOAT16 || output.type == v1::FLOAT64;
    kinds.insert(absl::StrCat(ops::OpKind(op.attributes),
                              real ? "" : " of plain integers"));
  }
  return kinds;
}

absl::Status RunCase(const std::string& folder, bool simplify) {
  EK_ASSIGN_OR_RETURN(const onnx::ModelProto model, ReadCaseModel(folder));
  int sets = 0;
  for (;; ++sets) {
    const std::string data = absl::StrCat(folder, "/test_data_set_", sets);
    if (!std::filesystem::exists(data)) break;
    EK_ASSIGN_OR_RETURN(const DataSet set, ReadDataSet(model.graph(), data));
    EK_RETURN_IF_ERROR(RunDataSet(model, set, simplify));
  }
  if (sets == 0) return absl::NotFoundError("no data set");
  return absl::OkStatus();
}

}  // namespace edgekiln::tests
