#include "compiler/ir/graph.h"

#include <functional>
#include <string>

#include "base/error.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/ir/layer_id.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kTwoLayers[] = R"(graph "two"
%x : float32[1,4,4,2] = input
%w : float32[3,2,2,2] = constant ZEROS
%h : float32[1,3,3,3] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id conv
%y : float32[1,3,3,3] = add(%h, %h) id add
return %y
)";

Graph TwoLayers() {
  std::string text = kTwoLayers;
  const std::string zeros = "0x" + std::string(192, '0');
  text.replace(text.find("ZEROS"), 5, zeros);
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

TEST(GraphTest, KnowsItsStructure) {
  const Graph graph = TwoLayers();
  ASSERT_EQ(graph.ops.size(), 2u);
  EXPECT_EQ(graph.ops[0].kind(), "conv2d");
  EXPECT_EQ(Op().kind(), "");
  // Tensors: x, w, h, y.
  EXPECT_EQ(Producers(graph), (std::vector<int32_t>{-1, -1, 0, 1}));
  EXPECT_EQ(Consumers(graph),
            (std::vector<std::vector<int32_t>>{{0}, {0}, {1}, {}}));
  EXPECT_EQ(MacsOf(graph, graph.ops[0]), 9 * 3 * 2 * 2 * 2);
  EXPECT_EQ(MacsOf(graph, graph.ops[1]), 0);
}

TEST(GraphProtoTest, RoundTrips) {
  const Graph graph = TwoLayers();
  const v1::Graph proto = GraphToProto(graph);
  const absl::StatusOr<Graph> again = GraphFromProto(proto);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintGraph(*again), PrintGraph(graph));
  EXPECT_EQ(GraphToProto(*again).SerializeAsString(),
            proto.SerializeAsString());
}

struct InvalidCase {
  const char* name;
  std::function<void(Graph&)> damage;
  const char* message;
};

// All but the values, in a message that does not grow with them.
TEST(GraphOutlineTest, KeepsAllButConstants) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : float32[1,2] = input
%w : float32[2,2] = constant [1, 2, 3, 4]
%e : float32[0] = constant []
%y : float32[1,2] = fully_connected(%x, %w) id f
return %y, %e
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::Graph proto = OutlineOf(*graph);
  EXPECT_TRUE(proto.tensors(1).has_data());
  EXPECT_EQ(proto.tensors(1).data(), "");
  const absl::StatusOr<Graph> outline = GraphFromOutline(proto);
  ASSERT_TRUE(outline.ok()) << outline.status();
  Graph zeros = *graph;
  zeros.tensors[1].data = ConstantData(std::string(16, '\0'));
  EXPECT_EQ(PrintGraph(*outline), PrintGraph(zeros));
}

TEST(GraphOutlineTest, HostileShapesAreErrors) {
  for (const int64_t extent : {int64_t{-1}, int64_t{1} << 40}) {
    v1::Graph proto;
    proto.add_tensors()->set_data("");
    v1::TensorType& type = *proto.mutable_tensors(0)->mutable_type();
    type.set_name("w");
    type.set_element_type(v1::FLOAT32);
    type.add_shape(extent);
    EXPECT_EQ(GraphFromOutline(proto).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(VerifyGraphTest, RefusesWhatBreaksAnInvariant) {
  const InvalidCase cases[] = {
      {"index", [](Graph& g) { g.ops[0].inputs[0] = 99; }, "tensor index 99"},
      {"negative", [](Graph& g) { g.ops[0].inputs[0] = -2; }, "index -2"},
      {"output index", [](Graph& g) { g.outputs[0] = 4; }, "tensor index 4"},
      {"absent output", [](Graph& g) { g.ops[1].outputs[0] = -1; }, "index -1"},
      {"order", [](Graph& g) { std::swap(g.ops[0], g.ops[1]); },
       "used before it is defined"},
      {"two producers", [](Graph& g) { g.ops[1].outputs[0] = 2; },
       "two definitions"},
      {"writes a constant", [](Graph& g) { g.ops[1].outputs[0] = 1; },
       "two definitions"},
      {"input twice", [](Graph& g) { g.inputs.push_back(0); },
       "two definitions"},
      {"tensor name", [](Graph& g) { g.tensors[1].name = "x"; }, "used twice"},
      {"empty name", [](Graph& g) { g.tensors[1].name = ""; }, "empty"},
      {"id twice", [](Graph& g) { g.ops[1].id = "conv"; }, "layer id"},
      {"id letters", [](Graph& g) { g.ops[1].id = "A/b"; }, "layer id"},
      {"shape", [](Graph& g) { g.tensors[2].shape[1] = 4; },
       "output has shape [1,4,3,3]"},
      {"type", [](Graph& g) { g.tensors[3].type = v1::INT32; },
       "output is INT32"},
      {"constant size",
       [](Graph& g) { g.tensors[1].data = ConstantData("abc"); },
       "constant of 3 bytes"},
      {"no scale", [](Graph& g) { g.tensors[0].quantization.emplace(); },
       "without a scale"},
      {"no attributes", [](Graph& g) { g.ops[1].attributes.Clear(); },
       "op without attributes"},
  };
  for (const InvalidCase& c : cases) {
    Graph graph = TwoLayers();
    ASSERT_TRUE(VerifyGraph(graph).ok());
    c.damage(graph);
    const absl::Status status = VerifyGraph(graph);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_NE(std::string(status.message()).find(c.message), std::string::npos)
        << c.name << ": " << status;
    // The stored form is checked in the same way.
    EXPECT_FALSE(GraphFromProto(GraphToProto(graph)).ok()) << c.name;
  }
}

constexpr char kState[] = R"(%x : float32[2] = input
%h : float32[2] = input
%y : float32[2] = add(%x, %h) id add
%k : float32[1] = constant [1]
return %y states %h = %y
)";

TEST(StateTest, PairsAnInputWithAnOutput) {
  const absl::StatusOr<Graph> graph = ParseGraph(kState);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<Graph> again = GraphFromProto(GraphToProto(*graph));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintGraph(*again), PrintGraph(*graph));
  const struct {
    const char* name;
    std::vector<State> states;
  } cases[] = {
      {"output is none", {{1, 0}}},
      {"input is none", {{3, 2}}},
      {"out of range", {{9, 2}}},
      {"twice", {{1, 2}, {0, 2}}},
  };
  for (const auto& c : cases) {
    Graph damaged = *graph;
    damaged.states = c.states;
    EXPECT_FALSE(VerifyGraph(damaged).ok()) << c.name;
  }
  Graph other_type = *graph;
  other_type.tensors[1].shape = {1};
  EXPECT_FALSE(VerifyGraph(other_type).ok());
  Graph per_channel = *ParseGraph(
      "%h : int8[2] scale [1, 2] zero [0, 0] = input\n"
      "%k : int8[2] scale [1, 2] zero [0, 0] = constant [1, 1]\n"
      "return %k");
  EXPECT_TRUE(VerifyGraph(per_channel).ok());
  per_channel.states = {{0, 1}};
  EXPECT_FALSE(VerifyGraph(per_channel).ok());
}

constexpr char kConverted[] = R"(
%x : int8[2] scale 0.5 zero 1 = input converted float32 HALF_EVEN
%z : int8[2] scale 0.5 zero 1 = input
%y : int8[2] scale 0.5 zero 1 = add(%x, %z) id a
return %y converted uint8 HALF_UP, %x
)";

