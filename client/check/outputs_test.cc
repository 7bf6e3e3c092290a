// The formats that the result of a check is written in: what they say, and that
// nothing in a name is obeyed.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/check/annotations.h"
#include "client/check/junit.h"
#include "client/check/rules.h"
#include "client/check/run_project.h"
#include "client/check/sarif.h"
#include "client/check/summary.h"
#include "client/log_commands.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

v1::CheckResult Result(const std::string& more = "") {
  v1::CheckResult result;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        file: "ci/edgekiln.txtpb"
        cells {
          name: "net on chip"
          state: BROKEN
          model: "net"
          model_file: "ci/a b#.onnx"
          target: "chip"
          recipe: "default"
          job: "j1"
          totals { cycles: 110 latency_ms: 0.5 }
          memories { name: "flash" used_bytes: 2048 }
          accuracy { metric: "top1" value: 0.95 }
          baseline {
            state: CHANGED
            totals { name: "cycles" a: 100 b: 110 change: 10 percent: 10 }
            layers { id: "conv2" presence: BOTH change: 10 cycles: 20 }
          }
          findings {
            rule: "budget.cycles"
            message: "cycles 110, at most 100"
            quantity: "cycles"
            unit: "cycles"
            value: 110
            limit: 100
            change: 10
            percent: 10
            layer: "conv2"
            place { file: "ci/edgekiln.txtpb" line: 7 column: 5 }
            fix: "do less"
          }
          place { file: "ci/edgekiln.txtpb" line: 2 column: 3 }
          cpu_seconds: 1.5
        }
        cells {
          name: "net on other"
          state: PASSED
          model: "net"
          target: "other"
          totals { cycles: 90 }
          baseline { state: UNCHANGED }
          place { file: "ci/edgekiln.txtpb" line: 2 column: 3 }
        }
        cells {
          name: "bad on chip"
          state: FAILED
          model: "bad"
          target: "chip"
          error { fault: USER what: "unknown op" fix: "remove it" }
          place { file: "ci/edgekiln.txtpb" line: 3 column: 3 }
        }
        cells {
          name: "net on chip, recipe x"
          state: SKIPPED
          model: "net"
          target: "chip"
          recipe: "x"
          error { what: "no such recipe" }
        }
        notes {
          rule: "baseline.missing"
          message: "1 cell has no baseline"
          place { file: "ci/edgekiln.txtpb" }
        }
      )pb",
      &result));
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(more, &result));
  FinishResult(MakeError(absl::StatusCode::kInvalidArgument,
                         {.fault = Fault::kUser, .reason = "CELLS_FAILED"}),
               result);
  return result;
}

// Names with everything that a format could obey.
constexpr char kHostile[] =
    "##[stop-commands]x #\xC2\xAD#[x] a\n::error "
    "file=x::pwned\r%0A|`<script>&\"'\x1b[31m\x01\xff]]>{0}"
    "\xEF\xBF\xBE @user [l](http://x) \\ $(id)";

v1::CheckResult Hostile() {
  v1::CheckResult result = Result();
  for (v1::CheckCell& cell : *result.mutable_cells()) {
    // Strings of messages are UTF-8: what is not came through gRPC before.
    const std::string text = kHostile;
    cell.set_name(text);
    cell.set_model(text);
    cell.set_target(text);
    cell.set_recipe(text);
    cell.set_model_file(text);
    cell.add_values(text);
    cell.set_group(text);
    for (v1::CheckFinding& finding : *cell.mutable_findings()) {
      finding.set_message(text);
      finding.set_layer(text);
      finding.set_fix(text);
      finding.mutable_place()->set_file(text);
    }
    if (cell.has_error()) cell.mutable_error()->set_what(text);
    if (cell.baseline().layers_size() > 0) {
      cell.mutable_baseline()->mutable_layers(0)->set_id(text);
    }
    for (auto& memory : *cell.mutable_memories()) memory.set_name(text);
    cell.mutable_place()->set_file(text);
  }
  result.mutable_notes(0)->set_message(kHostile);
  result.mutable_error()->set_what(kHostile);
  result.set_file(kHostile);
  return result;
}

