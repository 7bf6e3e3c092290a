#include "compiler/export/onnx_model.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/ir/layer_id.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace edgekiln::compiler::onnx_export {
namespace {

// The one that came with op set 17.
constexpr int kIrVersion = 8;

std::string Unique(absl::string_view wanted, std::set<std::string>& taken,
                   std::map<std::string, int>& counts) {
  std::string name(wanted);
  if (taken.insert(name).second) return name;
  int& count = counts.try_emplace(name, 1).first->second;
  do {
    name = absl::StrCat(wanted, "-", ++count);
  } while (!taken.insert(name).second);
  return name;
}

onnx::AttributeProto& AddAttribute(onnx::NodeProto& node,
                                   absl::string_view name,
                                   onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

void Declare(const Tensor& tensor, onnx::ValueInfoProto& value) {
  value.set_name(tensor.name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(OnnxTypeOf(tensor.type));
  type.mutable_shape();  // Also of a scalar.
  for (const int64_t extent : tensor.shape) {
    type.mutable_shape()->add_dim()->set_dim_value(extent);
  }
}

// Constants are little-endian in the IR and in ONNX, as is every machine that
// we run on.
template <typename T>
std::string BytesOf(absl::Span<const T> values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

}  // namespace

int OnnxTypeOf(v1::ElementType type) {
  switch (type) {
    case v1::FLOAT16:
      return onnx::TensorProto::FLOAT16;
    case v1::FLOAT32:
      return onnx::TensorProto::FLOAT;
    case v1::FLOAT64:
      return onnx::TensorProto::DOUBLE;
    case v1::INT8:
      return onnx::TensorProto::INT8;
    case v1::UINT8:
      return onnx::TensorProto::UINT8;
    case v1::INT16:
      return onnx::TensorProto::INT16;
    case v1::UINT16:
      return onnx::TensorProto::UINT16;
    case v1::INT32:
      return onnx::TensorProto::INT32;
    case v1::UINT32:
      return onnx::TensorProto::UINT32;
    case v1::INT64:
      return onnx::TensorProto::INT64;
    case v1::UINT64:
      return onnx::TensorProto::UINT64;
    case v1::BOOL:
      return onnx::TensorProto::BOOL;
    default:
      return onnx::TensorProto::UNDEFINED;
  }
}

void SetInt(onnx::NodeProto& node, absl::string_view name, int64_t value) {
  AddAttribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void SetFloat(onnx::NodeProto& node, absl::string_view name, float value) {
  AddAttribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void SetString(onnx::NodeProto& node, absl::string_view name,
               absl::string_view value) {
  AddAttribute(node, name, onnx::AttributeProto::STRING)
      .set_s(std::string(value));
}

void SetInts(onnx::NodeProto& node, absl::string_view name,
             absl::Span<const int64_t> values) {
  AddAttribute(node, name, onnx::AttributeProto::INTS)
      .mutable_ints()
      ->Assign(values.begin(), values.end());
}

OnnxModel::OnnxModel(const Graph& graph) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("edgekiln");
  model_.add_opset_import()->set_version(kOpset);
  model_.mutable_graph()->set_name(graph.name.empty() ? "graph" : graph.name);
  for (const Tensor& tensor : graph.tensors) values_.insert(tensor.name);
  for (const Op& op : graph.ops) ids_.insert(op.id);
}

std::string OnnxModel::FreshValue(absl::string_view wanted) {
  return Unique(wanted, values_, counts_);
}

onnx::NodeProto& OnnxModel::AddNode(absl::string_view name,
                                    absl::string_view type,
                                    absl::Span<const std::string> inputs,
                                    absl::Span<const std::string> outputs) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_name(Unique(name, nodes_, node_counts_));
  node.set_op_type(std::string(type));
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

onnx::NodeProto& OnnxModel::AddHelper(absl::string_view of,
                                      absl::string_view role,
                                      absl::string_view type,
                                      absl::Span<const std::string> inputs,
                                      const std::string& output) {
  std::string name = absl::StrCat(of, ".", role);
  if (LayerIdMaker().Make(name, "layer") != name || !ids_.insert(name).second) {
    int& count = helper_counts_[std::string(role)];
    do {
      name = absl::StrCat(role, "-", ++count);
    } while (!ids_.insert(name).second);
  }
  return AddNode(name, type, inputs, {output});
}

std::string OnnxModel::AddBytes(absl::string_view name, int type,
                                absl::Span<const int64_t> shape,
                                std::string bytes) {
  onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(type);
  tensor.mutable_dims()->Assign(shape.begin(), shape.end());
  tensor.set_raw_data(std::move(bytes));
  return std::string(name);
}

void OnnxModel::AddInitializer(const std::string& name,
                               const Tensor& constant) {
  AddBytes(name, OnnxTypeOf(constant.type), constant.shape,
           std::string(*constant.data));
}

std::string OnnxModel::AddIntegers(absl::string_view name,
                                   absl::Span<const int64_t> values) {
  return AddBytes(FreshValue(name), onnx::TensorProto::INT64,
                  {static_cast<int64_t>(values.size())}, BytesOf(values));
}

std::string OnnxModel::AddFloats(absl::string_view name,
                                 absl::Span<const float> values) {
  return AddBytes(FreshValue(name), onnx::TensorProto::FLOAT,
                  {static_cast<int64_t>(values.size())}, BytesOf(values));
}

std::string OnnxModel::AddScalar(absl::string_view name, float value) {
  return AddBytes(FreshValue(name), onnx::TensorProto::FLOAT, {},
                  BytesOf(absl::MakeConstSpan(&value, 1)));
}

std::string OnnxModel::AddScale(absl::string_view name,
                                const Quantization& quantization) {
  if (quantization.per_channel()) return AddFloats(name, quantization.scale);
  return AddScalar(name, quantization.scale[0]);
}

std::string OnnxModel::AddZeroPoint(absl::string_view name,
                                    v1::ElementType type,
                                    const Quantization& quantization) {
  std::string bytes;
  for (const int32_t zero : quantization.zero_point) {
    // The low bytes: those of a narrower type, too.
    bytes.append(reinterpret_cast<const char*>(&zero),
                 static_cast<size_t>(ElementBytes(type)));
  }
  std::vector<int64_t> shape;
  if (quantization.per_channel()) {
    shape.push_back(static_cast<int64_t>(quantization.zero_point.size()));
  }
  return AddBytes(FreshValue(name), OnnxTypeOf(type), shape, std::move(bytes));
}

void OnnxModel::AddInput(const Tensor& tensor) {
  Declare(tensor, *model_.mutable_graph()->add_input());
}

void OnnxModel::AddOutput(const Tensor& tensor) {
  Declare(tensor, *model_.mutable_graph()->add_output());
}

bool OnnxModel::RenameResult(const std::string& from, const std::string& to) {
  bool made = false;
  for (onnx::NodeProto& node : *model_.mutable_graph()->mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output != from) continue;
      output = to;
      made = true;
    }
  }
  if (!made) return false;
  for (onnx::NodeProto& node : *model_.mutable_graph()->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (input == from) input = to;
    }
  }
  return true;
}

absl::StatusOr<std::string> OnnxModel::Finish() {
  for (const onnx::NodeProto& node : model_.graph().node()) {
    if (node.domain() != kMicrosoftDomain) continue;
    onnx::OperatorSetIdProto& import = *model_.add_opset_import();
    import.set_domain(std::string(kMicrosoftDomain));
    import.set_version(1);
    break;
  }
  const size_t size = model_.ByteSizeLong();
  if (size > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.reason = "MODEL_TOO_LARGE",
         .what = absl::StrCat("the ONNX model has ", size, " bytes"),
         .limit = "2 GiB, as of every protobuf message",
         .fix = "use a smaller model"});
  }
  std::string bytes;
  bytes.reserve(size);
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    model_.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace edgekiln::compiler::onnx_export
