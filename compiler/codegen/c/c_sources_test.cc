// Names, memory and limits of generated C: small graphs, read as text.

#include "compiler/codegen/c/c_sources.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/codegen/c/arena.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph GraphOf(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// --- Names ---

struct NameCase {
  const char* name;
  const char* prefix;
};

TEST(IdentifiersTest, PrefixesAreIdentifiers) {
  const NameCase kCases[] = {
      {"resnet8", "resnet8"},
      {"My Net/v2", "my_net_v2"},
      {"", "network"},
      {"*/ \n .incbin \"/etc/passwd\"", "incbin_etc_passwd"},
      {"?\?/", "network"},
      {"8bit", "net_8bit"},
      {"stdint", "net_stdint"},
      {"check data", "net_check_data"},
      {"main", "net_main"},
      {"__builtin_trap", "builtin_trap"},
      {"\xc3\xa9t\xc3\xa9", "t"},
      {"a__b", "a_b"},
  };
  for (const NameCase& row : kCases) {
    EXPECT_EQ(CPrefix(row.name), row.prefix) << row.name;
  }
  EXPECT_EQ(CPrefix(std::string(100, 'x')).size(), 32u);
}

TEST(IdentifiersTest, LayersDifferByIndex) {
  EXPECT_EQ(CLayerFunction("n", 3, "conv/../x.y"), "n_layer_3_conv_x_y");
  EXPECT_EQ(CLayerFunction("n", 4, "*/"), "n_layer_4");
}

// --- Literals ---

TEST(CTextTest, LiteralsAreExact) {
  EXPECT_EQ(CFloat(0.1f), "0x1.99999ap-4f");
  EXPECT_EQ(CFloat(-0.0f), "-0.0f");
  EXPECT_EQ(CDouble(3), "3.0");
  EXPECT_EQ(CInteger(-2147483648LL), "(-2147483647 - 1)");
}

// --- Memory ---

constexpr char kResidual[] = R"(graph "net"
%x : float32[1,64] = input
%a : float32[1,64] = unary(%x) {function SQRT} id a
%b : float32[1,64] = unary(%a) {function EXP} id b
%y : float32[1,64] = add(%a, %b) id y
return %y
)";

TEST(ArenaTest, AdditionsOverwriteAnOperand) {
  const auto sources = EmitC(GraphOf(kResidual), {});
  ASSERT_TRUE(sources.ok()) << sources.status();
  // a takes the place of x, b needs its own, y takes that of either.
  EXPECT_EQ(sources->manifest.arena_bytes, 2 * 64 * 4);
}

TEST(ArenaTest, AnOperandInAnotherOrderStays) {
  // The transpose reads what the addition would overwrite, in another order.
  constexpr char kText[] = R"(graph "net"
%x : float32[8,8] = input
%a : float32[8,8] = unary(%x) {function SQRT} id a
%t : float32[8,8] = transpose(%a) {permutation [1, 0]} id t
return %t
)";
  const auto sources = EmitC(GraphOf(kText), {});
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ(sources->manifest.arena_bytes, 2 * 64 * 4);
}

TEST(ArenaTest, ReshapesCostNothing) {
  constexpr char kText[] = R"(graph "net"
%x : float32[8,8] = input
%a : float32[64] = reshape(%x) id a
%b : float32[64] = unary(%a) {function EXP} id b
return %b
)";
  const auto sources = EmitC(GraphOf(kText), {});
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ(sources->manifest.arena_bytes, 64 * 4);
  EXPECT_EQ(sources->manifest.layers[0].kernel, "alias");
}

TEST(EmitCTest, RefusesWhatDoesNotFitAndSaysWhatWould) {
  COptions options;
  options.ram_limit_bytes = 511;
  const auto sources = EmitC(GraphOf(kResidual), options);
  ASSERT_FALSE(sources.ok());
  EXPECT_EQ(sources.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(sources.status().message(), "need: 512 bytes"))
      << sources.status();
  options.ram_limit_bytes = 512;
  EXPECT_TRUE(EmitC(GraphOf(kResidual), options).ok());
}

