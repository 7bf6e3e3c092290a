// Jobs that start from a network document: what they leave out, and which
// targets they refuse.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/testing/compile_job_fixture.h"

namespace edgekiln::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kPerTensor[] = "conv per tensor;sram=64";
constexpr char kOther[] = "conv;sram=64";

class DocumentJobTest : public CompileJobTest {
 protected:
  v1::CreateJobRequest FromDocument(const std::string& document,
                                    std::vector<std::string> targets) {
    v1::CreateJobRequest request =
        Request("", std::move(targets), {v1::COMPILE});
    request.clear_model();
    request.set_model_name("network.ekn");
    *request.mutable_document() = PutText(*blobs_, document);
    return request;
  }
  static std::string ReasonOf(const absl::Status& status) {
    const auto detail = GetErrorDetail(status);
    return detail.has_value() ? detail->reason : status.ToString();
  }
};

TEST_F(DocumentJobTest, RunsWhatFollowsTheDocument) {
  const JobResult result =
      Run(FromDocument("document per tensor", {kPerTensor}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(
      leases_->TakeExecuted(),
      ElementsAre("bundle", "check_fit", "count_cycles", "emit",
                  "open_document", "partition", "resolve_target", "tile"));
  ASSERT_EQ(result.artifacts.size(), 1u);
  ASSERT_EQ(result.reports.size(), 1u);
  // As the document says.
  const v1::Report& report = result.reports[0];
  EXPECT_EQ(report.model_name(), "original");
  EXPECT_EQ(report.model().hash(), DigestOf("original").hash);
  EXPECT_EQ(report.calibration(), "DATA");
  EXPECT_EQ(report.quantization(), "one weight scale per layer in conv2d");
  EXPECT_EQ(report.totals().io(), v1::IO_INTEGER);
  EXPECT_THAT(report.warnings(), IsEmpty());
}

TEST_F(DocumentJobTest, ChipsWithOtherNeedsAreRefusedAndOthersGoOn) {
  const JobResult result =
      Run(FromDocument("document per tensor", {kOther, kPerTensor}));
  EXPECT_EQ(ReasonOf(result.status), "DOCUMENT_NEEDS");
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_EQ(result.reports[0].error().reason(), "DOCUMENT_NEEDS");
  EXPECT_EQ(result.reports[0].error().where(), absl::StrCat("target ", kOther));
  EXPECT_FALSE(result.reports[1].has_error());
  EXPECT_THAT(leases_->TakeExecuted(), testing::Contains("partition").Times(1));
}

TEST_F(DocumentJobTest, IntegersOfTheModelFitEveryChip) {
  const JobResult result =
      Run(FromDocument("document of integers", {kOther, kPerTensor}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.reports[1].calibration(), "");
  EXPECT_EQ(result.reports[1].quantization(), "");
}

TEST_F(DocumentJobTest, ItsInputsAndOutputsAreOfItsForm) {
  v1::CreateJobRequest request =
      FromDocument("document of integers", {"conv;sram=64"});
  request.mutable_options()->set_io(v1::IO_INTEGER);
  EXPECT_TRUE(Run(request).status.ok());
  request.mutable_options()->set_io(v1::IO_FLOAT);
  EXPECT_EQ(ReasonOf(Run(request).status), "DOCUMENT_IO");
}

// The target is not looked at for nothing: the others may be of use.
TEST_F(DocumentJobTest, WhatCannotFitIsRefused) {
  EXPECT_EQ(Run(FromDocument("document of integers", {"conv;dwarf"}))
                .status.message(),
            "check_fit: cannot fit");
}

// What is in the bundle of a model is also what a document of it has to say.
TEST_F(DocumentJobTest, ModelsTellTheirBundles) {
  struct Case {
    const char* model;
    const char* target;
    const char* calibration;
    const char* says;
  };
  const Case kCases[] = {
      {"int8 net", kPerTensor, "", " io: IO_INTEGER"},
      {"float net", kPerTensor, "",
       R"( io: IO_INTEGER quantized_for { per_tensor: "conv2d" })"
       " ranges: SYNTHETIC"},
      {"float net", kOther, "samples=20",
       " io: IO_INTEGER quantized_for { } ranges: DATA"},
  };
  for (const Case& test : kCases) {
    const JobResult result = Run(Request(test.model, {test.target},
                                         {v1::COMPILE}, "", test.calibration));
    ASSERT_TRUE(result.status.ok()) << result.status;
    ASSERT_EQ(result.artifacts.size(), 1u);
    const auto digest = FromProto(result.artifacts[0].digest());
    ASSERT_TRUE(digest.ok()) << digest.status();
    const auto bundle = blobs_->Get(*digest);
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    EXPECT_THAT(*bundle, testing::EndsWith(absl::StrCat(
                             R"(model_name: "net" model { hash: ")",
                             DigestOf(test.model).hash, R"(" size_bytes: )",
                             std::string(test.model).size(), " }", test.says)));
  }
}

}  // namespace
}  // namespace edgekiln::server
