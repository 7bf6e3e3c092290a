#include "server/validate_request.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

struct BadRequest {
  const char* name;
  std::vector<v1::JobGoal> goals;
  bool target;
  bool data;
  const char* reason;
  bool timing_only = false;
  int io = 0;
  int offload = 0;
};

TEST(ValidateRequestTest, RefusesWhatDoesNotFitTogether) {
  const BadRequest kCases[] = {
      {"nothing", {}, true, true, "NO_GOAL"},
      {"no target", {v1::PROFILE}, false, true, "NO_TARGET"},
      {"run and profile", {v1::RUN, v1::PROFILE}, true, true, "GOALS_CONFLICT"},
      {"values without values",
       {v1::PROFILE, v1::VALIDATE},
       true,
       true,
       "GOALS_CONFLICT",
       true},
      {"timing of nothing", {v1::COMPILE}, true, false, "GOALS_CONFLICT", true},
      {"quantize and compile",
       {v1::QUANTIZE, v1::COMPILE},
       true,
       false,
       "GOALS_CONFLICT"},
      {"unknown form", {v1::PROFILE}, true, false, "BAD_IO", false, 7},
      {"unknown offload",
       {v1::PROFILE},
       true,
       false,
       "BAD_OFFLOAD",
       false,
       0,
       4},
      {"offload to nothing",
       {v1::RUN},
       false,
       true,
       "NO_TARGET",
       false,
       0,
       v1::NONE},
      {"unknown", {static_cast<v1::JobGoal>(77)}, true, true, "UNKNOWN_GOAL"},
  };
  for (const BadRequest& test : kCases) {
    v1::CreateJobRequest request;
    for (const v1::JobGoal goal : test.goals) request.add_goals(goal);
    if (test.target) request.add_targets();
    if (test.data) request.mutable_data()->add_files();
    request.mutable_options()->set_timing_only(test.timing_only);
    request.mutable_options()->set_io(static_cast<v1::IoForm>(test.io));
    request.mutable_options()->set_offload(
        static_cast<v1::Offload>(test.offload));
    const absl::Status status = ValidateRequest(request);
    ASSERT_FALSE(status.ok()) << test.name;
    EXPECT_EQ(GetErrorDetail(status)->reason, test.reason) << test.name;
  }
}

TEST(ValidateRequestTest, HotSpotsAreThoseOfARun) {
  v1::CreateJobRequest request;
  request.add_targets();
  request.add_goals(v1::PROFILE);
  request.mutable_options()->set_hot_spots(true);
  EXPECT_TRUE(ValidateRequest(request).ok()) << ValidateRequest(request);
  const auto reason = [&] {
    const auto detail = GetErrorDetail(ValidateRequest(request));
    return detail.has_value() ? detail->reason : "";
  };
  request.mutable_options()->set_timing_only(true);
  EXPECT_EQ(reason(), "HOT_SPOTS_CONFLICT");
  request.mutable_options()->set_timing_only(false);
  request.mutable_options()->set_compiler(v1::NO_COMPILER);
  EXPECT_EQ(reason(), "HOT_SPOTS_CONFLICT");
  request.mutable_options()->set_compiler(v1::GCC);
  request.set_goals(0, v1::COMPILE);
  EXPECT_EQ(reason(), "GOALS_CONFLICT");
}

TEST(ValidateRequestTest, QuantizationNeedsNoTargetAndExportsAlone) {
  v1::CreateJobRequest request;
  request.add_goals(v1::QUANTIZE);
  request.mutable_options()->set_export_onnx(true);
  EXPECT_TRUE(ValidateRequest(request).ok()) << ValidateRequest(request);
  request.add_goals(v1::INSPECT);
  EXPECT_TRUE(ValidateRequest(request).ok()) << ValidateRequest(request);
  request.clear_goals();
  request.add_goals(v1::INSPECT);
  EXPECT_EQ(GetErrorDetail(ValidateRequest(request))->reason, "GOALS_CONFLICT");
}

TEST(ValidateRequestTest, NamesAreThoseOfCompiledNetworks) {
  v1::CreateJobRequest request;
  request.add_targets();
  request.add_goals(v1::COMPILE);
  request.mutable_options()->set_name("person_2");
  EXPECT_TRUE(ValidateRequest(request).ok()) << ValidateRequest(request);
  const auto reason = [&] {
    const auto detail = GetErrorDetail(ValidateRequest(request));
    return detail.has_value() ? detail->reason : "";
  };
  request.mutable_options()->set_name("../x");
  EXPECT_EQ(reason(), "BAD_NAME");
  request.mutable_options()->set_name("desk");
  EXPECT_EQ(reason(), "BAD_NAME");
  EXPECT_THAT(GetErrorDetail(ValidateRequest(request))->fix,
              testing::StartsWith("use 'net_desk': at most 32 of a to z"));
  request.mutable_options()->set_name("person_2");
  request.mutable_document();
  EXPECT_EQ(reason(), "DOCUMENT_DECIDES");
  request.clear_document();
  request.set_goals(0, v1::PROFILE);
  EXPECT_EQ(reason(), "GOALS_CONFLICT");
}

struct BesideADocument {
  const char* name;
  void (*add)(v1::CreateJobRequest&);
  const char* reason;  // Empty: allowed.
};

TEST(ValidateRequestTest, ADocumentDecides) {
  const BesideADocument kCases[] = {
      {"nothing", [](auto&) {}, ""},
      {"what targets decide",
       [](auto& r) {
         r.mutable_options()->set_recipe("serial");
         r.mutable_options()->set_offload(v1::PAYING);
         r.mutable_options()->set_io(v1::IO_FLOAT);
         r.mutable_options()->set_job_class(v1::BATCH);
         r.mutable_options()->mutable_run_deadline()->set_seconds(7);
         r.mutable_options()->mutable_queue_deadline()->set_seconds(7);
         r.mutable_slot()->set_name("pane");
       },
       ""},
      {"model", [](auto& r) { r.mutable_model(); }, "MODEL_AND_DOCUMENT"},
      {"other goal", [](auto& r) { r.set_goals(0, v1::PROFILE); },
       "GOALS_CONFLICT"},
      {"one more goal", [](auto& r) { r.add_goals(v1::INSPECT); },
       "GOALS_CONFLICT"},
      {"calibration", [](auto& r) { r.mutable_calibration()->add_files(); },
       "DOCUMENT_DECIDES"},
      {"data", [](auto& r) { r.mutable_data()->add_files(); },
       "DOCUMENT_DECIDES"},
      {"bindings", [](auto& r) { r.mutable_bindings()->add_dimensions(); },
       "DOCUMENT_DECIDES"},
      {"transforms", [](auto& r) { r.add_transforms(); }, "DOCUMENT_DECIDES"},
      {"seed", [](auto& r) { r.mutable_options()->set_seed(7); },
       "DOCUMENT_DECIDES"},
      {"method",
       [](auto& r) {
         r.mutable_options()->mutable_calibrate()->set_method(
             v1::CalibrateOptions::MIN_MAX);
       },
       "DOCUMENT_DECIDES"},
      {"limit", [](auto& r) { r.mutable_options()->set_limit(7); },
       "DOCUMENT_DECIDES"},
  };
  for (const BesideADocument& test : kCases) {
    v1::CreateJobRequest request;
    request.add_goals(v1::COMPILE);
    request.add_targets();
    request.mutable_document();
    test.add(request);
    const absl::Status status = ValidateRequest(request);
    EXPECT_EQ(status.ok() ? "" : GetErrorDetail(status)->reason, test.reason)
        << test.name;
  }
}

}  // namespace
}  // namespace edgekiln::server
