// What the language server answers, and what it knows for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/lsp/testing/sample.h"
#include "client/lsp/testing/server_fixture.h"

namespace edgekiln::client::lsp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ServerTest, AnswersGarbageAndGoesOn) {
  Start();
  const struct {
    const char* body;
    int64_t code;
  } kCases[] = {
      {"", -32700},
      {"{", -32700},
      {"[[[[", -32700},
      {"[]", -32600},
      {"7", -32600},
      {"{}", -32600},
      {R"({"id":{},"method":"x"})", -32600},
      {R"({"id":1.5,"method":"x"})", -32600},
      {R"({"id":1,"method":7})", -32600},
      {R"({"id":1,"method":"textDocument/hover"})", -32602},
      {R"({"id":1,"method":"textDocument/hover","params":[1]})", -32602},
  };
  for (const auto& c : kCases) {
    SendText(c.body);
    const std::vector<Json> answers = Taken();
    ASSERT_EQ(answers.size(), 1u) << c.body;
    EXPECT_EQ(NumberAt(answers[0], "error/code"), c.code) << c.body;
  }
  for (const char* params :
       {"{}", "[]", "null", "3", R"({"textDocument":3})",
        R"({"textDocument":{"uri":"file:///home/ann/chip.txtpb"},
            "contentChanges":[{"range":{"start":{"line":-1}},"text":"x"},7,
                              {"text":8}]})"}) {
    for (const char* method : {"didOpen", "didChange", "didClose", "didSave"}) {
      SendText(absl::StrCat(R"({"method":"textDocument/)", method,
                            R"(","params":)", params, "}"));
    }
  }
  Taken();
  Open("extnds: \"dla\"");
  EXPECT_THAT(Published(), ElementsAre(HasSubstr("did you mean")));
}

TEST_F(ServerTest, KnowsTheBase) {
  Start();
  Open("extends: \"npu\"\nset { name: \"\" }\n");
  EXPECT_THAT(daemon_.look_ups, IsEmpty());  // The list is not there yet.
  server_.Handle(ListAnswer{.targets = {{"npu", "A chip."}}});
  EXPECT_THAT(daemon_.look_ups, ElementsAre("npu"));
  server_.Handle(TargetAnswer{.name = "npu", .text = kSampleTarget});
  const Json items =
      Ask("textDocument/completion",
          {{"position", ToJson(Position{1, 13})}})["result"]["items"];
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(StringAt(items[0], "label"), "pes");
  EXPECT_EQ(RangeAt(items[0], "textEdit/range"), (Range{{1, 13}, {1, 13}}));
  // Once is enough.
  Send({Whole("extends: \"npu\"\n", 2)});
  EXPECT_EQ(daemon_.look_ups.size(), 1u);
  // A daemon that was away may not have answered, and may know others.
  server_.Handle(ReachAnswer{.reached = false});
  server_.Handle(ReachAnswer{.reached = true});
  EXPECT_THAT(daemon_.look_ups, ElementsAre("npu", "npu"));
}

TEST_F(ServerTest, QuickFixesAreOfTheTextOfTheirBatch) {
  Start();
  Open("extnds: \"dla\"");
  EXPECT_THAT(Published(), ElementsAre(HasSubstr("did you mean")));
  const auto ask = [](int line) {
    return Request(9, "textDocument/codeAction",
                   {{"textDocument", {{"uri", kUri}}},
                    {"range", ToJson(Range{{line, 1}, {line, 1}})}});
  };
  // The line has moved down: the fix is for where it is now.
  Send({Whole("# one\n# two\nextnds: \"dla\"", 2), ask(2)});
  const std::vector<Json> moved = Taken();
  ASSERT_EQ(moved.size(), 2u);  // Diagnostics come first, and once.
  ASSERT_EQ(NumberAt(moved[0], "params/version"), 2);
  const Json& actions = moved[1]["result"];
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(RangeAt(actions[0]["edit"]["changes"][kUri][0], "range"),
            (Range{{2, 0}, {2, 6}}));
  // What the daemon said of an older text has no fix.
  Send({Whole("extends: \"dla\"\nset { name: \"pse\" value: 3 }\n", 3)});
  v1::ErrorDetail problem;
  problem.set_what("no parameter of that name");
  problem.set_where("set \"pse\"");
  problem.set_fix("did you mean \"pes\"?");
  server_.Handle(CheckAnswer{.uri = kUri, .version = 3, .problem = problem});
  Taken();
  const Json whole = ToJson(Range{{0, 0}, {9, 0}});
  const auto fixes = [&] {
    return Ask("textDocument/codeAction", {{"range", whole}})["result"].size();
  };
  EXPECT_EQ(fixes(), 1u);
  Json all = ask(0);
  all["params"]["range"] = whole;
  Send({Whole("extends: \"dla\"\n", 4), all});
  const std::vector<Json> answers = Taken();
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(NumberAt(answers.back(), "id"), 9);
  EXPECT_THAT(answers.back()["result"], IsEmpty());
}

TEST_F(ServerTest, RequestsAreCancelled) {
  Start();
  Open("extends: \"dla\"\n");
  const Json position = {{"textDocument", {{"uri", kUri}}},
                         {"position", ToJson(Position{0, 1})}};
  Send({Request(7, "textDocument/hover", position),
        Request(8, "textDocument/hover", position),
        Notification("$/cancelRequest", {{"id", 7}}),
        Notification("$/cancelRequest", {{"id", "x"}})});
  const std::vector<Json> answers = Taken();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(NumberAt(answers[0], "error/code"), -32800);
  EXPECT_EQ(NumberAt(answers[1], "id"), 8);
  EXPECT_TRUE(answers[1].contains("result"));
}

}  // namespace
}  // namespace edgekiln::client::lsp
