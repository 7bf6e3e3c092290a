// The folder c/ of bundles of chips with engines: on models of the engines, the
// host's C computes what the interpreter does.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "compiler/codegen/c/testing/op_cases.h"
#include "compiler/codegen/host/host_files.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/text.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "target/resolve.h"
#include "tests/c_targets/host_bundle.h"
#include "tests/chips/random_graphs.h"
#include "tests/pipeline/graph_builder.h"
#include "tests/pipeline/synthetic.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

constexpr char kFlags[] = "-O1";

v1::ResolvedTarget TargetOf(absl::string_view name) {
  const auto target =
      target::ResolveTarget(absl::StrCat("extends: \"", name, "\""));
  EXPECT_TRUE(target.ok()) << target.status();
  return target.value_or(v1::ResolvedTarget());
}

void ExpectEqual(const Graph& graph, const v1::ResolvedTarget& target,
                 int samples = 2, const std::string& flags = kFlags) {
  auto bundle = HostBundle::Create(graph, target);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const absl::Status same = bundle->CompareWithInterpreter(samples, flags);
  EXPECT_TRUE(same.ok()) << same;
}

struct ModelCase {
  const char* model;
  const char* target;
};

void PrintTo(const ModelCase& c, std::ostream* out) {
  *out << c.model << " on " << c.target;
}

class HostCodeModelsTest : public testing::TestWithParam<ModelCase> {};

