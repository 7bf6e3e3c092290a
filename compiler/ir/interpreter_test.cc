#include "compiler/ir/interpreter.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/buffer_layout.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph Parse(absl::string_view text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

std::string Bytes(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(float));
}

// x + 1, then doubled `n` times by adding it to itself.
Graph Doublings(int n) {
  std::string text =
      "%x : float32[2] = input\n%one : float32[1] = constant [1]\n"
      "%t0 : float32[2] = add(%x, %one)\n";
  for (int i = 1; i <= n; ++i) {
    absl::StrAppend(&text, "%t", i, " : float32[2] = add(%t", i - 1, ", %t",
                    i - 1, ")\n");
  }
  return Parse(absl::StrCat(text, "return %t", n));
}

TEST(InterpreterTest, ComputesSampleAfterSample) {
  const auto interpreter = Interpreter::Create(Doublings(3));
  ASSERT_TRUE(interpreter.ok()) << interpreter.status();
  const TensorId y = (*interpreter)->graph().outputs[0];
  EXPECT_EQ((*interpreter)->value(y), "");
  ASSERT_TRUE((*interpreter)->Run({Bytes({0, 1})}).ok());
  EXPECT_EQ((*interpreter)->value(y), Bytes({8, 16}));
  ASSERT_TRUE((*interpreter)->Run({Bytes({2, -1})}).ok());
  EXPECT_EQ((*interpreter)->value(y), Bytes({24, 0}));
}

TEST(InterpreterTest, KeepsWhatIsAskedFor) {
  const Graph graph = Doublings(3);
  for (const bool all : {false, true}) {
    using Keep = InterpreterOptions::Keep;
    const auto interpreter = Interpreter::Create(
        graph, {.keep = all ? Keep::kAllTensors : Keep::kOutputs});
    ASSERT_TRUE(interpreter.ok()) << interpreter.status();
    ASSERT_TRUE((*interpreter)->Run({Bytes({0, 1})}).ok());
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      const std::string& name = graph.tensors[i].name;
      const bool kept = all || name == "x" || name == "one" || name == "t3";
      EXPECT_EQ((*interpreter)->value(static_cast<TensorId>(i)).empty(), !kept)
          << name;
    }
  }
}

TEST(InterpreterTest, InputsMayBeUnaligned) {
  const auto interpreter = Interpreter::Create(Doublings(0));
  ASSERT_TRUE(interpreter.ok()) << interpreter.status();
  const std::string shifted = "?" + Bytes({1, 2});
  ASSERT_TRUE((*interpreter)->Run({absl::string_view(shifted).substr(1)}).ok());
  EXPECT_EQ((*interpreter)->value((*interpreter)->graph().outputs[0]),
            Bytes({2, 3}));
}

TEST(InterpreterTest, RefusesWrongInputs) {
  const auto interpreter = Interpreter::Create(Doublings(1));
  ASSERT_TRUE(interpreter.ok()) << interpreter.status();
  EXPECT_FALSE((*interpreter)->Run({}).ok());
  EXPECT_FALSE((*interpreter)->Run({"1234567"}).ok());
  EXPECT_FALSE((*interpreter)->Run({Bytes({1, 2}), Bytes({1, 2})}).ok());
}

// Sums its inputs; reals are half the integers above 10.
constexpr char kSum[] =
    "%x : int8[2] scale 0.5 zero 10 = input\n"
    "%h : int8[2] scale 0.5 zero 10 = input\n"
    "%y : int8[2] scale 0.5 zero 10 = add(%x, %h)\n"
    "return %y states %h = %y";

TEST(InterpreterTest, StatesPassFromRunToRun) {
  const auto created = Interpreter::Create(Parse(kSum));
  ASSERT_TRUE(created.ok()) << created.status();
  Interpreter& sum = **created;
  EXPECT_EQ(sum.states(), std::vector<std::string>{"\x0a\x0a"});
  ASSERT_TRUE(sum.Run({"\x0b\x0c", ""}).ok());
  EXPECT_EQ(sum.value(sum.graph().outputs[0]), "\x0b\x0c");
  ASSERT_TRUE(sum.Run({"\x0b\x0c", ""}).ok());
  EXPECT_EQ(sum.value(sum.graph().outputs[0]), "\x0c\x0e");
  // A value that is given counts, and what comes of it is carried.
  ASSERT_TRUE(sum.Run({"\x0b\x0c", "\x14\x0a"}).ok());
  ASSERT_TRUE(sum.Run({"\x0b\x0c", ""}).ok());
  EXPECT_EQ(sum.states(), std::vector<std::string>{"\x16\x0e"});
  // What fails changes nothing.
  EXPECT_FALSE(sum.Run({"", ""}).ok());
  EXPECT_FALSE(sum.Run({"\x0b\x0c", "\x14"}).ok());
  EXPECT_FALSE(sum.SetStates({"\x14"}).ok());
  EXPECT_FALSE(sum.SetStates({"\x14\x14", "\x14\x14"}).ok());
  EXPECT_EQ(sum.states(), std::vector<std::string>{"\x16\x0e"});
  ASSERT_TRUE(sum.SetStates({"\x14\x14"}).ok());
  ASSERT_TRUE(sum.Run({"\x0b\x0c", ""}).ok());
  EXPECT_EQ(sum.states(), std::vector<std::string>{"\x15\x16"});
  ASSERT_TRUE(sum.SetStates({}).ok());
  EXPECT_EQ(sum.states(), std::vector<std::string>{"\x0a\x0a"});
}

TEST(InterpreterTest, MemoryIsLimited) {
  const auto interpreter =
      Interpreter::Create(Doublings(1), {.max_buffer_bytes = 128});
  EXPECT_EQ(interpreter.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(InterpreterTest, OutputsMayBeInputsAndConstants) {
  const Graph graph = Parse(
      "%x : int8[2] = input\n%c : int8[1] = constant [7]\nreturn %c, %x, %x");
  const auto values = Evaluate(graph, {"ab"});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(*values, (std::vector<std::string>{"\7", "ab", "ab"}));
}

TEST(BufferLayoutTest, DeadTensorsShareMemoryAndLiveOnesDoNot) {
  const Graph graph = Doublings(10);
  // The input and two others at a time.
  EXPECT_EQ(LayOutBuffers(graph, false).bytes, 3 * 64);
  EXPECT_EQ(LayOutBuffers(graph, true).bytes, 12 * 64);
}

}  // namespace
}  // namespace edgekiln::compiler
