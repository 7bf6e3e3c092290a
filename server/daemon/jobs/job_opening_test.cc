// What the job store makes of files that are damaged, gone or old.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rng.h"
#include "gtest/gtest.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/jobs/job_schema.h"
#include "server/daemon/jobs/testing/job_damage_fixture.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

using JobOpeningTest = JobDamageTest;

TEST_F(JobOpeningTest, AnUnusableFileIsSetAsideAndToldOf) {
  ASSERT_TRUE(Open().ok());
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(Add(absl::StrCat("j", i), v1::SUCCEEDED).ok());
  }
  store_.reset();
  const fs::path good = folder_ + "/good";
  fs::copy_file(path_, good);
  const auto size = fs::file_size(good);
  struct {
    const char* name;
    std::function<void()> damage;
    bool some_left;
  } const kCases[] = {
      // All jobs of so small a file are behind the cut.
      {"cut", [&] { fs::resize_file(path_, size / 4096 / 2 * 4096); }, false},
      {"cut within a page", [&] { fs::resize_file(path_, size / 3 * 2 + 100); },
       true},
      {"no header",
       [&] { std::fstream(path_, std::ios::in | std::ios::out) << "nonsense"; },
       false},
      {"a header that forbids to write",
       [&] {
         std::fstream file(path_, std::ios::in | std::ios::out);
         file.seekp(18);
         file << '\x03';
       },
       true},
      {"zeros in the middle",
       [&] {
         std::fstream file(path_, std::ios::in | std::ios::out);
         file.seekp(static_cast<int64_t>(size / 2));
         file << std::string(20'000, '\0');
       },
       true},
      {"empty", [&] { fs::resize_file(path_, 0); }, false},
      {"gone", [&] { fs::remove(path_); }, false},
      {"a folder",
       [&] {
         fs::remove(path_);
         fs::create_directories(path_ + "/below");
       },
       false},
      {"a pipe",
       [&] {
         fs::remove(path_);
         mkfifo(path_.c_str(), 0600);
       },
       false},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    store_.reset();
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name != "good" && name != "jobs.db.made") fs::remove_all(entry);
    }
    fs::copy_file(good, path_);
    test.damage();
    const absl::Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened;
    EXPECT_NE(store_->loss(), "");
    const absl::Status unknown = store_->Get("nobody").status();
    EXPECT_TRUE(absl::IsNotFound(unknown));
    EXPECT_NE(unknown.message().find("the job is gone"), std::string::npos)
        << unknown;
    EXPECT_EQ(!store_->List(1000, 0)->jobs.empty(), test.some_left);
    int sound = 0;
    for (int i = 0; i < 200; ++i) {
      const std::string id = absl::StrCat("j", i);
      const absl::StatusOr<v1::Job> job = store_->Get(id);
      if (!job.ok() || job->error().reason() == kJobDamaged) continue;
      EXPECT_EQ(job->request().model_name(), "model " + id);
      ++sound;
    }
    EXPECT_EQ(sound > 20, test.some_left) << sound;
    EXPECT_TRUE(Add("new", v1::QUEUED).ok());
    // Once: the next start finds a good one.
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(store_->loss(), "");
    EXPECT_EQ(store_->Get("new")->state(), v1::QUEUED);
  }
}

// Sealed rows that are taken for those of version 1 may parse all the same: as
// jobs without a request.
TEST_F(JobOpeningTest, ATableThatCannotBeReadDoesNotMakeItVersion1) {
  for (const char* table : {"heads", "requests"}) {
    SCOPED_TRACE(table);
    store_.reset();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(Open().ok());
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(Add(absl::StrCat("j", i), v1::QUEUED).ok());
    }
    Execute(absl::StrCat("ALTER TABLE ", table,
                         " RENAME COLUMN request TO reqqest"));
    const absl::Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened;
    EXPECT_NE(store_->loss(), "");
    for (int i = 0; i < 100; ++i) {
      const std::string id = absl::StrCat("j", i);
      const absl::StatusOr<v1::Job> job = store_->Get(id);
      ASSERT_TRUE(job.ok()) << job.status();
      if (table == std::string("requests")) {
        EXPECT_EQ(job->error().reason(), kJobDamaged) << id;
      } else {
        EXPECT_EQ(job->state(), v1::QUEUED) << id;
        EXPECT_EQ(job->request().model_name(), "model " + id);
      }
    }
  }
}

TEST_F(JobOpeningTest, NorDoesTheLossOfAllTablesThatTellTheVersion) {
  ASSERT_TRUE(Open().ok());
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(Add(absl::StrCat("j", i), v1::QUEUED).ok());
  }
  Execute("DROP TABLE heads; DROP TABLE requests; DROP TABLE damaged");
  const absl::Status opened = Open();
  ASSERT_TRUE(opened.ok()) << opened;
  EXPECT_NE(store_->loss(), "");
  for (int i = 0; i < 300; ++i) {
    const std::string id = absl::StrCat("j", i);
    const absl::StatusOr<v1::Job> job = store_->Get(id);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->error().reason(), kJobDamaged) << id;
  }
}

