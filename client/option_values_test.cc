#include "client/option_values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

struct TimeoutCase {
  std::string text;
  absl::Duration want;  // Zero: refused.
};

TEST(ParseTimeoutTest, Table) {
  const TimeoutCase cases[] = {
      {"30s", absl::Seconds(30)},    {"5m", absl::Minutes(5)},
      {"1h30m", absl::Minutes(90)},  {"500ms", absl::Milliseconds(500)},
      {"90", absl::Seconds(90)},     {"0.5", absl::Milliseconds(500)},
      {"720h", absl::Hours(720)},    {"0", absl::ZeroDuration()},
      {"-5s", absl::ZeroDuration()}, {"721h", absl::ZeroDuration()},
      {"inf", absl::ZeroDuration()}, {"nan", absl::ZeroDuration()},
      {"", absl::ZeroDuration()},    {"5 minutes", absl::ZeroDuration()},
  };
  for (const TimeoutCase& c : cases) {
    const auto got = ParseTimeout(c.text, "--timeout");
    if (c.want == absl::ZeroDuration()) {
      EXPECT_EQ(ExitCodeFor(got.status()), ExitCode::kUsage) << c.text;
    } else {
      ASSERT_TRUE(got.ok()) << c.text << ": " << got.status();
      EXPECT_EQ(*got, c.want) << c.text;
    }
  }
}

TEST(ParseIoFormTest, Table) {
  EXPECT_EQ(ParseIoForm("int").value(), v1::IO_INTEGER);
  EXPECT_EQ(ParseIoForm("float").value(), v1::IO_FLOAT);
  for (const char* text : {"", "INT", "int8", "IO_FLOAT"}) {
    EXPECT_EQ(ExitCodeFor(ParseIoForm(text).status()), ExitCode::kUsage);
  }
  // Both forms are offered: "integer" is meant to be the other one.
  const absl::Status status = ParseIoForm("integer").status();
  EXPECT_TRUE(absl::StrContains(status.message(), "leave it out for integers"))
      << status;
}

TEST(ParseOffloadTest, Table) {
  EXPECT_EQ(ParseOffload("all").value(), v1::ALL);
  EXPECT_EQ(ParseOffload("paying").value(), v1::PAYING);
  EXPECT_EQ(ParseOffload("none").value(), v1::NONE);
  for (const char* text : {"", "ALL", "al", "no"}) {
    EXPECT_EQ(ExitCodeFor(ParseOffload(text).status()), ExitCode::kUsage);
  }
}

TEST(ParseDimensionBindingTest, Table) {
  const struct {
    const char* text;
    const char* name;  // Empty: refused.
    int64_t extent;
  } cases[] = {
      {"N=4", "N", 4}, {"x:0=1", "x:0", 1}, {"a=b=2", "a=b", 2},
      {"N", "", 0},    {"=4", "", 0},       {"N=0", "", 0},
      {"N=-1", "", 0}, {"N=x", "", 0},      {"", "", 0},
  };
  for (const auto& c : cases) {
    const auto got = ParseDimensionBinding(c.text);
    if (*c.name == '\0') {
      EXPECT_EQ(ExitCodeFor(got.status()), ExitCode::kUsage) << c.text;
    } else {
      ASSERT_TRUE(got.ok()) << c.text << ": " << got.status();
      EXPECT_EQ(got->name(), c.name);
      EXPECT_EQ(got->extent(), c.extent);
    }
  }
}

TEST(ParseNamedFileTest, Table) {
  const struct {
    const char* text;
    bool name_from_file;
    const char* name;  // Empty: refused.
    const char* path;
  } cases[] = {
      {"x=a/b.npy", false, "x", "a/b.npy"},
      {"w/1.bin=b=c", true, "w/1.bin", "b=c"},
      {"a/net.data", true, "net.data", "a/net.data"},
      {"net.data", true, "net.data", "net.data"},
      {"a/b.npy", false, "", ""},
      {"=b", true, "", ""},
      {"x=", false, "", ""},
      {"a/", true, "", ""},
      {"", true, "", ""},
  };
  for (const auto& c : cases) {
    const auto got = ParseNamedFile(c.text, "--option", c.name_from_file);
    if (*c.name == '\0') {
      EXPECT_EQ(ExitCodeFor(got.status()), ExitCode::kUsage) << c.text;
    } else {
      ASSERT_TRUE(got.ok()) << c.text << ": " << got.status();
      EXPECT_EQ(got->name, c.name);
      EXPECT_EQ(got->path, c.path);
    }
  }
}

