#include "compiler/codegen/firmware/stack_bound.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::string Node(const std::string& title, const std::string& usage) {
  return absl::StrCat("node: { title: \"", title, "\" label: \"", title,
                      "\\na.c:1:2\\n", usage, "\" }\n");
}
std::string Extern(const std::string& title) {
  return absl::StrCat("node: { title: \"", title, "\" label: \"", title,
                      "\\n<built-in>\" shape : ellipse }\n");
}
std::string Edge(const std::string& from, const std::string& to) {
  return absl::StrCat("edge: { sourcename: \"", from, "\" targetname: \"", to,
                      "\" label: \"a.c:3:4\" }\n");
}
std::string Graph(const std::string& body) {
  return absl::StrCat("graph: { title: \"a.c\"\n", body, "}\n");
}

std::string Pointer(const std::string& from) {
  return absl::StrCat(
      "node: { title: \"__indirect_call\" label: \"Indirect Call Placeholder\" "
      "shape : ellipse }\n",
      Edge(from, "__indirect_call"));
}

struct Case {
  std::string name;
  std::vector<std::string> graphs;
  int64_t bytes;
  std::vector<PointerCall> calls = {};
};

// A walk that calls two layers by pointers, of which one does so as well.
std::string Walk() {
  return Graph(Node("walk", "16 bytes (static)") + Pointer("walk") +
               Node("layer", "32 bytes (static)") + Pointer("layer") +
               Node("a.c:other", "100 bytes (static)") +
               Node("a.c:kernel", "90 bytes (static)"));
}

class StackBoundTest : public testing::TestWithParam<Case> {};

TEST_P(StackBoundTest, Is) {
  const auto bytes = BoundStack(GetParam().graphs, {}, GetParam().calls);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(
    All, StackBoundTest,
    testing::Values(
        Case{"Nothing", {}, 0},
        Case{"LongestPath",
             {Graph(Node("a", "16 bytes (static)") +
                    Node("a.c:b", "100 bytes (static)") +
                    Node("c", "32 bytes (dynamic,bounded)") +
                    Node("d", "80 bytes (static)") + Edge("a", "a.c:b") +
                    Edge("a", "c") + Edge("c", "d") + Edge("a", "c"))},
             16 + 32 + 80},
        Case{"AcrossFiles",
             {Graph(Node("a", "16 bytes (static)") + Extern("b") +
                    Edge("a", "b")),
              Graph(Node("b", "48 bytes (static)"))},
             64},
        Case{"Recursion",
             {Graph(Node("a", "16 bytes (static)") +
                    Node("b", "16 bytes (static)") + Edge("a", "b") +
                    Edge("b", "a"))},
             0},
        Case{"CallsItself",
             {Graph(Node("a", "16 bytes (static)") + Edge("a", "a"))},
             0},
        Case{"Pointer",
             {Graph(Node("a", "16 bytes (static)") + Pointer("a"))},
             0},
        Case{"KnownPointers",
             {Walk()},
             16 + 32 + 90,
             {{"walk", "layer"}, {"walk", "other"}, {"layer", "kernel"}}},
        Case{"PointersOfOneAreUnknown",
             {Walk()},
             0,
             {{"walk", "layer"}, {"walk", "other"}}},
        Case{"PointerToNobody",
             {Walk()},
             0,
             {{"walk", "layer"}, {"layer", "absent"}}},
        Case{"CircleByPointers",
             {Walk()},
             0,
             {{"walk", "layer"}, {"layer", "walk"}}},
        Case{"WhoCallsByNoPointerIsLeftAlone",
             {Graph(Node("a", "16 bytes (static)") +
                    Node("b", "48 bytes (static)"))},
             48,
             {{"a", "b"}, {"absent", "b"}}},
        Case{"Library",
             {Graph(Node("a", "16 bytes (static)") + Extern("__mulsf3") +
                    Edge("a", "__mulsf3"))},
             0},
        Case{"DependsOnData", {Graph(Node("a", "16 bytes (dynamic)"))}, 0}),
    [](const auto& info) { return info.param.name; });

// Functions of a library count where they are called, whatever calls them.
TEST(StackBoundLibraryTest, OnlyWhatIsCalledCounts) {
  const std::string network = Graph(Node("a", "16 bytes (static)") +
                                    Extern("__mulsf3") + Edge("a", "__mulsf3"));
  const std::string library = Graph(
      Node("__mulsf3", "32 bytes (static)") + Edge("__mulsf3", "r.c:pack") +
      Node("r.c:pack", "8 bytes (static)") +
      Node("__divsf3", "99 bytes (static)") + Edge("__divsf3", "__divsf3"));
  EXPECT_EQ(*BoundStack({network}, {library}), 16 + 32 + 8);
  EXPECT_EQ(*BoundStack({network, Graph(Node("b", "1 bytes (static)") +
                                        Edge("b", "__divsf3"))},
                        {library}),
            0);
  EXPECT_EQ(*BoundStack({library}, {}), 0);
}

TEST(StackBoundLibraryTest, WhatIsCalledByPointerCallsIt) {
  const std::string library = Graph(Node("__mulsf3", "32 bytes (static)"));
  const std::string network =
      Graph(Node("a", "16 bytes (static)") + Pointer("a") +
            Node("b", "8 bytes (static)") + Extern("__mulsf3") +
            Edge("b", "__mulsf3"));
  EXPECT_EQ(*BoundStack({network}, {library}, {{"a", "b"}}), 16 + 8 + 32);
  EXPECT_EQ(*BoundStack({network}, {library}, {{"a", "__mulsf3"}}), 16 + 32);
  EXPECT_EQ(*BoundStack({network}, {library}), 0);
}

TEST(StackBoundLibraryTest, ACircleWithoutFramesComesToAnEnd) {
  EXPECT_EQ(*BoundStack({Graph(Edge("a", "b"))},
                        {Graph(Edge("b", "c") + Edge("c", "b"))}),
            0);
}

TEST(StackBoundErrorTest, OtherTextsAreRefused) {
  for (const char* text :
       {"node: { title: \"a }", "edge: { sourcename: \"a\" }", "hello"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(BoundStack({text}).status())) << text;
  }
}

TEST(PointerCallsTest, TextsAreReadBack) {
  const std::string text = PointerCallsText({{"a", "b"}, {"a", "c_1"}});
  EXPECT_EQ(text, "a b\na c_1\n");
  const auto calls = ParsePointerCalls(text);
  ASSERT_TRUE(calls.ok()) << calls.status();
  EXPECT_EQ(PointerCallsText(*calls), text);
  for (const char* other : {"a", "a b c", "a ", " b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePointerCalls(other).status()))
        << other;
  }
}

TEST(StackBoundErrorTest, LongChainsDoNotRecurse) {
  std::string body = Node("f0", "1 bytes (static)");
  for (int i = 1; i < 20000; ++i) {
    body += Node(absl::StrCat("f", i), "1 bytes (static)") +
            Edge(absl::StrCat("f", i - 1), absl::StrCat("f", i));
  }
  EXPECT_EQ(*BoundStack({Graph(body)}), 20000);
}

}  // namespace
}  // namespace edgekiln::compiler