TEST(CheckResultTest, CountsAndVerdicts) {
  const v1::CheckResult result = Result();
  EXPECT_EQ(result.counts().cells(), 4);
  EXPECT_EQ(result.counts().passed(), 1);
  EXPECT_EQ(result.counts().broken(), 1);
  EXPECT_EQ(result.counts().failed(), 1);
  EXPECT_EQ(result.counts().skipped(), 1);
  EXPECT_EQ(result.counts().changed(), 1);
  EXPECT_EQ(result.verdict(), v1::CheckResult::FAILED);
  EXPECT_EQ(result.exit_code(), 1);
  v1::CheckResult empty;
  FinishResult(absl::OkStatus(), empty);
  EXPECT_EQ(empty.verdict(), v1::CheckResult::PASSED);
  FinishResult(absl::UnavailableError("gone"), empty);
  EXPECT_EQ(empty.verdict(), v1::CheckResult::ERROR);
  EXPECT_EQ(empty.exit_code(), 4);
}

TEST(JunitTest, SuitesAreModelsAndCasesCells) {
  const std::string xml = CheckToJunit(Result());
  for (const char* part :
       {"<testsuites name=\"edgekiln check\" tests=\"4\" failures=\"1\" "
        "errors=\"1\" skipped=\"1\" time=\"1.500\">",
        "<testsuite name=\"net\" tests=\"3\" failures=\"1\" errors=\"0\" "
        "skipped=\"1\" time=\"1.500\">",
        "<testcase classname=\"net\" name=\"net on chip\" time=\"1.500\" "
        "file=\"ci/edgekiln.txtpb\" line=\"2\">",
        "<property name=\"memory.flash\" value=\"2048\"/>",
        "<failure message=\"cycles 110, at most 100\" "
        "type=\"budget.cycles\">budget.cycles: cycles 110, at most 100&#10;  "
        "at ci/edgekiln.txtpb:7:5&#10;  fix: do less&#10;since the baseline: "
        "cycles 100 -&gt; 110 (+10.00 %)&#10;layers that changed:&#10;  - "
        "conv2 "
        "+10 "
        "cycles</failure>",
        "<error message=\"unknown op\" type=\"model.failed\">",
        "<skipped message=\"no such recipe\"/>"}) {
    EXPECT_TRUE(absl::StrContains(xml, part)) << part << "\n" << xml;
  }
}

TEST(JunitTest, NothingInANameIsMarkup) {
  const std::string xml = CheckToJunit(Hostile());
  EXPECT_FALSE(absl::StrContains(xml, "<script"));
  EXPECT_FALSE(absl::StrContains(xml, "]]>"));
  EXPECT_FALSE(absl::StrContains(xml, "\xEF\xBF\xBE"));
  for (const char c : xml) {
    const auto byte = static_cast<unsigned char>(c);
    EXPECT_TRUE(byte >= 0x20 || c == '\n') << static_cast<int>(byte);
    EXPECT_NE(byte, 0xFF);
  }
  // As many elements as with other names; two of the error of the whole check.
  v1::CheckResult tame = Result();
  tame.mutable_error()->set_what("x");
  for (v1::CheckCell& cell : *tame.mutable_cells()) cell.set_model("one");
  const std::string other = CheckToJunit(tame);
  EXPECT_EQ(std::count(xml.begin(), xml.end(), '<'),
            std::count(other.begin(), other.end(), '<'));
  EXPECT_TRUE(absl::StrContains(xml, "&lt;script&gt;&amp;&quot;'?[31m??]]&gt;"))
      << xml;
}

TEST(SarifTest, IsJsonAndSaysWhere) {
  for (const v1::CheckResult& result : {Result(), Hostile()}) {
    google::protobuf::Struct json;
    const auto status = google::protobuf::util::JsonStringToMessage(
        CheckToSarif(result, "1.2.3"), &json);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const auto& run =
        json.fields().at("runs").list_value().values(0).struct_value();
    const auto& results = run.fields().at("results").list_value();
    // That of the whole check alone is of the hostile one.
    ASSERT_EQ(results.values_size(), result.has_error() ? 5 : 4);
    for (const auto& one : results.values()) {
      const auto& fields = one.struct_value().fields();
      const int index = static_cast<int>(fields.at("ruleIndex").number_value());
      EXPECT_EQ(CheckRules()[index].id, fields.at("ruleId").string_value());
    }
  }
  const std::string sarif = CheckToSarif(Result(), "1.2.3");
  for (const char* part :
       {"\"uri\": \"ci/edgekiln.txtpb\"}, \"region\": {\"startLine\": 7, "
        "\"startColumn\": 5}",
        "\"uri\": \"ci/a%20b%23.onnx\"", "\"exitCode\": 1",
        "\"fullyQualifiedName\": \"net on chip/conv2\"",
        "\"message\": {\"text\": \"net on chip: cycles 110, at most 100\"}",
        "\"value\": 110"}) {
    EXPECT_TRUE(absl::StrContains(sarif, part)) << part << "\n" << sarif;
  }
  EXPECT_TRUE(absl::StrContains(CheckToSarif(Hostile(), ""), "{{0}}"));
}

