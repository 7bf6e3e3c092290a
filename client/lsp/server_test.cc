#include "client/lsp/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/lsp/testing/server_fixture.h"

namespace edgekiln::client::lsp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ServerTest, LivesAsTheProtocolSays) {
  Send({Request(1, "textDocument/hover", Json::object())});
  EXPECT_EQ(NumberAt(Taken().at(0), "error/code"), -32002);
  Send({Notification("textDocument/didOpen", Json::object())});
  EXPECT_THAT(Taken(), IsEmpty());
  Send({Request(
      2, "initialize",
      {{"capabilities", {{"general", {{"positionEncodings", {"utf-8"}}}}}}})});
  const Json result = Taken().at(0)["result"];
  EXPECT_EQ(StringAt(result, "capabilities/positionEncoding"), "utf-8");
  EXPECT_EQ(NumberAt(result, "capabilities/textDocumentSync/change"), 2);
  Send({Request(3, "initialize", Json::object())});
  EXPECT_EQ(NumberAt(Taken().at(0), "error/code"), -32600);
  Send({Notification("initialized", Json::object())});
  EXPECT_EQ(daemon_.lists, 1);
  Send({Request(4, "textDocument/rename", Json::object()),
        Notification("workspace/didRenameFiles", Json::object()),
        Notification("$/setTrace", Json::object())});
  const std::vector<Json> answers = Taken();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(NumberAt(answers[0], "error/code"), -32601);
  Send({Request(5, "shutdown", nullptr)});
  EXPECT_TRUE(Taken().at(0)["result"].is_null());
  Send({Request(6, "textDocument/hover", Json::object())});
  EXPECT_EQ(NumberAt(Taken().at(0), "error/code"), -32600);
  EXPECT_FALSE(server_.done());
  Send({Notification("exit", nullptr)});
  EXPECT_TRUE(server_.done());
  EXPECT_EQ(server_.exit_code(), 0);
}

TEST_F(ServerTest, ChecksLocallyThenByTheDaemon) {
  Start();
  Open("extends: \"dla\"\nset { name: \"pse\" value: 3 }\n");
  EXPECT_THAT(daemon_.checks, ElementsAre(absl::StrCat(kUri, "@1")));
  EXPECT_THAT(Taken(), IsEmpty());  // Not before the daemon has answered.
  v1::ErrorDetail problem;
  problem.set_what("no parameter of that name");
  problem.set_where("set \"pse\"");
  problem.set_fix("did you mean \"pes\"?");
  server_.Handle(CheckAnswer{.uri = kUri, .version = 1, .problem = problem});
  const std::vector<Json> messages = Taken();
  ASSERT_EQ(messages.size(), 1u);
  const Json& diagnostic = messages[0]["params"]["diagnostics"][0];
  EXPECT_EQ(RangeAt(diagnostic, "range"), (Range{{1, 13}, {1, 16}}));
  EXPECT_EQ(NumberAt(messages[0], "params/version"), 1);
  // Its fix.
  const Json actions =
      Ask("textDocument/codeAction",
          {{"range", ToJson(Range{{1, 14}, {1, 14}})}})["result"];
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0]["edit"]["changes"][kUri][0]["newText"], "pes");
  EXPECT_EQ(Ask("textDocument/codeAction",
                {{"range", ToJson(Range{{0, 0}, {0, 1}})}})["result"]
                .size(),
            0u);
  // The daemon is not asked about what the schema refuses; an answer about an
  // older text is dropped.
  Send({Whole("extends 3", 2)});
  EXPECT_THAT(Published(), testing::SizeIs(2));
  EXPECT_EQ(daemon_.checks.size(), 1u);
  server_.Handle(CheckAnswer{.uri = kUri, .version = 1, .valid = true});
  EXPECT_THAT(Taken(), IsEmpty());
  // Of several edits at once, one check.
  Send({Whole("extends: \"a\"", 3), Whole("extends: \"b\"", 4),
        Whole("extends: \"c\"", 5)});
  EXPECT_EQ(daemon_.checks.size(), 2u);
  EXPECT_EQ(daemon_.checked_text, "extends: \"c\"");
  server_.Handle(CheckAnswer{.uri = kUri, .version = 5, .valid = true});
  EXPECT_THAT(Published(), IsEmpty());
  EXPECT_THAT(daemon_.runs, IsEmpty());  // No model is set.
}

