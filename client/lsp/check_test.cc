#include "client/lsp/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/rng.h"
#include "client/lsp/testing/sample.h"
#include "client/text_message.h"

namespace edgekiln::client::lsp {
namespace {

using ::testing::HasSubstr;

const Schema& TheSchema() {
  static const Schema& schema = *new Schema();
  return schema;
}

std::vector<Problem> Check(const std::string& text, int kind = 0) {
  return CheckText(text, ParseSyntax(text), TheSchema().kinds()[kind],
                   TheSchema());
}

bool Parses(const std::string& text) {
  const FileKind& kind = TheSchema().kinds()[0];
  const auto message = TheSchema().NewMessage(kind);
  return ParseTextMessage(text, "", {.what = "target", .schema = ""}, *message)
      .ok();
}

TEST(SchemaTest, HasTheCommentsOfAllKeys) {
  EXPECT_THAT(TheSchema().Of("edgekiln.v1.TargetDescriptor.extends"),
              HasSubstr("built-in descriptor"));
  EXPECT_THAT(TheSchema().Of("edgekiln.v1.RegisterDescriptor.bits"),
              HasSubstr("encoding error"));
  EXPECT_EQ(TheSchema().Of("edgekiln.v1.FITTED"),
            "Chosen so that the model meets published totals.");
  EXPECT_EQ(TheSchema().Of("edgekiln.v1.Nothing"), "");
}

TEST(SchemaTest, TellsKindsApart) {
  struct Case {
    const char* path;
    const char* text;
    const char* what;  // Empty: none of ours.
  };
  for (const Case& c : {
           Case{"a.txtpb", "", "target"},
           Case{"a.txtpb", "extends: \"dla\"", "target"},
           Case{"a.txtpb", "groups { goal: SWEEP_TIMING }", "sweep"},
           Case{"/x/edgekiln.txtpb", "groups { }", "project"},
           Case{"a.txtpb", "groups { } baselines: \"b\"", "project"},
           Case{"a.txtpb", "# proto-message: SweepRequest\n", "sweep"},
           Case{"a.txtpb",
                "# proto-file: x\n# proto-message: edgekiln.v1.Project\n",
                "project"},
           Case{"a.txtpb", "# proto-message: other.Message\nname: 1", ""},
           Case{"a.txtpb", "some_other_tool: 3 key { }", ""},
           Case{"a.txtpb", "extnds: 3", "target"},
           Case{"a.txtpb", "grups { }", "sweep"},
       }) {
    const FileKind* const kind =
        TheSchema().KindOf(c.path, c.text, ParseSyntax(c.text));
    EXPECT_EQ(kind == nullptr ? "" : kind->what, c.what) << c.text;
  }
}

TEST(CheckTextTest, AcceptsWhatProtobufAccepts) {
  EXPECT_TRUE(Parses(kSampleTarget));
  EXPECT_TRUE(ParseSyntax(kSampleTarget).errors.empty());
  EXPECT_TRUE(Check(kSampleTarget).empty()) << Check(kSampleTarget)[0].message;
  EXPECT_TRUE(Check(kSampleExtension).empty());
  EXPECT_TRUE(Check("").empty());
  EXPECT_TRUE(
      Check(absl::StrReplaceAll(kSampleTarget, {{"\n", "\r\n"}})).empty());
}

TEST(CheckTextTest, FindsAllProblemsWithTheirPlaces) {
  const std::string text =
      "extnds: \"dla\"\n"
      "set { name: \"pes\" valu: 3 }\n"
      "parameters { provenance: PUBLISHD }\n"
      "schema_version: \"1\"\n"
      "doc: unquoted\n"
      "name: \"a\" name: \"b\"\n"
      "clock_hz_expr { }\n"
      "host: 3\n";
  const struct {
    const char* place;
    const char* message;
    const char* fix;  // What the place becomes; null: no fix.
  } kWanted[] = {
      {"extnds",
       "unknown key \"extnds\" in TargetDescriptor; did you mean "
       "\"extends\"?",
       "extends"},
      {"valu", "unknown key \"valu\" in Setting; did you mean \"value\"?",
       "value"},
      {"PUBLISHD",
       "unknown value \"PUBLISHD\" of Provenance; did you mean "
       "\"PUBLISHED\"?",
       "PUBLISHED"},
      {"\"1\"", "\"schema_version\" takes int32, not a string", "1"},
      {"unquoted", "\"doc\" takes a string: write \"unquoted\"",
       "\"unquoted\""},
      {"name", "the key \"name\" is given twice; keep one of them", nullptr},
      {"clock_hz_expr",
       "\"clock_hz_expr\" takes a value without braces: string", nullptr},
      {"3", "\"host\" takes a message in braces: HostDescriptor", nullptr},
  };
  const std::vector<Problem> problems = Check(text);
  ASSERT_EQ(problems.size(), std::size(kWanted));
  for (size_t i = 0; i < problems.size(); ++i) {
    EXPECT_EQ(problems[i].span.In(text), kWanted[i].place);
    EXPECT_EQ(problems[i].message, kWanted[i].message);
    ASSERT_EQ(problems[i].fixes.size(), kWanted[i].fix == nullptr ? 0u : 1u);
    if (kWanted[i].fix == nullptr) continue;
    EXPECT_EQ(problems[i].fixes[0].text, kWanted[i].fix);
    EXPECT_EQ(problems[i].fixes[0].span, problems[i].span);
  }
}

TEST(CheckTextTest, SweepsAndProjectsAreCheckedAsByCommands) {
  std::vector<Problem> problems = Check("# nothing\n", 1);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, HasSubstr("no groups"));
  const std::string text =
      "groups {\n  models { file: \"a.onnx\" }\n  models { file: \"b.onnx\" }\n"
      "  targets { name: \"dla\" }\n  gates { max_cycles: -1 }\n}\n";
  problems = Check(text, 2);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(LineIndex(text)
                .PositionOf(text, problems[0].span.begin, Encoding::kUtf16)
                .line,
            4)
      << problems[0].message;
}

TEST(CheckTextTest, HalfTypedTexts) {
  const struct {
    const char* text;
    const char* place;
    const char* message;
  } kCases[] = {
      {"extends:", "extends", "the key \"extends\" has no value"},
      {"extends: \"dla", "\"dla", "the string does not end on its line"},
      {"set { name: \"pes\"\n", "{", "\"{\" is not closed"},
      {"doc: \"x\" }", "}", "a closing brace without an opening one"},
      {"memories { name:\n  holds: CODE }", "name", "has no value"},
      {"memories { holds: [CODE", "[", "\"[\" is not closed"},
      {"\xEF\xBB\xBFname: \"x\"", "\xEF\xBB\xBF", "byte-order mark"},
      {"doc \"x\"", "doc", "\":\" is missing"},
      {"doc: \"x\" 17", "17", "stands where a key is expected"},
      {"schema_version: 99999999999", "99999999999", "Integer out of range"},
      {"name: \"\\377\"", "\"\\377\"", "not UTF-8"},
  };
  for (const auto& c : kCases) {
    const std::string text = c.text;
    const std::vector<Problem> problems = Check(text);
    ASSERT_FALSE(problems.empty()) << text;
    bool found = false;
    for (const Problem& problem : problems) {
      found |= problem.span.In(text) == c.place &&
               absl::StrContains(problem.message, c.message);
    }
    EXPECT_TRUE(found) << text << ": " << problems[0].span.In(text) << ": "
                       << problems[0].message;
  }
}

// Texts as they are while people type: cut, doubled, mixed.
TEST(CheckTextTest, AgreesWithProtobufOnMutations) {
  Rng rng(21);
  const std::string sample = kSampleTarget;
  const std::string characters = "{}[]<>\"':#,;-0a \n\\\xFF.";
  int wrong = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = sample;
    const int edits = 1 + static_cast<int>(rng.Below(3));
    for (int i = 0; i < edits; ++i) {
      const size_t at = rng.Below(text.size());
      switch (rng.Below(4)) {
        case 0:
          text.erase(at, rng.Below(12));
          break;
        case 1:
          text.insert(at, 1, characters[rng.Below(characters.size())]);
          break;
        case 2:
          text.insert(at, text.substr(rng.Below(text.size()), rng.Below(20)));
          break;
        default:
          text.resize(std::max<size_t>(at, 1));
      }
    }
    const std::vector<Problem> problems = Check(text);
    EXPECT_EQ(problems.empty(), Parses(text)) << text;
    wrong += problems.empty() ? 0 : 1;
    for (const Problem& problem : problems) {
      EXPECT_LE(problem.span.begin, problem.span.end) << text;
      EXPECT_LE(problem.span.end, text.size()) << text;
      for (const QuickFix& fix : problem.fixes) {
        EXPECT_LE(fix.span.end, text.size());
      }
    }
  }
  EXPECT_GT(wrong, 1000);  // Otherwise the mutations do nothing.
}

TEST(SyntaxTest, SurvivesDepth) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a {";
  EXPECT_FALSE(ParseSyntax(deep).errors.empty());
  EXPECT_FALSE(Check(deep).empty());
}

}  // namespace
}  // namespace edgekiln::client::lsp
