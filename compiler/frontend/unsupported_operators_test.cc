#include "compiler/frontend/unsupported_operators.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

void Add(UnsupportedOperators& found, const std::string& name,
         const std::string& place, const std::string& advice) {
  found.Add(
      name, [&] { return place; }, [&] { return advice; });
}

TEST(UnsupportedOperatorsTest, OneOperator) {
  UnsupportedOperators found;
  EXPECT_TRUE(found.empty());
  Add(found, "Foo", "node 'a'", "");
  EXPECT_FALSE(found.empty());
  EXPECT_EQ(found.What("node"), "Foo: operator is not supported");
  EXPECT_EQ(found.Where("node"), "node 'a'");
  EXPECT_EQ(found.Fix("do without"), "do without");
  Add(found, "Foo", "node 'b'", "");
  EXPECT_EQ(found.What("node"), "Foo: operator is not supported");
  EXPECT_EQ(found.Where("node"), "node 'a', the first of 2 nodes");
}

TEST(UnsupportedOperatorsTest, SeveralOperatorsAreListedOnceEach) {
  UnsupportedOperators found;
  Add(found, "Foo", "node 'a'", "Bar");
  Add(found, "Baz", "node 'b'", "");
  Add(found, "Foo", "node 'c'", "Bar");
  Add(found, "Qux", "node 'd'", "Bar");
  Add(found, "Odd", "node 'e'", "Even");
  EXPECT_EQ(found.What("node"),
            "4 operators are not supported: Foo (2 nodes), Baz, Qux, Odd");
  EXPECT_EQ(found.Where("node"), "node 'a', the first of 5 nodes");
  EXPECT_EQ(found.Fix("do without"), "Foo: Bar; Odd: Even");
}

TEST(UnsupportedOperatorsTest, ListsAreBounded) {
  UnsupportedOperators few;
  for (int i = 0; i < 25; ++i) Add(few, absl::StrCat("Op", i), "x", "");
  EXPECT_NE(few.What("op").find("Op19, and 5 more"), std::string::npos)
      << few.What("op");
  UnsupportedOperators many;
  for (int i = 0; i < 5000; ++i) {
    Add(many, absl::StrCat("AnOperatorWithALongNameOfItsOwn", i), "x",
        absl::StrCat("so it has a long piece of advice, number ", i));
  }
  for (const std::string& text : {many.What("op"), many.Fix("")}) {
    EXPECT_GT(text.size(), 300u);
    EXPECT_LE(text.size(), static_cast<size_t>(kMaxErrorFieldBytes)) << text;
  }
  EXPECT_NE(many.What("op").find("1000 or more operators"), std::string::npos);
}

TEST(UnsupportedOperatorsTest, WhatIsNotShownIsNotAskedFor) {
  UnsupportedOperators found;
  int asked = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto ask = [&] {
      ++asked;
      return std::string("x");
    };
    found.Add(absl::StrCat("Op", i % 500), ask, ask);
  }
  EXPECT_LT(asked, 50);
}

TEST(UnsupportedOperatorsTest, AdviceGoesByNameOrPrefix) {
  constexpr Replacement kRows[] = {{"Foo", "a"}, {"Fo*", "b"}};
  EXPECT_EQ(FindAdvice(kRows, "Foo"), "a");
  EXPECT_EQ(FindAdvice(kRows, "Fold"), "b");
  EXPECT_EQ(FindAdvice(kRows, "Goo"), "");
}

}  // namespace
}  // namespace edgekiln::compiler
