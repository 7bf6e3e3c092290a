#include "tests/bench/onednn.h"

#include <omp.h>

#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace edgekiln::bench {
namespace {

using compiler::Graph;
using compiler::Op;
using compiler::Tensor;
using dnnl::memory;

struct Layer {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

const Tensor& At(const Graph& graph, compiler::TensorId tensor) {
  return graph.tensors[static_cast<size_t>(tensor)];
}

memory::desc Desc(memory::dims dims, memory::data_type type) {
  return {std::move(dims), type, memory::format_tag::any};
}

// Requantization per output channel by some factor that keeps values in range.
dnnl::primitive_attr Requantize(int64_t channels) {
  dnnl::primitive_attr attributes;
  attributes.set_output_scales(
      /*mask=*/1 << 1,
      std::vector<float>(static_cast<size_t>(channels), 1e-3f));
  return attributes;
}

memory Filled(const memory::desc& desc, const dnnl::engine& engine, int byte) {
  memory out(desc, engine);
  std::memset(out.get_data_handle(), byte, desc.get_size());
  return out;
}

template <typename Primitive, typename PrimitiveDesc>
Layer MakeLayer(const PrimitiveDesc& desc, const dnnl::engine& engine) {
  return {
      .primitive = Primitive(desc),
      .arguments = {{DNNL_ARG_SRC, Filled(desc.src_desc(), engine, 3)},
                    {DNNL_ARG_WEIGHTS, Filled(desc.weights_desc(), engine, 1)},
                    {DNNL_ARG_BIAS, Filled(desc.bias_desc(), engine, 0)},
                    {DNNL_ARG_DST, Filled(desc.dst_desc(), engine, 0)}}};
}

Layer Convolution(const Graph& graph, const Op& op, const v1::Window2d& window,
                  bool depthwise, const dnnl::engine& engine) {
  const auto& x = At(graph, op.inputs[0]).shape;
  const auto& w = At(graph, op.inputs[1]).shape;
  const auto& y = At(graph, op.outputs[0]).shape;
  using Type = memory::data_type;
  const memory::dims weights =
      depthwise ? memory::dims{x[3], y[3] / x[3], 1, w[1], w[2]}
                : memory::dims{w[0], w[3], w[1], w[2]};
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      Desc({x[0], x[3], x[1], x[2]}, Type::u8), Desc(weights, Type::s8),
      Desc({y[3]}, Type::s32), Desc({y[0], y[3], y[1], y[2]}, Type::u8),
      {window.stride_h(), window.stride_w()},
      {window.dilation_h() - 1, window.dilation_w() - 1},
      {window.pad_top(), window.pad_left()},
      {window.pad_bottom(), window.pad_right()});
  return MakeLayer<dnnl::convolution_forward>(
      dnnl::convolution_forward::primitive_desc(desc, Requantize(y[3]), engine),
      engine);
}

Layer InnerProduct(const Graph& graph, const Op& op,
                   const dnnl::engine& engine) {
  const auto& w = At(graph, op.inputs[1]).shape;
  const int64_t rows = At(graph, op.outputs[0]).num_elements() / w[0];
  using Type = memory::data_type;
  const dnnl::inner_product_forward::desc desc(
      dnnl::prop_kind::forward_inference, Desc({rows, w[1]}, Type::u8),
      Desc({w[0], w[1]}, Type::s8), Desc({w[0]}, Type::s32),
      Desc({rows, w[0]}, Type::u8));
  return MakeLayer<dnnl::inner_product_forward>(
      dnnl::inner_product_forward::primitive_desc(desc, Requantize(w[0]),
                                                  engine),
      engine);
}

class Layers final : public OneDnnLayers {
 public:
  explicit Layers(const Graph& graph)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    for (const Op& op : graph.ops) {
      const v1::OpAttributes& a = op.attributes;
      if (a.has_conv2d()) {
        layers_.push_back(
            Convolution(graph, op, a.conv2d().window(), false, engine_));
      } else if (a.has_depthwise_conv2d()) {
        layers_.push_back(Convolution(graph, op, a.depthwise_conv2d().window(),
                                      true, engine_));
      } else if (a.has_fully_connected()) {
        layers_.push_back(InnerProduct(graph, op, engine_));
      }
    }
  }

  absl::Status Run() override {
    try {
      for (const Layer& layer : layers_) {
        layer.primitive.execute(stream_, layer.arguments);
      }
      stream_.wait();
    } catch (const dnnl::error& error) {
      return absl::InternalError(absl::StrCat("oneDNN: ", error.what()));
    }
    return absl::OkStatus();
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Layer> layers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<OneDnnLayers>> NewOneDnnLayers(
    const Graph& graph) {
  omp_set_num_threads(1);
  try {
    return std::unique_ptr<OneDnnLayers>(new Layers(graph));
  } catch (const dnnl::error& error) {
    return absl::InternalError(absl::StrCat("oneDNN: ", error.what()));
  }
}

std::string OneDnnVersion() {
  const dnnl_version_t& version = *dnnl_version();
  return absl::StrCat("oneDNN ", version.major, ".", version.minor, ".",
                      version.patch);
}

}  // namespace edgekiln::bench
