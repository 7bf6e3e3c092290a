#include "tests/chaos/verify.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "tests/chaos/farm.h"

namespace edgekiln::chaos {
namespace {

TEST(SameReportTest, Table) {
  v1::Report report;
  report.set_job_id("j1");
  report.add_layers()->set_cycles(7);
  report.add_stages()->set_seconds(1);
  report.mutable_accuracy()->set_samples(500);
  report.mutable_bit_exact()->set_outputs_compared(1000);
  const struct {
    std::string name;
    std::function<void(v1::Report&)> change;
    bool same;
  } cases[] = {
      {"job id", [](v1::Report& r) { r.set_job_id("j2"); }, true},
      {"times", [](v1::Report& r) { r.mutable_stages(0)->set_seconds(2); },
       true},
      {"cycles", [](v1::Report& r) { r.mutable_layers(0)->set_cycles(8); },
       false},
      {"layers", [](v1::Report& r) { r.add_layers(); }, false},
      {"samples", [](v1::Report& r) { r.mutable_accuracy()->set_samples(501); },
       false},
      {"compared",
       [](v1::Report& r) { r.mutable_bit_exact()->set_outputs_compared(999); },
       false},
      {"error", [](v1::Report& r) { r.mutable_error()->set_what("x"); }, false},
  };
  for (const auto& c : cases) {
    v1::Report changed = report;
    c.change(changed);
    EXPECT_EQ(SameReport(report, changed).ok(), c.same) << c.name;
  }
}

TEST(VerifyBlobsTest, NoticesOneWrongByte) {
  const Scratch scratch;
  const Digest digest = DigestOf("content");
  const std::string name = absl::StrCat(digest.hash, "-", digest.size_bytes);
  std::filesystem::create_directory(scratch.At("ab"));
  std::filesystem::create_directory(scratch.At("tmp"));
  std::ofstream(scratch.At("tmp/1")) << "torn";
  std::ofstream(scratch.At("ab/") + name) << "content";
  const absl::StatusOr<BlobCount> good = VerifyBlobs(scratch.path());
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->blobs, 1);
  EXPECT_EQ(good->bytes, 7);
  EXPECT_EQ(good->torn, 0);
  std::ofstream(scratch.At("ab/") + name) << "conten";
  EXPECT_EQ(VerifyBlobs(scratch.path())->torn, 1);
  std::ofstream(scratch.At("ab/") + name) << "contemt";
  EXPECT_TRUE(absl::IsDataLoss(VerifyBlobs(scratch.path()).status()));
}

}  // namespace
}  // namespace edgekiln::chaos
