#include "compiler/frontend/onnx/graph_inputs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/npy.h"
#include "compiler/frontend/onnx/model_error.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/ir/valid_names.h"

namespace edgekiln::compiler::onnx_import {
namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

std::string PlaceOf(const std::string& input) {
  return absl::StrCat("graph input '", ValidName(input), "'");
}

std::string BindInputFix(const std::string& input) {
  return absl::StrCat("give a file of that: --bind-input '", input, "=FILE'");
}

v1::ElementType TypeOfNpy(NpyType type) {
  switch (type) {
    case NpyType::kBool:
      return v1::BOOL;
    case NpyType::kInt8:
      return v1::INT8;
    case NpyType::kUint8:
      return v1::UINT8;
    case NpyType::kInt16:
      return v1::INT16;
    case NpyType::kUint16:
      return v1::UINT16;
    case NpyType::kInt32:
      return v1::INT32;
    case NpyType::kUint32:
      return v1::UINT32;
    case NpyType::kInt64:
      return v1::INT64;
    case NpyType::kUint64:
      return v1::UINT64;
    case NpyType::kFloat16:
      return v1::FLOAT16;
    case NpyType::kFloat32:
      return v1::FLOAT32;
    case NpyType::kFloat64:
      return v1::FLOAT64;
  }
  return v1::ELEMENT_TYPE_UNSPECIFIED;
}

// The tensor in a .npy or .pb file.
absl::StatusOr<Tensor> ReadBoundValue(const std::string& name,
                                      absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\x93NUMPY")) {
    EK_ASSIGN_OR_RETURN(NpyArray array, ParseNpy(bytes, name));
    Tensor value;
    value.name = name;
    value.type = TypeOfNpy(array.type);
    value.shape = std::move(array.shape);
    value.data = ConstantData(std::move(array.data));
    if (IsSaneShape(value.shape)) return value;
    return BadBinding("the array is too large", PlaceOf(name), "",
                      BindInputFix(name));
  }
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BadBinding(
        "its value is neither an .npy file nor an ONNX TensorProto",
        PlaceOf(name), "a file that numpy.save() or onnx.save_tensor() wrote",
        BindInputFix(name));
  }
  return DecodeTensor(proto, name);
}

// Symbols that are the first dimension of some input: the batch.
std::set<std::string> BatchSymbols(const onnx::GraphProto& graph) {
  std::set<std::string> symbols;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const auto& shape = input.type().tensor_type().shape();
    if (shape.dim_size() > 0 && shape.dim(0).has_dim_param()) {
      symbols.insert(shape.dim(0).dim_param());
    }
  }
  return symbols;
}

// What people call a dimension: options name inputs and dimensions as the graph
// and its errors do.
std::string NameOf(const std::string& input, int index, const Dimension& dim) {
  return ValidName(dim.has_dim_param() ? dim.dim_param()
                                       : absl::StrCat(input, ":", index));
}

bool IsFixed(const Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

// A binding that has no effect is a mistake.
absl::Status CheckBindsAreOfOpenDimensions(const onnx::GraphProto& graph,
                                           const ImportOptions& options) {
  if (options.binds.empty()) return absl::OkStatus();
  std::set<std::string> known;
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const auto& dims = input.type().tensor_type().shape().dim();
    for (int i = 0; i < dims.size(); ++i) {
      if (IsFixed(dims[i])) continue;
      known.insert(ValidName(absl::StrCat(input.name(), ":", i)));
      const std::string name = NameOf(input.name(), i, dims[i]);
      if (dims[i].has_dim_param() && !known.insert(name).second) continue;
      names.push_back(name);
    }
  }
  for (const auto& [name, extent] : options.binds) {
    if (known.contains(name)) continue;
    return BadBinding(
        absl::StrCat("no graph input has an open dimension '", name, "'"),
        "--bind",
        names.empty() ? "no binding: every dimension of the inputs is fixed"
                      : OneOf(names),
        absl::StrCat("correct or leave out --bind '", name, "=", extent, "'"));
  }
  return absl::OkStatus();
}

