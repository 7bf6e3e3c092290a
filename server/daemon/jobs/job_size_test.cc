// Bounds on what comes in, on what goes out and on what is kept in memory.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/disk_blob_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/daemon/jobs/job_journal.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/request_bounds.h"
#include "server/daemon/jobs/whole_answer.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

TEST(RequestBoundsTest, NameTheFieldThatIsTooLarge) {
  struct {
    const char* field;
    const char* limit;
    std::function<void(v1::CreateJobRequest&)> make;
  } const kCases[] = {
      {"CreateJobRequest.model_name", "1024 bytes",
       [](auto& r) { r.set_model_name(std::string(1025, 'x')); }},
      {"CreateJobRequest.request_id", "128 bytes",
       [](auto& r) { r.set_request_id(std::string(129, 'x')); }},
      {"CreateJobRequest.model.hash", "64 bytes",
       [](auto& r) { r.mutable_model()->set_hash(std::string(65, 'a')); }},
      {"CreateJobRequest.targets[1].name", "1024 bytes",
       [](auto& r) {
         r.add_targets();
         r.add_targets()->set_name(std::string(15 << 20, 'x'));
       }},
      {"CreateJobRequest.goals", "16 entries",
       [](auto& r) {
         for (int i = 0; i < 17; ++i) r.add_goals(v1::INSPECT);
       }},
      {"CreateJobRequest.transforms[0].scale", "4096 entries",
       [](auto& r) {
         auto& scale = *r.add_transforms()->mutable_scale();
         scale.Resize(4097, 1.0);
       }},
      {"CreateJobRequest.data.files", "4096 entries",
       [](auto& r) {
         for (int i = 0; i < 4097; ++i) r.mutable_data()->add_files();
       }},
      {"CreateJobRequest.bindings.external_data[0].name", "1024 bytes",
       [](auto& r) {
         r.mutable_bindings()->add_external_data()->set_name(
             std::string(2000, 'x'));
       }},
      {"CreateJobRequest.options.recipe", "64 bytes",
       [](auto& r) { r.mutable_options()->set_recipe(std::string(65, 'r')); }},
      {"CreateJobRequest.slot.client", "128 bytes",
       [](auto& r) { r.mutable_slot()->set_client(std::string(129, 'x')); }},
      {"CreateJobRequest", "1048576 bytes",
       [](auto& r) {
         for (int i = 0; i < 1100; ++i) {
           r.add_transforms()->set_input(std::string(1000, 'x'));
         }
       }},
  };
  for (const auto& test : kCases) {
    v1::CreateJobRequest request;
    test.make(request);
    const absl::Status status = CheckBounds(request);
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << test.field;
    const ErrorDetail detail = *GetErrorDetail(status);
    EXPECT_EQ(detail.where, test.field);
    EXPECT_EQ(detail.limit, test.limit);
    EXPECT_FALSE(detail.need.empty() || detail.fix.empty());
  }
  v1::CreateJobRequest good;
  good.set_model_name(std::string(1024, 'x'));
  good.mutable_slot()->set_name(std::string(128, 'x'));
  for (int i = 0; i < 256; ++i) {
    good.add_targets()->set_name(std::string(1024, 'x'));
  }
  EXPECT_TRUE(CheckBounds(good).ok());
  v1::GetJobRequest id;
  id.set_id(std::string(129, 'j'));
  EXPECT_FALSE(CheckBounds(id).ok());
}

// Writes as the test says; reads are those of `inner`.
class WritesBlobStore : public cache::BlobStore {
 public:
  using Write = std::function<absl::Status(const Digest&, absl::string_view)>;

  WritesBlobStore(cache::BlobStore& inner, Write write)
      : inner_(inner), write_(std::move(write)) {}
  absl::StatusOr<bool> Contains(const Digest& digest) override {
    return inner_.Contains(digest);
  }
  absl::StatusOr<std::string> Get(const Digest& digest) override {
    return inner_.Get(digest);
  }
  absl::StatusOr<std::unique_ptr<cache::BlobReader>> OpenReader(
      const Digest& digest) override {
    return inner_.OpenReader(digest);
  }
  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    return write_(digest, bytes);
  }
  absl::Status Adopt(const Digest&, const std::string&) override {
    return absl::UnimplementedError("jobs and reports are not in files");
  }

 private:
  cache::BlobStore& inner_;
  const Write write_;
};

class JobSizeTest : public testing::Test {
 protected:
  JobSizeTest()
      : folder_(testing::TempDir() + "job_size_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    blobs_ = *cache::OpenDiskBlobStore(*files_, folder_ + "/blobs");
    Open();
  }

