#include "compiler/ir/valid_names.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

TEST(ValidNamesTest, EscapesWhatIsNoText) {
  const struct {
    std::string name;
    std::string valid;
  } kCases[] = {
      {"", ""},
      {"conv/x:0", "conv/x:0"},
      {"caf\xC3\xA9 \xE5\xB1\x82", "caf\xC3\xA9 \xE5\xB1\x82"},
      {"caf\xE9", "caf\\xE9"},
      {"\xE5\xB1", "\\xE5\\xB1"},
      {"\xED\xA0\x80", "\\xED\\xA0\\x80"},
      {std::string("a\0b\n", 4), "a\\x00b\\x0A"},
      {"a?\xFF?", "a?\\xFF?"},
      {"a\\xE9", "a\\xE9"},
  };
  for (const auto& row : kCases) EXPECT_EQ(ValidName(row.name), row.valid);
}

// Every byte at every place of a name that is looked at eight bytes at a time.
TEST(ValidNamesTest, LooksAtEveryByte) {
  for (size_t at = 0; at < 19; ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string name(19, 'a');
      name[at] = static_cast<char>(byte);
      const bool plain = byte >= 0x20 && byte < 0x7F;
      EXPECT_EQ(ValidName(name) == name, plain) << at << " " << byte;
    }
  }
}

// 4096 names that would all become one.
TEST(ValidNamesTest, ManyNamesStayApart) {
  Graph graph;
  for (int bits = 0; bits < 4096; ++bits) {
    std::string name;
    for (int i = 0; i < 12; ++i)
      name += (bits >> i & 1) != 0 ? "\xE9" : "\\xE9";
    graph.tensors.emplace_back().name = name;
  }
  MakeNamesValid(graph);
  std::set<std::string> names;
  for (const Tensor& tensor : graph.tensors) names.insert(tensor.name);
  EXPECT_EQ(names.size(), 4096u);
  EXPECT_TRUE(names.contains(graph.tensors[0].name + "#4095"));
}

TEST(ValidNamesTest, NamesStayApart) {
  Graph graph;
  graph.name = "net\xFF";
  for (const char* name : {"a\xE9", "a\\xE9", "b", "a\xE9#1", "a\\xE9#1"}) {
    Tensor tensor;
    tensor.name = name;
    graph.tensors.push_back(tensor);
  }
  Op op;
  op.name = "op\x80";
  graph.ops.push_back(op);
  MakeNamesValid(graph);
  EXPECT_EQ(graph.name, "net\\xFF");
  EXPECT_EQ(graph.ops[0].name, "op\\x80");
  std::vector<std::string> names;
  for (const Tensor& tensor : graph.tensors) names.push_back(tensor.name);
  // What was valid keeps its name.
  EXPECT_EQ(names, (std::vector<std::string>{"a\\xE9#2", "a\\xE9", "b",
                                             "a\\xE9#1#1", "a\\xE9#1"}));
}

}  // namespace
}  // namespace edgekiln::compiler