// Rows between damaged pages, and events and reports of their jobs, which have
// trees of their own.
TEST_F(JobOpeningTest, RowsBetweenDamagedPagesAreSaved) {
  constexpr int kJobs = 1000;
  ASSERT_TRUE(Open().ok());
  for (int i = 0; i < kJobs; ++i) {
    ASSERT_TRUE(Add(absl::StrCat("j", i), v1::SUCCEEDED).ok());
  }
  store_.reset();
  const auto pages = static_cast<int64_t>(fs::file_size(path_)) / 4096;
  {
    // The first ones are the roots of the tables.
    std::fstream file(path_, std::ios::in | std::ios::out);
    for (int64_t page = 14; page < pages * 9 / 10; page += 9) {
      file.seekp(page * 4096);
      file << std::string(4096, '\0');
    }
  }
  fs::resize_file(path_, pages * 9 / 10 * 4096 + 100);
  ASSERT_TRUE(Open().ok());
  EXPECT_NE(store_->loss(), "");
  int sound = 0;
  int reports = 0;
  size_t events = 0;
  for (int i = 0; i < kJobs; ++i) {
    const std::string id = absl::StrCat("j", i);
    const absl::StatusOr<v1::Job> job = store_->Get(id);
    if (!job.ok() || job->error().reason() == kJobDamaged) continue;
    EXPECT_EQ(job->request().model_name(), "model " + id);
    ++sound;
    reports += store_->GetReport(id, 0).ok() ? 1 : 0;
    events += store_->Events(id, 0, 100)->size();
  }
  // Each needs its pages in three tables.
  EXPECT_GT(sound, kJobs / 2);
  EXPECT_GT(reports, kJobs / 3);
  EXPECT_GT(events, static_cast<size_t>(kJobs));
}

// Whatever bytes change, jobs are what they were, gone or marked, and what is
// not over goes on: one row that cannot be written would hold up all others.
// The seed of --gtest_shuffle chooses the bytes.
TEST_F(JobOpeningTest, ChangedBytesHoldNothingUp) {
  constexpr int kCases = 60;
  constexpr int kJobs = 12;
  ASSERT_TRUE(Open().ok());
  for (int i = 0; i < kJobs; ++i) {
    const auto state = static_cast<v1::JobState>(v1::QUEUED + i % 3);
    ASSERT_TRUE(Add(absl::StrCat("j", i), state).ok());
  }
  store_.reset();
  std::ifstream file(path_, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  const auto round = static_cast<uint64_t>(
      GTEST_FLAG_GET(shuffle) ? testing::UnitTest::GetInstance()->random_seed()
                              : 0);
  for (uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("case ", round * kCases + seed));
    Rng rng(round * kCases + seed);
    std::string bytes = good;
    for (uint64_t i = 1 + rng.Next() % 8; i > 0; --i) {
      bytes[rng.Next() % bytes.size()] ^=
          static_cast<char>(1 + rng.Next() % 255);
    }
    store_.reset();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(path_, std::ios::binary) << bytes;
    const absl::Status opened = Open(/*expected=*/true);
    const auto detail = GetErrorDetail(opened);
    if (detail.has_value() && detail->reason == "JOB_STORE_NEWER") continue;
    ASSERT_TRUE(opened.ok()) << opened;
    for (int i = 0; i < kJobs; ++i) {
      const std::string id = absl::StrCat("j", i);
      const absl::StatusOr<v1::Job> job = store_->Get(id);
      if (absl::IsNotFound(job.status())) continue;
      ASSERT_TRUE(job.ok()) << job.status();
      if (job->error().reason() == kJobDamaged) continue;
      EXPECT_EQ(job->request().model_name(), "model " + id);
      EXPECT_EQ(job->state(), v1::QUEUED + i % 3);
    }
    const absl::StatusOr<std::vector<v1::Job>> unfinished =
        store_->Unfinished();
    ASSERT_TRUE(unfinished.ok()) << unfinished.status();
    for (const v1::Job& job : *unfinished) {
      JobUpdate update;
      update.job_id = job.id();
      update.events.resize(1);
      update.events[0].set_sequence(job.last_sequence() + 1);
      const absl::Status written = store_->Apply({update});
      EXPECT_TRUE(written.ok()) << written;
    }
    const absl::Status added = Add("new", v1::SUCCEEDED);
    EXPECT_TRUE(added.ok()) << added;
  }
}

// As a text or a blob it would be the last one, and the next one the first.
TEST_F(JobOpeningTest, AnEventWithoutPlaceIsNotTheLast) {
  for (const char* place :
       {"x'07'", "'seven'", "0", "2.5", "9223372036854775807"}) {
    SCOPED_TRACE(place);
    store_.reset();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(Open().ok());
    ASSERT_TRUE(Add("a", v1::QUEUED).ok());
    Execute(absl::StrCat("UPDATE events SET sequence = ", place,
                         " WHERE sequence = 2"));
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(store_->Get("a")->last_sequence(), 3);
    EXPECT_EQ(store_->Unfinished()->at(0).last_sequence(), 3);
    EXPECT_EQ(store_->Events("a", 0, 10)->size(), 2u);
  }
}