// A state that is an output as well is copied at the end of an inference.
TEST(EmitCTest, CopiesOfOutputsAreRamAsWell) {
  constexpr char kText[] = R"(graph "net"
%x : float32[16] = input
%s : float32[16] = input
%y : float32[16] = add(%x, %s) id y
return %y, %s states %s = %y
)";
  COptions options;
  options.ram_limit_bytes = 3 * 64 - 1;
  EXPECT_EQ(EmitC(GraphOf(kText), options).status().code(),
            absl::StatusCode::kResourceExhausted);
  options.ram_limit_bytes = 3 * 64;
  const auto sources = EmitC(GraphOf(kText), options);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ(sources->manifest.arena_bytes, 3 * 64);
}

TEST(EmitCTest, RefusesHugeConstantsBeforeWritingThem) {
  Graph graph = GraphOf(kResidual);
  Tensor big;
  big.name = "big*/";
  big.type = v1::INT8;
  big.shape = {1 << 20};
  big.data = ConstantData(std::string(1 << 20, '\1'));
  graph.tensors.push_back(std::move(big));
  COptions options;
  options.max_constant_bytes = (1 << 20) - 1;
  const auto sources = EmitC(graph, options);
  ASSERT_FALSE(sources.ok());
  EXPECT_EQ(sources.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(sources.status().message(), "1048576 bytes"));
}

constexpr char kTwoLayers[] = R"(graph "net"
%x : int8[2,8] scale 0.5 zero 0 = input
%v : int8[2,8] scale 0.01 zero 0 = constant [1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8]
%w : int8[2,2] scale 0.01 zero 0 = constant [1, 2, 3, 4]
%a : int8[2,2] scale 0.5 zero 3 = fully_connected(%x, %v) id a
%b : int8[2,2] scale 0.5 zero 0 = fully_connected(%a, %w) id b
return %b
)";

TEST(EmitCTest, LittleFlashTakesSmallerKernelsFirstWhereTheyCostLeast) {
  const Graph graph = GraphOf(kTwoLayers);
  const auto fast = EmitC(graph, {});
  ASSERT_TRUE(fast.ok()) << fast.status();
  EXPECT_EQ(fast->manifest.layers[0].kernel, "block2x4");
  COptions options;
  options.flash_limit_bytes =
      fast->manifest.constant_bytes + fast->manifest.code_bytes - 1;
  const auto less = EmitC(graph, options);
  ASSERT_TRUE(less.ok()) << less.status();
  // The second layer has fewer products to lose by.
  EXPECT_EQ(less->manifest.layers[0].kernel, "block2x4");
  EXPECT_EQ(less->manifest.layers[1].kernel, "plain");
  ASSERT_EQ(less->manifest.given_up.size(), 1u);
  EXPECT_EQ(less->manifest.given_up[0].layer, 1u);
  EXPECT_EQ(less->manifest.given_up[0].fastest, "block2x4");
  EXPECT_GT(less->manifest.given_up[0].instructions, 0);
  EXPECT_TRUE(fast->manifest.given_up.empty());
  options.flash_limit_bytes = 10;
  const auto none = EmitC(graph, options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(none.status().message(), "limit: 10 bytes"))
      << none.status();
}

