#include "client/check/starter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/check/project.h"
#include "client/commands/init.h"
#include "client/exit_code.h"
#include "client/testing/commands_fixture.h"

namespace edgekiln::client {
namespace {

class StarterTest : public CommandsTest {
 protected:
  StarterTest() { std::filesystem::remove(model_); }

  void Touch(const std::string& name) {
    std::filesystem::create_directories(
        std::filesystem::path(folder_ + "/" + name).parent_path());
    Put(name, "x");
  }
  // "a.onnx calibration=c data=d" for each model.
  std::string Found() {
    return absl::StrJoin(FindModels(*files_, folder_).models, " | ",
                         [](std::string* out, const FoundModel& model) {
                           absl::StrAppend(out, model.file,
                                           " c=", model.calibration,
                                           " d=", model.data);
                         });
  }
};

TEST_F(StarterTest, DataSetsAreTheModelsByTheirNames) {
  for (const char* name :
       {"net.onnx", "net_calibration.npz", "net-test.npz", "other.tflite",
        "test.npz", "more/deep/x.onnx", "more/deep/x.train.npz",
        "more/deep/y.tflite", "more/deep/val.npz", "more/readme.txt",
        ".hidden/h.onnx", "node_modules/n.onnx"}) {
    Touch(name);
  }
  EXPECT_EQ(Found(),
            "more/deep/x.onnx c=more/deep/x.train.npz d=more/deep/val.npz | "
            "more/deep/y.tflite c= d=more/deep/val.npz | "
            "net.onnx c=net_calibration.npz d=net-test.npz | "
            "other.tflite c= d=test.npz");
}

TEST_F(StarterTest, FoldersThatAreLinkedInCirclesEnd) {
  Touch("b/net.onnx");
  std::filesystem::create_directory_symlink("..", folder_ + "/b/up");
  std::filesystem::create_directory_symlink("b", folder_ + "/a");
  EXPECT_EQ(Found(), "b/net.onnx c= d=");
  EXPECT_TRUE(FindModels(*files_, folder_).warnings.empty());
}

TEST_F(StarterTest, ALinkOutOfTheFolderIsFollowed) {
  Touch("elsewhere/net.onnx");
  Touch("root/readme.txt");
  std::filesystem::create_directory_symlink("../elsewhere",
                                            folder_ + "/root/models");
  const FoundModels found = FindModels(*files_, folder_ + "/root");
  ASSERT_EQ(found.models.size(), 1u);
  EXPECT_EQ(found.models[0].file, "models/net.onnx");
}

// Its accuracy is not measured, and no limit of it could be kept.
TEST_F(StarterTest, AFloatModelWithoutCalibrationIsNotValidated) {
  Touch("net.onnx");
  Touch("test.npz");
  Touch("net.tflite");
  ASSERT_TRUE(Run(RunInit, {"init", folder_, "--json"}).ok());
  const auto file = ParseProject(Get(folder_ + "/edgekiln.txtpb"), "p");
  ASSERT_TRUE(file.ok()) << file.status();
  const v1::Project& project = file->project();
  ASSERT_EQ(project.groups_size(), 2);
  EXPECT_EQ(project.groups(0).goal(), v1::SWEEP_VALIDATE);
  ASSERT_EQ(project.groups(0).models_size(), 1);
  EXPECT_EQ(project.groups(0).models(0).file(), "net.tflite");
  EXPECT_EQ(project.groups(1).goal(), v1::SWEEP_PROFILE);
  EXPECT_EQ(project.groups(1).models(0).file(), "net.onnx");
  EXPECT_EQ(project.groups(1).models(0).data_size(), 0);
  EXPECT_TRUE(absl::StrContains(out_, "\"data\": [\"test.npz\"]")) << out_;
}

TEST_F(StarterTest, TheFileReadsBack) {
  const std::string text = StarterText(
      {{.file = "a \"quoted\"\\ \xC3\xBC.onnx", .calibration = "c.npz"},
       {.file = "b.tflite", .calibration = "", .data = "d.npz"}},
      {{.name = "dla-64-*"}, {.file = "chips/my.txtpb"}});
  const auto file = ParseProject(text, "p");
  ASSERT_TRUE(file.ok()) << file.status() << "\n" << text;
  const v1::Project& project = file->project();
  ASSERT_EQ(project.groups_size(), 2);
  EXPECT_EQ(project.groups(0).goal(), v1::SWEEP_VALIDATE);
  EXPECT_EQ(project.groups(0).models(0).data(0).file(), "d.npz");
  EXPECT_EQ(project.groups(1).goal(), v1::SWEEP_PROFILE);
  EXPECT_EQ(project.groups(1).models(0).file(), "a \"quoted\"\\ \xC3\xBC.onnx");
  EXPECT_EQ(project.groups(1).models(0).calibration(0).file(), "c.npz");
  EXPECT_EQ(project.groups(1).targets(1).file(), "chips/my.txtpb");
  EXPECT_EQ(project.regression().max_cycles_growth(), 2);
  // With every suggestion taken.
  std::string all;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool key = text.compare(at, 2, "# ") == 0 &&
                     (text.compare(at + 2, 4, "max_") == 0 ||
                      text.compare(at + 2, 4, "min_") == 0);
    if (key) ++at;
    if (!key) all += text[at];
  }
  EXPECT_TRUE(ParseProject(all, "p").ok()) << ParseProject(all, "p").status();
  EXPECT_TRUE(absl::StrContains(all, "\n    max_cycles: ")) << all;
}

TEST_F(StarterTest, InitWritesAndNeverReplaces) {
  Touch("net.onnx");
  const std::string path = folder_ + "/edgekiln.txtpb";
  ASSERT_TRUE(Run(RunInit, {"init", folder_ + "/"}).ok());
  EXPECT_TRUE(absl::StrContains(out_, "1 model on 1 target")) << out_;
  EXPECT_TRUE(absl::StrContains(Get(path), "dla-64-o-512k"));
  EXPECT_EQ(ExitCodeFor(Run(RunInit, {"init", folder_})), ExitCode::kUsage);
  out_.clear();
  ASSERT_TRUE(Run(RunInit, {"init", folder_, "--force", "--target", "x",
                            "--target", "y", "--json"})
                  .ok());
  EXPECT_TRUE(absl::StrContains(Get(path), "targets { name: \"y\" }"));
  EXPECT_TRUE(absl::StrContains(out_, "\"targets\": [\"x\", \"y\"]")) << out_;
}

TEST_F(StarterTest, InitNamesFilesAsTheProjectSeesThem) {
  Touch("models/net.onnx");
  const std::string chip = Put("chip.txtpb", "name: 'x'");
  ASSERT_TRUE(
      Run(RunInit, {"init", folder_ + "/models", "--target", chip}).ok());
  EXPECT_TRUE(absl::StrContains(Get(folder_ + "/models/edgekiln.txtpb"),
                                "targets { file: \"../chip.txtpb\" }"));
}

TEST_F(StarterTest, InitRefusesWhatItCannotUse) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{
           {"init", folder_},            // No model.
           {"init", folder_ + "/none"},  // No folder.
           {"init", folder_, "--target", "no/such.txtpb"},
           {"init", folder_, "--target", ""}}) {
    EXPECT_EQ(ExitCodeFor(Run(RunInit, args)), ExitCode::kUsage);
  }
  EXPECT_EQ(Get(folder_ + "/edgekiln.txtpb"), "absent");
}

}  // namespace
}  // namespace edgekiln::client