struct InputCase {
  std::string text;
  std::string want;  // ShortDebugString(); "error" if refused.
};

TEST(ParseInputTransformTest, Table) {
  const InputCase cases[] = {
      {"image:scale=0.5", "input: \"image\" scale: 0.5"},
      {"scale=0.5,offset=-1", "scale: 0.5 offset: -1"},
      {"serving_default_input:0:scale=2",
       "input: \"serving_default_input:0\" scale: 2"},
      {"a=b:0:order=bgr", "input: \"a=b:0\" order: BGR"},
      {"x:scale=0.1/0.2/0.3,offset=1/2/3,order=RGB,layout=nchw",
       "input: \"x\" scale: 0.1 scale: 0.2 scale: 0.3 offset: 1 offset: 2 "
       "offset: 3 order: RGB layout: NCHW"},
      {"layout=NHWC", "layout: NHWC"},
      {"", "error"},
      {"image", "error"},
      {":scale=1", "error"},
      {"image:scale=", "error"},
      {"image:scale=1//2", "error"},
      {"image:scale=nan", "error"},
      {"image:offset=inf", "error"},
      {"image:scale=0", "error"},
      {"image:scale=1,scale=2", "error"},
      {"image:scale=1,shift=2", "error"},
      {"image:scale=1,", "error"},
      {"image:order=grb", "error"},
      {"image:layout=chw", "error"},
  };
  for (const InputCase& c : cases) {
    const auto got = ParseInputTransform(c.text);
    if (c.want == "error") {
      EXPECT_EQ(ExitCodeFor(got.status()), ExitCode::kUsage) << c.text;
    } else {
      ASSERT_TRUE(got.ok()) << c.text << ": " << got.status();
      EXPECT_EQ(got->ShortDebugString(), c.want) << c.text;
    }
  }
}

TEST(ParseInputTransformTest, NamesWhatIsWrong) {
  const InputCase cases[] = {
      {"image:foo=3", "unknown key 'foo'; where"},
      {"foo=3", "unknown key 'foo'; where"},
      {"a:0:Scale=3,order=rgb", "unknown key 'Scale'; where"},
      {"image:scale=1,shift=2", "unknown key 'shift'; where"},
      {"image", "no scale=, offset=, order= or layout= in it; where"},
      {"a=b:0", "no scale=, offset=, order= or layout= in it; where"},
      {"image:=3", "no scale=, offset=, order= or layout= in it; where"},
  };
  for (const InputCase& c : cases) {
    const auto got = ParseInputTransform(c.text);
    const std::string message(got.status().message());
    EXPECT_EQ(message.find(c.want), 0u) << c.text << ": " << message;
  }
}

TEST(ParseCalibrationMethodTest, Table) {
  const InputCase cases[] = {
      {"minmax", "method: MIN_MAX"},
      {"percentile", "method: PERCENTILE percentile_ppm: 999900"},
      {"percentile:99.999", "method: PERCENTILE percentile_ppm: 999990"},
      {"percentile:100", "method: PERCENTILE percentile_ppm: 1000000"},
      {"percentile:50", "error"},
      {"percentile:100.1", "error"},
      {"percentile:", "error"},
      {"percentile:nan", "error"},
      {"minmax:3", "error"},
      {"", "error"},
      {"entropy", "error"},
  };
  for (const InputCase& c : cases) {
    const auto got = ParseCalibrationMethod(c.text);
    if (c.want == "error") {
      EXPECT_EQ(ExitCodeFor(got.status()), ExitCode::kUsage) << c.text;
    } else {
      ASSERT_TRUE(got.ok()) << c.text << ": " << got.status();
      EXPECT_EQ(got->ShortDebugString(), c.want) << c.text;
    }
  }
}

TEST(NearestOfTest, Table) {
  const std::vector<std::string> known = {"--target", "--data", "--timeout"};
  const InputCase cases[] = {
      {"--taget", "--target"}, {"--targets", "--target"},
      {"--date", "--data"},    {"--time-out", "--timeout"},
      {"--zzzzzzzz", ""},      {"-x", ""},
  };
  for (const InputCase& c : cases) {
    EXPECT_EQ(NearestOf(c.text, known), c.want) << c.text;
  }
  EXPECT_EQ(NearestOf("--x", {}), "");
}

}  // namespace
}  // namespace edgekiln::client
