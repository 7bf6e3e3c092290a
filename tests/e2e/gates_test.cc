// What CI does with a report: limits, baselines, and the same JSON every time.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/e2e/networks.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kTarget[] = "dla-64-o-512k";
constexpr char kOtherTarget[] = "dla-128-i-1m";
// Less flash than any network of these tests needs.
constexpr char kTooSmallChip[] =
    "extends: \"dla\"\n"
    "set { name: \"flash_bytes\" value: 20000 }\n";

std::string Digits() { return SourcePath("docs/example/digits.onnx"); }

std::vector<std::string> Join(std::vector<std::string> first,
                              const std::vector<std::string>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// `command` with its two targets in that order, and the reports by target.
struct Targets {
  std::vector<std::string> names;

  std::vector<std::string> Of(std::vector<std::string> command) const {
    for (const std::string& name : names) {
      command = Join(std::move(command), {"--target", name});
    }
    return Join(std::move(command), {"--json", "--quiet"});
  }
};

// The JSON without what may differ from run to run. Everything else, to the
// order of fields and the digits of numbers, counts.
std::string Stable(const Json& report) {
  Json copy = report;
  EXPECT_EQ(copy.erase("job_id"), 1u);
  EXPECT_EQ(copy.erase("stages"), 1u);
  return copy.dump(1);
}

// By target name, so that the order of --target drops out.
std::vector<std::string> StableReports(const Outcome& outcome) {
  std::vector<std::string> texts;
  for (const Json& report : Json::parse(outcome.out)) {
    texts.push_back(absl::StrCat(report.at("target_name").get<std::string>(),
                                 "\n", Stable(report)));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

class GatesTest : public ClusterTest {};

TEST_F(GatesTest, MemoriesHaveTheTargetsNames) {
  const Json report = Json::parse(
      cluster()
          .Cli({"compile", Digits(), "--target", kTarget, "--json", "--quiet"})
          .out);
  const Json& memory = report.at("memory");
  std::vector<std::string> names;
  for (const Json& use : memory.at("memories")) {
    names.push_back(use.at("name"));
    EXPECT_GT(use.at("used_bytes"), 0) << use;
    EXPECT_LE(use.at("used_bytes"), use.at("capacity_bytes")) << use;
  }
  ASSERT_EQ(names, (std::vector<std::string>{"flash", "ram", "sram"}));
  EXPECT_EQ(memory.at("memories")[0].at("used_bytes"),
            memory.at("flash_bytes"));
  EXPECT_EQ(memory.at("memories")[1].at("used_bytes"), memory.at("ram_bytes"));
  EXPECT_EQ(memory.at("memories")[2].at("used_bytes"),
            memory.at("sram_peak_bytes"));
  EXPECT_EQ(memory.at("memories")[2].at("capacity_bytes"), 512 << 10);
}

TEST_F(GatesTest, KeptLimitsAreInTheJson) {
  for (const char* command : {"compile", "profile"}) {
    const Outcome outcome = cluster().Cli(
        {command, Digits(), "--target", kTarget, "--json", "--quiet",
         "--max-cycles", "1.5M", "--max-latency", "5ms", "--max-memory",
         "flash=64KiB", "--max-memory", "sram=0.5MiB", "--max-ram", "40k"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome;
    EXPECT_EQ(outcome.err, "");
    const Json gates = Json::parse(outcome.out).at("gates");
    ASSERT_EQ(gates.size(), 5u);
    std::vector<std::string> names;
    for (const Json& gate : gates) {
      names.push_back(gate.at("name"));
      EXPECT_EQ(gate.at("passed"), true) << gate;
      EXPECT_EQ(gate.at("target"), kTarget) << gate;
      EXPECT_LE(gate.at("value"), gate.at("limit")) << gate;
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"cycles", "latency_ms", "memory.flash",
                                        "memory.sram", "ram_bytes"}));
    EXPECT_EQ(gates[0].at("limit"), 1'500'000);
    EXPECT_EQ(gates[1].at("unit"), "ms");
    EXPECT_EQ(gates[2].at("limit"), 65536);
  }
}

TEST_F(GatesTest, EveryBrokenLimitOfEveryTargetIsTold) {
  const std::vector<std::string> limits = {"--max-cycles", "1k",
                                           "--max-memory", "flash=1KiB",
                                           "--max-memory", "ram=1GB"};
  const std::vector<std::string> command =
      Targets{{kTarget, kOtherTarget}}.Of({"profile", Digits()});
  const Outcome outcome = cluster().Cli(Join(command, limits));
  EXPECT_EQ(outcome.exit_code, 3) << outcome;
  const Json reports = Json::parse(outcome.out);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_TRUE(absl::StrContains(outcome.err, "4 of 6 limits are broken"))
      << outcome;
  for (const Json& report : reports) {
    const std::string target = report.at("target_name");
    int64_t most = 0;
    std::string slowest;
    for (const Json& layer : report.at("layers")) {
      if (layer.at("cycles") <= most) continue;
      most = layer.at("cycles");
      slowest = layer.at("id");
    }
    EXPECT_EQ(report.at("gates")[0].at("layer"), slowest);
    for (const int gate : {0, 1}) {
      EXPECT_EQ(report.at("gates")[gate].at("passed"), false);
    }
    EXPECT_EQ(report.at("gates")[2].at("passed"), true);
    EXPECT_TRUE(
        absl::StrContains(outcome.err, absl::StrCat("- ", target, ": cycles ")))
        << outcome;
    EXPECT_TRUE(absl::StrContains(outcome.err, "most in " + slowest))
        << outcome;
    EXPECT_TRUE(absl::StrContains(
        outcome.err, absl::StrCat("- ", target, ": memory.flash ")))
        << outcome;
  }
  // For people the report says it, too.
  const Outcome text = cluster().Cli({"profile", Digits(), "--target", kTarget,
                                      "--quiet", "--max-cycles", "1k"});
  EXPECT_EQ(text.exit_code, 3) << text;
  EXPECT_TRUE(absl::StrContains(text.out, "GATE BROKEN cycles ")) << text;
  EXPECT_TRUE(absl::StrContains(text.out, "KiB of 64 MiB")) << text;
}

// A limit goes where the name is; --max-ram does not care for names.
TEST_F(GatesTest, AChipOfOnesOwnHasItsOwnNames) {
  const std::string chip = sandbox().Write(
      "own.txtpb",
      absl::StrReplaceAll(cluster().Cli({"targets", "show", kTarget}).out,
                          {{"\"flash\"", "\"mram\""},
                           {"\"ram\"", "\"tcm\""},
                           {"\"sram\"", "\"l1\""}}));
  const Outcome outcome = cluster().Cli(
      Join(Targets{{chip, kTarget}}.Of({"compile", Digits()}),
           {"--max-memory", "mram=1KiB", "--max-memory", "l1=1MiB",
            "--max-memory", "sram=1KiB", "--max-ram", "0.5KiB"}));
  EXPECT_EQ(outcome.exit_code, 3) << outcome;
  std::vector<std::string> gates;
  for (const Json& report : Json::parse(outcome.out)) {
    for (const Json& gate : report.at("gates")) {
      gates.push_back(absl::StrCat(gate.at("target").get<std::string>(), " ",
                                   gate.at("name").get<std::string>(),
                                   gate.at("passed") ? "" : " broken"));
    }
  }
  EXPECT_EQ(gates, (std::vector<std::string>{
                       "own memory.mram broken", "own memory.l1",
                       "own ram_bytes broken",
                       absl::StrCat(kTarget, " memory.sram broken"),
                       absl::StrCat(kTarget, " ram_bytes broken")}));
}

TEST_F(GatesTest, AnUnknownMemoryIsUsage) {
  const Outcome outcome =
      cluster().Cli({"profile", Digits(), "--target", kTarget, "--quiet",
                     "--timing-only", "--json", "--max-memory", "itcm=4KiB"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome;
  EXPECT_TRUE(absl::StrContains(outcome.err, "'itcm'")) << outcome;
  EXPECT_TRUE(absl::StrContains(outcome.err, "flash, ram, sram")) << outcome;
  // What the job found is not lost.
  EXPECT_GT(Json::parse(outcome.out).at("totals").at("cycles").get<int64_t>(),
            0)
      << outcome;
}

TEST_F(GatesTest, AccuracyIsALimitAndAMeasureOfRegression) {
  const std::vector<std::string> validate = {
      "validate",      Digits(),
      "--target",      kTarget,
      "--calibration", SourcePath("docs/example/digits_calibration.npz"),
      "--data",        SourcePath("docs/example/digits_test.npz"),
      "--json",        "--quiet"};
  const Outcome kept =
      cluster().Cli(Join(validate, {"--min-accuracy", "96.1%"}));
  EXPECT_EQ(kept.exit_code, 0) << kept;
  EXPECT_EQ(Json::parse(kept.out).at("gates")[0].at("limit"), 0.961);
  const Outcome broken =
      cluster().Cli(Join(validate, {"--min-accuracy", "0.9999"}));
  EXPECT_EQ(broken.exit_code, 3) << broken;
  EXPECT_TRUE(absl::StrContains(broken.err, "points too low")) << broken;

  const std::string a = sandbox().Write("accurate.json", kept.out);
  Json worse = Json::parse(kept.out);
  worse["accuracy"]["value"] =
      worse["accuracy"]["value"].get<double>() - 0.0125;
  const std::string b = sandbox().Write("worse.json", worse.dump());
  worse.erase("accuracy");
  const std::string none = sandbox().Write("none.json", worse.dump());
  const auto diff = [](const std::string& second, const char* points) {
    return sandbox().Cli({"report", "diff", sandbox().Path("accurate.json"),
                          second, "--max-accuracy-drop", points, "--server",
                          "127.0.0.1:1"});
  };
  EXPECT_EQ(diff(a, "0").exit_code, 0);
  EXPECT_EQ(diff(b, "1.25").exit_code, 0);
  const Outcome dropped = diff(b, "1.2");
  EXPECT_EQ(dropped.exit_code, 3) << dropped;
  EXPECT_TRUE(absl::StrContains(dropped.err, "(-1.25 points)")) << dropped;
  const Outcome missing = diff(none, "5");
  EXPECT_EQ(missing.exit_code, 3) << missing;
  EXPECT_TRUE(absl::StrContains(missing.err, "no accuracy in")) << missing;
}

TEST_F(GatesTest, BaselineIsTheSameWhereverItComesFrom) {
  const Outcome first =
      cluster().Cli(Targets{{kTarget, kOtherTarget}}.Of({"profile", Digits()}));
  ASSERT_EQ(first.exit_code, 0) << first;
  const std::string job = Json::parse(first.out)[0].at("job_id");
  const std::string run = sandbox().Write("first.json", first.out);
  // Limits and the order of targets are the caller's.
  const Outcome second = cluster().Cli(
      Join(Targets{{kOtherTarget, kTarget}}.Of({"profile", Digits()}),
           {"--max-cycles", "1G"}));
  const std::string again = sandbox().Write("second.json", second.out);

  const std::string baseline = sandbox().Path("baseline.json");
  const Outcome written = sandbox().Cli(
      {"report", "baseline", run, "-o", baseline, "--server", "127.0.0.1:1"});
  EXPECT_EQ(written.exit_code, 0) << written;
  const std::string bytes = ReadWholeFile(baseline);
  EXPECT_FALSE(absl::StrContains(bytes, job)) << bytes;
  EXPECT_EQ(cluster().Cli({"report", "baseline", job}).out, bytes);
  EXPECT_EQ(sandbox()
                .Cli({"report", "baseline", again, "--server", "127.0.0.1:1"})
                .out,
            bytes);
  // A baseline of a baseline is that baseline.
  EXPECT_EQ(
      sandbox()
          .Cli({"report", "baseline", baseline, "--server", "127.0.0.1:1"})
          .out,
      bytes);

  Outcome diff =
      sandbox().Cli({"report", "diff", baseline, again, "--json",
                     "--max-regression", "0%", "--server", "127.0.0.1:1"});
  EXPECT_EQ(diff.exit_code, 0) << diff;
  EXPECT_EQ(Json::parse(diff.out).size(), 2u);
  Json worse = Json::parse(second.out);
  Json& use = worse[0]["memory"]["memories"][2];
  ASSERT_EQ(use.at("name"), "sram");
  use["used_bytes"] = 2 * use["used_bytes"].get<int64_t>();
  worse[1]["totals"]["cycles"] =
      2 * worse[1]["totals"]["cycles"].get<int64_t>();
  diff = sandbox().Cli({"report", "diff", baseline,
                        sandbox().Write("slow.json", worse.dump()),
                        "--max-regression", "50%", "--server", "127.0.0.1:1"});
  EXPECT_EQ(diff.exit_code, 3) << diff;
  EXPECT_TRUE(absl::StrContains(
      diff.err, absl::StrCat("- ", kOtherTarget, ": memory.sram grew from")))
      << diff;
  EXPECT_TRUE(absl::StrContains(
      diff.err, absl::StrCat("- ", kTarget, ": cycles grew from")))
      << diff;
}

// Cold and warm, on one worker and on four, with the targets in either order.
void ExpectTheSameJson(const std::vector<std::string>& command,
                       const std::vector<std::string>& targets, int exit_code) {
  const Targets forth{targets};
  const Targets back{{targets.rbegin(), targets.rend()}};
  std::vector<std::string> expected;
  for (const int workers : {1, 4}) {
    const auto cluster = Cluster::Start();
    ASSERT_NE(cluster, nullptr);
    for (int i = 0; i < workers; ++i) cluster->AddWorker();
    for (const Targets& order : {forth, forth, back}) {
      const Outcome outcome = cluster->Cli(order.Of(command));
      EXPECT_EQ(outcome.exit_code, exit_code) << outcome;
      const std::vector<std::string> reports = StableReports(outcome);
      ASSERT_EQ(reports.size(), targets.size());
      if (expected.empty()) expected = reports;
      EXPECT_EQ(reports, expected) << workers << " workers";
    }
  }
}

TEST(SameJsonTest, OfAFloatNetwork) {
  ExpectTheSameJson({"validate", Digits(), "--calibration",
                     SourcePath("docs/example/digits_calibration.npz"),
                     "--data", SourcePath("docs/example/digits_test.npz"),
                     "--limit", "100", "--max-cycles", "1G"},
                    {kTarget, kOtherTarget}, 0);
}

// Data without labels, hence a warning, and a target that fails beside it.
TEST(SameJsonTest, WithWarningsAndAFailedTarget) {
  EK_REQUIRE_SHARED("models/ad_int8.tflite");
  EK_REQUIRE_SHARED("data/ad_windows.npz");
  Sandbox sandbox;
  const std::string chip = sandbox.Write("small.txtpb", kTooSmallChip);
  ExpectTheSameJson({"validate", SharedPath("models/ad_int8.tflite"), "--data",
                     SharedPath("data/ad_windows.npz"), "--limit", "64"},
                    {kTarget, chip}, 1);
}

}  // namespace
}  // namespace edgekiln::tests