TEST_P(HostCodeModelsTest, EqualsTheInterpreter) {
  const std::string path = absl::StrCat("models/", GetParam().model);
  EK_REQUIRE_SHARED(path);
  auto graph = compiler::ImportModel(ReadWholeFile(SharedPath(path)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(compiler::Simplify(*graph).ok());
  if (absl::StrContains(path, "fp32")) {
    graph = QuantizedBySample(*graph);
    ASSERT_TRUE(graph.ok()) << graph.status();
  }
  ExpectEqual(*graph, TargetOf(GetParam().target));
}

INSTANTIATE_TEST_SUITE_P(
    Tiny, HostCodeModelsTest,
    testing::Values(
        ModelCase{"ad_int8.tflite", "dla-64-o-512k"},
        ModelCase{"ad_int8.tflite", "dla-128-i-1m"},
        ModelCase{"dscnn_int8.tflite", "dla-64-o-512k"},
        ModelCase{"dscnn_int8.tflite", "dla-128-i-1m"},
        ModelCase{"dscnn_int8.tflite", "dla-64-o-512k-swdw"},
        ModelCase{"dscnn_int8.tflite", "dla-64-o-512k-nodw"},
        ModelCase{"person_detect_int8.tflite", "dla-64-o-512k"},
        ModelCase{"person_detect_int8.tflite", "dla-128-i-1m"},
        ModelCase{"person_detect_int8.tflite", "dla-128-i-512k-swdw"},
        ModelCase{"person_detect_int8.tflite", "dla-128-i-512k-nodw"},
        ModelCase{"resnet8_int8.tflite", "dla-64-o-512k"},
        ModelCase{"resnet8_int8.tflite", "dla-128-i-1m"},
        ModelCase{"resnet8_int8.tflite", "toy-array"},
        ModelCase{"dscnn_int8.tflite", "toy-two-array"},
        ModelCase{"resnet8_fp32.onnx", "dla-64-o-512k"},
        ModelCase{"dscnn_fp32.onnx", "dla-128-i-1m"}),
    [](const auto& info) {
      std::string name = absl::StrCat(info.param.model, "_", info.param.target);
      for (char& c : name) {
        if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

constexpr const char* kVariants[] = {"dla-64-o-512k", "dla-128-i-1m",
                                     "dla-64-i-512k-swdw",
                                     "dla-128-o-512k-nodw"};

TEST(HostCodeTest, RandomNetworksEqualTheInterpreter) {
  using Make = Graph (*)(QuantizedGraphBuilder&);
  constexpr Make kMakes[] = {RandomConv,        RandomDepthwise, RandomPool,
                             RandomResidualNet, RandomChain,     RandomMaps};
  uint64_t seed = 1;
  for (const Make make : kMakes) {
    for (const char* variant : kVariants) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, " on ", variant));
      QuantizedGraphBuilder builder(seed);
      if (seed % 2 == 0) builder.RoundHalfEven();
      if (seed % 3 == 0) builder.GiveWeightsZeroPoints();
      ++seed;
      ExpectEqual(make(builder), TargetOf(variant));
    }
  }
}

// Chips whose host drives their engines, with the arithmetic that these have.
struct DrivenChip {
  const char* target;
  void (*arithmetic)(QuantizedGraphBuilder& builder);
};

const DrivenChip kDrivenChips[] = {
    {"toy-array", [](QuantizedGraphBuilder&) {}},
    {"toy-array-b8", [](QuantizedGraphBuilder&) {}},
    {"toy-array-int32", [](QuantizedGraphBuilder&) {}},
    {"toy-two-array", [](QuantizedGraphBuilder&) {}},
    {"toy-two-array-int32", [](QuantizedGraphBuilder&) {}},
    {"toy-int4",
     [](QuantizedGraphBuilder& builder) { builder.LimitWeights(-8, 7); }},
    {"toy-mixed",
     [](QuantizedGraphBuilder& builder) { builder.UseConverters(50); }},
    {"toy-shift",
     [](QuantizedGraphBuilder& builder) { builder.UseShifts(v1::HALF_UP); }},
    {"toy-ternary",
     [](QuantizedGraphBuilder& builder) {
       builder.UseShifts(v1::FLOOR);
       builder.UseConverters(100);
     }},
    {"toy-ternary-sums",
     [](QuantizedGraphBuilder& builder) {
       builder.UseShifts(v1::FLOOR);
       builder.UseConverters(100);
     }},
};

// Moves, register writes and polls.
TEST(HostCodeTest, ChipsDrivenByTheHostEqualTheInterpreter) {
  for (const DrivenChip& chip : kDrivenChips) {
    for (const auto make : {RandomResidualNet, RandomChain}) {
      SCOPED_TRACE(chip.target);
      QuantizedGraphBuilder builder(5000);
      chip.arithmetic(builder);
      ExpectEqual(make(builder), TargetOf(chip.target));
    }
  }
}

// Whatever engines do not take is the host's.
TEST(HostCodeTest, EveryOpOfTheHostEqualsTheInterpreter) {
  const auto graphs = compiler::GraphsOfAllCases(60, 77);
  ASSERT_TRUE(graphs.ok()) << graphs.status();
  ASSERT_GE(graphs->size(), 3u);
  for (const Graph& graph : *graphs) {
    ExpectEqual(graph, TargetOf("dla-64-o-512k"), 2, "-O0");
  }
}

// States are written where the next inference reads them, or wait in a buffer
// while an output lies there.
constexpr char kDirect[] = R"(
%x : int8[1,4] scale 0.5 zero 3 = input
%h : int8[1,4] scale 0.5 zero 3 = input
%c : int8[1,8] scale 0.5 zero 3 = concat(%x, %h) {axis 1} id c
%w : int8[4,8] scale 0.0625 zero 0 = constant [9, -3, 4, 7, 1, -2, 8, -4, 5, -6, 7, -8, 9, 1, 2, 3, -7, 6, 5, -1, 8, 2, -9, 4, 3, 3, -5, 6, -2, 7, 1, 9]
%n : int8[1,4] scale 0.5 zero 3 = fully_connected(%c, %w) id n
%y : int8[1,4] scale 0.5 zero -1 = unary(%n) {function TANH} id y
return %y, %n states %h = %n
)";
constexpr char kBuffered[] = R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%h : int8[4] scale 0.5 zero 3 = input
%g : int8[1,1,1,4] scale 0.5 zero 3 = input
%a : int8[1,1,1,4] scale 0.5 zero 3 = reshape(%h) id a
%b : int8[1,1,1,4] scale 1 zero 3 = add(%x, %a) id b
%y : int8[1,1,1,4] scale 1 zero 3 = add(%b, %g) id y
%n : int8[4] scale 0.5 zero 3 = reshape(%x) id n
return %y, %n, %a states %h = %n, %g = %a
)";

TEST(HostCodeTest, StatesAreCarried) {
  for (const char* text : {kDirect, kBuffered}) {
    const auto graph = compiler::ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    ExpectEqual(*graph, TargetOf(kVariants[0]), 6);
    const auto bundle = HostBundle::Create(*graph, TargetOf(kVariants[0]));
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    EXPECT_EQ(absl::StrContains(bundle->Read("c/network.c"), "network_states"),
              text == kBuffered);
    EXPECT_TRUE(bundle->Checks()) << bundle->Read("log");
  }
}

