#include "server/daemon/farm/quarantine.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

// Others do something while it removes a file or makes that durable.
class SlowDisk : public FileSystem {
 public:
  explicit SlowDisk(std::unique_ptr<FileSystem> inner)
      : inner_(std::move(inner)) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> Open(const std::string& path,
                                                     OpenMode mode) override {
    return inner_->Open(path, mode);
  }
  absl::StatusOr<std::string> Read(const std::string& path,
                                   int64_t max_bytes) override {
    return inner_->Read(path, max_bytes);
  }
  absl::StatusOr<std::string> ReadRange(const std::string& path, int64_t offset,
                                        int64_t max_bytes) override {
    return inner_->ReadRange(path, offset, max_bytes);
  }
  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    return inner_->Stat(path);
  }
  absl::Status SetModified(const std::string& path,
                           absl::Time modified) override {
    return inner_->SetModified(path, modified);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return inner_->Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override {
    if (meanwhile) meanwhile();
    return inner_->Remove(path);
  }
  absl::Status CreateDirectories(const std::string& path) override {
    return inner_->CreateDirectories(path);
  }
  absl::Status SyncFile(const std::string& path) override {
    return inner_->SyncFile(path);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    if (meanwhile) meanwhile();
    return inner_->SyncDirectory(path);
  }
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& path) override {
    return inner_->List(path);
  }

  std::function<void()> meanwhile;

 private:
  const std::unique_ptr<FileSystem> inner_;
};

class QuarantineTest : public testing::Test {
 protected:
  QuarantineTest() {
    folder_ = testing::TempDir() + "quarantine_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    Open();
  }
  ~QuarantineTest() override { std::filesystem::remove_all(folder_); }