// A mistake in the project file has a line in every format.
TEST(CheckErrorTest, HasItsPlace) {
  v1::CheckResult result;
  result.set_file("a/p.txtpb");
  result.mutable_error()->set_what("unknown key");
  result.mutable_error()->set_where("a/p.txtpb:3:5");
  FinishResult(MakeError(absl::StatusCode::kInvalidArgument,
                         {.fault = Fault::kUser, .reason = "USAGE"}),
               result);
  EXPECT_EQ(result.exit_code(), 2);
  EXPECT_TRUE(absl::StartsWith(CheckToGithubAnnotations(result),
                               "::error file=a/p.txtpb,line=3,col=5,title="));
  EXPECT_TRUE(absl::StrContains(CheckToJunit(result),
                                "file=\"a/p.txtpb\" line=\"3\">"));
  EXPECT_TRUE(absl::StrContains(CheckToSarif(result, "1"), "\"startLine\": 3"));
  for (const char* where :
       {"", "a/p.txtpb", "a/p.txtpb:", "a/p.txtpb:3", "a/p.txtpb:0:1",
        "a/p.txtpb:3:5:7", "a/p.txtpb:-1:2", "other:3:5", "a/p.txtpb:x:y"}) {
    result.mutable_error()->set_where(where);
    EXPECT_TRUE(absl::StartsWith(CheckToGithubAnnotations(result),
                                 "::error file=a/p.txtpb,title="))
        << where;
  }
}

// The fingerprint is the same while a finding stays, whatever its figures.
TEST(SarifTest, FingerprintsHoldNoFigures) {
  const auto fingerprint = [](const v1::CheckResult& result) {
    const std::string sarif = CheckToSarif(result, "1");
    const size_t at = sarif.find("edgekilnCheck/v1");
    return sarif.substr(at, 90);
  };
  v1::CheckResult later = Result();
  v1::CheckFinding& finding = *later.mutable_cells(0)->mutable_findings(0);
  finding.set_value(999);
  finding.set_message("other");
  finding.mutable_place()->set_line(70);
  EXPECT_EQ(fingerprint(later), fingerprint(Result()));
  finding.set_quantity("other");
  EXPECT_NE(fingerprint(later), fingerprint(Result()));
}

TEST(AnnotationsTest, OneLineForEachFinding) {
  EXPECT_EQ(
      CheckToGithubAnnotations(Result()),
      "::error file=ci/edgekiln.txtpb,line=7,col=5,title=net on chip "
      "(budget.cycles)::cycles 110, at most 100%0Afix: do less\n"
      "::error file=ci/edgekiln.txtpb,line=3,col=3,title=bad on chip "
      "(model.failed)::unknown op%0Afix: remove it\n"
      "::warning file=,title=net on chip%2C recipe x (cell.skipped)::no such "
      "recipe\n"
      "::notice file=ci/edgekiln.txtpb,title=edgekiln check "
      "(baseline.missing)::1 cell has no baseline\n");
}

TEST(AnnotationsTest, NothingInANameIsACommand) {
  const std::string text = CheckToGithubAnnotations(Hostile());
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (line.empty()) continue;
    EXPECT_TRUE(absl::StartsWith(line, "::")) << line;
    EXPECT_FALSE(absl::StartsWith(line, "::error file=x")) << line;
    // What is before the data has no "::" of a name's.
    const size_t data = line.find("::", 2);
    EXPECT_TRUE(absl::StrContains(line.substr(0, data), "%3A%3Aerror") ||
                absl::StrContains(line.substr(0, data), "edgekiln check"))
        << line;
  }
  EXPECT_FALSE(absl::StrContains(text, "%0A|"));  // It was a '%' of the name.
  EXPECT_TRUE(absl::StrContains(text, "%250A|"));
  EXPECT_FALSE(absl::StrContains(text, "\r"));
}

