#include "compiler/codegen/estimate_memo.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kBase[] = R"(
%x : int8[1,4] scale 0.5 zero 3 = input
%w : int8[2,4] scale 0.25 zero 0 = constant [1, 2, 3, 4, 5, 6, 7, 8]
%h : int8[1,2] scale 1 zero 0 = fully_connected(%x, %w) {clamp {min 0}} id dense
%y : int8[1,2] scale 1 zero 0 = add(%h, %h) id twice
return %y
)";

Graph Parsed(const std::string& text) {
  const absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

// Of layer `id` alone, or with the one behind it.
Region RegionAt(const Graph& graph, const std::string& id, int32_t ops = 1) {
  std::vector<int32_t> indices;
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    if (graph.ops[i].id != id) continue;
    for (int32_t k = 0; k < ops; ++k) indices.push_back(i + k);
  }
  EXPECT_EQ(std::ssize(indices), ops) << id;
  return RegionOf(graph, indices);
}

class EstimateMemoTest : public testing::Test {
 protected:
  EstimateMemoTest() : base_(Parsed(kBase)) {
    EXPECT_EQ(memo_.Find(RegionAt(base_, "dense"), 0), nullptr);
    memo_.Add(17);
  }

  bool Knows(const std::string& text) {
    const Graph graph = Parsed(text);
    return memo_.Find(RegionAt(graph, "dense"), 0) != nullptr;
  }

  const Graph base_;
  EstimateMemo memo_;
};

TEST_F(EstimateMemoTest, RemembersWhatIsAlike) {
  const auto* const known = memo_.Find(RegionAt(base_, "dense"), 0);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(*known, 17);
  // Names, values of weights, and what is far off do not count.
  EXPECT_TRUE(Knows(R"(
%i : int8[1,4] scale 0.5 zero 3 = input
%o : int8[1,4] scale 0.5 zero 3 = unary(%i) {function ABS} id before
%v : int8[2,4] scale 0.25 zero 0 = constant [0, 0, 0, 0, 0, 0, 0, 0]
%h : int8[1,2] scale 1 zero 0 = fully_connected(%o, %v) {clamp {min 0}} id dense name "other"
%y : int8[1,2] scale 1 zero 0 = add(%h, %h) id twice
return %y
)"));
}

TEST_F(EstimateMemoTest, TooLittleMemoryIsKnown) {
  EXPECT_EQ(memo_.Find(RegionAt(base_, "twice"), 1), nullptr);
  memo_.Add(std::nullopt);
  const auto* const known = memo_.Find(RegionAt(base_, "twice"), 1);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(*known, std::nullopt);
}

TEST_F(EstimateMemoTest, TellsApartWhatDiffers) {
  EXPECT_EQ(memo_.Find(RegionAt(base_, "dense"), 1), nullptr);
  EXPECT_EQ(memo_.Find(RegionAt(base_, "twice"), 0), nullptr);
  EXPECT_EQ(memo_.Find(RegionAt(base_, "dense", 2), 0), nullptr);
  const struct {
    const char* what;
    const char* from;
    const char* to;
  } kRows[] = {
      {"an attribute", "{clamp {min 0}}", "{clamp {min 0 max 6}}"},
      {"a scale", "scale 0.5 zero 3", "scale 0.125 zero 3"},
      {"a zero point", "scale 0.5 zero 3", "scale 0.5 zero 4"},
      {"the weights' scale", "scale 0.25 zero 0", "scale 0.75 zero 0"},
      {"a type", "%x : int8[1,4] scale 0.5 zero 3",
       "%x : uint8[1,4] scale 0.5 zero 3"},
      {"a reader outside", "return %y", "return %y, %h"},
  };
  for (const auto& row : kRows) {
    const std::string text = absl::StrReplaceAll(kBase, {{row.from, row.to}});
    ASSERT_NE(text, kBase) << row.what;
    // What is read outside is already, here: of the layer behind it.
    if (std::string(row.what) != "a reader outside") {
      EXPECT_FALSE(Knows(text)) << row.what;
      continue;
    }
    memo_.Find(RegionAt(base_, "dense", 2), 0);
    memo_.Add(18);
    const Graph graph = Parsed(text);
    EXPECT_EQ(memo_.Find(RegionAt(graph, "dense", 2), 0), nullptr);
  }
  EXPECT_FALSE(Knows(R"(
%x : int8[2,2] scale 0.5 zero 3 = input
%w : int8[2,4] scale 0.25 zero 0 = constant [1, 2, 3, 4, 5, 6, 7, 8]
%h : int8[1,2] scale 1 zero 0 = fully_connected(%x, %w) {clamp {min 0}} id dense
%y : int8[1,2] scale 1 zero 0 = add(%h, %h) id twice
return %y
)")) << "a shape";
  // The same tensor twice, or two alike.
  const Graph one = Parsed(R"(
%a : int8[4] scale 1 zero 0 = input
%b : int8[4] scale 1 zero 0 = input
%y : int8[4] scale 1 zero 0 = add(%a, %a) id dense
%z : int8[4] scale 1 zero 0 = add(%b, %b) id other
return %y, %z
)");
  memo_.Find(RegionAt(one, "dense"), 0);
  memo_.Add(19);
  EXPECT_NE(memo_.Find(RegionAt(one, "other"), 0), nullptr);
  EXPECT_FALSE(Knows(R"(
%a : int8[4] scale 1 zero 0 = input
%b : int8[4] scale 1 zero 0 = input
%y : int8[4] scale 1 zero 0 = add(%a, %b) id dense
return %y
)"));
}

}  // namespace
}  // namespace edgekiln::compiler
