#include "tests/bench/synthetic_onnx.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::bench {
namespace {

class Writer {
 public:
  Writer(int channels, uint64_t seed) : channels_(channels), rng_(seed) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    onnx_ = model_.mutable_graph();
    onnx_->set_name("synthetic");
    Declare(*onnx_->add_input(), "x", {1, 3, 32, 32});
  }

  std::string Write(int64_t bytes) {
    std::string last = Convolution("x", 3);
    while (weight_bytes_ < bytes) {
      const std::string inner =
          Convolution(Convolution(last, channels_), channels_);
      last = Node("Add", {inner, last});
    }
    Declare(*onnx_->add_output(), last, {1, channels_, 32, 32});
    return model_.SerializeAsString();
  }

 private:
  static void Declare(onnx::ValueInfoProto& value, const std::string& name,
                      const std::vector<int64_t>& shape) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t extent : shape) {
      type.mutable_shape()->add_dim()->set_dim_value(extent);
    }
  }

  // Returns the name of the output.
  std::string Node(const std::string& op_type,
                   const std::vector<std::string>& inputs) {
    onnx::NodeProto& node = *onnx_->add_node();
    node.set_op_type(op_type);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(absl::StrCat("t", next_++));
    return node.output(0);
  }

  // Convolution and ReLU.
  std::string Convolution(const std::string& input, int input_channels) {
    const std::string weights = Weights({channels_, input_channels, 3, 3});
    const std::string bias = Weights({channels_});
    const std::string sum = Node("Conv", {input, weights, bias});
    onnx::AttributeProto& pads =
        *onnx_->mutable_node(onnx_->node_size() - 1)->add_attribute();
    pads.set_name("pads");
    pads.set_type(onnx::AttributeProto::INTS);
    for (int i = 0; i < 4; ++i) pads.add_ints(1);
    return Node("Relu", {sum});
  }

  std::string Weights(const std::vector<int64_t>& shape) {
    onnx::TensorProto& tensor = *onnx_->add_initializer();
    tensor.set_name(absl::StrCat("w", next_++));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    int64_t elements = 1;
    for (const int64_t extent : shape) {
      tensor.add_dims(extent);
      elements *= extent;
    }
    std::vector<float> values(static_cast<size_t>(elements));
    for (float& value : values) {
      value = static_cast<float>(rng_.InRange(-1000, 1000)) * 1e-4F;
    }
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    weight_bytes_ += elements * static_cast<int64_t>(sizeof(float));
    return tensor.name();
  }

  const int channels_;
  Rng rng_;
  onnx::ModelProto model_;
  onnx::GraphProto* onnx_ = nullptr;
  int64_t weight_bytes_ = 0;
  int next_ = 0;
};

}  // namespace

std::string SyntheticOnnx(int64_t bytes, int channels, uint64_t seed) {
  return Writer(channels, seed).Write(bytes);
}

}  // namespace edgekiln::bench