// The fast convolution needs a ring of rows, plain loops do not: only that
// layer changes.
TEST(EmitCTest, LittleRamChangesTheLayersThatNeedIt) {
  constexpr char kText[] = R"(graph "net"
%x : int8[1,4,64,1] scale 0.5 zero 3 = input
%w : int8[4,3,3,1] scale 0.01 zero 0 = constant 0xWEIGHTS
%v : int8[4,1024] scale 0.01 zero 0 = constant 0xVALUES
%a : int8[1,4,64,4] scale 0.5 zero 0 = conv2d(%x, %w) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1}} id a
%b : int8[1,4] scale 0.5 zero 0 = fully_connected(%a, %v) id b
return %b
)";
  const Graph graph = GraphOf(absl::StrReplaceAll(
      kText, {{"VALUES", std::string(size_t{2} * 4096, '1')},
              {"WEIGHTS", std::string(size_t{2} * 36, '1')}}));
  const auto fast = EmitC(graph, {});
  ASSERT_TRUE(fast.ok()) << fast.status();
  EXPECT_EQ(fast->manifest.layers[0].kernel, "block2x4");
  COptions options;
  options.ram_limit_bytes = fast->manifest.arena_bytes - 1;
  const auto less = EmitC(graph, options);
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_LE(less->manifest.arena_bytes, options.ram_limit_bytes);
  EXPECT_EQ(less->manifest.layers[0].kernel, "plain");
  EXPECT_EQ(less->manifest.layers[1].kernel, "block2x4");
}

// --- The manifest ---

const CTensor* TensorOf(const CManifest& manifest, TensorId id) {
  for (const CTensor& tensor : manifest.tensors) {
    if (tensor.id == id) return &tensor;
  }
  return nullptr;
}

// The reshape needs no function, and what it gives is overwritten at once: it
// is there when the layer before it returns.
TEST(ManifestTest, ReshapesAreThereWithTheLayerBeforeThem) {
  constexpr char kText[] = R"(graph "net"
%x : float32[8,8] = input
%a : float32[8,8] = unary(%x) {function EXP} id a
%b : float32[64] = reshape(%a) id b
%c : float32[64] = unary(%b) {function EXP} id c
return %c
)";
  const auto sources = EmitC(GraphOf(kText), {});
  ASSERT_TRUE(sources.ok()) << sources.status();
  const CManifest& m = sources->manifest;
  EXPECT_EQ(m.layers[0].function, "net_layer_0_a");
  EXPECT_EQ(m.layers[1].function, "");
  const int32_t kLayers[] = {-1, 0, 0, 2};
  for (TensorId id = 0; id < 4; ++id) {
    const CTensor* tensor = TensorOf(m, id);
    ASSERT_NE(tensor, nullptr) << id;
    EXPECT_EQ(tensor->layer, kLayers[id]) << id;
    EXPECT_EQ(tensor->offset, 0) << id;
    EXPECT_EQ(tensor->size_bytes, 256) << id;
  }
  EXPECT_EQ(TensorOf(m, 1)->strides, (std::vector<int64_t>{8, 1}));
  EXPECT_EQ(TensorOf(m, 2)->strides, (std::vector<int64_t>{1}));
}

// Half floats are cast, sorted, and cast back: the indices, which nobody reads,
// are written before the values.
TEST(ManifestTest, AllOutputsOfALayerAreThereWhenItReturns) {
  constexpr char kText[] = R"(graph "net"
%x : float16[1,64] = input
%v : float16[1,64], %i : int64[1,64] = top_k(%x) {k 64 axis 1} id v
%y : float16[1,64] = unary(%v) {function SQRT} id y
return %y
)";
  const auto sources = EmitC(GraphOf(kText), {});
  ASSERT_TRUE(sources.ok()) << sources.status();
  const CTensor* values = TensorOf(sources->manifest, 1);
  const CTensor* indices = TensorOf(sources->manifest, 2);
  ASSERT_TRUE(values != nullptr && indices != nullptr);
  EXPECT_TRUE(values->offset + values->size_bytes <= indices->offset ||
              indices->offset + indices->size_bytes <= values->offset)
      << values->offset << " " << indices->offset;
}

constexpr char kTwoConvolutions[] = R"(graph "net"
%x : int8[1,3,2,2] scale 0.5 zero 3 = input
%w : int8[2,1,1,2] scale 0.01 zero 0 = constant [1, 2, 3, 4]
%a : int8[1,3,2,2] scale 0.02 zero 0 = conv2d(%x, %w) {WINDOW} id a
%b : int8[1,3,2,2] scale 0.02 zero 1 = conv2d(%a, %w) {WINDOW} id b
%c : int8[1,12] scale 0.02 zero 1 = reshape(%b) id c
%d : int8[1,3,2,2] scale 0.02 zero 1 = conv2d(%b, %w) {WINDOW} id d
return %c, %d
)";