TEST(AnnotationsTest, NothingElseIsACommandEither) {
  EXPECT_EQ(StopGithubCommands("t1"), "::stop-commands::t1\n");
  EXPECT_EQ(ResumeGithubCommands("t1"), "::t1::\n");
  v1::CheckResult result = Hostile();
  result.mutable_cells(0)->mutable_baseline()->mutable_layers(0)->set_id(
      " ::stop-commands::x");
  const std::string text =
      LogCommandFilter().Text(RenderCheck(result, Style::Plain())) +
      CheckToGithubAnnotations(result);
  EXPECT_FALSE(absl::StrContains(text, "##["));
  EXPECT_FALSE(absl::StrContains(text, "#\xC2\xAD#["));
  EXPECT_TRUE(absl::StrContains(text, "##(stop-commands]x"));
  EXPECT_TRUE(
      absl::StrContains(text, "\n    -  ::stop-commands::x +10 cycles\n"))
      << text;
  // Each line that is not an annotation begins with something of ours.
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (absl::StartsWith(line, "::error file=") ||
        absl::StartsWith(line, "::warning file=") ||
        absl::StartsWith(line, "::notice file=")) {
      continue;
    }
    EXPECT_FALSE(
        absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "::"))
        << line;
  }
}

TEST(SummaryTest, TableFindingsAndCounts) {
  EXPECT_EQ(
      RenderCheck(Result(), Style::Plain()),
      "RESULT   MODEL  TARGET  RECIPE   CYCLES    CHANGE  MEMORY         "
      "ACCURACY  NOTE\n"
      "broken   net    chip    default     110  +10.00 %  flash 2.0 KiB   "
      "95.00 %  budget.cycles\n"
      "passed   net    other                90      same  -                    "
      " "
      "-\n"
      "failed   bad    chip                  -         -  -                    "
      " "
      "-  unknown op\n"
      "skipped  net    chip    x             -         -  -                    "
      " "
      "-  no such recipe\n"
      "\n"
      "broken: net on chip\n"
      "  budget.cycles: cycles 110, at most 100\n"
      "    at ci/edgekiln.txtpb:7:5\n"
      "    fix: do less\n"
      "  since the baseline: cycles 100 -> 110 (+10.00 %)\n"
      "  layers that changed:\n"
      "    - conv2 +10 cycles\n"
      "\n"
      "failed: bad on chip\n"
      "  unknown op\n"
      "  fix: remove it\n"
      "\n"
      "skipped: net on chip, recipe x\n"
      "  no such recipe\n"
      "\n"
      "note: 1 cell has no baseline\n"
      "4 cells: 1 passed, 1 broken, 1 failed, 1 skipped; baselines: 1 the "
      "same, 1 changed\n");
}

TEST(SummaryTest, FitsWindowsAndObeysNothing) {
  for (const int width : {40, 60, 80, 120}) {
    const std::string text = RenderCheck(
        Hostile(), Style::Terminal([width] { return width; }, false));
    EXPECT_FALSE(absl::StrContains(text, "\x1b"));
    for (const std::string& line :
         std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      // The counts stand alone on the last line.
      if (absl::StartsWith(line, "4 cells")) continue;
      if (absl::StrContains(line, ": ##[stop")) continue;  // A title.
      EXPECT_LE(TextWidth(line), width) << line;
    }
  }
}

TEST(MarkdownTest, NothingInANameIsMarkup) {
  const std::string text = CheckToMarkdown(Hostile());
  EXPECT_FALSE(absl::StrContains(text, "<script>") &&
               !absl::StrContains(text, "`<script>"));
  size_t rows = 0;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (!absl::StartsWith(line, "|")) continue;
    ++rows;
    // Unescaped pipes are those of the columns.
    size_t pipes = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      pipes += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
    }
    EXPECT_EQ(pipes, 12u) << line;
  }
  EXPECT_EQ(rows, 6u);
  EXPECT_TRUE(absl::StrContains(CheckToMarkdown(Result()),
                                "## edgekiln check: failed\n"));
  EXPECT_TRUE(absl::StrContains(
      CheckToMarkdown(Result()),
      "| **broken** | `net` | `chip` | `default` | 110 | \\+10.00 % | "));
}

}  // namespace
}  // namespace edgekiln::client