  void Open() { Open(*blobs_); }

  void Open(cache::BlobStore& blobs) {
    store_.reset();
    auto store = JobStore::Open(folder_ + "/jobs.db", {.blobs = &blobs});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  // A request of nearly a mebibyte.
  static v1::Job LargeJob(const std::string& id, v1::JobState state) {
    v1::Job job;
    job.set_id(id);
    job.set_state(state);
    job.mutable_request()->set_model_name(std::string(1024, 'm'));
    for (int i = 0; i < 250; ++i) {
      job.mutable_request()->add_targets()->set_name(std::string(1024, 't'));
    }
    for (int i = 0; i < 20; ++i) {
      job.mutable_request()->add_transforms()->mutable_scale()->Resize(4000,
                                                                       1.0);
    }
    return job;
  }

  absl::Status Add(const v1::Job& job, std::vector<v1::Report> reports = {}) {
    JobUpdate update;
    update.job_id = job.id();
    update.is_new = true;
    update.has_job = true;
    update.job = job;
    update.reports = std::move(reports);
    return store_->Apply({update});
  }

  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::string folder_;
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<JobStore> store_;
};

TEST_F(JobSizeTest, AQueuedJobIsAFewKilobytes) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Add(LargeJob(absl::StrCat("j", i), v1::QUEUED)).ok());
  }
  Open();
  const auto jobs = store_->Unfinished();
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 20u);
  for (const v1::Job& job : *jobs) {
    EXPECT_EQ(job.request().model_name().size(), 1024u);
    EXPECT_EQ(job.request().targets_size(), 250);
    EXPECT_LT(job.SpaceUsedLong(), 40u << 10);
    EXPECT_LT(job.ByteSizeLong(), 8u << 10);
  }
  const auto request = store_->GetRequest("j7");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->SerializeAsString(),
            LargeJob("j7", v1::QUEUED).request().SerializeAsString());
}

// Stages buffer what they make; a power failure after the end of a job takes
// none of it.
TEST_F(JobSizeTest, ArtifactsAreDurableBeforeTheEnd) {
  cache::CrashingFileSystem files;
  auto buffering = *cache::OpenDiskBlobStore(files, "/blobs");
  Open(*buffering);
  const Digest digest = DigestOf("bundle");
  ASSERT_TRUE(buffering->PutBuffered(digest, "bundle").ok());
  v1::Job job = LargeJob("j", v1::SUCCEEDED);
  *job.add_artifacts()->mutable_digest() = ToProto(digest);
  ASSERT_TRUE(Add(job).ok());
  files.Crash();
  EXPECT_EQ(*(*cache::OpenDiskBlobStore(files, "/blobs"))->Get(digest),
            "bundle");
  // A disk that does not make it durable holds the end up.
  ASSERT_TRUE(buffering->PutBuffered(DigestOf("next"), "next").ok());
  job.set_id("next");
  *job.mutable_artifacts(0)->mutable_digest() = ToProto(DigestOf("next"));
  files.FailAfter(0);
  EXPECT_FALSE(Add(job).ok());
  files.Crash();
  store_.reset();
}

// The new state of a job leaves its request alone.
TEST_F(JobSizeTest, AnUpdateKeepsTheRequest) {
  const v1::Job job = LargeJob("a", v1::QUEUED);
  ASSERT_TRUE(Add(job).ok());
  JobUpdate update;
  update.job_id = "a";
  update.has_job = true;
  update.job.set_id("a");
  update.job.set_state(v1::SUCCEEDED);
  ASSERT_TRUE(store_->Apply({update}).ok());
  EXPECT_EQ(store_->Get("a")->request().SerializeAsString(),
            job.request().SerializeAsString());
  EXPECT_EQ(store_->List(1, 0)->jobs[0].state(), v1::SUCCEEDED);
  EXPECT_EQ(store_->List(1, 0)->jobs[0].request().model_name().size(), 1024u);
}