Graph TwoConvolutions() {
  return GraphOf(absl::StrReplaceAll(
      kTwoConvolutions,
      {{"WINDOW",
        "window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}"}}));
}

TEST(ManifestTest, UmaHasChannelsFirstBetweenLayers) {
  const Graph graph = TwoConvolutions();
  COptions options;
  options.recipe = CRecipe::kUma;
  auto sources = EmitC(graph, options);
  ASSERT_TRUE(sources.ok()) << sources.status();
  const CManifest m = sources->manifest;
  const std::vector<int64_t> kRows = {12, 4, 2, 1};
  const std::vector<int64_t> kPlanes = {12, 2, 1, 6};
  EXPECT_EQ(TensorOf(m, graph.inputs[0])->strides, kRows);
  EXPECT_EQ(TensorOf(m, graph.ops[0].outputs[0])->strides, kPlanes);
  EXPECT_EQ(TensorOf(m, graph.ops[1].outputs[0])->strides, kPlanes);
  EXPECT_EQ(TensorOf(m, graph.ops[3].outputs[0])->strides, kRows);
  // The reshape of another order is no alias.
  EXPECT_EQ(m.layers[2].function, "net_layer_2_c");
  std::vector<CNetwork> networks;
  networks.push_back({graph, *std::move(sources), {RandomInputs(graph, 1)}});
  const absl::Status same = CompareWithInterpreter(networks, {});
  EXPECT_TRUE(same.ok()) << same;
}

// Factors by channel, behind sums and behind a converter; then a layer that
// does not know the order.
TEST(ManifestTest, UmaRescalesChannelsThatComeFirst) {
  constexpr char kText[] = R"(graph "net"
%x : int8[2,2,3,2] scale 0.5 zero 3 = input
%w : int8[2,1,1,2] scale 0.01 zero 0 = constant [101, 92, 83, -74]
%s : int32[2,2,3,2] scale 0.005 zero 0 = conv2d(%x, %w) {WINDOW} id s
%r : int8[2,2,3,2] scale 0.02 zero 1 = requantize(%s) {multiplier [1073741824, 1610612736] shift [-8, -7]} id r
%c : int8[2,2,3,2] scale 0.02 zero 0 = conv2d(%r, %w) {WINDOW rounding FLOOR converter {gain 64 min -128 max 127 scale [300, 20] offset [5, -90] shift 4}} id c
%d : int8[2,3,2,2] scale 0.02 zero 0 = transpose(%c) {permutation [0, 2, 1, 3]} id d
return %d
)";
  const Graph graph = GraphOf(absl::StrReplaceAll(
      kText, {{"WINDOW",
               "window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}"}}));
  COptions options;
  options.recipe = CRecipe::kUma;
  auto sources = EmitC(graph, options);
  ASSERT_TRUE(sources.ok()) << sources.status();
  for (size_t i = 0; i < 3; ++i) {
    const CTensor* tensor =
        TensorOf(sources->manifest, graph.ops[i].outputs[0]);
    EXPECT_EQ(tensor->strides, (std::vector<int64_t>{12, 3, 1, 6})) << i;
  }
  std::vector<CNetwork> networks;
  networks.push_back({graph, *std::move(sources), {RandomInputs(graph, 1)}});
  const absl::Status same = CompareWithInterpreter(networks, {});
  EXPECT_TRUE(same.ok()) << same;
}

