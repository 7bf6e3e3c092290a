#include "compiler/frontend/onnx/testing/hostile_inlining.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

constexpr auto kBool = onnx::TensorProto::BOOL;
constexpr auto kInt64 = onnx::TensorProto::INT64;

// Each function calls the next one twice.
TestModel CallsTwice(int levels) {
  TestModel model;
  model.Input("x", {1}).Output("y");
  for (int i = 0; i < levels; ++i) {
    TestModel body;
    body.Input("a", {}).Output("c");
    const std::string next =
        i + 1 < levels ? absl::StrCat("f", i + 1) : std::string("Neg");
    const std::string domain = i + 1 < levels ? "local" : "";
    body.Node(next, {"a"}, {"b"}).Domain(domain);
    body.Node(next, {"b"}, {"c"}).Domain(domain);
    model.Function(absl::StrCat("f", i), body);
  }
  return model.Node("f0", {"x"}, {"y"}).Domain("local");
}

TestModel NestedIfs(int levels) {
  TestModel inner;
  inner.Output("y").Node("Neg", {"x"}, {"y"});
  for (int i = 0; i < levels; ++i) {
    TestModel outer;
    outer.Output("y").Node("If", {"c"}, {"y"}).Graph("then_branch", inner);
    inner.proto() = outer.proto();
  }
  return inner.Input("x", {1}).Bytes("c", kBool, {}, {1});
}

// The body of a loop that carries v to w.
TestModel Body() {
  TestModel body;
  return body.TypedInput("i", kInt64, {})
      .TypedInput("go", kBool, {})
      .Input("v", {})
      .Output("go")
      .Output("w");
}

// That from x to y; "yes" is true.
TestModel LoopOf(TestModel& body, int64_t rounds) {
  TestModel model;
  return model.Input("x", {1})
      .Bytes("yes", kBool, {}, {1})
      .Integers("n", {rounds})
      .Node("Loop", {"n", "", "x"}, {"y"})
      .Graph("body", body)
      .Output("y");
}

// One node each round.
TestModel LoopOf(const std::string& op, int64_t rounds, size_t inputs = 1) {
  TestModel body = Body();
  body.Node(op, std::vector<std::string>(inputs, "v"), {"w"});
  return LoopOf(body, rounds);
}

TestModel LoopThatDoubles() {
  TestModel body = Body();
  body.Node("Concat", {"v", "v"}, {"w"}).Int("axis", 0);
  TestModel model = LoopOf(body, INT64_MAX);
  return model.Floats("c", {1}, {1});
}

// A loop that computes nothing, but has rounds and adds up rows.
TestModel EmptyLoop() {
  TestModel body;
  body.TypedInput("i", kInt64, {})
      .TypedInput("go", kBool, {})
      .Output("go")
      .Output("i");
  TestModel model;
  return model.Input("x", {1})
      .Integers("n", {99'999})
      .Node("Loop", {"n", ""}, {"y"})
      .Graph("body", body)
      .Output("y");
}

// A loop that calls a function, whose one node becomes many.
TestModel LoopOfCalls(const std::string& op, size_t inputs, int64_t rounds) {
  TestModel function;
  function.Input("a", {}).Output("b");
  function.Node(op, std::vector<std::string>(inputs, "a"), {"b"});
  TestModel body = Body();
  body.Node("f", {"v"}, {"w"}).Domain("local");
  return LoopOf(body, rounds).Function("f", function);
}

// One node that becomes several.
TestModel LoopOfQuantization(int64_t rounds) {
  TestModel body = Body();
  body.Node("DynamicQuantizeLinear", {"v"}, {"q", "s", "z"})
      .Node("DequantizeLinear", {"q", "s", "z"}, {"w"});
  return LoopOf(body, rounds);
}

// Each round adds a row to each of `outputs`.
TestModel LoopOfRows(int outputs, int64_t rounds) {
  TestModel body = Body();
  body.Node("Neg", {"v"}, {"w"});
  for (int i = 0; i < outputs; ++i) body.Output("w");
  TestModel model = LoopOf(body, rounds);
  for (int i = 0; i < outputs; ++i) {
    model.proto().mutable_graph()->mutable_node(0)->add_output(
        absl::StrCat("s", i));
  }
  return model.Output("s0");
}

TestModel LoopOfLongNames(size_t length, int64_t rounds) {
  const std::string name(length, 'n');
  TestModel body = Body();
  body.Node("Neg", {"v"}, {name}).Node("Neg", {name}, {"w"});
  return LoopOf(body, rounds);
}

// 64 KiB of nodes, in a branch that is not taken, around which a loop goes.
TestModel LoopAroundALongBranch() {
  TestModel taken;
  taken.Output("b").Node("Neg", {"v"}, {"b"});
  TestModel other;
  other.Output("b");
  for (int i = 0; i < 9000; ++i) other.Node("", {"v"}, {});
  TestModel body = Body();
  body.Node("If", {"yes"}, {"w"})
      .Graph("then_branch", taken)
      .Graph("else_branch", other);
  return LoopOf(body, 5000);
}

// An attribute of the call that the function has in thousands of places.
TestModel CallWithALongAttribute() {
  TestModel branch;
  branch.Output("b");
  for (int i = 0; i < 1000; ++i) {
    branch.Node("Constant", {}, {"b"}).String("value_string", "");
    branch.proto()
        .mutable_graph()
        ->mutable_node(i)
        ->mutable_attribute(0)
        ->set_ref_attr_name("long");
  }
  TestModel function;
  function.Input("a", {}).Output("b");
  function.Node("If", {"a"}, {"b"}).Graph("then_branch", branch);
  TestModel model;
  return model.Input("x", {1})
      .Function("f", function)
      .Node("f", {"x"}, {"y"})
      .Domain("local")
      .String("long", std::string(30'000, 'z'))
      .Output("y");
}

}  // namespace

std::vector<HostileCase> MuchInlined() {
  return {
      {"calls of calls", CallsTwice(15)},
      {"as many as there may be", CallsTwice(11)},
      {"nested branches", NestedIfs(20)},
      {"an endless loop", LoopOf("Neg", INT64_MAX)},
      {"as long as it may be", LoopOf("Softplus", 4000)},
      {"an endless loop that doubles", LoopThatDoubles()},
      {"an empty loop", EmptyLoop()},
      {"a loop of long sums", LoopOf("Sum", 8000, 200)},
      {"a loop of calls of long sums", LoopOfCalls("Max", 200, 5000)},
      {"a loop of conversions", LoopOfQuantization(1600)},
      {"a loop of many rows", LoopOfRows(50, 8000)},
      {"a loop of long names", LoopOfLongNames(400, 8000)},
  };
}

std::vector<HostileCase> MuchReadAgain() {
  return {
      {"a loop around a long branch", LoopAroundALongBranch()},
      {"a long attribute in many places", CallWithALongAttribute()},
  };
}

}  // namespace edgekiln::compiler