// What the options say about a dimension that the model leaves open.
std::optional<int64_t> Bound(const ImportOptions& options,
                             const std::string& input, int index,
                             const Dimension& dim) {
  auto found = options.binds.find(ValidName(absl::StrCat(input, ":", index)));
  if (found == options.binds.end() && dim.has_dim_param()) {
    found = options.binds.find(NameOf(input, index, dim));
  }
  if (found == options.binds.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::vector<int64_t>> InputShape(
    const onnx::ValueInfoProto& input, const ImportOptions& options,
    const std::set<std::string>& batch) {
  const std::string where = PlaceOf(input.name());
  const onnx::TypeProto::Tensor& type = input.type().tensor_type();
  if (!type.has_shape()) {
    return UnsupportedModel("SHAPE_DYNAMIC", "its shape is not known", where,
                            "static shapes", "export with a fixed input shape");
  }
  std::vector<int64_t> shape;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const Dimension& dim = type.shape().dim(i);
    const std::optional<int64_t> bound = Bound(options, input.name(), i, dim);
    const bool is_batch =
        i == 0 || (dim.has_dim_param() && batch.contains(dim.dim_param()));
    if (IsFixed(dim)) {
      shape.push_back(dim.dim_value());
    } else if (bound.has_value()) {
      if (*bound < 1) {
        return BadBinding(absl::StrCat("dimension ", i, " bound to ", *bound),
                          where, "an extent of at least 1",
                          absl::StrCat("write --bind '",
                                       NameOf(input.name(), i, dim), "=1'"));
      }
      shape.push_back(*bound);
    } else if (is_batch) {
      shape.push_back(1);
    } else {
      const std::string symbol = NameOf(input.name(), i, dim);
      return UnsupportedModel(
          "SHAPE_DYNAMIC",
          absl::StrCat(
              "dimension ", i,
              dim.has_dim_param() ? absl::StrCat(" ('", symbol, "')") : "",
              " is not fixed"),
          where, "only the first dimension (batch) may be symbolic",
          absl::StrCat("fix it with --bind '", symbol,
                       "=EXTENT', or export with a fixed input shape"));
    }
  }
  return shape;
}

// Whether a value fits the type that the model declares.
absl::Status CheckFits(const onnx::ValueInfoProto& input, const Tensor& value) {
  const onnx::TypeProto::Tensor& type = input.type().tensor_type();
  bool fits = ElementTypeOf(type.elem_type()) == value.type;
  if (type.has_shape()) {
    const auto& dims = type.shape().dim();
    fits = fits && dims.size() == static_cast<int>(value.shape.size());
    for (int i = 0; fits && i < dims.size(); ++i) {
      fits = !dims[i].has_dim_value() || dims[i].dim_value() == value.shape[i];
    }
  }
  if (fits) return absl::OkStatus();
  std::vector<std::string> declared;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const Dimension& dim = type.shape().dim(i);
    declared.push_back(IsFixed(dim) ? absl::StrCat(dim.dim_value())
                                    : NameOf(input.name(), i, dim));
  }
  return BadBinding(
      absl::StrCat("its value is ", v1::ElementType_Name(value.type), "[",
                   absl::StrJoin(value.shape, ","),
                   "], which is not what the model declares"),
      PlaceOf(input.name()),
      absl::StrCat(v1::ElementType_Name(ElementTypeOf(type.elem_type())),
                   type.has_shape()
                       ? absl::StrCat("[", absl::StrJoin(declared, ","), "]")
                       : ""),
      BindInputFix(input.name()));
}

absl::Status AddGraphInput(const onnx::ValueInfoProto& input,
                           const ImportOptions& options,
                           const std::set<std::string>& batch,
                           Builder& builder) {
  EK_RETURN_IF_ERROR(CheckName(input.name()));
  const int32_t declared = input.type().tensor_type().elem_type();
  const v1::ElementType type = ElementTypeOf(declared);
  if (!input.type().has_tensor_type() || type == v1::ELEMENT_TYPE_UNSPECIFIED) {
    return UnsupportedModel(
        "TYPE_UNSUPPORTED",
        input.type().has_tensor_type()
            ? absl::StrCat("its element type is ", OnnxTypeName(declared))
            : "it is not a tensor",
        PlaceOf(input.name()),
        "tensors of FLOAT16, FLOAT, DOUBLE, integers of 8 to 64 bits or BOOL",
        "export with tensors of numbers as inputs");
  }
  const auto bound = options.bound_inputs.find(ValidName(input.name()));
  if (bound == options.bound_inputs.end()) {
    EK_ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                        InputShape(input, options, batch));
    return builder.AddGraphInput(input.name(), type, std::move(shape));
  }
  EK_ASSIGN_OR_RETURN(Tensor value,
                      ReadBoundValue(input.name(), bound->second));
  EK_RETURN_IF_ERROR(CheckFits(input, value));
  return builder.AddInitializer(std::move(value));
}

}  // namespace

absl::Status AddGraphInputs(const onnx::GraphProto& graph,
                            const ImportOptions& options, Builder& builder) {
  EK_RETURN_IF_ERROR(CheckBindsAreOfOpenDimensions(graph, options));
  const std::set<std::string> batch = BatchSymbols(graph);
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    // Before IR version 4 initializers are graph inputs, too.
    if (builder.HasValue(input.name())) continue;
    names.push_back(ValidName(input.name()));
    EK_RETURN_IF_ERROR(AddGraphInput(input, options, batch, builder));
  }
  for (const auto& [name, bytes] : options.bound_inputs) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return BadBinding(
        "the model has no such input", PlaceOf(name),
        names.empty() ? "a model with inputs" : OneOf(names),
        absl::StrCat("correct or leave out --bind-input '", name, "=FILE'"));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::onnx_import