TEST_F(ServerTest, ProfilesTheModel) {
  Start({{"model", "models/net.tflite"}});
  Open("extends: \"dla\"\n");
  server_.Handle(CheckAnswer{.uri = kUri, .version = 1, .valid = true});
  ASSERT_EQ(daemon_.runs.size(), 1u);
  EXPECT_EQ(daemon_.runs[0].model, "/home/ann/models/net.tflite");
  EXPECT_EQ(daemon_.runs[0].target_name, "chip");
  EXPECT_EQ(daemon_.runs[0].version, 1);
  const auto lens = [&] {
    const Json lenses = Ask("textDocument/codeLens", Json::object())["result"];
    return lenses.empty() ? "" : StringAt(lenses[0], "command/title");
  };
  EXPECT_EQ(lens(), "profiling ...");
  server_.Handle(RunAnswer{.uri = kUri,
                           .version = 1,
                           .figures = Figures{.cycles = 2000000,
                                              .latency_ms = 20,
                                              .memory = "SRAM",
                                              .memory_bytes = 4096}});
  bool refreshed = false;
  for (const Json& message : Taken()) {
    refreshed |= StringAt(message, "method") == "workspace/codeLens/refresh";
  }
  EXPECT_TRUE(refreshed);
  EXPECT_EQ(lens(), "2 000 000 cycles \u00B7 20 ms \u00B7 SRAM 4.0 KiB");
  // Another value: compared with what was opened.
  Send({Whole("extends: \"dla\"\n\n", 2)});
  server_.Handle(CheckAnswer{.uri = kUri, .version = 2, .valid = true});
  ASSERT_EQ(daemon_.runs.size(), 2u);
  server_.Handle(
      RunAnswer{.uri = kUri,
                .version = 2,
                .figures = Figures{.cycles = 1900000, .latency_ms = 19}});
  EXPECT_EQ(lens(), "1 900 000 cycles (-5.0 %) \u00B7 19 ms");
  // An older run ends late.
  server_.Handle(
      RunAnswer{.uri = kUri, .version = 1, .figures = Figures{.cycles = 1}});
  EXPECT_THAT(lens(), HasSubstr("1 900 000"));
  // A text with errors has none; those that are shown say so.
  Send({Whole("extends: 3", 3)});
  EXPECT_THAT(lens(), HasSubstr("19 ms (outdated)"));
  // A comment names another model, beside the file.
  Send({Whole("# model: my.onnx\nextends: \"dla\"\n", 4)});
  server_.Handle(CheckAnswer{.uri = kUri, .version = 4, .valid = true});
  ASSERT_EQ(daemon_.runs.size(), 3u);
  EXPECT_EQ(daemon_.runs[2].model, "/home/ann/my.onnx");
  // One that fails is a warning at the head of the file.
  v1::ErrorDetail problem;
  problem.set_what("the network does not fit");
  server_.Handle(RunAnswer{.uri = kUri, .version = 4, .problem = problem});
  EXPECT_THAT(Published(), ElementsAre("profiling: the network does not fit"));
  EXPECT_EQ(lens(), "the network does not fit");
  // Without a model nothing is left of it.
  Send({Whole("extends: \"dla\"\n", 5),
        Notification("workspace/didChangeConfiguration",
                     {{"settings", {{"edgekiln", {{"model", ""}}}}}})});
  server_.Handle(CheckAnswer{.uri = kUri, .version = 5, .valid = true});
  EXPECT_EQ(lens(), "");
  EXPECT_EQ(daemon_.runs.size(), 3u);
  // What the daemon refuses is not profiled; figures of another model, and of a
  // file that was closed, are not compared with.
  v1::ErrorDetail refused;
  refused.set_what("no");
  Send({Whole("extends: \"x\"\n", 6)});
  server_.Handle(CheckAnswer{.uri = kUri, .version = 6, .problem = refused});
  Send({Notification("workspace/didChangeConfiguration",
                     {{"settings", {{"edgekiln", {{"model", "/m.onnx"}}}}}})});
  EXPECT_EQ(daemon_.runs.size(), 3u);
  Send({Whole("extends: \"dla\"\n", 7)});
  server_.Handle(CheckAnswer{.uri = kUri, .version = 7, .valid = true});
  EXPECT_EQ(daemon_.runs.size(), 4u);
  server_.Handle(
      RunAnswer{.uri = kUri, .version = 99, .figures = Figures{.cycles = 99}});
  server_.Handle(
      RunAnswer{.uri = kUri, .version = 7, .figures = Figures{.cycles = 7}});
  EXPECT_EQ(lens(), "7 cycles \u00B7 0 ms");
}

