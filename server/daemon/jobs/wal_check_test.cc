#include "server/daemon/jobs/wal_check.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/sqlite.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kHeaderBytes = 32;
constexpr int64_t kFrameBytes = 24 + 4096;

void FlipBit(const std::string& path, int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char old = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(old ^ 4));
}

class WalCheckTest : public testing::Test {
 protected:
  WalCheckTest()
      : folder_(testing::TempDir() + "wal_check_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        wal_(folder_ + "/left/jobs.db-wal") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~WalCheckTest() override { fs::remove_all(folder_); }

  // As a killed process leaves it.
  void CopyAsLeft() {
    fs::remove_all(folder_ + "/left");
    fs::create_directories(folder_ + "/left");
    for (const char* name : {"/jobs.db", "/jobs.db-wal"}) {
      fs::copy_file(folder_ + name, folder_ + "/left" + name);
    }
  }

  // So many transactions of one page each behind the one that makes the table.
  void Write(Database& database, int transactions) {
    for (int i = 0; i < transactions; ++i) {
      ASSERT_TRUE(database.Execute("INSERT INTO numbers VALUES (1)").ok());
    }
  }

  Database Open() {
    Database database = *Database::Open(folder_ + "/jobs.db");
    EXPECT_TRUE(database
                    .Execute("PRAGMA journal_mode=WAL;"
                             "CREATE TABLE numbers (number INTEGER)")
                    .ok());
    return database;
  }

  const std::string folder_;
  const std::string wal_;
};

TEST_F(WalCheckTest, CountsTransactionsBehindWhatIsDamaged) {
  Database database = Open();
  Write(database, 9);
  CopyAsLeft();
  const int64_t all = CheckWal(wal_).sound;
  EXPECT_GE(all, 10);
  EXPECT_EQ(CheckWal(wal_).lost, 0);
  const auto frames =
      (static_cast<int64_t>(fs::file_size(wal_)) - kHeaderBytes) / kFrameBytes;
  struct {
    const char* what;
    int64_t at;
    int64_t lost;
  } const kCases[] = {
      {"a page of the last but two",
       kHeaderBytes + (frames - 3) * kFrameBytes + 1000, 3},
      {"the checksum of the last but one",
       kHeaderBytes + (frames - 2) * kFrameBytes + 17, 2},
      {"the last", kHeaderBytes + (frames - 1) * kFrameBytes + 4000, 1},
      {"the header", 25, all},
      {"its salt", 18, all},
      {"its magic", 1, all},
  };
  for (const auto& test : kCases) {
    CopyAsLeft();
    FlipBit(wal_, test.at);
    const WalCheck check = CheckWal(wal_);
    EXPECT_EQ(check.lost, test.lost) << test.what;
    EXPECT_EQ(check.sound, all - test.lost) << test.what;
  }
}

// What a sound log may look like after a crash.
TEST_F(WalCheckTest, AnUnfinishedEndAndEarlierRoundsAreNoDamage) {
  Database database = Open();
  Write(database, 9);
  CopyAsLeft();
  const int64_t all = CheckWal(wal_).sound;
  fs::resize_file(wal_, fs::file_size(wal_) - 100);
  EXPECT_EQ(CheckWal(wal_).lost, 0);
  EXPECT_EQ(CheckWal(wal_).sound, all - 1);
  fs::resize_file(wal_, 10);
  EXPECT_EQ(CheckWal(wal_).sound, 0);
  EXPECT_EQ(CheckWal(folder_ + "/nothing").lost, 0);
  // The log begins anew over its old frames.
  ASSERT_TRUE(database.Execute("PRAGMA wal_checkpoint(RESTART)").ok());
  Write(database, 2);
  CopyAsLeft();
  EXPECT_EQ(CheckWal(wal_).sound, 2);
  EXPECT_EQ(CheckWal(wal_).lost, 0);
}

TEST_F(WalCheckTest, TheStoreTellsOnceWhatItsLogHasLost) {
  auto store = JobStore::Open(folder_ + "/jobs.db");
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 8; ++i) {
    JobUpdate update;
    update.job_id = absl::StrCat("j", i);
    update.is_new = true;
    update.has_job = true;
    update.job.set_id(update.job_id);
    update.job.set_state(v1::SUCCEEDED);
    ASSERT_TRUE((*store)->Apply({update}).ok());
  }
  CopyAsLeft();
  FlipBit(wal_, static_cast<int64_t>(fs::file_size(wal_)) / 2);
  const std::string left = folder_ + "/left/jobs.db";
  {
    const auto opened = JobStore::Open(left);
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_TRUE(absl::StrContains((*opened)->loss(), "transactions are lost"))
        << (*opened)->loss();
    const absl::Status gone = (*opened)->Get("j7").status();
    EXPECT_TRUE(absl::StrContains(gone.message(), "transactions are lost"))
        << gone;
    EXPECT_TRUE(fs::exists(left + ".damaged-1-wal"));
    // As if it was killed.
    fs::create_directories(folder_ + "/again");
    for (const char* name : {"/jobs.db", "/jobs.db-wal"}) {
      fs::copy_file(folder_ + "/left" + name, folder_ + "/again" + name);
    }
  }
  const auto again = JobStore::Open(folder_ + "/again/jobs.db");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->loss(), "");
}

}  // namespace
}  // namespace edgekiln::server
