// The commands that only show: inspect, compile -o, targets, jobs.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "edgekiln/v1/program.pb.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/e2e/networks.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using Json = nlohmann::json;

constexpr char kTarget[] = "dla-64-o-512k";

std::string Digits() { return SourcePath("docs/example/digits.onnx"); }

// What the command printed with --json.
Json JsonOf(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  // What it throws ends the test.
  return Json::parse(outcome.out);
}

class CommandsTest : public ClusterTest {};

TEST_F(CommandsTest, InspectOfAQuantizedNetwork) {
  EK_REQUIRE_SHARED("models/resnet8_int8.tflite");
  const Json json = JsonOf(cluster().Cli(
      {"inspect", SharedPath("models/resnet8_int8.tflite"), "--json"}));
  EXPECT_EQ(json.at("format"), "tflite");
  EXPECT_EQ(json.at("quantized"), true);
  EXPECT_EQ(json.at("macs"), 12501632);
  ASSERT_EQ(json.at("inputs").size(), 1u);
  const Json& input = json.at("inputs")[0];
  EXPECT_EQ(input.at("name"), "input_1_int8");
  EXPECT_EQ(input.at("shape"), Json({1, 32, 32, 3}));
  EXPECT_EQ(input.at("type"), "int8");
  EXPECT_EQ(input.at("quantization").at("scale").size(), 1u);
  EXPECT_EQ(input.at("quantization").at("zero_point"), Json({-128}));
  ASSERT_EQ(json.at("outputs").size(), 1u);
  EXPECT_EQ(json.at("outputs")[0].at("name"), "Identity_int8");
  EXPECT_EQ(json.at("outputs")[0].at("shape"), Json({1, 10}));
  std::set<std::string> ids;
  int64_t macs = 0;
  for (const Json& layer : json.at("layers")) {
    EXPECT_FALSE(layer.at("op").get<std::string>().empty());
    macs += layer.at("macs").get<int64_t>();
    EXPECT_TRUE(ids.insert(layer.at("id")).second) << layer;
    EXPECT_GE(layer.at("inputs").size(), 1u) << layer;
    EXPECT_EQ(layer.at("output_quantization").at("scale").size(), 1u) << layer;
    if (layer.at("op") != "conv2d") continue;
    EXPECT_EQ(layer.at("weight_type"), "int8") << layer;
    // One scale per output channel.
    EXPECT_EQ(layer.at("weight_scales"), layer.at("output_shape")[3]) << layer;
  }
  EXPECT_EQ(macs, json.at("macs"));
  EXPECT_EQ(json.at("layers")[0].at("inputs")[0].at("extent"),
            Json({1, 32, 32, 3}));
}

