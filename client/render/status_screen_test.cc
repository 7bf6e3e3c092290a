#include "client/render/status_screen.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

v1::DaemonStatus Busy() {
  v1::DaemonStatus status;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        now { seconds: 1000100 }
        started { seconds: 1000000 }
        jobs {
          running: 2
          queued: 3
          max_running: 32
          succeeded: 1204
          failed: 1
          watchers: 2
          sweeps_running: 1
        }
        waiting_leases: 5
        workers {
          name: "host:17"
          roles: COMPILE_ROLE
          roles: SIMULATE_ROLE
          slots: 4
          used_slots: 4
          succeeded: 300
          failed: 1
          leases { stage: "simulate[3]" seconds: 75 }
          leases { stage: "tile" seconds: 0.25 }
          leases { stage: "tile" seconds: 0.1 }
        }
        workers { name: "host:18" roles: COMPILE_ROLE slots: 1 }
        stages { name: "emit" executed: 30 hit: 60 joined: 10 }
        stages { name: "tile" executed: 30 hit: 60 joined: 10 failed: 2 }
        cache { bytes: 3221225472 limit_bytes: 10737418240 }
        disk { free_bytes: 5368709120 }
        process {
          resident_bytes: 67108864
          cpu_seconds: 8.5
          threads: 31
          open_files: 60
          max_open_files: 65536
          client_connections: 3
        }
        quarantined: 1
        workers_total: 2
        slots: 5
        used_slots: 4
      )pb",
      &status));
  return status;
}

v1::Job JobOf(const std::string& id, v1::JobState state,
              const std::string& model) {
  v1::Job job;
  job.set_id(id);
  job.set_state(state);
  job.mutable_request()->set_model_name(model);
  job.mutable_request()->add_targets()->set_name("dla-64");
  job.mutable_created()->set_seconds(1000090);
  return job;
}

std::string Text(const StatusScreen& screen, int height = 0, int width = 100) {
  return absl::StrJoin(
      StatusLines(screen, height, Style::Plain().WithWidth(width)), "\n");
}

TEST(StatusScreenTest, SaysWhatTheDaemonDoes) {
  v1::DaemonStatus before = Busy();
  before.mutable_now()->set_seconds(1000098);
  before.mutable_stages(0)->set_hit(20);
  before.mutable_process()->set_cpu_seconds(8);
  StatusScreen screen{.server = "farm:7433", .status = Busy()};
  screen.before = &before;
  *screen.jobs.add_jobs() = JobOf("j3", v1::SUCCEEDED, "old");
  *screen.jobs.add_jobs() = JobOf("j2", v1::RUNNING, "new");
  screen.jobs.mutable_jobs(0)->mutable_finished()->set_seconds(1000091);
  *screen.jobs.add_jobs() = JobOf("j1", v1::QUEUED, "late");
  screen.jobs.mutable_jobs(2)->mutable_waiting()->set_reason("position 2");
  EXPECT_EQ(
      Text(screen),
      "farm:7433  up 1 min 40 s  takes jobs\n"
      "jobs     2 of 32 running, 3 queued; 1 204 succeeded, 1 failed, 0 "
      "cancelled; 1 sweep\n"
      "stages   60 executed, 120 from the cache, 20 shared (60.0 % hits), 2 "
      "failed; 20 per second\n"
      "workers  2 workers, 4 of 5 slots busy; 5 stages wait, 1 in quarantine\n"
      "cache    3.0 GiB of 10.0 GiB; 5.0 GiB of the disk free\n"
      "daemon   64.0 MiB, 25 % CPU, 31 threads, 60 of 65 536 files; 3 "
      "clients, 2 watchers\n"
      "\n"
      "WORKER   ROLES             SLOTS  DONE  FAILED  RUNS\n"
      "host:17  compile,simulate    4/4   300       1  simulate[3] 1 min 15 "
      "s, tile 250 ms, 2 more\n"
      "host:18  compile             0/1     0       0  idle\n"
      "\n"
      "JOB  STATE      MODEL  TARGETS     AGE  NOTE\n"
      "j2   running    new    dla-64   10.0 s\n"
      "j1   queued     late   dla-64   10.0 s  waits: position 2\n"
      "j3   succeeded  old    dla-64   1.00 s");
}

TEST(StatusScreenTest, FitsTheWindow) {
  StatusScreen screen{.server = std::string(150, 's'), .status = Busy()};
  screen.status.set_refusal("the disk is full \x1b[2J");
  for (int i = 0; i < 40; ++i) {
    *screen.status.add_workers() = screen.status.workers(0);
    *screen.jobs.add_jobs() =
        JobOf(absl::StrCat("j", 100 + i), v1::RUNNING, std::string(80, 'm'));
  }
  for (const int height : {1, 3, 6, 7, 9, 24, 60, 100}) {
    for (const int width : {40, 60, 80, 200}) {
      const std::vector<std::string> lines =
          StatusLines(screen, height, Style::Plain().WithWidth(width));
      EXPECT_LE(static_cast<int>(lines.size()), height);
      for (const std::string& line : lines) {
        EXPECT_LE(TextWidth(line), width) << line;
        EXPECT_FALSE(absl::StrContains(line, "\x1b"));
      }
    }
  }
  EXPECT_TRUE(absl::StrContains(Text(screen, 0, 400), "takes no jobs: "));
}

TEST(StatusScreenTest, AfterARestartNothingIsPerSecond) {
  v1::DaemonStatus before = Busy();
  before.mutable_started()->set_seconds(5);
  StatusScreen screen{.server = "x", .status = Busy()};
  screen.before = &before;
  EXPECT_FALSE(absl::StrContains(Text(screen), "per second"));
  EXPECT_FALSE(absl::StrContains(Text(screen), "CPU"));
}

TEST(StatusScreenTest, OfAnEmptyDaemonTheHeadIsLeft) {
  const StatusScreen screen{.server = "x", .status = {}};
  EXPECT_EQ(StatusLines(screen, 0, Style::Plain()).size(), 6u);
  EXPECT_TRUE(absl::StrContains(Text(screen), "being counted"));
}

}  // namespace
}  // namespace edgekiln::client