  void Open() {
    auto opened = Quarantine::Open(*files_, folder_, *log_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    quarantine_ = *std::move(opened);
  }

  v1::QuarantinedStage Stage(int number, size_t text = 10) {
    v1::QuarantinedStage stage;
    stage.set_id(DigestOf(absl::StrCat(number)).hash);
    stage.set_stage("tile");
    stage.mutable_error()->set_what(std::string(text, 'x'));
    stage.mutable_since()->set_seconds(1000 + number);
    return stage;
  }
  std::string ReasonOf(const absl::Status& status) {
    const auto detail = GetErrorDetail(status);
    return detail ? detail->reason : "none";
  }

  std::string folder_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  std::unique_ptr<Quarantine> quarantine_;
};

TEST_F(QuarantineTest, KeepsUntilReleased) {
  const std::string id = Stage(1).id();
  EXPECT_TRUE(quarantine_->Check(id).ok());
  quarantine_->Add(Stage(1));
  quarantine_->Add(Stage(2));
  EXPECT_EQ(ReasonOf(quarantine_->Check(id)), "INPUT_QUARANTINED");
  Open();
  EXPECT_EQ(ReasonOf(quarantine_->Check(id)), "INPUT_QUARANTINED");
  EXPECT_EQ(quarantine_->Release(id.substr(0, 8))->id(), id);
  EXPECT_TRUE(quarantine_->Check(id).ok());
  Open();
  EXPECT_TRUE(quarantine_->Check(id).ok());
  EXPECT_EQ(ReasonOf(quarantine_->Release(id).status()), "NOT_QUARANTINED");
  EXPECT_FALSE(quarantine_->Check(Stage(2).id()).ok());
}

// Each lease asks it under the dispatcher's lock.
TEST_F(QuarantineTest, NobodyWhoAsksWaitsForTheDisk) {
  SlowDisk disk(NewPosixFileSystem());
  auto opened = Quarantine::Open(disk, folder_, *log_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  int asked = 0;
  disk.meanwhile = [&] {
    auto answer = std::async(std::launch::async, [&] {
      (*opened)->Check("key").IgnoreError();
      return (*opened)->List({}).ok();
    });
    EXPECT_EQ(answer.wait_for(std::chrono::seconds(20)),
              std::future_status::ready);
    ++asked;
  };
  for (int i = 0; i < 2; ++i) (*opened)->Add(Stage(i));
  EXPECT_GE(asked, 2);
  asked = 0;
  EXPECT_TRUE((*opened)->Release(Stage(0).id()).ok());
  EXPECT_GE(asked, 2);  // Removing, and making that durable.
  disk.meanwhile = nullptr;
}

TEST_F(QuarantineTest, IdsAreNotGuessed) {
  quarantine_->Add(Stage(1));
  const std::string id = Stage(1).id();
  v1::QuarantinedStage twin = Stage(2);
  twin.set_id(id.substr(0, 20) + std::string(44, id[20] == '0' ? '1' : '0'));
  quarantine_->Add(twin);
  for (const std::string& bad :
       {std::string(), id.substr(0, 7), std::string("../jobs.db"), id + "0"}) {
    EXPECT_EQ(ReasonOf(quarantine_->Release(bad).status()), "BAD_QUARANTINE_ID")
        << bad;
  }
  EXPECT_EQ(ReasonOf(quarantine_->Release(std::string(64, '0')).status()),
            "NOT_QUARANTINED");
  EXPECT_EQ(ReasonOf(quarantine_->Release(id.substr(0, 12)).status()),
            "SEVERAL_QUARANTINED");
  EXPECT_TRUE(quarantine_->Release(id).ok());
  EXPECT_TRUE(quarantine_->Release(id.substr(0, 12)).ok());
}

// A client whose answer was lost sends the call again.
TEST_F(QuarantineTest, AReleaseThatComesAgainHasTheSameAnswer) {
  const std::string id = Stage(0).id();
  for (int i = 0; i <= Quarantine::kMaxReleased; ++i)
    quarantine_->Add(Stage(i));
  for (const std::string& name : {id, id, id.substr(0, 12)}) {
    const auto released = quarantine_->Release(name);
    ASSERT_TRUE(released.ok()) << released.status();
    EXPECT_EQ(released->id(), id);
    EXPECT_EQ(released->stage(), "tile");
  }
  // In quarantine again, it is released again.
  quarantine_->Add(Stage(0));
  EXPECT_TRUE(quarantine_->Release(id).ok());
  EXPECT_TRUE(quarantine_->Check(id).ok());
  for (int i = 1; i <= Quarantine::kMaxReleased; ++i) {
    EXPECT_TRUE(quarantine_->Release(Stage(i).id()).ok());
  }
  EXPECT_EQ(ReasonOf(quarantine_->Release(id).status()), "NOT_QUARANTINED");
}

TEST_F(QuarantineTest, ListsNewestFirstInPagesThatFitAMessage) {
  std::set<std::string> all;
  for (int i = 0; i < 60; ++i) {
    quarantine_->Add(Stage(i, 100'000));
    all.insert(Stage(i).id());
  }
  v1::ListQuarantineRequest request;
  request.set_page_size(50);
  int pages = 0;
  int64_t last = INT64_MAX;
  do {
    const auto page = quarantine_->List(request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LT(page->ByteSizeLong(), size_t{3} << 20);
    for (const v1::QuarantinedStage& stage : page->stages()) {
      EXPECT_LT(stage.since().seconds(), last);
      last = stage.since().seconds();
      EXPECT_EQ(all.erase(stage.id()), 1u);
    }
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() && ++pages < 10);
  EXPECT_TRUE(all.empty());
  for (const char* bad : {"x", "5", "5-", "-", "99999999999999999999-a"}) {
    request.set_page_token(bad);
    EXPECT_EQ(ReasonOf(quarantine_->List(request).status()), "BAD_PAGE") << bad;
  }
}

TEST_F(QuarantineTest, DamagedFilesAreRemoved) {
  quarantine_->Add(Stage(1));
  quarantine_->Add(Stage(2));
  const std::string path = folder_ + "/" + Stage(1).id();
  const auto size = std::filesystem::file_size(path);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size) - 1);
    file.put('?');
  }
  std::ofstream(folder_ + "/other") << "not ours";
  std::ofstream(folder_ + "/" + Stage(3).id()) << "";
  Open();
  EXPECT_TRUE(quarantine_->Check(Stage(1).id()).ok());
  EXPECT_FALSE(quarantine_->Check(Stage(2).id()).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace edgekiln::server