TEST_F(JobOpeningTest, AFreshFolderHasLostNothing) {
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(store_->loss(), "");
  store_.reset();
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  ASSERT_TRUE(Open(/*expected=*/true).ok());
  EXPECT_NE(store_->loss(), "");
}

// Of a process that died while it replaced the database.
TEST_F(JobOpeningTest, ReplacingGoesOnWhereItStopped) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Add("a", v1::SUCCEEDED).ok());
  store_.reset();
  fs::copy_file(path_, path_ + ".new");
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Listed(), "a:3 ");
  store_.reset();
  EXPECT_TRUE(!fs::exists(path_ + ".new"));
  fs::rename(path_, path_ + ".new");
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Listed(), "a:3 ");
}

TEST_F(JobOpeningTest, NothingIsAcknowledgedOnceTheFilesAreGone) {
  struct {
    const char* name;
    std::function<void()> harm;
  } const kCases[] = {
      {"removed", [&] { fs::remove(path_); }},
      {"replaced",
       [&] {
         fs::copy_file(path_, path_ + "2");
         fs::rename(path_ + "2", path_);
       }},
      {"cut", [&] { fs::resize_file(path_, 4096); }},
      {"log removed", [&] { fs::remove(path_ + "-wal"); }},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    store_.reset();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(Open().ok());
    ASSERT_TRUE(Add("a", v1::QUEUED).ok());
    // So that the file has more than a page.
    ASSERT_TRUE(Open().ok());
    ASSERT_TRUE(Add("b", v1::QUEUED).ok());
    EXPECT_TRUE(store_->CheckFiles().ok());
    test.harm();
    const absl::Status added = Add("c", v1::QUEUED);
    EXPECT_TRUE(absl::IsUnavailable(added)) << added;
    EXPECT_EQ(GetErrorDetail(store_->CheckFiles())->reason, "STATE_REMOVED");
  }
}

// What version 1 wrote, row by row, one that does not parse, and one with a
// number of reports that no job has.
TEST_F(JobOpeningTest, BringsVersion1UpToDate) {
  {
    absl::StatusOr<Database> database = Database::Open(path_);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(CreateSchema(*database, 1).ok());
    const auto insert = [&](const std::string& sql, const std::string& id,
                            const std::string& bytes, int64_t number) {
      absl::StatusOr<Statement> statement = database->Prepare(sql);
      ASSERT_TRUE(statement.ok()) << statement.status();
      statement->Bind(1, id);
      statement->Bind(2, bytes);
      statement->Bind(3, number);
      ASSERT_TRUE(statement->Run().ok());
    };
    for (const char* id : {"a", "b", "c", "d"}) {
      v1::Job job = NewJob(id, *id == 'c' ? v1::QUEUED : v1::SUCCEEDED);
      job.set_reports(*id == 'a' ? 1 : *id == 'd' ? -1 : 0);
      job.add_artifacts()->mutable_digest()->set_hash(id);
      insert(
          "INSERT INTO jobs (id, request_id, job, state)"
          " VALUES (?1, 'r ' || ?1, ?2, ?3)",
          id, *id == 'b' ? "\xff" : job.SerializeAsString(), job.state());
      v1::JobEvent event;
      event.set_sequence(1);
      event.set_state(v1::QUEUED);
      insert("INSERT INTO events (job_id, event, sequence) VALUES (?, ?, ?)",
             id, event.SerializeAsString(), 1);
    }
    v1::Report report;
    // Of damaged places, which have no next.
    for (const char* place : {"x'07'", "'seven'", "2.5"}) {
      ASSERT_TRUE(database
                      ->Execute(absl::StrCat(
                          "INSERT INTO events (job_id, sequence, event)"
                          " VALUES (x'64', ",
                          place, ", x'')"))
                      .ok());
    }
    report.set_model_name("net");
    insert("INSERT INTO reports (job_id, report, target) VALUES (?, ?, ?)", "a",
           report.SerializeAsString(), 0);
  }
  for (int start = 0; start < 2; ++start) {
    const absl::Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened;
    EXPECT_EQ(store_->loss(), "");
    EXPECT_EQ(Listed(), "a:3 b:4 c:1 d:4 ");
    EXPECT_EQ(store_->Get("a")->request().model_name(), "model a");
    EXPECT_EQ(store_->Get("b")->error().reason(), kJobDamaged);
    EXPECT_EQ(store_->Get("d")->error().reason(), kJobDamaged);
    EXPECT_EQ(store_->Unfinished()->at(0).request().model_name(), "model c");
    EXPECT_EQ(store_->Events("c", 0, 9)->at(0).state(), v1::QUEUED);
    v1::Report report;
    ASSERT_TRUE(report.ParseFromString(**store_->GetReport("a", 0)));
    EXPECT_EQ(report.model_name(), "net");
    std::string blobs;
    ASSERT_TRUE(
        store_->ForEachBlob([&](const std::string& name) { blobs += name; })
            .ok());
    EXPECT_EQ(blobs, "a-0c-0");
  }
}

}  // namespace
}  // namespace edgekiln::server
