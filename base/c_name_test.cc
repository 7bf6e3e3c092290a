#include "base/c_name.h"

#include <gtest/gtest.h>

#include <string>

namespace edgekiln {
namespace {

TEST(CNameTest, TakesWhatIdentifiersCanBeginWith) {
  for (const char* name : {"a", "kws", "person_2", "a_b_c", "net8x8"}) {
    EXPECT_TRUE(IsCName(name)) << name;
  }
  EXPECT_TRUE(IsCName(std::string(32, 'x')));
  for (const char* name : {"", "2nd", "_a", "a_", "a__b", "Kws", "a b", "a-b",
                           "a/b", "\xc3\xa9", "a\n", "*/"}) {
    EXPECT_FALSE(IsCName(name)) << name;
  }
  EXPECT_FALSE(IsCName(std::string(33, 'x')));
  EXPECT_FALSE(IsCName(absl::string_view("a\0b", 3)));
}

TEST(CNameTest, WhatFilesOfOthersAreCalledIsTaken) {
  for (const char* name :
       {"main", "check", "desk", "edgekiln", "edgekiln_model", "int", "class",
        "string", "stdint", "features", "uchar"}) {
    EXPECT_FALSE(IsCName(name)) << name;
    EXPECT_EQ(CNameOf(name), std::string("net_") + name);
  }
}

TEST(CNameTest, EveryTextHasAName) {
  for (const std::string& text :
       {std::string(), std::string("*/"), std::string("2nd"),
        std::string("My Net/v2"), std::string("main"), std::string(100, 'x'),
        std::string(100, '8'), std::string(27, '8') + "_x",
        std::string(31, 'x') + "_y"}) {
    EXPECT_TRUE(IsCName(CNameOf(text))) << CNameOf(text);
  }
  EXPECT_EQ(CNameOf("My Net/v2"), "my_net_v2");
  EXPECT_EQ(CNameOf(std::string(27, '8') + "_x"),
            "net_" + std::string(27, '8'));
}

}  // namespace
}  // namespace edgekiln
