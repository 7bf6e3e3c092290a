#include "tests/e2e/expectations.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/support/npz_writer.h"

namespace edgekiln::tests {
namespace {

template <typename Message>
Message FromJson(const Outcome& outcome) {
  Message message;
  const auto status =
      google::protobuf::util::JsonStringToMessage(outcome.out, &message);
  EXPECT_TRUE(status.ok()) << status.ToString() << "; " << outcome;
  return message;
}

// "input_12_name:0" with prefix "input_" is (12, "name:0").
bool SplitKey(absl::string_view key, absl::string_view prefix, int64_t& sample,
              std::string& name) {
  if (!absl::ConsumePrefix(&key, prefix)) return false;
  const size_t bar = key.find('_');
  if (bar == absl::string_view::npos) return false;
  name = std::string(key.substr(bar + 1));
  return absl::SimpleAtoi(key.substr(0, bar), &sample);
}

void ExpectSample(const NpyArray& expected, const NpyArray& actual,
                  int64_t sample, double tolerance, const std::string& where) {
  const int64_t values = expected.size();
  ASSERT_GE(actual.size(), (sample + 1) * values) << where;
  EXPECT_EQ(actual.dtype, expected.dtype) << where;
  double largest = 1;
  for (int64_t i = 0; i < values; ++i) {
    largest = std::max(largest, std::abs(expected.At<double>(i)));
  }
  int64_t wrong = 0;
  int64_t first = -1;
  for (int64_t i = 0; i < values; ++i) {
    const double difference = std::abs(actual.At<double>(sample * values + i) -
                                       expected.At<double>(i));
    // Also catches NaN.
    if (difference <= tolerance * largest) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return;
  ADD_FAILURE() << where << ": " << wrong << " of " << values
                << " values differ, first at " << first << ": expected "
                << expected.At<double>(first) << ", is "
                << actual.At<double>(sample * values + first);
}

}  // namespace

v1::Report ReportOf(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  return FromJson<v1::Report>(outcome);
}

v1::ModelDescription DescriptionOf(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  return FromJson<v1::ModelDescription>(outcome);
}

v1::ErrorDetail ErrorOf(const Outcome& outcome) {
  // A Report has the same key.
  return FromJson<v1::Report>(outcome).error();
}

v1::ErrorDetail FailureOf(Cluster& cluster, std::vector<std::string> arguments,
                          int exit_code) {
  const Outcome plain = cluster.Cli(arguments);
  EXPECT_EQ(plain.exit_code, exit_code) << plain;
  arguments.push_back("--json");
  const Outcome json = cluster.Cli(arguments);
  EXPECT_EQ(json.exit_code, exit_code) << json;
  v1::ErrorDetail error = ErrorOf(json);
  EXPECT_FALSE(error.what().empty()) << json;
  EXPECT_FALSE(error.reason().empty()) << json;
  EXPECT_FALSE(error.fix().empty()) << json;
  EXPECT_NE(plain.err.find(error.what()), std::string::npos) << plain;
  EXPECT_NE(plain.err.find("error:"), std::string::npos) << plain;
  EXPECT_EQ(plain.out, "");
  return error;
}

std::string TextOf(const v1::ErrorDetail& error) {
  return absl::StrCat("what: ", error.what(), "\nwhere: ", error.where(),
                      "\nlimit: ", error.limit(), "\nneed: ", error.need(),
                      "\nfix: ", error.fix());
}

void ExpectConsistent(const v1::Report& report) {
  int64_t cycles = 0;
  int64_t macs = 0;
  int64_t host_cycles = 0;
  int64_t host_macs = 0;
  ASSERT_GT(report.layers_size(), 0);
  for (const v1::Report::Layer& layer : report.layers()) {
    SCOPED_TRACE(layer.id());
    cycles += layer.cycles();
    macs += layer.macs();
    if (layer.engine() == "host") {
      host_cycles += layer.cycles();
      host_macs += layer.macs();
    }
    EXPECT_FALSE(layer.id().empty());
    EXPECT_FALSE(layer.op().empty());
    EXPECT_FALSE(layer.engine().empty());
    EXPECT_FALSE(layer.reason().empty());
    EXPECT_NE(layer.kind(), v1::LAYER_KIND_UNSPECIFIED);
    EXPECT_NE(layer.fidelity(), v1::FIDELITY_UNSPECIFIED);
    EXPECT_EQ(layer.compute_cycles() + layer.stall_cycles(), layer.cycles());
    EXPECT_GE(layer.utilization(), 0);
    EXPECT_LE(layer.utilization(), 1);
  }
  const v1::Report::Totals& totals = report.totals();
  EXPECT_GT(totals.cycles(), 0);
  EXPECT_EQ(cycles, totals.cycles());
  EXPECT_EQ(macs, totals.macs());
  EXPECT_EQ(host_cycles, totals.host_cycles());
  EXPECT_EQ(macs - host_macs, totals.engine_macs());
  EXPECT_GT(totals.latency_ms(), 0);
  EXPECT_GT(totals.dma_bytes_read(), 0);
  EXPECT_GT(totals.dma_bytes_written(), 0);
  ASSERT_GT(report.engines_size(), 0);
  // The presets and files of these tests count totals in the engine's clock.
  EXPECT_GT(report.engines(0).busy_cycles(), 0);
  EXPECT_LE(report.engines(0).busy_cycles(), totals.cycles());
  EXPECT_NEAR(totals.latency_ms(),
              1e3 * static_cast<double>(totals.cycles()) /
                  static_cast<double>(report.engines(0).clock_hz()),
              1e-9);
  EXPECT_GT(report.memory().flash_bytes(), 0);
  EXPECT_GT(report.memory().ram_bytes(), 0);
  EXPECT_GT(report.memory().sram_peak_bytes(), 0);
  EXPECT_FALSE(report.version().empty());
  EXPECT_EQ(report.program().hash().size(), 64u);
  EXPECT_FALSE(report.has_error());
}

void ExpectSame(const v1::Report& expected, const v1::Report& actual) {
  v1::Report left = expected;
  v1::Report right = actual;
  for (v1::Report* report : {&left, &right}) {
    report->clear_job_id();
    report->clear_stages();
  }
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  EXPECT_TRUE(differencer.Compare(left, right)) << differences;
}

std::vector<std::string> StagesWith(const v1::Report& report,
                                    v1::Report::Stage::Cache cache) {
  std::set<std::string> names;
  for (const v1::Report::Stage& stage : report.stages()) {
    if (stage.cache() != cache) continue;
    names.insert(stage.name().substr(0, stage.name().find('[')));
  }
  return {names.begin(), names.end()};
}

void WriteGoldenInputs(const std::map<std::string, NpyArray>& golden,
                       const std::string& path) {
  // Ten samples and more would not be in order by name.
  std::map<std::string, std::map<int64_t, NpyArray>> samples;
  for (const auto& [key, array] : golden) {
    int64_t sample = 0;
    std::string name;
    if (SplitKey(key, "input_", sample, name)) samples[name][sample] = array;
  }
  ASSERT_FALSE(samples.empty());
  std::map<std::string, NpyArray> inputs;
  for (const auto& [name, arrays] : samples) {
    std::vector<NpyArray> list;
    for (const auto& [sample, array] : arrays) list.push_back(array);
    const absl::StatusOr<NpyArray> stacked = Stack(list);
    ASSERT_TRUE(stacked.ok()) << name << ": " << stacked.status();
    inputs[name] = *stacked;
  }
  const absl::Status written = WriteNpz(path, inputs);
  ASSERT_TRUE(written.ok()) << written;
}

void ExpectGoldenOutputs(const std::map<std::string, NpyArray>& golden,
                         const std::string& outputs_path, double tolerance) {
  const std::map<std::string, NpyArray> outputs = NpzOf(outputs_path);
  int compared = 0;
  std::set<std::string> names;
  for (const auto& [key, expected] : golden) {
    int64_t sample = 0;
    std::string name;
    if (!SplitKey(key, "output_", sample, name)) continue;
    const auto actual = outputs.find(name);
    ASSERT_NE(actual, outputs.end()) << "no output " << name;
    ExpectSample(expected, actual->second, sample, tolerance, key);
    names.insert(name);
    ++compared;
  }
  EXPECT_GT(compared, 0);
  EXPECT_EQ(outputs.size(), names.size());
}

std::map<std::string, NpyArray> NpzOf(const std::string& path) {
  absl::StatusOr<std::map<std::string, NpyArray>> arrays = ReadNpz(path);
  EXPECT_TRUE(arrays.ok()) << arrays.status();
  return arrays.ok() ? *std::move(arrays) : std::map<std::string, NpyArray>();
}

}  // namespace edgekiln::tests
