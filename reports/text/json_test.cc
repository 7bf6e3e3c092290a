#include "reports/text/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln {
namespace {

TEST(ToJsonTest, PrintsZeroesNumbersEnumsAndLists) {
  v1::TensorType tensor;
  tensor.set_name("a\"\\\n\x01");
  tensor.set_element_type(v1::INT8);
  tensor.add_shape(1);
  tensor.add_shape(int64_t{1} << 60);
  EXPECT_EQ(ToJson(tensor),
            "{\n"
            "  \"name\": \"a\\\"\\\\\\n\\u0001\",\n"
            "  \"element_type\": \"INT8\",\n"
            "  \"shape\": [1, 1152921504606846976]\n"
            "}\n");
}

TEST(ToJsonTest, DefaultMessageStillHasItsPrimitives) {
  EXPECT_EQ(ToJson(v1::Report::Stage()),
            "{\n"
            "  \"name\": \"\",\n"
            "  \"cache\": \"CACHE_UNSPECIFIED\",\n"
            "  \"seconds\": 0,\n"
            "  \"cpu_seconds\": 0\n"
            "}\n");
  EXPECT_EQ(ToJson(v1::ListTargetsRequest()), "{}\n");
}

TEST(ToJsonTest, MessagesNestAndAbsentOnesAreLeftOut) {
  v1::ListTargetsResponse list;
  list.add_targets()->set_name("a");
  list.mutable_targets(0)->mutable_digest()->set_size_bytes(7);
  EXPECT_EQ(ToJson(list),
            "{\n"
            "  \"targets\": [\n"
            "    {\n"
            "      \"name\": \"a\",\n"
            "      \"doc\": \"\",\n"
            "      \"digest\": {\n"
            "        \"hash\": \"\",\n"
            "        \"size_bytes\": 7\n"
            "      },\n"
            "      \"text\": \"\",\n"
            "      \"recipes\": []\n"
            "    }\n"
            "  ]\n"
            "}\n");
  EXPECT_EQ(ToJson(v1::ListTargetsResponse()), "{\n  \"targets\": []\n}\n");
}

TEST(ToJsonTest, FloatsAreShortestAndRoundTrip) {
  v1::Quantization q;
  for (const float scale : {0.1f, 1.0f, 1e-9f, 0.5847029f}) q.add_scale(scale);
  q.add_scale(std::numeric_limits<float>::infinity());
  q.add_scale(std::nanf(""));
  EXPECT_EQ(ToJson(q),
            "{\n"
            "  \"scale\": [0.1, 1, 1e-09, 0.5847029, \"Infinity\", \"NaN\"],\n"
            "  \"zero_point\": [],\n"
            "  \"axis\": 0\n"
            "}\n");
  v1::Report::Stage stage;
  for (const auto& [value, text] :
       {std::pair{1e5, "100000"}, std::pair{-65536.0, "-65536"},
        std::pair{123456789012345.0, "123456789012345"},
        std::pair{1e20, "1e+20"}, std::pair{1e5 + 0.5, "100000.5"}}) {
    stage.set_seconds(value);
    EXPECT_NE(ToJson(stage).find(absl::StrCat("\"seconds\": ", text, ",")),
              std::string::npos)
        << ToJson(stage);
  }
  stage.set_seconds(0.1 + 0.2);
  EXPECT_NE(ToJson(stage).find("\"seconds\": 0.30000000000000004"),
            std::string::npos);
}

TEST(ToJsonTest, OptionalFieldsHavePresence) {
  v1::Clamp clamp;
  EXPECT_EQ(ToJson(clamp), "{}\n");
  clamp.set_min(0);
  EXPECT_EQ(ToJson(clamp), "{\n  \"min\": 0\n}\n");
}

TEST(ToJsonTest, TimesOneofsAndUnknownEnums) {
  v1::JobEvent event;
  event.set_sequence(3);
  event.mutable_time()->set_seconds(1767225600);
  event.mutable_time()->set_nanos(500'000'000);
  event.set_state(static_cast<v1::JobState>(77));
  EXPECT_EQ(ToJson(event),
            "{\n"
            "  \"sequence\": 3,\n"
            "  \"time\": \"2026-01-01T00:00:00.5Z\",\n"
            "  \"state\": 77\n"
            "}\n");
  v1::JobOptions options;
  options.mutable_run_deadline()->set_seconds(1);
  options.mutable_run_deadline()->set_nanos(500'000'000);
  EXPECT_NE(ToJson(options).find("\"run_deadline\": \"1.5s\""),
            std::string::npos);
}

// Of the outermost message only.
TEST(ToJsonTest, FieldsCanBeLeftOut) {
  v1::Report::Stage stage;
  EXPECT_EQ(ToJson(stage, {"cache", "seconds", "cpu_seconds"}),
            "{\n  \"name\": \"\"\n}\n");
  v1::ListTargetsResponse targets;
  targets.add_targets();
  EXPECT_NE(ToJson(targets, {"name", "text"}).find("\"name\""),
            std::string::npos);
  EXPECT_EQ(ToJsonArray({&targets}, {"targets"}), "[\n  {}\n]\n");
}

TEST(ToJsonTest, ArrayAndWrapped) {
  v1::Clamp one;
  one.set_min(1);
  EXPECT_EQ(ToJsonArray({}), "[]\n");
  EXPECT_EQ(ToJsonArray({&one, &one}),
            "[\n"
            "  {\n    \"min\": 1\n  },\n"
            "  {\n    \"min\": 1\n  }\n"
            "]\n");
  EXPECT_EQ(ToJsonWrapped("error", one),
            "{\n  \"error\": {\n    \"min\": 1\n  }\n}\n");
}

TEST(ToJsonLineTest, IsTheSameDocumentWithoutLayout) {
  v1::Job job;
  job.set_id("a,\n  b");
  job.add_stages()->set_name("  tile");
  const std::string line = ToJsonLine(job);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_NE(line.find("\"id\": \"a,\\n  b\",\"state\": "), std::string::npos)
      << line;
  EXPECT_NE(line.find("\"stages\": [{\"name\": \"  tile\","), std::string::npos)
      << line;
  v1::Report::Stage stage;
  EXPECT_EQ(ToJsonLineWrapped("stage", stage).substr(0, 22),
            "{\"stage\": {\"name\": \"\",");
}

TEST(ToJsonCompactTest, LeavesOutWhatIsZeroOrEmpty) {
  v1::Report report;
  report.set_job_id("a b");
  report.mutable_memory();  // There, and empty.
  report.mutable_accuracy()->set_top5_value(0);
  report.mutable_totals()->set_cycles(7);
  report.mutable_totals()->set_fidelity(v1::EXACT);
  v1::TensorUse& tensor = *report.add_tensors();
  tensor.set_bytes(1);
  EXPECT_EQ(ToJsonCompact(report),
            "{\"job_id\":\"a b\",\"totals\":{\"cycles\":7,\"fidelity\":"
            "\"EXACT\"},\"memory\":{},\"accuracy\":{\"top5_value\":0},"
            "\"tensors\":[{\"bytes\":1}]}");
  v1::TensorType type;
  type.add_shape(1);
  type.add_shape(0);
  EXPECT_EQ(ToJsonCompact(type), "{\"shape\":[1,0]}");
}

}  // namespace
}  // namespace edgekiln