TEST_F(ServerTest, ARunThatNobodyEndsIsNotRunning) {
  Start({{"model", "/net.tflite"}});
  const auto state = [&] {
    std::string last = "nothing";
    for (const Json& message : Taken()) {
      if (StringAt(message, "method") != "edgekiln/figures") continue;
      last = StringAt(message, "params/state");
    }
    return last;
  };
  const auto run = [&](const std::string& text, int64_t version) {
    Send({Whole(text, static_cast<int>(version))});
    server_.Handle(CheckAnswer{.uri = kUri, .version = version, .valid = true});
    EXPECT_EQ(state(), "running");
  };
  const auto figures = [&](int64_t version) {
    server_.Handle(RunAnswer{
        .uri = kUri, .version = version, .figures = Figures{.cycles = 7}});
    EXPECT_EQ(state(), "done");
  };
  Open("extends: \"dla\"\n");
  server_.Handle(CheckAnswer{.uri = kUri, .version = 1, .valid = true});
  EXPECT_EQ(state(), "running");
  // Without figures.
  Send({Whole("extends: 3", 2)});
  EXPECT_EQ(state(), "none");
  run("extends: \"dla\"\n", 3);
  figures(3);
  Send({Whole("extends: 3", 4)});
  EXPECT_EQ(state(), "done");
  // With figures that are outdated already.
  run("extends: \"dla\"\n", 5);
  Send({Whole("extends: 3", 6)});
  EXPECT_EQ(state(), "done");
  // The daemon is away.
  run("extends: \"dla\"\n", 7);
  v1::ErrorDetail problem;
  problem.set_reason("DAEMON_UNREACHABLE");
  problem.set_what("no daemon answers");
  server_.Handle(ReachAnswer{.reached = false, .problem = problem});
  EXPECT_EQ(state(), "done");
  // Which is told once.
  server_.Handle(RunAnswer{.uri = kUri, .version = 7, .problem = problem});
  EXPECT_THAT(Taken(), IsEmpty());
  server_.Handle(ReachAnswer{.reached = true});
  run("extends: \"dla\"\n", 8);
  figures(8);
  // Figures of the present text stay what they are.
  server_.Handle(ReachAnswer{.reached = false, .problem = problem});
  EXPECT_EQ(state(), "nothing");
  server_.Handle(ReachAnswer{.reached = true});
  run("extends: \"dla\"\n\n", 9);
  server_.Handle(
      {{.body = absl::StrCat(R"({"method":"textDocument/didChange","params":)",
                             R"({"textDocument":{"uri":")", kUri, R"(")"),
        .skipped = true}});
  EXPECT_EQ(state(), "none");
  run("extends: \"dla\"\n", 10);
  Send({Notification("textDocument/didClose",
                     {{"textDocument", {{"uri", kUri}}}})});
  EXPECT_EQ(state(), "none");
}