TEST_F(CommandsTest, InspectOfAFloatNetwork) {
  const Json json = JsonOf(cluster().Cli({"inspect", Digits(), "--json"}));
  EXPECT_EQ(json.at("format"), "onnx");
  EXPECT_EQ(json.at("quantized"), false);
  EXPECT_EQ(json.at("inputs")[0].at("name"), "image");
  EXPECT_EQ(json.at("inputs")[0].at("shape"), Json({1, 1, 28, 28}));
  EXPECT_EQ(json.at("inputs")[0].at("type"), "float32");
  EXPECT_GT(json.at("parameters"), 10'000);
}

TEST_F(CommandsTest, InspectWithATargetSaysWhereAndWhy) {
  EK_REQUIRE_SHARED("models/dscnn_int8.tflite");
  const Json json =
      JsonOf(cluster().Cli({"inspect", SharedPath("models/dscnn_int8.tflite"),
                            "--target", kTarget, "--json"}));
  std::set<std::string> engines;
  for (const Json& layer : json.at("layers")) {
    engines.insert(layer.at("engine"));
    EXPECT_FALSE(layer.at("reason").get<std::string>().empty()) << layer;
  }
  EXPECT_EQ(engines, (std::set<std::string>{"dla", "host"}));
  EXPECT_EQ(json.at("problems").size(), 0u);
}

TEST_F(CommandsTest, InspectForPeople) {
  const Outcome outcome = cluster().Cli({"inspect", Digits()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  for (const char* part :
       {"image", "float32", "conv2d", "digits.onnx", "WEIGHTS"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, part)) << part << outcome;
  }
}

TEST_F(CommandsTest, ReportDiffOfJobsAndFiles) {
  const auto profile = [](const char* target) {
    const Outcome outcome =
        cluster().Cli({"profile", Digits(), "--target", target, "--json",
                       "--quiet", "--timing-only"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome;
    return outcome.out;
  };
  const std::string slow = profile("dla-64-i-512k");
  const std::string fast = profile("dla-64-o-512k");
  const std::string a = sandbox().Write("a.json", slow);
  const std::string b = sandbox().Write("b.json", fast);
  // From files, where there is no daemon: nothing listens on port 1.
  const Json diff = JsonOf(sandbox().Cli(
      {"report", "diff", a, b, "--json", "--server", "127.0.0.1:1"}));
  const Json want_a = Json::parse(slow);
  const Json want_b = Json::parse(fast);
  EXPECT_EQ(diff.at("totals")[0].at("a"), want_a.at("totals").at("cycles"));
  EXPECT_EQ(diff.at("totals")[0].at("b"), want_b.at("totals").at("cycles"));
  EXPECT_EQ(diff.at("caveats").size(), 1u) << diff.at("caveats");
  EXPECT_EQ(diff.at("layers").size(), want_a.at("layers").size());
  int64_t previous = INT64_MAX;
  int64_t sum = 0;
  for (const Json& layer : diff.at("layers")) {
    const int64_t change = layer.at("change");
    EXPECT_LE(std::abs(change), previous);
    previous = std::abs(change);
    sum += change;
  }
  EXPECT_EQ(sum, diff.at("totals")[0].at("change"));

  // A job and a file.
  const std::string job = want_b.at("job_id");
  // The faster one uses more of the scratchpad, for its overlap.
  Outcome outcome =
      cluster().Cli({"report", "diff", a, job, "--max-regression", "150%"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  EXPECT_TRUE(absl::StrContains(outcome.out, "unequal targets")) << outcome;
  EXPECT_FALSE(absl::StrContains(outcome.out, "\x1b")) << outcome;
  outcome = cluster().Cli({"report", "diff", job, a, "--max-regression", "1"});
  EXPECT_EQ(outcome.exit_code, 3) << outcome;
  EXPECT_TRUE(absl::StrContains(outcome.err, "cycles grew from")) << outcome;
  EXPECT_EQ(cluster().Cli({"report", "diff", "nosuchjob", a}).exit_code, 1);
  EXPECT_EQ(cluster().Cli({"report", "diff", Digits(), a}).exit_code, 2);
}

TEST_F(CommandsTest, CompileLeavesFilesThatTheManifestNames) {
  EK_REQUIRE_SHARED("models/dscnn_int8.tflite");
  const std::string folder = sandbox().Path("bundle");
  const v1::Report report = ReportOf(
      cluster().Cli({"compile", SharedPath("models/dscnn_int8.tflite"),
                     "--target", kTarget, "-o", folder, "--json", "--quiet"}));
  ASSERT_TRUE(std::filesystem::exists(folder + "/manifest.json"));
  const Json manifest = Json::parse(ReadWholeFile(folder + "/manifest.json"));
  EXPECT_EQ(manifest.at("model").at("name"), "dscnn_int8.tflite");
  EXPECT_EQ(
      manifest.at("model").at("sha256"),
      DigestOf(ReadWholeFile(SharedPath("models/dscnn_int8.tflite"))).hash);
  EXPECT_EQ(manifest.at("target").at("name"), kTarget);
  for (const char* origin : {"target", "machine"}) {
    EXPECT_EQ(manifest.at(origin).at("sha256").get<std::string>().size(), 64u);
  }
  std::set<std::string> named = {"manifest.json"};
  for (const Json& file : manifest.at("files")) {
    const std::string path = file.at("path");
    named.insert(path);
    const std::string bytes = ReadWholeFile(absl::StrCat(folder, "/", path));
    EXPECT_EQ(DigestOf(bytes).hash, file.at("sha256")) << path;
    EXPECT_EQ(bytes.size(), file.at("size_bytes")) << path;
  }
  std::set<std::string> found;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    found.insert(std::filesystem::relative(entry.path(), folder).string());
  }
  EXPECT_EQ(found, named);

  const std::string bytes = ReadWholeFile(folder + "/program.pb");
  EXPECT_EQ(DigestOf(bytes).hash, report.program().hash());
  v1::Program program;
  ASSERT_TRUE(program.ParseFromString(bytes));
  ASSERT_GT(program.streams_size(), 0);
  EXPECT_EQ(ReadWholeFile(folder + "/streams/000.bin"),
            program.streams(0).code());
  EXPECT_TRUE(
      absl::StrContains(ReadWholeFile(folder + "/streams/000.txt"), "OP_CONV"));
}

TEST_F(CommandsTest, CompileForTwoTargets) {
  const std::string folder = sandbox().Path("two");
  const Json json = JsonOf(cluster().Cli(
      {"compile", Digits(), "--target", "dla-64-o-512k", "--target",
       "dla-128-i-1m", "-o", folder, "--json", "--quiet"}));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0].at("target_name"), "dla-64-o-512k");
  EXPECT_EQ(json[1].at("target_name"), "dla-128-i-1m");
  for (const char* target : {"dla-64-o-512k", "dla-128-i-1m"}) {
    EXPECT_TRUE(std::filesystem::exists(
        absl::StrCat(folder, "/", target, "/manifest.json")));
  }
}

// Without a terminal: plain lines about stages; with --quiet nothing.
TEST_F(CommandsTest, ProgressIsPlainOrAbsent) {
  const std::vector<std::string> profile = {"profile", Digits(), "--target",
                                            kTarget, "--seed"};
  std::vector<std::string> loud = profile;
  loud.push_back("5");
  const Outcome outcome = cluster().Cli(loud);
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  EXPECT_TRUE(absl::StrContains(outcome.err, "stage simulate")) << outcome;
  EXPECT_FALSE(absl::StrContains(outcome.err, "\x1B")) << outcome;
  EXPECT_FALSE(absl::StrContains(outcome.out, "\x1B")) << outcome;
  std::vector<std::string> quiet = profile;
  quiet.insert(quiet.end(), {"6", "--quiet"});
  const Outcome silent = cluster().Cli(quiet);
  EXPECT_EQ(silent.exit_code, 0) << silent;
  EXPECT_EQ(silent.err, "");
  EXPECT_TRUE(absl::StrContains(silent.out, "cycles")) << silent;
}

// The report under its documented names, for scripts.
TEST_F(CommandsTest, ProfileJsonHasTheDocumentedFields) {
  const Json json = JsonOf(cluster().Cli(
      {"profile", Digits(), "--target", kTarget, "--json", "--quiet"}));
  for (const char* field : {"cycles", "macs", "latency_ms", "dma_bytes_read",
                            "dma_bytes_written"}) {
    EXPECT_TRUE(json.at("totals").at(field).is_number()) << field;
  }
  for (const char* field :
       {"id", "name", "op", "kind", "subgraph", "engine", "reason", "cycles",
        "compute_cycles", "stall_cycles", "macs", "utilization", "sram_bytes",
        "tiles", "fidelity"}) {
    EXPECT_TRUE(json.at("layers").at(0).contains(field)) << field;
  }
  for (const char* field : {"name", "clock_hz", "busy_cycles"}) {
    EXPECT_TRUE(json.at("engines").at(0).contains(field)) << field;
  }
  for (const char* field : {"flash_bytes", "ram_bytes", "sram_peak_bytes"}) {
    EXPECT_GT(json.at("memory").at(field), 0) << field;
  }
  for (const char* field : {"outputs_compared", "mismatches"}) {
    EXPECT_TRUE(json.at("bit_exact").at(field).is_number()) << field;
  }
  for (const char* field : {"name", "cache", "seconds", "cpu_seconds"}) {
    EXPECT_TRUE(json.at("stages").at(0).contains(field)) << field;
  }
  EXPECT_EQ(json.at("calibration"), "SYNTHETIC");
}

TEST_F(CommandsTest, TargetsListHasEveryPreset) {
  const Json json = JsonOf(cluster().Cli({"targets", "list", "--json"}));
  std::set<std::string> names;
  for (const Json& target : json.at("targets")) {
    names.insert(target.at("name"));
  }
  for (const char* pes : {"64", "128"}) {
    for (const char* mode : {"i", "o"}) {
      for (const char* sram : {"512k", "1m", "256m"}) {
        const std::string name =
            absl::StrCat("dla-", pes, "-", mode, "-", sram);
        EXPECT_EQ(names.count(name), 1u) << name;
      }
    }
  }
}

// A shown target is a file that --target takes, and the same chip.
TEST_F(CommandsTest, TargetsShowGivesAFileForTheSameChip) {
  const Outcome show = cluster().Cli({"targets", "show", "dla-128-i-1m"});
  ASSERT_EQ(show.exit_code, 0) << show;
  const std::string chip = sandbox().Write("shown.txtpb", show.out);
  const Outcome check = cluster().Cli({"targets", "check", chip});
  EXPECT_EQ(check.exit_code, 0) << check;
  const v1::Report by_name = ReportOf(cluster().Cli(
      {"profile", Digits(), "--target", "dla-128-i-1m", "--json"}));
  const v1::Report by_file = ReportOf(
      cluster().Cli({"profile", Digits(), "--target", chip, "--json"}));
  EXPECT_EQ(by_file.program().hash(), by_name.program().hash());
  EXPECT_EQ(by_file.totals().cycles(), by_name.totals().cycles());
}

TEST_F(CommandsTest, TargetsCheckOfAnOwnChip) {
  const std::string chip = sandbox().Write("own.txtpb", kOwnChip);
  const Outcome outcome = cluster().Cli({"targets", "check", chip});
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  EXPECT_TRUE(absl::StrContains(outcome.out, "valid")) << outcome;
}

TEST_F(CommandsTest, JobsListAndShow) {
  const v1::Report report = ReportOf(cluster().Cli(
      {"profile", Digits(), "--target", kTarget, "--json", "--quiet"}));
  const Json list = JsonOf(cluster().Cli({"jobs", "list", "--json"}));
  ASSERT_GT(list.at("jobs").size(), 0u);
  EXPECT_EQ(list.at("jobs")[0].at("id"), report.job_id());
  EXPECT_EQ(list.at("jobs")[0].at("state"), "SUCCEEDED");

  const Json job =
      JsonOf(cluster().Cli({"jobs", "show", report.job_id(), "--json"}));
  EXPECT_EQ(job.at("request").at("model_name"), "digits.onnx");
  EXPECT_EQ(job.at("reports"), 1);
  EXPECT_EQ(job.at("stages").size(), static_cast<size_t>(report.stages_size()));

  // Watching a finished job gives its report again.
  const v1::Report again = ReportOf(
      cluster().Cli({"jobs", "watch", report.job_id(), "--json", "--quiet"}));
  EXPECT_EQ(again.SerializeAsString(), report.SerializeAsString());

  // A finished job stays as it is.
  const Outcome cancel = cluster().Cli({"jobs", "cancel", report.job_id()});
  EXPECT_EQ(cancel.exit_code, 0) << cancel;
  EXPECT_TRUE(absl::StrContains(cancel.out, "succeeded")) << cancel;
}

TEST_F(CommandsTest, AnUnknownJobIsTheUsersMistake) {
  const Outcome outcome = cluster().Cli({"jobs", "show", "no-such-job"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome;
  EXPECT_TRUE(absl::StrContains(outcome.err, "no-such-job")) << outcome;
}

TEST_F(CommandsTest, TheServerMayComeFromTheEnvironment) {
  Sandbox other;
  other.SetVariable("EDGEKILN_SERVER", cluster().address());
  const Outcome list = other.Cli({"targets", "list"});
  EXPECT_EQ(list.exit_code, 0) << list;
  // Nothing listens on port 1; the option goes first.
  other.SetVariable("EDGEKILN_SERVER", "127.0.0.1:1");
  const Outcome wrong = other.Cli({"targets", "list"});
  EXPECT_EQ(wrong.exit_code, 4) << wrong;
  EXPECT_TRUE(absl::StrContains(wrong.err, "unset EDGEKILN_SERVER")) << wrong;
  const Outcome option =
      other.Cli({"targets", "list", "--server", cluster().address()});
  EXPECT_EQ(option.exit_code, 0) << option;
  other.SetVariable("EDGEKILN_SERVER", "http://localhost");
  const Outcome bad = other.Cli({"targets", "list"});
  EXPECT_EQ(bad.exit_code, 2) << bad;
  EXPECT_TRUE(absl::StrContains(bad.err, "EDGEKILN_SERVER=http://localhost"))
      << bad;
}

TEST(JobsCancelTest, EndsAWaitingJob) {
  const auto cluster = Cluster::Start();
  ASSERT_NE(cluster, nullptr);
  const auto command =
      cluster->StartCli({"profile", Digits(), "--target", kTarget, "--quiet"});
  ASSERT_NE(command, nullptr);
  Json jobs = Json::array();
  for (int i = 0; i < 100 && jobs.empty(); ++i) {
    jobs = JsonOf(cluster->Cli({"jobs", "list", "--json"})).at("jobs");
  }
  ASSERT_EQ(jobs.size(), 1u);
  const Outcome cancel = cluster->Cli({"jobs", "cancel", jobs[0].at("id")});
  EXPECT_EQ(cancel.exit_code, 0) << cancel;
  const Outcome outcome =
      cluster->sandbox().Finish(*command, absl::Seconds(20));
  EXPECT_EQ(outcome.exit_code, 130) << outcome;
  const Outcome list = cluster->Cli({"jobs", "list"});
  EXPECT_TRUE(absl::StrContains(list.out, "cancelled")) << list;
}

}  // namespace
}  // namespace edgekiln::tests
