#include "client/job_filter.h"

#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(10'000);

v1::Job MakeJob(v1::JobState state) {
  v1::Job job;
  job.set_state(state);
  job.mutable_request()->set_model_name("ResNet8_int8.tflite");
  job.mutable_request()->add_targets()->set_name("dla-64-o-512k");
  job.mutable_request()->add_targets()->set_name("toy-array");
  job.mutable_created()->set_seconds(10'000 - 3600);
  return job;
}

TEST(JobFilterTest, Table) {
  struct Case {
    const char* what;
    JobFilter filter;
    bool matches;
  };
  const Case cases[] = {
      {"nothing asked", {}, true},
      {"state", {.states = {v1::FAILED}}, true},
      {"one of two states", {.states = {v1::QUEUED, v1::FAILED}}, true},
      {"another state", {.states = {v1::RUNNING}}, false},
      {"part of the model, other case", {.model = "resnet8"}, true},
      {"another model", {.model = "dscnn"}, false},
      {"part of the first target", {.target = "64-o"}, true},
      {"second target", {.target = "toy-array"}, true},
      {"another target", {.target = "vta"}, false},
      {"just old enough", {.since = absl::Hours(1)}, true},
      {"too old", {.since = absl::Minutes(59)}, false},
      {"all but one",
       {.states = {v1::FAILED}, .model = "resnet", .target = "vta"},
       false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Matches(c.filter, MakeJob(v1::FAILED), kNow), c.matches)
        << c.what;
  }
}

TEST(JobFilterTest, AJobWithoutTargetsHasNone) {
  v1::Job job = MakeJob(v1::FAILED);
  job.mutable_request()->clear_targets();
  EXPECT_TRUE(Matches({}, job, kNow));
  EXPECT_FALSE(Matches({.target = "a"}, job, kNow));
}

TEST(ParseJobStatesTest, Table) {
  using States = std::vector<v1::JobState>;
  EXPECT_EQ(*ParseJobStates("failed"), States{v1::FAILED});
  EXPECT_EQ(*ParseJobStates("active,failed"),
            (States{v1::QUEUED, v1::RUNNING, v1::FAILED}));
  for (const char* bad : {"", "FAILED", "failed,", "done"}) {
    EXPECT_FALSE(ParseJobStates(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace edgekiln::client