TEST_F(JobSizeTest, APageEndsWhereItWouldBeTooLarge) {
  std::vector<JobUpdate> updates;
  for (int i = 0; i < 900; ++i) {
    JobUpdate& update = updates.emplace_back();
    update.job_id = absl::StrCat("j", i);
    update.is_new = true;
    update.has_job = true;
    update.job.set_id(update.job_id);
    update.job.set_state(v1::SUCCEEDED);
    update.job.mutable_request()->set_model_name(std::string(1024, 'm'));
    for (int k = 0; k < 4; ++k) {
      update.job.mutable_request()->add_targets()->set_name(
          std::string(1024, 't'));
    }
    // Not in lists.
    for (int k = 0; k < 10; ++k) {
      update.job.add_artifacts()->set_path(std::string(1000, 'p'));
    }
    update.job.mutable_error()->set_message(std::string(100'000, 'e'));
  }
  ASSERT_TRUE(store_->Apply(updates).ok());
  int64_t next = 0;
  size_t seen = 0;
  int pages = 0;
  do {
    const auto page = store_->List(1000, next);
    ASSERT_TRUE(page.ok());
    v1::ListJobsResponse response;
    for (const v1::Job& job : page->jobs) *response.add_jobs() = job;
    EXPECT_LE(response.ByteSizeLong(), static_cast<size_t>(kMaxAnswerBytes));
    seen += page->jobs.size();
    next = page->next;
    ++pages;
  } while (next != 0 && pages < 20);
  EXPECT_EQ(seen, 900u);
  EXPECT_GT(pages, 1);
}

TEST_F(JobSizeTest, WhatIsTooLargeForAnAnswerIsABlob) {
  v1::Job job = LargeJob("a", v1::SUCCEEDED);
  for (int i = 0; i < 40'000; ++i) {
    v1::ModelDescription::Layer& layer =
        *job.mutable_description()->add_layers();
    layer.set_name(absl::StrCat(std::string(100, 'l'), i));
  }
  job.mutable_description()->set_macs(17);
  job.add_artifacts()->mutable_digest()->set_hash(std::string(64, 'a'));
  job.set_reports(1);
  v1::Report report;
  report.set_target_name("chip");
  for (int i = 0; i < 40'000; ++i) {
    report.add_layers()->set_name(absl::StrCat(std::string(100, 'l'), i));
  }
  // An update, as at the end of a job: it does not carry the request.
  v1::Job queued = LargeJob("a", v1::QUEUED);
  ASSERT_TRUE(Add(queued).ok());
  JobUpdate update;
  update.job_id = "a";
  update.has_job = true;
  update.job = job;
  update.job.clear_request();
  update.reports = {report};
  ASSERT_TRUE(store_->Apply({update}).ok());
  Open();
  const auto answer = store_->FinishedJob("a");
  ASSERT_TRUE(answer.ok());
  EXPECT_LE((*answer)->size(), static_cast<size_t>(kMaxAnswerBytes));
  v1::Job cut;
  ASSERT_TRUE(cut.ParseFromString(**answer));
  ASSERT_TRUE(cut.has_whole());
  EXPECT_EQ(cut.description().macs(), 17);
  v1::Job whole;
  ASSERT_TRUE(whole.ParseFromString(
      *blobs_->Get({cut.whole().hash(), cut.whole().size_bytes()})));
  EXPECT_EQ(whole.SerializeAsString(), job.SerializeAsString());
  const auto reported = store_->GetReport("a", 0);
  ASSERT_TRUE(reported.ok());
  EXPECT_LE((*reported)->size(), static_cast<size_t>(kMaxAnswerBytes));
  v1::Report short_report;
  ASSERT_TRUE(short_report.ParseFromString(**reported));
  EXPECT_EQ(short_report.target_name(), "chip");
  v1::Report long_report;
  ASSERT_TRUE(long_report.ParseFromString(*blobs_->Get(
      {short_report.whole().hash(), short_report.whole().size_bytes()})));
  EXPECT_EQ(long_report.layers_size(), 40'000);
  // None of them is evicted while the job is kept.
  std::vector<std::string> kept;
  ASSERT_TRUE(
      store_->ForEachBlob([&](const std::string& n) { kept.push_back(n); })
          .ok());
  const auto name = [](const v1::Digest& digest) {
    return cache::BlobFileName({digest.hash(), digest.size_bytes()});
  };
  EXPECT_EQ(kept, (std::vector<std::string>{name(job.artifacts(0).digest()),
                                            name(cut.whole()),
                                            name(short_report.whole())}));
}

// A batch holds the jobs of others: one whose long form finds no room is stored
// without it.
TEST_F(JobSizeTest, WhereTheWholeFindsNoRoomTheAnswerSaysWhatItLacks) {
  WritesBlobStore full(*blobs_, [](const Digest&, absl::string_view) {
    return absl::ResourceExhaustedError("no room for a blob");
  });
  Open(full);
  std::vector<JobUpdate> batch(2);
  for (const char* id : {"a", "b"})
    ASSERT_TRUE(Add(LargeJob(id, v1::QUEUED)).ok());
  batch[0].job_id = "a";
  batch[0].has_job = true;
  batch[0].job.set_id("a");
  batch[0].job.set_state(v1::SUCCEEDED);
  for (int i = 0; i < 40'000; ++i) {
    batch[0].job.add_stages()->set_name(absl::StrCat(std::string(100, 's'), i));
  }
  batch[0].job.add_artifacts()->mutable_digest()->set_hash(
      std::string(64, 'a'));
  batch[0].job.set_reports(1);
  for (int i = 0; i < 40'000; ++i) {
    batch[0].reports.resize(1);
    batch[0].reports[0].add_layers()->set_name(
        absl::StrCat(std::string(100, 'l'), i));
  }
  batch[1].job_id = "b";
  batch[1].has_job = true;
  batch[1].job.set_id("b");
  batch[1].job.set_state(v1::SUCCEEDED);
  ASSERT_TRUE(store_->Apply(batch).ok());
  EXPECT_EQ(store_->Get("b")->state(), v1::SUCCEEDED);
  const absl::StatusOr<v1::Job> cut = store_->Get("a");
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->state(), v1::SUCCEEDED);
  EXPECT_FALSE(cut->has_whole());
  EXPECT_EQ(cut->stages_size(), 0);
  EXPECT_EQ(cut->artifacts_size(), 1);
  ASSERT_EQ(cut->description().warnings_size(), 1);
  const std::string& told = cut->description().warnings(0);
  EXPECT_TRUE(absl::StrContains(told, "stages and layers are missing"));
  EXPECT_TRUE(absl::StrContains(told, "no room for a blob")) << told;
  v1::Report report;
  ASSERT_TRUE(report.ParseFromString(**store_->GetReport("a", 0)));
  EXPECT_EQ(report.layers_size(), 0);
  ASSERT_EQ(report.warnings_size(), 1);
  EXPECT_TRUE(absl::StrContains(report.warnings(0), "layers"));
}

// The journal's one thread writes what all jobs say: megabytes of one job are
// written by the thread that ends it.
TEST_F(JobSizeTest, TheJournalsThreadWritesNoBlobs) {
  Mutex mutex;
  std::vector<std::thread::id> writers;
  WritesBlobStore watched(*blobs_,
                          [&](const Digest& digest, absl::string_view bytes) {
                            {
                              MutexLock lock(mutex);
                              writers.push_back(std::this_thread::get_id());
                            }
                            return blobs_->Put(digest, bytes);
                          });
  Open(watched);
  FakeClock clock(absl::FromUnixSeconds(1'700'000'000));
  const std::unique_ptr<Logger> log = NewNullLogger();
  JobJournal journal(*store_, clock, *log);
  v1::Job job;
  job.set_id("a");
  journal.Create(job, v1::JobEvent(), [](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
  });
  job.set_state(v1::SUCCEEDED);
  v1::Report report;
  for (int i = 0; i < 40'000; ++i) {
    const std::string name = absl::StrCat(std::string(100, 'l'), i);
    job.add_stages()->set_name(name);
    report.add_layers()->set_name(name);
  }
  job.set_reports(1);
  journal.Finish(job, {report}, v1::JobEvent(), [](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
  });
  job.set_id("b");  // Not run: all of it was at hand.
  journal.CreateEnded(
      job, {v1::JobEvent()}, {report},
      [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  journal.Stop();
  EXPECT_TRUE(store_->Get("a")->has_whole());
  EXPECT_TRUE(store_->Get("b")->has_whole());
  // A blob that is there already may be written again.
  EXPECT_GE(writers.size(), 3u);
  for (const std::thread::id& writer : writers) {
    EXPECT_EQ(writer, std::this_thread::get_id());
  }
}

TEST_F(JobSizeTest, UnfinishedJobsAndEventsFit) {
  v1::Job job = LargeJob("a", v1::RUNNING);
  for (int i = 0; i < 100'000; ++i) {
    job.add_stages()->set_name(absl::StrCat("simulate[", i, "]", i, i, i));
  }
  const std::string last = job.stages(99'999).name();
  FitUnfinished(job);
  EXPECT_LE(job.ByteSizeLong(), static_cast<size_t>(kMaxAnswerBytes));
  EXPECT_EQ(job.stages(job.stages_size() - 1).name(), last);
  v1::JobEvent event;
  event.set_sequence(7);
  event.mutable_error()->set_message(std::string(5 << 20, 'e'));
  FitEvent(event);
  EXPECT_LE(event.ByteSizeLong(), size_t{64} << 10);
  EXPECT_TRUE(event.has_error());
  EXPECT_EQ(event.sequence(), 7);
}

}  // namespace
}  // namespace edgekiln::server
