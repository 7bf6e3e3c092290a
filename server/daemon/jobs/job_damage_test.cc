// What the job store makes of rows that are damaged or missing.

#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/jobs/seal.h"
#include "server/daemon/jobs/testing/job_damage_fixture.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

TEST_F(JobDamageTest, ASealFitsItsKeyAndBytesAlone) {
  const std::string sealed = Seal("key", "bytes");
  EXPECT_EQ(Unseal("key", sealed), "bytes");
  EXPECT_EQ(Unseal("kez", sealed), std::nullopt);
  EXPECT_EQ(Unseal("key", ""), std::nullopt);
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string flipped = sealed;
    flipped[i] ^= 4;
    EXPECT_EQ(Unseal("key", flipped), std::nullopt) << i;
  }
}

TEST_F(JobDamageTest, ADamagedRowFailsItsJobAlone) {
  const char* const kDamages[] = {
      "UPDATE jobs SET job = x'ff00' WHERE id = CAST('b' AS BLOB)",
      "UPDATE requests SET request = x'00' WHERE row = 2",
      "UPDATE jobs SET state = 1 WHERE id = CAST('b' AS BLOB)",
      "DELETE FROM requests WHERE row = 2",
      // Of another row.
      "UPDATE jobs SET job = (SELECT job FROM jobs WHERE row = 1)"
      " WHERE row = 2",
  };
  for (const char* damage : kDamages) {
    for (const v1::JobState state : {v1::RUNNING, v1::SUCCEEDED}) {
      SCOPED_TRACE(absl::StrCat(damage, " ", state));
      store_.reset();
      fs::remove_all(folder_);
      fs::create_directories(folder_);
      ASSERT_TRUE(Open().ok());
      ASSERT_TRUE(Add("a", v1::SUCCEEDED).ok());
      ASSERT_TRUE(Add("b", state).ok());
      ASSERT_TRUE(Add("c", v1::QUEUED).ok());
      Execute(damage);
      const absl::Status opened = Open();
      ASSERT_TRUE(opened.ok()) << opened;
      const absl::StatusOr<v1::Job> job = store_->Get("b");
      ASSERT_TRUE(job.ok()) << job.status();
      EXPECT_EQ(job->state(), v1::FAILED);
      EXPECT_EQ(job->error().reason(), kJobDamaged);
      EXPECT_TRUE(absl::IsDataLoss(store_->GetRequest("b").status()));
      EXPECT_EQ(store_->Get("a")->request().model_name(), "model a");
      EXPECT_EQ(store_->Get("c")->state(), v1::QUEUED);
      ASSERT_EQ(store_->Unfinished()->size(), 1u);
      EXPECT_EQ(store_->Unfinished()->front().id(), "c");
      EXPECT_EQ(Listed().substr(0, 4), "a:3 ");
      EXPECT_NE(Listed().find("c:1 "), std::string::npos);
      // A watcher of a job that was not over sees it end.
      if (state == v1::RUNNING) {
        EXPECT_EQ(Listed(), "a:3 b:4 c:1 ");
        EXPECT_EQ(store_->Events("b", 3, 9)->at(0).state(), v1::FAILED);
      }
      EXPECT_TRUE(Add("d", v1::QUEUED).ok());
    }
  }
}

TEST_F(JobDamageTest, DamagedEventsAndReportsAreTold) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Add("a", v1::SUCCEEDED).ok());
  Execute(
      "UPDATE events SET event = x'12' WHERE sequence = 2;"
      "UPDATE reports SET report = x'0a0161'");
  ASSERT_TRUE(Open().ok());
  const auto events = store_->Events("a", 0, 10);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(events->at(i).sequence(), i + 1);
  EXPECT_EQ(events->at(1).event_case(), v1::JobEvent::EVENT_NOT_SET);
  EXPECT_EQ(events->at(2).state(), v1::SUCCEEDED);
  const absl::Status report = store_->GetReport("a", 0).status();
  EXPECT_EQ(GetErrorDetail(report)->reason, "REPORT_DAMAGED") << report;
  EXPECT_EQ(store_->Get("a")->state(), v1::SUCCEEDED);
}

// A damaged head is made again from the job.
TEST_F(JobDamageTest, HeadsAreMadeAgain) {
  for (const char* damage :
       {"UPDATE heads SET head = x'00'", "UPDATE heads SET request = x'00'",
        "UPDATE heads SET blobs = x'00'", "DELETE FROM heads",
        "INSERT INTO heads (row, head, request, blobs)"
        " VALUES (99, x'', x'', x'')"}) {
    SCOPED_TRACE(damage);
    store_.reset();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(Open().ok());
    ASSERT_TRUE(Add("a", v1::SUCCEEDED).ok());
    ASSERT_TRUE(Add("b", v1::QUEUED).ok());
    Execute(damage);
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(Listed(), "a:3 b:1 ");
    EXPECT_EQ(store_->List(1, 0)->jobs[0].request().model_name(), "model b");
    EXPECT_EQ(store_->Unfinished()->size(), 1u);
  }
}

}  // namespace
}  // namespace edgekiln::server
