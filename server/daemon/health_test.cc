#include "server/daemon/health.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

HealthFacts Healthy() {
  HealthFacts facts;
  facts.compile_workers = 1;
  facts.simulate_workers = 1;
  return facts;
}

// Names of what does not serve, without packages; "-" stands for "".
std::string Down(const std::map<std::string, absl::Status>& health) {
  std::vector<std::string> down;
  for (const auto& [name, status] : health) {
    if (status.ok()) continue;
    down.push_back(name.empty() ? "-" : name.substr(name.rfind('.') + 1));
  }
  return absl::StrJoin(down, " ");
}

constexpr char kAll[] =
    "- ContentAddressableStorage Jobs Models Reports Targets Workers "
    "ByteStream";

TEST(HealthTest, EachServiceFollowsWhatItNeeds) {
  EXPECT_EQ(Down(ClientHealth(Healthy())), "");
  EXPECT_EQ(Down(WorkerHealth(Healthy())), "");

  HealthFacts full = Healthy();
  full.room = absl::ResourceExhaustedError("full");
  EXPECT_EQ(Down(ClientHealth(full)),
            "ContentAddressableStorage Jobs ByteStream");
  EXPECT_EQ(Down(WorkerHealth(full)), "");

  HealthFacts alone = Healthy();
  alone.compile_workers = 0;
  alone.simulate_workers = 0;
  EXPECT_EQ(Down(ClientHealth(alone)), "Models Targets Workers");
  alone.compile_workers = 1;
  EXPECT_EQ(Down(ClientHealth(alone)), "Workers");

  HealthFacts deaf = Healthy();
  deaf.client_port = absl::UnavailableError("deaf");
  EXPECT_EQ(Down(ClientHealth(deaf)), kAll);
  EXPECT_EQ(Down(WorkerHealth(deaf)), "");

  HealthFacts no_workers = Healthy();
  no_workers.worker_port = absl::UnavailableError("deaf");
  EXPECT_EQ(Down(ClientHealth(no_workers)), "Models Targets Workers");
  EXPECT_EQ(Down(WorkerHealth(no_workers)), "- Workers");

  HealthFacts ending = Healthy();
  ending.draining = true;
  EXPECT_EQ(Down(ClientHealth(ending)), kAll);
  EXPECT_EQ(Down(WorkerHealth(ending)), "- Workers");

  HealthFacts gone = Healthy();
  gone.state = absl::UnavailableError("removed");
  EXPECT_EQ(Down(ClientHealth(gone)), kAll);
}

class KeptLines : public Logger {
 public:
  bool Enabled(LogLevel) const override { return true; }
  void Write(LogLevel, absl::string_view message) override {
    lines.emplace_back(message);
  }
  std::vector<std::string> lines;
};

// Uploads and evictions move the free space to and fro by a little.
TEST(RoomWatchTest, RoomCountsAgainOnlyWhenThereIsClearlySome) {
  RoomWatch watch(100);
  int64_t free = 1;
  const auto look = [&] {
    return watch
        .Check([&](int64_t bytes) {
          return bytes <= free ? absl::OkStatus()
                               : absl::ResourceExhaustedError("full");
        })
        .ok();
  };
  EXPECT_TRUE(look());
  free = 0;
  EXPECT_FALSE(look());
  free = 99;
  EXPECT_FALSE(look());
  free = 100;
  EXPECT_TRUE(look());
  free = 1;
  EXPECT_TRUE(look());
}

TEST(HealthReporterTest, WhatComesAndGoesIsSaidOnceAMinute) {
  FakeClock clock;
  KeptLines log;
  HealthReporter reporter("clients", clock, log);
  const auto report = [&](bool ok) {
    reporter.Report(
        {{"", ok ? absl::OkStatus() : absl::UnavailableError("full")}},
        nullptr);
    clock.Advance(absl::Milliseconds(500));
  };
  report(true);
  EXPECT_TRUE(log.lines.empty());
  for (int i = 0; i < 20; ++i) {
    report(false);
    report(true);
  }
  const std::vector<std::string> first = {"not serving clients: full",
                                          "serving clients again"};
  EXPECT_EQ(log.lines, first);
  log.lines.clear();
  report(false);
  EXPECT_TRUE(log.lines.empty());
  clock.Advance(absl::Minutes(1));
  report(false);
  report(false);
  report(true);
  const std::vector<std::string> second = {
      "not serving clients: full (and 19 more times lately)",
      "serving clients again"};
  EXPECT_EQ(log.lines, second);
}

}  // namespace
}  // namespace edgekiln::server