TEST(EmitCTest, AFirmwarePlacesTheArena) {
  const Graph graph = TwoConvolutions();
  auto sources = EmitC(graph, {});
  ASSERT_TRUE(sources.ok()) << sources.status();
  std::vector<CNetwork> networks;
  networks.push_back({graph, *std::move(sources), {RandomInputs(graph, 1)}});
  // The linker says so if there is no such section.
  const CCompiler compiler = {.flags =
                                  "-O1 -DNET_ARENA_SECTION='\"net_memory\"' "
                                  "-Wl,--defsym=there=__start_net_memory"};
  const absl::Status same = CompareWithInterpreter(networks, compiler);
  EXPECT_TRUE(same.ok()) << same;
}

TEST(EmitCTest, TheTableIsWalked) {
  COptions options;
  options.recipe = CRecipe::kTable;
  const auto sources = EmitC(TwoConvolutions(), options);
  ASSERT_TRUE(sources.ok()) << sources.status();
  const std::string& text = sources->files[1].text;
  EXPECT_TRUE(absl::StrContains(text, "net_table[3] = {"));
  EXPECT_TRUE(absl::StrContains(text, "if (layers[i] != 0 && layers[i]()"));
  for (const CLayer& layer : sources->manifest.layers) {
    EXPECT_EQ(layer.kernel, layer.id == "c" ? "alias" : "table");
  }
}

// --- Text ---

TEST(EmitCTest, SameGraphSameBytes) {
  const auto a = EmitC(GraphOf(kResidual), {});
  const auto b = EmitC(GraphOf(kResidual), {});
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->files.size(), 2u);
  for (size_t i = 0; i < a->files.size(); ++i) {
    EXPECT_EQ(a->files[i].path, b->files[i].path);
    EXPECT_EQ(a->files[i].text, b->files[i].text);
  }
}

// Names that would be code; two graphs whose names are the same identifier are
// the caller's business.
TEST(EmitCTest, HostileNamesNeverReachC) {
  Graph graph = GraphOf(kResidual);
  const char* const kHostile[] = {"*/ int main(void) {", "a\n.incbin \"x\"",
                                  "?\?/\n#include", "int", "\xff\xfe"};
  graph.name = "*/ system(\"x\"); /*";
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    graph.tensors[i].name = absl::StrCat(kHostile[i % 5], i);
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    graph.ops[i].name = kHostile[i % 5];
    graph.ops[i].id = absl::StrCat("*/", kHostile[(i + 1) % 5]);
  }
  auto sources = EmitC(graph, {});
  ASSERT_TRUE(sources.ok()) << sources.status();
  for (const CFile& file : sources->files) {
    for (const char* bad :
         {"incbin \"", "?\?/", "main(", "*/ int", "system("}) {
      EXPECT_FALSE(absl::StrContains(file.text, bad)) << bad;
    }
    for (const char c : file.text) {
      ASSERT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f));
    }
  }
  // It compiles, and computes the same.
  Graph plain = GraphOf(kResidual);
  std::vector<CNetwork> networks;
  networks.push_back({plain, *std::move(sources), {RandomInputs(plain, 1)}});
  const absl::Status same = CompareWithInterpreter(networks, {});
  EXPECT_TRUE(same.ok()) << same;
}

// What a state becomes is there in the next invocation, and its old value is an
// output still.
TEST(EmitCTest, StatesPersist) {
  constexpr char kText[] = R"(graph "net"
%x : float32[4] = input
%s : float32[4] = input
%t : float32[4] = input
%y : float32[4] = add(%x, %s) id y
%u : float32[4] = add(%t, %y) id u
return %y, %s, %u states %s = %y, %t = %u
)";
  const Graph graph = GraphOf(kText);
  auto sources = EmitC(graph, {});
  ASSERT_TRUE(sources.ok()) << sources.status();
  std::vector<std::vector<std::string>> invocations;
  for (uint64_t i = 0; i < 4; ++i) {
    invocations.push_back(RandomInputs(graph, i));
  }
  std::vector<CNetwork> networks;
  networks.push_back({graph, *std::move(sources), invocations});
  const absl::Status same = CompareWithInterpreter(networks, {});
  EXPECT_TRUE(same.ok()) << same;
}

}  // namespace
}  // namespace edgekiln::compiler
