#include "base/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "base/error.h"

namespace edgekiln {
namespace {

// `want` is the value, or what the error says.
template <typename Value>
struct Case {
  const char* text;
  Value value;
  const char* error = "";
};

template <typename Value, size_t kSize>
void ExpectTable(const Case<Value> (&cases)[kSize],
                 absl::StatusOr<Value> (*parse)(absl::string_view,
                                                absl::string_view)) {
  for (const Case<Value>& c : cases) {
    const absl::StatusOr<Value> got = parse(c.text, "--max-it");
    if (*c.error == '\0') {
      ASSERT_TRUE(got.ok()) << c.text << ": " << got.status();
      EXPECT_EQ(*got, c.value) << c.text;
      continue;
    }
    ASSERT_FALSE(got.ok()) << c.text;
    const ErrorDetail detail = *GetErrorDetail(got.status());
    EXPECT_EQ(detail.reason, "USAGE") << c.text;
    EXPECT_TRUE(absl::StrContains(detail.what, c.error)) << detail.what;
    // What would be accepted, and an example with the option's name.
    EXPECT_FALSE(detail.need.empty()) << c.text;
    EXPECT_TRUE(absl::StrContains(detail.fix, "--max-it ")) << detail.fix;
  }
}

TEST(ParseCyclesTest, Table) {
  const Case<int64_t> cases[] = {
      {"0", 0},
      {"195561", 195561},
      {"40k", 40'000},
      {"40K", 40'000},
      {"1.5M", 1'500'000},
      {"0.3k", 300},
      {"4.35k", 4350},  // 4350.0000000000005 in floating point.
      {"2 G", 2'000'000'000},
      {"1T", 1'000'000'000'000},
      {"999999999999999999", 999'999'999'999'999'999},
      {"9223372.036854775807T", std::numeric_limits<int64_t>::max(), "not"},
      {"10000000T", 0, "is too large"},
      {"", 0, "'' is not a number of cycles"},
      {"-1", 0, "--max-it must be 0 or more, got -1"},
      {"-x", 0, "'-x' is not a number of cycles"},
      {"1.5", 0, "'1.5' is not a whole number"},
      {"1e3", 0, "'1e3' is not a number of cycles"},
      {"1.", 0, "'1.' is not a number of cycles"},
      {".", 0, "'.' is not a number of cycles"},
      {"1.2.3", 0, "is not a number of cycles"},
      {"0x10", 0, "is not a number of cycles"},
      {"5m", 0, "'5m' is not a number of cycles"},
      {"4KiB", 0, "'4KiB' is not a number of cycles"},
      {"k", 0, "'k' is not a number of cycles"},
      {"nan", 0, "is not a number of cycles"},
  };
  ExpectTable(cases, ParseCycles);
}

TEST(ParseBytesTest, Table) {
  const Case<int64_t> cases[] = {
      {"65536", 65536},
      {"17B", 17},
      {"4KiB", 4096},
      {"4 KiB", 4096},
      {"4Ki", 4096},
      {"64kB", 64'000},
      {"64KB", 64'000},
      {"40k", 40'000},
      {"1.5M", 1'500'000},
      {"1.5MiB", 1'572'864},
      {"0.5KiB", 512},
      {"1GiB", int64_t{1} << 30},
      {"2TiB", int64_t{1} << 41},
      {"0.3KiB", 0, "'0.3KiB' is not a whole number"},
      {"4kb", 0, "'4kb' is not a number of bytes"},
      {"4 k B", 0, "is not a number of bytes"},
      {"lots", 0, "'lots' is not a number of bytes"},
      {"-4KiB", 0, "--max-it must be 0 or more, got -4KiB"},
  };
  ExpectTable(cases, ParseBytes);
}

TEST(ParseMillisecondsTest, Table) {
  const Case<double> cases[] = {
      {"2ms", 2},
      {"500us", 0.5},
      {"500µs", 0.5},
      {"1.5s", 1500},
      {"250ns", 0.00025},
      {"0.3911 ms", 0.3911},
      {"2", 0, "--max-it needs a unit, got '2'"},
      {"2m", 0, "'2m' is not a time span"},
      {"soon", 0, "'soon' is not a time span"},
      {"-1ms", 0, "--max-it must be 0 or more, got -1ms"},
  };
  ExpectTable(cases, ParseMilliseconds);
}

TEST(ParseShareTest, Table) {
  const Case<double> cases[] = {
      {"0", 0},
      {"1", 1},
      {"0.95", 0.95},
      {".5", 0.5},
      {"95%", 0.95},
      {"95 %", 0.95},
      {"100%", 1},
      {"96.7%", 0.967},
      {"95", 0, "--max-it must be between 0 and 1, got 95"},
      {"101%", 0, "--max-it must be between 0 and 1, got 101%"},
      {"-0.5", 0, "--max-it must be 0 or more, got -0.5"},
      {"high", 0, "'high' is not a share"},
  };
  ExpectTable(cases, ParseShare);
}

TEST(ParsePercentAndPointsTest, Table) {
  const Case<double> percent[] = {
      {"2", 2},
      {"2%", 2},
      {"2.5 %", 2.5},
      {"150", 150},
      {"-1", 0, "--max-it must be 0 or more, got -1"},
      {"nan", 0, "'nan' is not a percentage"},
  };
  ExpectTable(percent, ParsePercent);
  const Case<double> points[] = {
      {"0", 0},
      {"0.5", 0.5},
      {"0.5pp", 0.5},
      {"1 pp", 1},
      {"100", 100},
      {"101", 0, "--max-it must be between 0 and 100, got 101"},
      {"1%", 0, "is not a number of percentage points"},
  };
  ExpectTable(points, ParsePoints);
}

}  // namespace
}  // namespace edgekiln