TEST(ConvertedPortTest, SurvivesStorageAndIsChecked) {
  const absl::StatusOr<Graph> graph = ParseGraph(kConverted);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<Graph> again = GraphFromProto(GraphToProto(*graph));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->converted_inputs, graph->converted_inputs);
  EXPECT_EQ(again->converted_outputs, graph->converted_outputs);
  EXPECT_EQ(PrintGraph(*again), PrintGraph(*graph));
  const ConvertedPort port = graph->converted_inputs[0];
  const auto at = [&](int32_t index) {
    ConvertedPort moved = port;
    moved.port = index;
    return moved;
  };
  const auto from = [&](v1::ElementType type) {
    ConvertedPort other = port;
    other.type = type;
    return other;
  };
  const struct {
    const char* name;
    std::vector<ConvertedPort> inputs;
    bool valid;
  } cases[] = {
      {"both", {at(0), at(1)}, true},
      {"twice", {at(0), at(0)}, false},
      {"descending", {at(1), at(0)}, false},
      {"out of range", {at(2)}, false},
      {"negative", {at(-1)}, false},
      {"no type", {from(v1::ELEMENT_TYPE_UNSPECIFIED)}, false},
      {"bool", {from(v1::BOOL)}, false},
      {"itself", {from(v1::INT8)}, false},
      {"other width", {from(v1::UINT16)}, false},
      {"unsigned", {from(v1::UINT8)}, true},
      {"float64", {from(v1::FLOAT64)}, true},
  };
  for (const auto& c : cases) {
    Graph changed = *graph;
    changed.converted_inputs = c.inputs;
    EXPECT_EQ(VerifyGraph(changed).ok(), c.valid) << c.name;
  }
}

TEST(VerifyGraphTest, NamesTheOpWhereOpsRefuses) {
  Graph graph = TwoLayers();
  graph.tensors[3].type = v1::BOOL;
  const auto detail = GetErrorDetail(VerifyGraph(graph));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->where, "add (add)");
  EXPECT_FALSE(detail->fix.empty());
}

TEST(LayerIdTest, IsShortUniqueAndReadable) {
  LayerIdMaker ids;
  const struct {
    const char* name;
    const char* expected;
  } cases[] = {
      {"model/activation_3/Relu;model/add/add", "activation_3.relu"},
      {"model/activation_3/Relu", "activation_3.relu-2"},
      {"a/b/c/d", "c.d"},
      {"Identity", "identity"},
      {"/leading", "leading"},
      {"", "conv2d_7"},
      {"%$&", "conv2d_7-2"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ids.Make(c.name, "conv2d_7"), c.expected);
  }
  EXPECT_EQ(ids.Make(std::string(500, 'a'), "").size(),
            LayerIdMaker::kMaxLength);
}

}  // namespace
}  // namespace edgekiln::compiler