Graph SmallNet() {
  QuantizedGraphBuilder builder(3);
  compiler::TensorId x = builder.Input({1, 9, 9, 5});
  x = builder.Conv(x, 19, {.kernel = {3, 3}, .pad = {1, 1, 1, 1}}, true);
  x = builder.Transpose(x, {0, 2, 1, 3});
  x = builder.Depthwise(x, 1, {.kernel = {3, 3}}, true);
  x = builder.AveragePool(x, {.kernel = {7, 7}});
  x = builder.FullyConnected(builder.Reshape(x, {1, 19}), 4);
  Graph graph = builder.Finish({x});
  graph.name = "Small net: #1";
  return graph;
}

TEST(HostCodeTest, MakeCheckPassesWithEveryCompiler) {
  const auto bundle = HostBundle::Create(SmallNet(), TargetOf(kVariants[0]));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_NE(bundle->Read("c/small_net_1.c"), "");
  for (const char* variables :
       {"CC=gcc", "CC=gcc SANITIZE=1", "CC=clang", "CC=clang SANITIZE=1"}) {
    EXPECT_TRUE(bundle->Checks(variables)) << variables << bundle->Read("log");
    EXPECT_TRUE(absl::StrContains(bundle->Read("log"),
                                  "2 samples equal what was recorded"))
        << bundle->Read("log");
    EXPECT_TRUE(bundle->Runs("make -s -C c clean"));
  }
}

TEST(HostCodeTest, ItNeedsTheDriverAndNoLibrary) {
  const auto bundle = HostBundle::Create(SmallNet(), TargetOf(kVariants[0]));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  ASSERT_TRUE(bundle->Runs(
      "cd c && gcc -std=c99 -O2 -ffreestanding -fno-builtin "
      "-fno-tree-loop-distribute-patterns -c small_net_1.c -o net.o && nm -u "
      "net.o > ../undefined"));
  const std::string undefined = bundle->Read("undefined");
  for (const absl::string_view line :
       absl::StrSplit(undefined, '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(absl::StrContains(line, " edgekiln_") ||
                absl::StrContains(line, "_GLOBAL_OFFSET_TABLE_"))
        << line;
  }
}

TEST(HostCodeTest, EqualProgramsGiveEqualFiles) {
  const Graph graph = SmallNet();
  const v1::ResolvedTarget target = TargetOf(kVariants[0]);
  const auto bundle = HostBundle::Create(graph, target);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const auto files =
      compiler::HostFiles(bundle->compiled().program, graph,
                          bundle->compiled().constants, target.machine());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_GE(files->size(), 12u);
  for (const compiler::CFile& file : *files) {
    EXPECT_EQ(bundle->Read("c/" + file.path), file.text) << file.path;
  }
}

// Of bits of a file, the share whose flip `make check` notices, in percent.
int NoticedPercent(const HostBundle& bundle, const std::string& path,
                   int flips) {
  const std::string right = bundle.Read(path);
  Rng rng(9);
  int noticed = 0;
  for (int i = 0; i < flips; ++i) {
    std::string wrong = right;
    char& byte =
        wrong.at(static_cast<size_t>(rng.InRange(0, std::ssize(right) - 1)));
    byte = static_cast<char>(byte ^ (1 << rng.InRange(0, 7)));
    bundle.Write(path, wrong);
    noticed += bundle.Checks() ? 0 : 1;
  }
  bundle.Write(path, right);
  EXPECT_TRUE(bundle.Checks());
  return noticed * 100 / flips;
}

TEST(HostCodeTest, FlippedBitsAreNoticed) {
  const auto bundle = HostBundle::Create(SmallNet(), TargetOf(kVariants[0]));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  ASSERT_TRUE(bundle->Checks()) << bundle->Read("log");
  EXPECT_GE(NoticedPercent(*bundle, "streams/000.bin", 60), 90);
  EXPECT_GE(NoticedPercent(*bundle, "constants.bin", 60), 50);
  // Another size is noticed as such.
  bundle->Write("constants.bin", bundle->compiled().constants + "x");
  EXPECT_FALSE(bundle->Checks());
  EXPECT_TRUE(absl::StrContains(bundle->Read("log"), "another size"));
}

}  // namespace
}  // namespace edgekiln::tests
