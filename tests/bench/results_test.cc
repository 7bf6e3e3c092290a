#include "tests/bench/results.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace edgekiln::bench {
namespace {

TEST(Results, RatioIsValueOverReference) {
  Results results("lookup");
  Row row = MillisecondRow(
      "net", "p50",
      {.samples = 3, .median = 0.006, .low = 0.005, .high = 0.009});
  row.reference = {"echo", 2, Origin::kSameRun};
  row.goal = "<= 2x";
  results.Add(row);
  results.Note("a note");
  const auto json = nlohmann::json::parse(results.Json());
  EXPECT_EQ(json["bench"], "lookup");
  EXPECT_EQ(json["notes"], nlohmann::json({"a note"}));
  ASSERT_EQ(json["rows"].size(), 1u);
  const auto& out = json["rows"][0];
  EXPECT_EQ(out["unit"], "ms");
  EXPECT_DOUBLE_EQ(out["value"], 6);
  EXPECT_DOUBLE_EQ(out["low"], 5);
  EXPECT_DOUBLE_EQ(out["high"], 9);
  EXPECT_DOUBLE_EQ(out["ratio"], 3);
  EXPECT_EQ(out["reference"]["quoted"], false);
  EXPECT_EQ(out["goal"], "<= 2x");
}

TEST(Results, NothingIsMadeUp) {
  Results results("compile");
  Row without;
  results.Add(without);
  Row unknown;  // A reference that could not be measured.
  unknown.reference = {"peer", 0, Origin::kQuoted};
  results.Add(unknown);
  const auto json = nlohmann::json::parse(results.Json());
  EXPECT_FALSE(json["rows"][0].contains("reference"));
  EXPECT_FALSE(json["rows"][0].contains("ratio"));
  EXPECT_FALSE(json["rows"][1].contains("ratio"));
  EXPECT_EQ(json["rows"][1]["reference"]["quoted"], true);
}

}  // namespace
}  // namespace edgekiln::bench
