// Damages the state folder of a daemon with finished, running and queued jobs
// in every way a disk, a full file system or a careless hand does, then starts
// a daemon on it. It must start, or refuse and say why; what it serves must be
// what was there, or be absent or marked; a new job must work.

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rng.h"
#include "server/daemon/testing/daemon_fixture.h"

namespace edgekiln::server {
namespace {

namespace fs = std::filesystem;

// What was true of a job before the damage, but for times and cache hits.
struct Truth {
  std::string request;
  v1::JobState state = v1::QUEUED;
  std::string artifacts;
  std::string report{};
};

std::string ArtifactsOf(const v1::Job& job) {
  std::string all;
  for (const v1::Artifact& artifact : job.artifacts()) {
    absl::StrAppend(&all, artifact.path(), "=", artifact.digest().hash(), "\n");
  }
  return all;
}

class StateFuzzTest : public DaemonTest {
 protected:
  StateFuzzTest() : work_(options_.state_folder), kept_(work_ + ".kept") {
    fs::remove_all(kept_);
    options_.max_running_jobs = 1;
    options_.disk_reserve_bytes = 0;
    Stop();
    Start();
    Fill();
  }
  ~StateFuzzTest() override {
    Stop();
    fs::remove_all(kept_);
    fs::remove_all(work_);
  }

  // Three finished jobs, one that runs, two that wait. Half of the cases start
  // from what a daemon leaves that ended, half from one that was killed.
  void Fill() {
    auto worker = Worker();
    for (const char* model : {"int8 a", "int8 b", "bad c"}) {
      const v1::Job job = Create(Profile(model));
      Watch(job.id());
      Remember(Get(job.id()));
    }
    new_artifacts_ = truths_.begin()->second.artifacts;
    worker.reset();
    worker = Worker({.hang_on = "emit"});
    const v1::Job running = Create(Profile("int8 d"));
    WatchUntil(running.id(), v1::JobEvent::kStageFinished);
    Remember(Get(running.id()));
    for (const char* model : {"int8 e", "int8 f"}) {
      Remember(Get(Create(Profile(model)).id()));
    }
    // Every byte that may be served.
    CopyWhileUsed(kept_ + "/killed");
    worker.reset();
    Stop();
    fs::copy(work_, kept_ + "/ended", fs::copy_options::recursive);
    // What the unfinished ones come to without damage.
    Start();
    worker = Worker();
    for (auto& [id, truth] : truths_) {
      Watch(id);
      const v1::Job job = Get(id);
      truth.state = job.state();
      truth.artifacts = ArtifactsOf(job);
      truth.report = ReportOf(id);
    }
    Stop();
  }

  // As a killed daemon leaves them; files may end while they are copied.
  void CopyWhileUsed(const fs::path& to) {
    fs::create_directories(to);
    std::error_code gone;
    for (fs::recursive_directory_iterator at(work_), end; at != end;
         at.increment(gone)) {
      const fs::path copy = to / fs::relative(at->path(), work_);
      if (at->is_directory(gone)) {
        fs::create_directories(copy);
      } else {
        fs::copy(at->path(), copy, gone);
      }
    }
  }

  void Remember(const v1::Job& job) {
    truths_[job.id()] = {.request = job.request().SerializeAsString(),
                         .state = job.state(),
                         .artifacts = ArtifactsOf(job)};
  }

  // Without what depends on the cache.
  std::string ReportOf(const std::string& id) {
    v1::GetReportRequest request;
    request.set_job_id(id);
    v1::Report report;
    grpc::ClientContext context;
    const grpc::Status status = reports_->GetReport(&context, request, &report);
    if (!status.ok()) return "none: " + status.error_message();
    report.clear_stages();
    return report.SerializeAsString();
  }

