#include "server/daemon/jobs/still_needed.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"

namespace edgekiln::server {
namespace {

class StillNeededTest : public testing::Test {
 protected:
  StillNeededTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    store_ = *JobStore::Open(folder_ + "/jobs.db");
  }
  ~StillNeededTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Add(const std::string& id, int64_t created_seconds, v1::JobState state) {
    v1::Job job;
    job.set_id(id);
    job.set_state(state);
    job.mutable_created()->set_seconds(created_seconds);
    job.add_artifacts()->mutable_digest()->set_hash(id);
    job.mutable_artifacts(0)->mutable_digest()->set_size_bytes(7);
    JobUpdate update;
    update.job_id = id;
    update.is_new = true;
    update.has_job = true;
    update.job = job;
    EXPECT_TRUE(store_->Apply({update}).ok());
  }

  std::string folder_ = testing::TempDir() + "/still-needed-XXXXXX";
  std::unique_ptr<JobStore> store_;
};

TEST_F(StillNeededTest, NothingWithoutJobs) {
  const auto needed = StillNeededBy(*store_);
  ASSERT_TRUE(needed.ok()) << needed.status();
  EXPECT_EQ(needed->since, absl::InfiniteFuture());
  EXPECT_TRUE(needed->names.empty());
}

TEST_F(StillNeededTest, SinceTheOldestUnfinishedJobAndAllArtifacts) {
  // More than a page.
  for (int i = 0; i < 250; ++i) {
    Add(absl::StrCat("old", i), 1000 + i, v1::SUCCEEDED);
  }
  Add("running", 3000, v1::RUNNING);
  Add("queued", 2000, v1::QUEUED);
  Add("failed", 1500, v1::FAILED);
  const auto needed = StillNeededBy(*store_);
  ASSERT_TRUE(needed.ok()) << needed.status();
  EXPECT_EQ(needed->since, absl::FromUnixSeconds(2000));
  EXPECT_EQ(needed->names.size(), 253u);
  EXPECT_EQ(needed->names.count("old0-7"), 1u);
}

}  // namespace
}  // namespace edgekiln::server
