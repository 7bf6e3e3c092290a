#include "server/daemon/jobs/report_renderer.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/error.h"
#include "cache/disk_blob_store.h"
#include "cache/testing/crashing_file_system.h"
#include "proto/convert.h"

namespace edgekiln::server {
namespace {

v1::Report ReportWith(int layers) {
  v1::Report report;
  report.set_model_name("net.onnx");
  report.set_target_name("chip");
  report.mutable_totals()->set_cycles(10 * layers);
  for (int i = 0; i < layers; ++i) {
    v1::Report::Layer& layer = *report.add_layers();
    layer.set_id(absl::StrCat("layer", i));
    layer.set_cycles(10);
  }
  return report;
}

class ReportRendererTest : public ::testing::Test {
 protected:
  void SetUp() override {
    blobs_ = *cache::OpenDiskBlobStore(files_, "/s");
    renderer_ = std::make_unique<ReportRenderer>(
        [this](const std::string& id, int target) { return Get(id, target); },
        *blobs_);
  }

  void Keep(const std::string& id, int target, const v1::Report& report) {
    reports_[{id, target}] = report.SerializeAsString();
  }

  std::string ReasonOf(const v1::RenderReportRequest& request) {
    const auto rendered = renderer_->Render(request);
    const auto detail = GetErrorDetail(rendered.status());
    return detail.has_value() ? detail->reason
                              : std::string(rendered.status().message());
  }

  absl::StatusOr<Answer> Get(const std::string& id, int target) {
    const auto found = reports_.find({id, target});
    if (found == reports_.end()) {
      return MakeError(absl::StatusCode::kNotFound, {.reason = "NO_REPORT"});
    }
    if (waits_ != nullptr) {
      arrived_->Notify();
      waits_->WaitForNotification();
    }
    return std::make_shared<const std::string>(found->second);
  }

  cache::CrashingFileSystem files_;
  std::unique_ptr<cache::BlobStore> blobs_;
  std::map<std::pair<std::string, int>, std::string> reports_;
  std::unique_ptr<ReportRenderer> renderer_;
  absl::Notification* arrived_ = nullptr;
  absl::Notification* waits_ = nullptr;
};

v1::RenderReportRequest RequestFor(const std::string& id, int target,
                                   v1::RenderReportRequest::Format format) {
  v1::RenderReportRequest request;
  request.set_job_id(id);
  request.set_target(target);
  request.set_format(format);
  return request;
}

TEST_F(ReportRendererTest, MakesAFileOfAReport) {
  Keep("j1", 1, ReportWith(2));
  const auto csv =
      renderer_->Render(RequestFor("j1", 1, v1::RenderReportRequest::CSV));
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_TRUE(absl::StrContains(csv->content(), "layer1"));
  EXPECT_EQ(csv->file_name(), "net-chip.csv");
  const auto page =
      renderer_->Render(RequestFor("j1", 1, v1::RenderReportRequest::HTML));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->media_type(), "text/html; charset=utf-8");
  EXPECT_TRUE(absl::StrContains(page->content(), "\"job j1\""));
}

TEST_F(ReportRendererTest, ComparesWithReportsBesideIt) {
  Keep("j1", 0, ReportWith(2));
  Keep("j2", 3, ReportWith(3));
  v1::RenderReportRequest request =
      RequestFor("j1", 0, v1::RenderReportRequest::HTML);
  request.add_beside("j2/3");
  const auto page = renderer_->Render(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(absl::StrContains(page->content(), "\"presence\":\"ADDED\""));
  request.set_beside(0, "j2/0");
  EXPECT_EQ(ReasonOf(request), "NO_REPORT");
}

TEST_F(ReportRendererTest, ReadsTheCompleteReport) {
  const std::string whole = ReportWith(40).SerializeAsString();
  const Digest digest = DigestOf(whole);
  ASSERT_TRUE(blobs_->Put(digest, whole).ok());
  v1::Report kept = ReportWith(0);
  *kept.mutable_whole() = ToProto(digest);
  Keep("j1", 0, kept);
  const auto csv =
      renderer_->Render(RequestFor("j1", 0, v1::RenderReportRequest::CSV));
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_TRUE(absl::StrContains(csv->content(), "layer39"));
  // Evicted meanwhile.
  kept.mutable_whole()->set_hash(DigestOf("other").hash);
  Keep("j1", 0, kept);
  EXPECT_EQ(ReasonOf(RequestFor("j1", 0, v1::RenderReportRequest::CSV)),
            "BLOB_MISSING");
  // As a damaged database might say.
  kept.mutable_whole()->set_size_bytes(int64_t{1} << 40);
  Keep("j1", 0, kept);
  EXPECT_EQ(ReasonOf(RequestFor("j1", 0, v1::RenderReportRequest::CSV)),
            "REPORTS_TOO_LARGE");
}

TEST_F(ReportRendererTest, RefusesWithACause) {
  Keep("j1", 0, ReportWith(1));
  v1::RenderReportRequest request =
      RequestFor("j1", 0, static_cast<v1::RenderReportRequest::Format>(77));
  EXPECT_EQ(ReasonOf(request), "BAD_REQUEST");
  request.set_format(v1::RenderReportRequest::JSON);
  for (const char* name :
       {"", "/", "j1", "/0", "j1/", "j1/x", "j1/99999999999"}) {
    request.clear_beside();
    request.add_beside(name);
    EXPECT_EQ(ReasonOf(request), "BAD_REQUEST") << name;
  }
  request.clear_beside();
  for (int i = 0; i < 16; ++i) request.add_beside("j1/0");
  EXPECT_EQ(ReasonOf(request), "REQUEST_TOO_LARGE");
  request.mutable_beside()->RemoveLast();
  EXPECT_EQ(ReasonOf(request), "");
  EXPECT_EQ(ReasonOf(RequestFor("none", 0, v1::RenderReportRequest::CSV)),
            "NO_REPORT");
  reports_[{"torn", 0}] = "\xff\xff\xff";
  EXPECT_EQ(ReasonOf(RequestFor("torn", 0, v1::RenderReportRequest::CSV)),
            "BAD_MESSAGE");
  // Twice what an answer may have.
  Keep("large", 0, ReportWith(15'000));
  EXPECT_EQ(ReasonOf(RequestFor("large", 0, v1::RenderReportRequest::JSON)),
            "REPORTS_TOO_LARGE");
  request = RequestFor("large", 0, v1::RenderReportRequest::HTML);
  for (int i = 0; i < 3; ++i) request.add_beside("large/0");
  EXPECT_EQ(ReasonOf(request), "PAGE_TOO_LARGE");
}

TEST_F(ReportRendererTest, FewAtOnce) {
  Keep("j1", 0, ReportWith(1));
  const auto request = RequestFor("j1", 0, v1::RenderReportRequest::CSV);
  absl::Notification waits;
  std::vector<std::thread> threads;
  waits_ = &waits;
  for (int i = 0; i < ReportRenderer::kMaxAtOnce; ++i) {
    absl::Notification arrived;
    arrived_ = &arrived;
    threads.emplace_back([&] { EXPECT_TRUE(renderer_->Render(request).ok()); });
    arrived.WaitForNotification();
  }
  EXPECT_EQ(ReasonOf(request), "TOO_MANY_RENDERS");
  waits.Notify();
  for (std::thread& thread : threads) thread.join();
  waits_ = nullptr;
  EXPECT_TRUE(renderer_->Render(request).ok());
}

}  // namespace
}  // namespace edgekiln::server