TEST_F(ServerTest, NothingButModelsIsProfiled) {
  Start();
  Open("# model: ../secret\nextends: \"dla\"\n");
  server_.Handle(CheckAnswer{.uri = kUri, .version = 1, .valid = true});
  EXPECT_THAT(daemon_.runs, IsEmpty());
  EXPECT_THAT(Published(), ElementsAre(HasSubstr("not a .onnx or .tflite")));
}

TEST_F(ServerTest, SaysOnceThatTheDaemonIsAway) {
  Start();
  Open("extends: \"dla\"\n");
  v1::ErrorDetail problem;
  problem.set_what("no daemon answers");
  server_.Handle(ReachAnswer{.reached = false, .problem = problem});
  const std::vector<Json> messages = Taken();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(StringAt(messages[0], "method"), "window/logMessage");
  EXPECT_EQ(messages[1]["params"]["diagnostics"][0]["severity"], 3);
  server_.Handle(ReachAnswer{.reached = false, .problem = problem});
  EXPECT_THAT(Taken(), IsEmpty());
  // Errors of the schema are told nevertheless.
  Send({Whole("extnds: \"dla\"\n", 2)});
  EXPECT_THAT(Published(), ElementsAre(HasSubstr("unknown key")));
  Send({Whole("extends: \"dla\"\n", 3)});
  EXPECT_THAT(Published(), ElementsAre(HasSubstr("no daemon answers")));
  EXPECT_EQ(daemon_.checks.size(), 1u);
  server_.Handle(ReachAnswer{.reached = true});
  EXPECT_THAT(daemon_.checks,
              ElementsAre(absl::StrCat(kUri, "@1"), absl::StrCat(kUri, "@3")));
  server_.Handle(CheckAnswer{.uri = kUri, .version = 3, .valid = true});
  EXPECT_THAT(Published(), IsEmpty());
}

TEST_F(ServerTest, SaysWhatIsTooLarge) {
  Start();
  Open(std::string(kMaxDocumentBytes + 1, ' '));
  EXPECT_THAT(Published(), ElementsAre(HasSubstr("larger than 1 MiB")));
  EXPECT_TRUE(Ask("textDocument/hover",
                  {{"position", ToJson(Position{0, 1})}})["result"]
                  .is_null());
  Send({Whole("extnds: 1", 2)});
  EXPECT_THAT(Published(), ElementsAre(HasSubstr("unknown key")));
  // A message that was skipped tells of which file it was.
  server_.Handle(
      {{.body = absl::StrCat(
            R"({"method":"textDocument/didChange","params":{"textDocument":)",
            R"({"uri":")", kUri, R"(","version":3},"contentChanges":[{"te)"),
        .skipped = true}});
  EXPECT_THAT(Published(), ElementsAre(HasSubstr("larger than 1 MiB")));
  Send({Notification("textDocument/didClose",
                     {{"textDocument", {{"uri", kUri}}}})});
  EXPECT_THAT(Published(), IsEmpty());
  EXPECT_THAT(daemon_.forgotten, testing::Contains(kUri));
}

TEST(PathOfTest, DecodesUris) {
  EXPECT_EQ(PathOf("file:///a/b%20c%2Fd.txtpb"), "/a/b c/d.txtpb");
  EXPECT_EQ(PathOf("file://host/a"), "/a");
  EXPECT_EQ(PathOf("untitled:1"), "");
  EXPECT_EQ(PathOf("file://"), "");
  EXPECT_EQ(PathOf("file:///a%"), "/a%");
  EXPECT_EQ(PathOf("file:///a%00b"), "/a%00b");
}

}  // namespace
}  // namespace edgekiln::client::lsp
