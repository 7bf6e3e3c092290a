// Kernels for 8-bit layers with every combination of types and zero points that
// they take: every output is the interpreter's.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "base/rng.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct Types {
  const char* in;
  const char* weights;
  const char* out;
  int weight_zero;
};

constexpr Types kTypes[] = {
    {"int8", "int8", "int8", 0},      {"int8", "int8", "int8", -7},
    {"uint8", "int8", "uint8", 0},    {"uint8", "int8", "int8", 0},
    {"int8", "int8", "uint8", 0},     {"uint8", "uint8", "uint8", 128},
    {"uint8", "uint8", "uint8", 117}, {"uint8", "uint8", "uint8", 0},
    {"int8", "uint8", "int8", 255},
};

// Shapes of input, weights, output; the op with its attributes; its kernel.
struct Layer {
  const char* in;
  const char* weights;
  int channels;
  const char* out;
  const char* op;
  const char* kernel;
};

constexpr Layer kLayers[] = {
    // Padding, an odd width, and channels beyond a block of four.
    {"1,7,5,3", "6,3,3,3", 6, "1,7,5,6",
     "conv2d(%x, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 "
     "dilation_w "
     "1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1}}",
     "block2x4"},
    {"1,8,9,4", "8,3,2,4", 8, "1,3,4,8",
     "conv2d(%x, %w, %b) {window {stride_h 2 stride_w 2 dilation_h 1 "
     "dilation_w "
     "1}}",
     "block2x4"},
    {"2,3,3,5", "4,1,1,5", 4, "2,3,3,4",
     "conv2d(%x, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 "
     "dilation_w "
     "1}}",
     "block2x4"},
    {"1,6,5,7", "1,3,3,7", 7, "1,6,5,7",
     "depthwise_conv2d(%x, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 "
     "dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1} "
     "depth_multiplier 1}",
     "unrolled"},
    {"1,40", "7,40", 7, "1,7", "fully_connected(%x, %w, %b)", "block2x4"},
    {"3,9", "8,9", 8, "3,8", "fully_connected(%x, %w, %b)", "block2x4"},
};

std::string RandomBytes(int64_t bytes, Rng& rng) {
  std::string data(static_cast<size_t>(bytes), '\0');
  for (char& byte : data) byte = static_cast<char>(rng.InRange(0, 255));
  return data;
}

// Weights and bias are inputs of the text; they become constants.
Graph GraphOf(const Layer& layer, const Types& types, Rng& rng) {
  const int in_zero = types.in[0] == 'u' ? 131 : -5;
  const int out_zero = types.out[0] == 'u' ? 99 : 11;
  auto graph = ParseGraph(absl::Substitute(
                              R"(graph "net"
%x : $0[$1] scale 0.5 zero $2 = input
%w : $3[$4] scale 0.015625 zero $5 = input
%b : int32[$6] scale 0.0078125 zero 0 = input
%y : $7[$8] scale 3.1 zero $9 = )",
                              types.in, layer.in, in_zero, types.weights,
                              layer.weights, types.weight_zero, layer.channels,
                              types.out, layer.out, out_zero) +
                          layer.op + " id y\nreturn %y\n");
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  for (const size_t i : {1, 2}) {
    Tensor& tensor = graph->tensors[graph->inputs[i]];
    std::string data =
        RandomBytes(tensor.num_elements() * ElementBytes(tensor.type), rng);
    // Biases below 2^12.
    if (i == 2) {
      for (size_t at = 0; at < data.size(); ++at) {
        if (at % 4 >= 2) data[at] = '\0';
        if (at % 4 == 1) data[at] = static_cast<char>(data[at] & 15);
      }
    }
    tensor.data = ConstantData(std::move(data));
  }
  graph->inputs.resize(1);
  return *std::move(graph);
}

TEST(FastKernelsTest, TakeEveryTypeAndZeroPoint) {
  Rng rng(7);
  std::vector<CNetwork> networks;
  for (const Layer& layer : kLayers) {
    for (const Types& types : kTypes) {
      CNetwork network;
      network.graph = GraphOf(layer, types, rng);
      network.graph.name = absl::StrCat("net", networks.size());
      auto sources = EmitC(network.graph, {});
      ASSERT_TRUE(sources.ok()) << sources.status();
      EXPECT_EQ(sources->manifest.layers[0].kernel, layer.kernel)
          << layer.op << types.in << types.weights << types.out;
      network.sources = *std::move(sources);
      for (uint64_t sample = 0; sample < 2; ++sample) {
        network.invocations.push_back(RandomInputs(network.graph, sample));
      }
      networks.push_back(std::move(network));
    }
  }
  const absl::Status same = CompareWithInterpreter(networks, {});
  EXPECT_TRUE(same.ok()) << same;
}

}  // namespace
}  // namespace edgekiln::compiler
