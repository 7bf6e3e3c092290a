#ifndef EK_SERVER_TESTING_COMPILE_JOB_FIXTURE_H_
#define EK_SERVER_TESTING_COMPILE_JOB_FIXTURE_H_

// Jobs on fake stages, with a store of their own.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"
#include "server/compile_job.h"
#include "server/daemon/stages/stage_group.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/daemon/stages/testing/fake_stages.h"
#include "server/executor.h"
#include "server/task.h"
#include "server/validate_request.h"

namespace edgekiln::server {

class CompileJobTest : public testing::Test {
 protected:
  CompileJobTest() {
    blobs_ = *cache::OpenDiskBlobStore(files_, "/blobs");
    results_ = *cache::OpenDiskStageResultStore(files_, "/results", *blobs_);
    leases_ = std::make_unique<FakeLeases>(*blobs_);
    runner_ =
        std::make_unique<StageRunner>(*results_, *blobs_, *leases_, *log_);
  }

  v1::CreateJobRequest Request(const std::string& model,
                               std::vector<std::string> targets,
                               std::vector<v1::JobGoal> goals,
                               const std::string& data = "",
                               const std::string& calibration = "") {
    v1::CreateJobRequest request;
    request.set_model_name("net");
    *request.mutable_model() = PutText(*blobs_, model);
    for (const std::string& target : targets) {
      v1::TargetRef& ref = *request.add_targets();
      ref.set_name(target);
      *ref.mutable_digest() = PutText(*blobs_, target);
    }
    for (const v1::JobGoal goal : goals) request.add_goals(goal);
    if (!data.empty()) {
      *request.mutable_data()->add_files() = PutText(*blobs_, data);
    }
    if (!calibration.empty()) {
      *request.mutable_calibration()->add_files() =
          PutText(*blobs_, calibration);
    }
    return request;
  }

  JobResult Run(const v1::CreateJobRequest& request) {
    EXPECT_TRUE(ValidateRequest(request).ok()) << ValidateRequest(request);
    LeaseOwner owner;
    if (request.options().job_class() != v1::JOB_CLASS_UNSPECIFIED) {
      owner.job_class = request.options().job_class();
    }
    StageGroup group(*runner_, {}, owner);
    return RunToEnd(*executor_,
                    RunCompileJob("job", request, group, *executor_));
  }

  // Which stages were executed, and which found their results.
  static std::map<std::string, v1::Report::Stage::Cache> CacheOf(
      const v1::Report& report) {
    std::map<std::string, v1::Report::Stage::Cache> stages;
    for (const v1::Report::Stage& stage : report.stages()) {
      stages[stage.name()] = stage.cache();
    }
    return stages;
  }

  cache::CrashingFileSystem files_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<FakeLeases> leases_;
  std::unique_ptr<StageRunner> runner_;
  const std::unique_ptr<Executor> executor_ = *Executor::New(4);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_TESTING_COMPILE_JOB_FIXTURE_H_
