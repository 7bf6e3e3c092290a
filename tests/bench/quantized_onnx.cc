#include "tests/bench/quantized_onnx.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::bench {
namespace {

using compiler::Graph;
using compiler::Op;
using compiler::Tensor;
using compiler::TensorId;
using Shape = std::vector<int64_t>;

constexpr char kContribDomain[] = "com.microsoft";
constexpr float kScale = 0.02f;

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph), rng_(1) {
    model_.set_ir_version(8);
    auto& standard = *model_.add_opset_import();
    standard.set_version(13);
    auto& contrib = *model_.add_opset_import();
    contrib.set_domain(kContribDomain);
    contrib.set_version(1);
    onnx_ = model_.mutable_graph();
    onnx_->set_name(graph.name.empty() ? "graph" : graph.name);
    scale_ = Constant("scale", onnx::TensorProto::FLOAT, {},
                      std::string(reinterpret_cast<const char*>(&kScale), 4));
    zero_ = Constant("zero", onnx::TensorProto::UINT8, {}, std::string(1, 100));
  }

  absl::StatusOr<std::string> Write() {
    for (const TensorId input : graph_.inputs) {
      names_[input] = absl::StrCat("t", input);
      const bool channels_first = FeedsTranspose(input);
      Declare(*onnx_->add_input(), names_[input],
              channels_first ? At(input).shape : Nchw(At(input).shape),
              onnx::TensorProto::UINT8);
    }
    for (const Op& op : graph_.ops) {
      EK_RETURN_IF_ERROR(Add(op), op.id);
    }
    for (const TensorId output : graph_.outputs) {
      auto& value = *onnx_->add_output();
      value.set_name(names_[output]);
      value.mutable_type()->mutable_tensor_type()->set_elem_type(
          floats_.count(output) > 0 ? onnx::TensorProto::FLOAT
                                    : onnx::TensorProto::UINT8);
    }
    return model_.SerializeAsString();
  }

 private:
  const Tensor& At(TensorId tensor) const {
    return graph_.tensors[static_cast<size_t>(tensor)];
  }

  static Shape Nchw(const Shape& shape) {
    if (shape.size() != 4) return shape;
    return {shape[0], shape[3], shape[1], shape[2]};
  }

  // Directly or quantized.
  bool FeedsTranspose(TensorId tensor) const {
    for (const Op& op : graph_.ops) {
      if (op.inputs[0] != tensor) continue;
      if (op.attributes.has_transpose()) return true;
      if (op.attributes.has_quantize()) tensor = op.outputs[0];
    }
    return false;
  }

  static void Declare(onnx::ValueInfoProto& value, const std::string& name,
                      const Shape& shape, int type) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (const int64_t extent : shape) {
      tensor.mutable_shape()->add_dim()->set_dim_value(extent);
    }
  }

  std::string Constant(const std::string& name, int type, const Shape& shape,
                       std::string bytes) {
    auto& tensor = *onnx_->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const int64_t extent : shape) tensor.add_dims(extent);
    *tensor.mutable_raw_data() = std::move(bytes);
    return name;
  }

  std::string Fresh() { return absl::StrCat("c", next_++); }

  std::string Integers(const Shape& values) {
    return Constant(Fresh(), onnx::TensorProto::INT64,
                    {static_cast<int64_t>(values.size())},
                    std::string(reinterpret_cast<const char*>(values.data()),
                                values.size() * sizeof(int64_t)));
  }

  std::string Weights(const Shape& shape) {
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    std::string bytes(static_cast<size_t>(elements), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(rng_.InRange(-127, 127));
    }
    return Constant(Fresh(), onnx::TensorProto::INT8, shape, std::move(bytes));
  }

  std::string PerChannel(int64_t channels, float scale) {
    const std::vector<float> values(static_cast<size_t>(channels), scale);
    return Constant(Fresh(), onnx::TensorProto::FLOAT, {channels},
                    std::string(reinterpret_cast<const char*>(values.data()),
                                values.size() * sizeof(float)));
  }

  std::string Zeros(int64_t count, int type, size_t bytes_each) {
    return Constant(Fresh(), type, {count},
                    std::string(static_cast<size_t>(count) * bytes_each, '\0'));
  }

  onnx::NodeProto& Node(const char* type, const char* domain,
                        const std::vector<std::string>& inputs,
                        const std::string& output) {
    auto& node = *onnx_->add_node();
    node.set_op_type(type);
    node.set_domain(domain);
    node.set_name(absl::StrCat("n", next_++));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  static void Set(onnx::NodeProto& node, const char* name,
                  const Shape& values) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute.add_ints(value);
  }
  static void Set(onnx::NodeProto& node, const char* name, int64_t value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

  static void SetWindow(onnx::NodeProto& node, const Shape& kernel,
                        const v1::Window2d& window) {
    Set(node, "kernel_shape", kernel);
    Set(node, "strides", {window.stride_h(), window.stride_w()});
    Set(node, "pads",
        {window.pad_top(), window.pad_left(), window.pad_bottom(),
         window.pad_right()});
  }

  // The name of an op's result, which is made now.
  std::string Output(const Op& op) {
    return names_[op.outputs[0]] = absl::StrCat("t", op.outputs[0]);
  }
  const std::string& Input(const Op& op, size_t index = 0) {
    return names_[op.inputs[index]];
  }

  void Convolution(const Op& op, const v1::Window2d& window, bool depthwise) {
    const Shape& x = At(op.inputs[0]).shape;
    const Shape& w = At(op.inputs[1]).shape;
    const int64_t channels = At(op.outputs[0]).shape[3];
    const Shape weights = depthwise ? Shape{channels, 1, w[1], w[2]}
                                    : Shape{w[0], w[3], w[1], w[2]};
    onnx::NodeProto& node =
        Node("QLinearConv", "",
             {Input(op), scale_, zero_, Weights(weights),
              PerChannel(channels, 0.002f),
              Zeros(channels, onnx::TensorProto::INT8, 1), scale_, zero_,
              Zeros(channels, onnx::TensorProto::INT32, 4)},
             Output(op));
    SetWindow(node, {w[1], w[2]}, window);
    Set(node, "dilations", {window.dilation_h(), window.dilation_w()});
    Set(node, "group", depthwise ? x[3] : 1);
  }

  void FullyConnected(const Op& op) {
    const Shape& w = At(op.inputs[1]).shape;
    const Shape& y = At(op.outputs[0]).shape;
    std::string x = Input(op);
    if (At(op.inputs[0]).shape.size() != 2) {
      const std::string flat = Fresh();
      const int64_t rows = At(op.outputs[0]).num_elements() / y.back();
      Node("Reshape", "", {x, Integers({rows, w[1]})}, flat);
      x = flat;
    }
    onnx::NodeProto& node =
        Node("QGemm", kContribDomain,
             {x, scale_, zero_, Weights(w), PerChannel(w[0], 0.002f),
              Zeros(w[0], onnx::TensorProto::INT8, 1),
              Zeros(w[0], onnx::TensorProto::INT32, 4), scale_, zero_},
             Output(op));
    Set(node, "transB", 1);
  }

  void AveragePool(const Op& op, const v1::AveragePool2d& pool) {
    const Shape& x = At(op.inputs[0]).shape;
    const bool global = pool.kernel_h() == x[1] && pool.kernel_w() == x[2];
    onnx::NodeProto& node = Node(
        global ? "QLinearGlobalAveragePool" : "QLinearAveragePool",
        kContribDomain, {Input(op), scale_, zero_, scale_, zero_}, Output(op));
    if (!global) {
      SetWindow(node, {pool.kernel_h(), pool.kernel_w()}, pool.window());
    }
  }

  void Softmax(const Op& op) {
    const std::string real = Fresh();
    Node("DequantizeLinear", "", {Input(op), scale_, zero_}, real);
    Set(Node("Softmax", "", {real}, Output(op)), "axis", -1);
    floats_[op.outputs[0]] = true;
  }

  absl::Status Add(const Op& op) {
    const v1::OpAttributes& a = op.attributes;
    switch (a.op_case()) {
      case v1::OpAttributes::kConv2D:
        Convolution(op, a.conv2d().window(), false);
        return absl::OkStatus();
      case v1::OpAttributes::kDepthwiseConv2D:
        Convolution(op, a.depthwise_conv2d().window(), true);
        return absl::OkStatus();
      case v1::OpAttributes::kFullyConnected:
        FullyConnected(op);
        return absl::OkStatus();
      case v1::OpAttributes::kAdd:
        Node("QLinearAdd", kContribDomain,
             {Input(op, 0), scale_, zero_, Input(op, 1), scale_, zero_, scale_,
              zero_},
             Output(op));
        return absl::OkStatus();
      case v1::OpAttributes::kAveragePool2D:
        AveragePool(op, a.average_pool2d());
        return absl::OkStatus();
      case v1::OpAttributes::kMaxPool2D: {
        const v1::MaxPool2d& pool = a.max_pool2d();
        SetWindow(Node("MaxPool", "", {Input(op)}, Output(op)),
                  {pool.kernel_h(), pool.kernel_w()}, pool.window());
        return absl::OkStatus();
      }
      case v1::OpAttributes::kReshape:
        Node("Reshape", "",
             {Input(op), Integers(Nchw(At(op.outputs[0]).shape))}, Output(op));
        return absl::OkStatus();
      case v1::OpAttributes::kSoftmax:
        Softmax(op);
        return absl::OkStatus();
      // Between layouts and number formats of which this model has one each.
      case v1::OpAttributes::kTranspose:
      case v1::OpAttributes::kQuantize:
      case v1::OpAttributes::kDequantize:
        names_[op.outputs[0]] = Input(op);
        return absl::OkStatus();
      default:
        return absl::UnimplementedError(
            absl::StrCat("no quantized ONNX op for ", std::string(op.kind())));
    }
  }

  const Graph& graph_;
  Rng rng_;
  onnx::ModelProto model_;
  onnx::GraphProto* onnx_;
  std::map<TensorId, std::string> names_;
  std::map<TensorId, bool> floats_;
  std::string scale_;
  std::string zero_;
  int next_ = 0;
};

}  // namespace

absl::StatusOr<std::string> QuantizedOnnx(const Graph& graph) {
  return Writer(graph).Write();
}

std::string OpsOf(const std::string& model) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(model)) return "unreadable";
  std::map<std::string, int> counts;
  for (const onnx::NodeProto& node : proto.graph().node()) {
    ++counts[node.op_type()];
  }
  return absl::StrJoin(counts, ", ", absl::PairFormatter(" "));
}

}  // namespace edgekiln::bench
