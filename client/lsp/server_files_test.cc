// Files that projects and sweeps name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/lsp/file_paths.h"
#include "client/lsp/testing/server_fixture.h"

namespace edgekiln::client::lsp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kProject[] = R"(groups {
  models {
    file: "net.onx"
    calibration { file: "calibration.npz" }
    data [ { file: 'a' "\".npz" }, { file: "/data/y.npy" } ]
    inputs { name: "mask" file: "mask.npy" }
    external_data { file: "weights.bin" }
  }
  targets { name: "dla-64-o-512k" }
  targets { file: "../chips/my.txtpb" }
  vary { key: "quantization" values: ["default", "q.txtpb"] }
  vary { key: "io" values: ["float"] }
}
)";

class ServerFilesTest : public ServerTest {
 protected:
  // The last request; what it asked for in one line.
  std::string Asked() const {
    std::string out = finds_.back().folder + ":";
    for (const std::string& path : finds_.back().paths) out += " " + path;
    return out;
  }
  void Answer(MissingFiles missing) {
    server_.HandleFiles(FilesAnswer{.uri = finds_.back().uri,
                                    .paths = finds_.back().paths,
                                    .missing = std::move(missing)});
  }
};

TEST_F(ServerFilesTest, LooksForWhatAProjectNames) {
  Start();
  Open(kProject);
  ASSERT_THAT(finds_, SizeIs(1));
  EXPECT_EQ(Asked(),
            "/home/ann: ../chips/my.txtpb /data/y.npy a\".npz calibration.npz "
            "mask.npy net.onx q.txtpb weights.bin");
  EXPECT_THAT(Published(), IsEmpty());
  EXPECT_THAT(daemon_.checks, IsEmpty());
}

TEST_F(ServerFilesTest, AMissingFileHasItsPlaceAndAQuickFix) {
  Start();
  Open(kProject);
  Answer({{"net.onx", {.suggestion = "net.onnx"}},
          {"a\".npz", {.suggestion = "b\".npz"}},
          {"mask.npy", {.is_folder = true}}});
  const std::vector<Json> messages = Taken();
  const Json& shown = messages.back()["params"]["diagnostics"];
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(StringAt(shown[0], "message"),
            "there is no file \"net.onx\"; did you mean \"net.onnx\"?");
  EXPECT_EQ(StringAt(shown[0], "code"), "FILE_MISSING");
  EXPECT_EQ(RangeAt(shown[0], "range"), (Range{{2, 11}, {2, 18}}));
  EXPECT_EQ(StringAt(shown[2], "message"),
            "there is a folder, not a file, \"mask.npy\"");
  for (const auto& [place, text] :
       std::vector<std::pair<Position, std::string>>{
           {{2, 12}, R"("net.onnx")"}, {{4, 20}, R"("b\".npz")"}}) {
    const Json actions =
        Ask("textDocument/codeAction",
            {{"range", ToJson(Range{place, place})}})["result"];
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0]["edit"]["changes"][kUri][0]["newText"], text);
  }
}

