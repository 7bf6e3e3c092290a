// Which loops are found, in code of a few instructions.

#include "simfarm/hot_spots/loops.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/testing/assembler.h"

namespace edgekiln::simfarm {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

constexpr uint32_t kBase = 0x1000;

// Executions of each word of the code, and how often a branch was taken.
struct Word {
  uint32_t bits = kNop;
  int64_t executions = 0;
  int64_t taken = 0;
};

FirmwareProfile ProfileOf(const std::vector<Word>& words,
                          std::vector<rv32::Function> functions = {}) {
  FirmwareProfile profile;
  Assembler code(kBase);
  for (const Word& word : words) {
    const uint32_t pc = code.here();
    code.Word(word.bits);
    if (word.executions == 0) continue;
    profile.addresses.push_back({.pc = pc,
                                 .executions = word.executions,
                                 .taken = word.taken,
                                 .cycles = word.executions});
    profile.instructions += word.executions;
  }
  profile.cycles = profile.instructions;
  profile.executable.segments.push_back(
      {kBase, code.bytes(), static_cast<int64_t>(code.bytes().size())});
  if (functions.empty()) functions = {{"f", kBase, 0}};
  profile.executable.functions = std::move(functions);
  return profile;
}

// "begin-end executed" of each, by offsets of words.
std::vector<std::string> LoopsOf(const FirmwareProfile& profile,
                                 size_t max_loops = 8) {
  std::vector<std::string> texts;
  for (const HotLoop& loop : FindHotLoops(profile, max_loops)) {
    texts.push_back(absl::StrCat(
        (profile.addresses[loop.begin].pc - kBase) / 4, "-",
        (profile.addresses[loop.end - 1].pc - kBase) / 4, " ", loop.executed));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(LoopsTest, AreBetweenABackwardBranchAndItsDestination) {
  EXPECT_EQ(LoopsOf(ProfileOf(
                {{kNop, 1}, {kNop, 10}, {Bne(5, 0, -4), 10, 9}, {kNop, 1}})),
            (Texts{"1-2 20"}));
}

TEST(LoopsTest, OfNestedOnesTheOneThatTakesMoreItself) {
  // The inner loop: words 2 and 3.
  const auto nested = [](int64_t outer, int64_t inner) {
    return ProfileOf({{kNop, outer},
                      {kNop, outer},
                      {kNop, inner},
                      {Bne(5, 0, -4), inner, inner - outer},
                      {Bne(6, 0, -16), outer, outer - 1}});
  };
  EXPECT_EQ(LoopsOf(nested(10, 1000)), (Texts{"2-3 2000"}));
  EXPECT_EQ(LoopsOf(nested(10, 14)), (Texts{"0-4 58"}));
}

TEST(LoopsTest, CodeThatWasMovedAwayMakesNoLoop) {
  // Words 3 and 4 are rarely reached, and jump back into straight code.
  EXPECT_TRUE(LoopsOf(ProfileOf({{Beq(5, 0, 12), 100, 10},
                                 {kNop, 100},
                                 {kRet, 100},
                                 {kNop, 10},
                                 {Jal(0, -12), 10}}))
                  .empty());
}

TEST(LoopsTest, SeveralBranchesToOneDestinationAreOneLoop) {
  EXPECT_EQ(LoopsOf(ProfileOf({{kNop, 10},
                               {Bne(5, 0, -4), 10, 4},
                               {kNop, 6},
                               {Jal(0, -12), 5},
                               {kNop, 1}})),
            (Texts{"0-3 31"}));
}

TEST(LoopsTest, StayInOneFunction) {
  EXPECT_TRUE(
      LoopsOf(ProfileOf({{kNop, 10}, {kNop, 10}, {Bne(5, 0, -8), 10, 9}},
                        {{"f", kBase, 4}, {"g", kBase + 4, 8}}))
          .empty());
}

TEST(LoopsTest, TheHottestComeFirstAndNoMoreThanAreWanted) {
  const FirmwareProfile profile = ProfileOf({{kNop, 10},
                                             {Bne(5, 0, -4), 10, 9},
                                             {kNop, 1000},
                                             {Bne(5, 0, -4), 1000, 999},
                                             {kNop, 100},
                                             {Bne(5, 0, -4), 100, 99}});
  EXPECT_EQ(LoopsOf(profile), (Texts{"2-3 2000", "4-5 200", "0-1 20"}));
  EXPECT_EQ(LoopsOf(profile, 1), (Texts{"2-3 2000"}));
}

TEST(LoopsTest, LongOnesAreLeftOut) {
  std::vector<Word> words(kMaxLoopInstructions, Word{kNop, 10});
  words.push_back(
      {Bne(5, 0, -4 * static_cast<int32_t>(kMaxLoopInstructions)), 10, 9});
  EXPECT_TRUE(LoopsOf(ProfileOf(words)).empty());
}

// Code that is not in the file, or cannot be decoded.
TEST(LoopsTest, WhatCannotBeReadMakesNoLoop) {
  FirmwareProfile profile =
      ProfileOf({{kNop, 10}, {Bne(5, 0, -4), 10, 9}, {0, 10}});
  profile.addresses.push_back({.pc = 0x90000000, .executions = 5});
  EXPECT_EQ(LoopsOf(profile).size(), 1u);
  profile.executable.segments[0].bytes.resize(6);
  EXPECT_TRUE(LoopsOf(profile).empty());
}

}  // namespace
}  // namespace edgekiln::simfarm
