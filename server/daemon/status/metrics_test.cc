#include "server/daemon/status/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

std::string TextOf(const v1::DaemonStatus& status) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, MetricsOf(status));
  return text.str();
}

v1::DaemonStatus Sample() {
  v1::DaemonStatus status;
  status.mutable_jobs()->set_running(3);
  status.mutable_jobs()->set_failed(2);
  v1::DaemonStatus::Stage& stage = *status.add_stages();
  stage.set_name("tile");
  stage.set_executed(5);
  stage.set_hit(7);
  stage.set_cpu_seconds(1.5);
  status.add_workers()->set_name("host:\"1\n");
  status.set_compile_workers(2);
  status.set_simulate_workers(1);
  status.set_slots(8);
  status.set_used_slots(2);
  status.mutable_process()->set_resident_bytes(int64_t{3} << 40);
  return status;
}

TEST(MetricsTest, SayWhatTheStatusSays) {
  const std::string text = TextOf(Sample());
  for (const char* line :
       {"edgekiln_ready 1", "edgekiln_jobs{state=\"running\",kind=\"job\"} 3",
        "edgekiln_jobs_finished_total{outcome=\"failed\"} 2",
        "edgekiln_stages_total{stage=\"tile\",how=\"executed\"} 5",
        "edgekiln_stages_total{stage=\"tile\",how=\"hit\"} 7",
        "edgekiln_stage_cpu_seconds_total{stage=\"tile\"} 1.5",
        "edgekiln_workers{role=\"compile\"} 2",
        "edgekiln_workers{role=\"simulate\"} 1", "edgekiln_worker_slots 8",
        "edgekiln_worker_slots_used 2",
        "edgekiln_resident_memory_bytes 3298534883328"}) {
    EXPECT_TRUE(absl::StrContains(text, std::string("\n") + line + "\n"))
        << line << "\n"
        << text;
  }
  // Worker names would make a time series per restart. An unknown size is left
  // out.
  EXPECT_FALSE(absl::StrContains(text, "host:"));
  EXPECT_FALSE(absl::StrContains(text, "cache_bytes"));
}

TEST(MetricsTest, ReadyFollowsTheRefusal) {
  v1::DaemonStatus status;
  status.set_refusal("the disk is full");
  EXPECT_TRUE(absl::StrContains(TextOf(status), "\nedgekiln_ready 0\n"));
}

// What promtool asks for; it is not there everywhere.
TEST(MetricsTest, NamesFollowTheConventions) {
  std::set<std::string> names;
  for (const prometheus::MetricFamily& family : MetricsOf(Sample())) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name << " twice";
    EXPECT_TRUE(absl::StartsWith(family.name, "edgekiln_")) << family.name;
    EXPECT_TRUE(absl::EndsWith(family.help, ".") ||
                absl::StrContains(family.help, ";"))
        << family.name;
    EXPECT_EQ(absl::EndsWith(family.name, "_total"),
              family.type == prometheus::MetricType::Counter)
        << family.name;
    EXPECT_TRUE(std::all_of(family.name.begin(), family.name.end(), [](char c) {
      return absl::ascii_islower(static_cast<unsigned char>(c)) || c == '_';
    })) << family.name;
  }
}

}  // namespace
}  // namespace edgekiln::server