  std::vector<fs::path> Files() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(work_)) {
      const std::string name = entry.path().filename();
      if (name == "lock" || name == "worker_secret") continue;
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  static std::string ReadFile(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static void WriteFile(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  // Names what it did.
  std::string DamageOne(Rng& rng) {
    const std::vector<fs::path> files = Files();
    std::vector<fs::path> databases;
    for (const fs::path& file : files) {
      if (absl::StartsWith(file.filename().string(), "jobs.db")) {
        databases.push_back(file);
      }
    }
    const std::vector<fs::path>& among =
        !databases.empty() && rng.Next() % 2 == 0 ? databases : files;
    if (among.empty()) return "nothing left";
    const fs::path file = among[rng.Next() % among.size()];
    const std::string name = file.filename();
    std::string bytes = ReadFile(file);
    switch (rng.Next() % 11) {
      case 0:
      case 1:
      case 2: {
        const uint64_t flips = 1 + rng.Next() % 8;
        for (uint64_t i = 0; i < flips && !bytes.empty(); ++i) {
          bytes[rng.Next() % bytes.size()] ^=
              static_cast<char>(1 + rng.Next() % 255);
        }
        WriteFile(file, bytes);
        return "flip bytes of " + name;
      }
      case 3:
        fs::resize_file(file, rng.Next() % (bytes.size() + 1));
        return "cut " + name;
      case 4:
        fs::remove(file);
        return "remove " + name;
      case 5:
        fs::remove(file);
        fs::create_directories(file / "below");
        return "a folder for " + name;
      case 6: {
        const fs::path other = files[rng.Next() % files.size()];
        WriteFile(file, ReadFile(other));
        WriteFile(other, bytes);
        return "swap " + name + " and " + other.filename().string();
      }
      case 7:
        WriteFile(file, bytes + bytes.substr(0, rng.Next() % 5000));
        return "longer " + name;
      case 8: {
        const size_t at = bytes.empty() ? 0 : rng.Next() % bytes.size();
        for (size_t i = at; i < std::min(bytes.size(), at + 4096); ++i) {
          bytes[i] = 0;
        }
        WriteFile(file, bytes);
        return "zeros in " + name;
      }
      case 9:
        fs::remove(file);
        if (rng.Next() % 2 == 0) {
          mkfifo(file.c_str(), 0600);
        } else {
          fs::create_symlink(rng.Next() % 2 == 0 ? "/dev/zero" : "/nowhere",
                             file);
        }
        return "a pipe or a link for " + name;
      default: {
        // A folder, or whatever is left of it.
        const fs::path folder = file.parent_path();
        if (folder == work_) return "nothing";
        fs::remove_all(folder);
        if (rng.Next() % 2 == 0) WriteFile(folder, "a file");
        return "without folder " + folder.filename().string();
      }
    }
  }

  bool IsMarked(const v1::Job& job) {
    const std::string& reason = job.error().reason();
    return job.state() == v1::FAILED &&
           (reason == "JOB_DAMAGED" || reason == "BLOB_MISSING");
  }

  // How long a job may take that has what it needs.
  static std::chrono::system_clock::time_point Soon() {
    return std::chrono::system_clock::now() + std::chrono::seconds(30);
  }

  void CheckJob(const std::string& id, const Truth& truth) {
    v1::WatchJobRequest watch;
    watch.set_id(id);
    grpc::ClientContext watching;
    watching.set_deadline(Soon());
    const auto reader = jobs_->WatchJob(&watching, watch);
    v1::JobEvent event;
    int64_t last = 0;
    while (reader->Read(&event)) {
      EXPECT_GT(event.sequence(), last);
      last = event.sequence();
    }
    const grpc::Status watched = reader->Finish();
    v1::GetJobRequest request;
    request.set_id(id);
    v1::Job job;
    grpc::ClientContext context;
    const grpc::Status status = jobs_->GetJob(&context, request, &job);
    if (status.error_code() == grpc::StatusCode::NOT_FOUND) return;
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(watched.ok()) << watched.error_message();
    EXPECT_EQ(job.id(), id);
    if (IsMarked(job)) return;
    EXPECT_EQ(job.request().SerializeAsString(), truth.request);
    EXPECT_EQ(job.state(), truth.state) << job.error().message();
    EXPECT_EQ(ArtifactsOf(job), truth.artifacts);
    const std::string report = ReportOf(id);
    if (!absl::StartsWith(report, "none: ")) {
      EXPECT_EQ(report, truth.report);
    }
    for (const v1::Artifact& artifact : job.artifacts()) {
      CheckBlob({artifact.digest().hash(), artifact.digest().size_bytes()});
    }
  }

  void CheckBlob(const Digest& digest) {
    const std::string bytes = Read(digest);
    if (absl::StartsWith(bytes, "error: ")) return;
    EXPECT_EQ(DigestOf(bytes), digest);
  }

  void CheckList() {
    v1::ListJobsRequest request;
    v1::ListJobsResponse response;
    grpc::ClientContext context;
    const grpc::Status status = jobs_->ListJobs(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    for (const v1::Job& job : response.jobs()) {
      const auto it = truths_.find(job.id());
      if (IsMarked(job)) continue;
      ASSERT_NE(it, truths_.end()) << job.id();
      v1::CreateJobRequest asked;
      ASSERT_TRUE(asked.ParseFromString(it->second.request));
      EXPECT_EQ(job.request().goals_size(), asked.goals_size());
    }
  }

  void CheckNewJob() {
    const v1::Job job = Create(Profile("int8 a"));
    Watch(job.id());
    const v1::Job ended = Get(job.id());
    EXPECT_EQ(ended.state(), v1::SUCCEEDED) << ended.error().message();
    EXPECT_EQ(ArtifactsOf(ended), new_artifacts_);
    for (const v1::Artifact& artifact : ended.artifacts()) {
      const Digest digest{artifact.digest().hash(),
                          artifact.digest().size_bytes()};
      EXPECT_EQ(DigestOf(Read(digest)), digest);
    }
  }

  void RunCase(uint64_t seed) {
    Rng rng(seed);
    Stop();
    fs::remove_all(work_);
    const bool killed = rng.Next() % 2 == 0;
    fs::copy(kept_ + (killed ? "/killed" : "/ended"), work_,
             fs::copy_options::recursive);
    std::string what = absl::StrCat("case ", seed, killed ? ", killed" : "");
    for (uint64_t i = 1 + rng.Next() % 3; i > 0; --i) {
      absl::StrAppend(&what, ", ", DamageOne(rng));
    }
    SCOPED_TRACE(what);
    absl::StatusOr<std::unique_ptr<Daemon>> daemon =
        StartDaemon(options_, *clock_, *log_);
    if (!daemon.ok()) {
      ++refused_;
      const auto detail = GetErrorDetail(daemon.status());
      ASSERT_TRUE(detail.has_value()) << daemon.status();
      EXPECT_FALSE(detail->fix.empty()) << daemon.status();
      EXPECT_TRUE(absl::StrContains(daemon.status().message(), work_))
          << daemon.status();
      return;
    }
    daemon->reset();
    Start();
    const auto worker = Worker();
    CheckList();
    for (const auto& [id, truth] : truths_) CheckJob(id, truth);
    CheckNewJob();
    Stop();
  }

  const std::string work_;
  const std::string kept_;
  std::map<std::string, Truth> truths_;
  std::string new_artifacts_;
  int refused_ = 0;
};

// The seed of --gtest_shuffle chooses the cases: `tools/test --full` runs many.
TEST_F(StateFuzzTest, ServesWhatWasThereOrNothing) {
  constexpr uint64_t kCases = 60;
  const auto round = static_cast<uint64_t>(
      GTEST_FLAG_GET(shuffle) ? testing::UnitTest::GetInstance()->random_seed()
                              : 0);
  for (uint64_t i = 1; i <= kCases && !HasFatalFailure(); ++i) {
    RunCase(round * kCases + i);
  }
  EXPECT_LT(refused_, static_cast<int>(kCases / 4));
}

}  // namespace
}  // namespace edgekiln::server
