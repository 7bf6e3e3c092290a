#include "client/lsp/locate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/lsp/testing/sample.h"
#include "proto/convert.h"

namespace edgekiln::client::lsp {
namespace {

// As the daemon makes it: a detail, and contexts before it.
v1::ErrorDetail Error(ErrorDetail detail, const std::string& context = "") {
  absl::Status status =
      MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
  if (!context.empty()) status = Annotate(status, context);
  return ErrorToProto(status);
}

TEST(LocateErrorTest, FollowsThePath) {
  const struct {
    const char* context;
    const char* what;
    const char* where;
    const char* place;
  } kCases[] = {
      {"", "min is above max", "parameter \"sram_bytes\"", "\"sram_bytes\""},
      {"", "x", "clock_hz_expr", "\"100000000\""},
      {"", "provenance is missing", "memory \"sram\"", "\"sram\""},
      {"", "no name \"npu\" among engines", "memory \"sram\": reached_by",
       "\"npu\""},
      {"", "x", "memory sram", "\"sram\""},
      {"memory \"sram\": capacity_bytes_expr", "unknown name \"sram_bytes\"",
       "column 1 of \"sram_bytes\"", "sram_bytes"},
      {"constraints: expr", "unknown name", "column 13 of \"pes * 16 <= sram\"",
       "sram_bytes"},
      {"engine \"npu\"", "provenance is missing", "isa: command MAC",
       "\"MAC\""},
      {"", "x", "engine \"npu\": isa: command MAC: opcode", "1"},
      {"engine \"npu\"", "x", "patterns conv2d+add: numerics", "numerics"},
      {"recipe \"serial\"", "no such engine", "engine", "\"npu\""},
      {"", "x", "line 5", "doc: \"Two engines, \" 'one memory'"},
      {"", "a constraint of the target does not hold",
       "pes = 3, sram_bytes = 4", "\"pes\""},
      // Nothing of it is there: the first key.
      {"", "too many entries", "links", "schema_version: 1"},
      {"", "x", "", "schema_version: 1"},
  };
  const std::string text = kSampleTarget;
  const Syntax syntax = ParseSyntax(text);
  for (const auto& c : kCases) {
    const v1::ErrorDetail error =
        Error({.what = c.what, .where = c.where}, c.context);
    EXPECT_EQ(LocateError(text, syntax, error).In(text), c.place)
        << error.message();
  }
}

TEST(LocateErrorTest, TakesAnything) {
  for (const std::string& text :
       {std::string(), std::string("# nothing"), std::string("name:"),
        std::string(kSampleTarget)}) {
    const Syntax syntax = ParseSyntax(text);
    for (const char* where :
         {"line 0", "line -3", "line 99999", "column 0 of \"\"",
          "column 99999 of \"pes\"", "column", ": : :", "\"\"\"", "memory \"",
          "memories 99", "memories -1", "patterns +"}) {
      const Span span =
          LocateError(text, syntax, Error({.what = "x", .where = where}));
      EXPECT_LE(span.begin, span.end) << where;
      EXPECT_LE(span.end, text.size()) << where;
    }
  }
}

TEST(ProblemOfTest, MakesChangesOfFixes) {
  const std::string text =
      "extends: \"dla\"\nset { name: \"pse\" value: 4096 }\n"
      "set { name: \"pes\" value: 4096 }\n";
  const Syntax syntax = ParseSyntax(text);
  // A name that is nearly one.
  Problem problem = ProblemOf(text, syntax,
                              Error({.reason = "TARGET_INVALID",
                                     .what = "no parameter of that name",
                                     .where = "set \"pse\"",
                                     .fix = "did you mean \"pes\"?"}));
  EXPECT_EQ(problem.span.In(text), "pse");
  ASSERT_EQ(problem.fixes.size(), 1u);
  EXPECT_EQ(problem.fixes[0].text, "pes");
  EXPECT_EQ(problem.fixes[0].span, problem.span);
  EXPECT_EQ(problem.message,
            "no parameter of that name: set \"pse\"; did you mean \"pes\"?");
  // One of several.
  problem = ProblemOf(text, syntax,
                      Error({.what = "no parameter of that name",
                             .where = "set \"pse\"",
                             .fix = "parameters are: sram_bytes, pes, lanes"}));
  ASSERT_EQ(problem.fixes.size(), 3u);
  EXPECT_EQ(problem.fixes[0].text, "pes");
  // A value that is out of range.
  problem = ProblemOf(text, syntax,
                      Error({.what = "value 4096 is out of range",
                             .where = "set \"pes\"",
                             .limit = "1 to 1024 elements",
                             .fix = "set a value within the limits"}));
  EXPECT_EQ(problem.span.In(text), "4096");
  ASSERT_EQ(problem.fixes.size(), 1u);
  EXPECT_EQ(problem.fixes[0].text, "1024");
  // A target that does not exist.
  problem = ProblemOf(text, syntax,
                      Error({.what = "no built-in target \"dla\"",
                             .where = "extends",
                             .fix = "did you mean \"dla2\"?"}));
  EXPECT_EQ(problem.span.In(text), "dla");
  ASSERT_EQ(problem.fixes.size(), 1u);
  EXPECT_EQ(problem.fixes[0].text, "dla2");
  // Prose is no change.
  problem = ProblemOf(text, syntax,
                      Error({.what = "a parameter is set twice",
                             .where = "set \"pes\"",
                             .fix = "keep one of the lines"}));
  EXPECT_TRUE(problem.fixes.empty());
}

}  // namespace
}  // namespace edgekiln::client::lsp