TEST_F(ServerFilesTest, TheDiskIsAskedOnceWhileThePathsStay) {
  Start();
  Open(kProject);
  Answer({{"net.onx", {}}});
  Taken();
  // Known already, at its new place.
  Send({Whole(std::string("\n") + kProject, 2)});
  EXPECT_THAT(finds_, SizeIs(1));
  const Json shown = Taken().back()["params"]["diagnostics"];
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(RangeAt(shown[0], "range"), (Range{{3, 11}, {3, 18}}));
  Send({Whole(
      "groups { models { file: \"net.onnx\" } targets { name: \"t\" } }", 3)});
  EXPECT_THAT(finds_, SizeIs(2));
  EXPECT_THAT(Published(), IsEmpty());
  // An answer about paths of an older text.
  server_.HandleFiles(FilesAnswer{
      .uri = kUri, .paths = finds_[0].paths, .missing = {{"net.onnx", {}}}});
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_F(ServerFilesTest, AFileThatComesIsNoticed) {
  Start();
  Open(kProject);
  Answer({{"net.onx", {}}});
  EXPECT_THAT(Published(), SizeIs(1));
  for (const char* method :
       {"workspace/didChangeWatchedFiles", "textDocument/didSave"}) {
    finds_.clear();
    Send({Notification(method, Json::object())});
    EXPECT_THAT(finds_, SizeIs(1)) << method;
  }
  Answer({});
  EXPECT_THAT(Published(), IsEmpty());
}

TEST_F(ServerFilesTest, AModelThatChangesIsProfiledAgain) {
  Start({{"model", "models/../net.onnx"}});
  Open("extends: \"dla\"\n");
  const auto tell = [&](const std::string& uri) {
    Send({Notification(
        "workspace/didChangeWatchedFiles",
        {{"changes", Json::array({{{"uri", uri}, {"type", 2}}})}})});
  };
  // The text is not checked yet: its run comes after that.
  tell("file:///home/ann/net.onnx");
  EXPECT_THAT(daemon_.runs, IsEmpty());
  server_.Handle(CheckAnswer{.uri = kUri, .version = 1, .valid = true});
  ASSERT_THAT(daemon_.runs, SizeIs(1));
  tell("file:///home/ann/other.onnx");
  EXPECT_THAT(daemon_.runs, SizeIs(1));
  tell("file:///home/ann/net.onnx");
  ASSERT_THAT(daemon_.runs, SizeIs(2));
  EXPECT_EQ(daemon_.runs[1].version, 1);
  for (const Json& bad :
       {Json(), Json{{"changes", 1}},
        Json{{"changes", Json::array({1, Json::object()})}}}) {
    Send({Notification("workspace/didChangeWatchedFiles", bad)});
  }
  EXPECT_THAT(daemon_.runs, SizeIs(2));
}

TEST_F(ServerFilesTest, EditorsAreAskedToWatchFiles) {
  Send({Request(
      1, "initialize",
      {{"capabilities",
        {{"workspace",
          {{"didChangeWatchedFiles", {{"dynamicRegistration", true}}}}}}}})});
  Taken();
  Send({Notification("initialized", Json::object())});
  const std::vector<Json> messages = Taken();
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(StringAt(messages[0], "method"), "client/registerCapability");
}

TEST_F(ServerFilesTest, OtherFilesAndPlacesAreNotLookedFor) {
  Start();
  Open("extends: \"dla\"\n");
  Open("nothing: \"a.onnx\"\n", "file:///home/ann/other.txtpb");
  EXPECT_THAT(finds_, IsEmpty());
  // Without a path, relative to the workspace.
  Open(kProject, "untitled:1");
  EXPECT_EQ(finds_.back().folder, "/home/ann");
}

// The run of a daemon that ended is begun again once it is back, but not for
// ever: the run may be why.
TEST_F(ServerTest, ARunWhoseDaemonIsBackAtOnceIsBegunAgain) {
  Start({{"model", "net.tflite"}});
  Open("extends: \"dla\"\n");
  server_.Handle(CheckAnswer{.uri = kUri, .version = 1, .valid = true});
  ASSERT_THAT(daemon_.runs, SizeIs(1));
  v1::ErrorDetail problem;
  problem.set_what("the daemon cannot be reached");
  const RunAnswer lost{
      .uri = kUri, .version = 1, .problem = problem, .away = true};
  Taken();
  server_.Handle(lost);
  EXPECT_THAT(Taken(), IsEmpty());
  server_.Handle(ListAnswer{});
  EXPECT_THAT(daemon_.runs, SizeIs(2));
  server_.Handle(ListAnswer{});
  EXPECT_THAT(daemon_.runs, SizeIs(2));
  Taken();
  server_.Handle(lost);
  EXPECT_THAT(Published(),
              ElementsAre("profiling: the daemon cannot be reached"));
  server_.Handle(ListAnswer{});
  EXPECT_THAT(daemon_.runs, SizeIs(2));
}

}  // namespace
}  // namespace edgekiln::client::lsp
