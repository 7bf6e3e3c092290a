// `compile --from`: the network of a bundle, bound to another chip later. The
// bundle is the one that the model gives, byte for byte.

#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;
using Files = std::map<std::string, std::string>;

constexpr char kDocument[] = "network.ekn";

Arguments Joined(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Bundle {
  v1::Report report;
  Files files;
};

// Of a fresh folder of the cluster.
Bundle Compile(Cluster& cluster, const Arguments& arguments) {
  static int folders = 0;
  const std::string folder =
      cluster.sandbox().Path(absl::StrCat("bundle-", ++folders));
  Bundle bundle;
  bundle.report = ReportOf(cluster.Cli(
      Joined(Joined({"compile"}, arguments), {"-o", folder, "--json"}),
      absl::Seconds(120)));
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    bundle.files[fs::relative(file.path(), folder)] =
        ReadWholeFile(file.path());
  }
  return bundle;
}

// Names first: a whole bundle is no message.
void ExpectSameFiles(const Files& expected, const Files& actual) {
  ASSERT_GT(expected.size(), 3u);
  for (const auto& [path, bytes] : expected) {
    ASSERT_EQ(actual.count(path), 1u) << path;
    EXPECT_TRUE(actual.at(path) == bytes) << path << " differs";
  }
  EXPECT_EQ(actual.size(), expected.size());
}

struct Case {
  const char* name;
  const char* shared;  // A file of the shared data; null: digits.onnx.
  Arguments options;
  // The chip whose bundle the document is from, then those it is bound to; all
  // need the same quantization.
  std::vector<Arguments> chips;

  friend std::ostream& operator<<(std::ostream& stream, const Case& test) {
    return stream << test.name;
  }
};

class LateBindingTest : public ClusterTest {
 protected:
  static std::string Digits() { return SourcePath("docs/example/digits.onnx"); }
  // The document of a bundle for this chip.
  static std::string DigitsDocument(const std::string& name,
                                    const Arguments& chip) {
    const Bundle bundle = Compile(
        cluster(), Joined({Digits(), "--calibration",
                           SourcePath("docs/example/digits_calibration.npz")},
                          chip));
    return sandbox().Write(name, bundle.files.at(kDocument));
  }
  static v1::ErrorDetail Refusal(const std::string& document, int exit_code,
                                 const Arguments& more = {"--target",
                                                          "dla-64-o-512k"}) {
    return FailureOf(cluster(), Joined({"compile", "--from", document}, more),
                     exit_code);
  }
};

class SameBundleTest : public LateBindingTest,
                       public testing::WithParamInterface<Case> {};

TEST_P(SameBundleTest, AsFromTheModel) {
  const Case& test = GetParam();
  if (test.shared != nullptr) EK_REQUIRE_SHARED(test.shared);
  const Arguments from_model =
      Joined({test.shared == nullptr ? Digits() : SharedPath(test.shared)},
             test.options);
  const Bundle first =
      Compile(cluster(), Joined(from_model, test.chips.front()));
  ASSERT_EQ(first.files.count(kDocument), 1u);
  const Arguments from_document = {
      "--from", sandbox().Write(absl::StrCat(test.name, ".ekn"),
                                first.files.at(kDocument))};
  // It knows nothing but the document.
  const std::unique_ptr<Cluster> other = Cluster::Start();
  ASSERT_NE(other, nullptr);
  other->AddWorker();
  for (const Arguments& chip : test.chips) {
    SCOPED_TRACE(testing::PrintToString(chip));
    const Bundle expected = Compile(cluster(), Joined(from_model, chip));
    const Bundle late = Compile(*other, Joined(from_document, chip));
    ExpectSameFiles(expected.files, late.files);
    ExpectSame(expected.report, late.report);
    // The daemon that has compiled the model has all of it.
    const Bundle again = Compile(cluster(), Joined(from_document, chip));
    ExpectSameFiles(expected.files, again.files);
    for (const std::string& stage :
         StagesWith(again.report, v1::Report::Stage::MISS)) {
      EXPECT_TRUE(stage == "open_document" || stage == "check_fit") << stage;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SameBundleTest,
    testing::Values(
        Case{"Float",
             nullptr,
             {"--seed", "3"},
             {{"--target", "dla-64-o-512k"},
              {"--target", "dla-64-o-512k", "--recipe", "serial"},
              {"--target", "dla-64-o-512k", "--recipe", "paper"},
              {"--target", "dla-128-i-1m"},
              {"--target", "dla-64-o-512k", "--offload", "none"}}},
        Case{"FloatInputs",
             nullptr,
             {"--io", "float"},
             {{"--target", "toy-array"}}},
        Case{"PerTensor", nullptr, {}, {{"--target", "toy-array-tensor"}}},
        Case{"Integer",
             "models/dscnn_int8.tflite",
             {},
             {{"--target", "dla-64-o-512k"},
              {"--target", "dla-128-i-256m-nodw"},
              {"--target", "toy-array"}}},
        Case{"Uint8",
             "models/mobilenet_v1_0.25_128_uint8.tflite",
             {},
             {{"--target", "dla-64-o-512k"},
              {"--target", "dla-128-i-1m", "--recipe", "serial"}}}),
    [](const auto& info) { return info.param.name; });

// One document, one job, several chips.
TEST_F(LateBindingTest, SeveralChipsAtOnce) {
  const std::string document =
      DigitsDocument("several.ekn", {"--target", "dla-64-o-512k"});
  const std::string folder = sandbox().Path("several");
  const Outcome outcome =
      cluster().Cli({"compile", "--from", document, "--target", "dla-64-o-512k",
                     "--target", "dla-128-i-1m", "-o", folder});
  EXPECT_EQ(outcome.exit_code, 0) << outcome;
  for (const char* target : {"dla-64-o-512k", "dla-128-i-1m"}) {
    EXPECT_TRUE(
        ReadWholeFile(absl::StrCat(folder, "/", target, "/", kDocument)) ==
        ReadWholeFile(document))
        << target;
  }
}

TEST_F(LateBindingTest, OtherArithmeticNeedsTheModel) {
  const std::string document =
      DigitsDocument("dla.ekn", {"--target", "dla-64-o-512k"});
  const v1::ErrorDetail error =
      Refusal(document, 1, {"--target", "toy-array-tensor"});
  EXPECT_EQ(error.reason(), "DOCUMENT_NEEDS");
  EXPECT_NAMES(error, "target toy-array-tensor");
  EXPECT_NAMES(error, "the target needs: one weight scale per layer in conv2d");
  EXPECT_NAMES(error, "compile from the model");
}

TEST_F(LateBindingTest, TheFormOfInputsIsTheDocuments) {
  const std::string document =
      DigitsDocument("io.ekn", {"--target", "dla-64-o-512k", "--io", "float"});
  const Bundle bundle =
      Compile(cluster(), {"--from", document, "--target", "dla-64-o-512k"});
  EXPECT_EQ(bundle.report.totals().io(), v1::IO_FLOAT);
  const v1::ErrorDetail error =
      Refusal(document, 1, {"--target", "dla-64-o-512k", "--io", "int"});
  EXPECT_EQ(error.reason(), "DOCUMENT_IO");
  EXPECT_NAMES(error, "leave --io out");
}

TEST_F(LateBindingTest, BrokenDocumentsAreRefused) {
  const std::string good =
      ReadWholeFile(DigitsDocument("good.ekn", {"--target", "dla-64-o-512k"}));
  ASSERT_GT(good.size(), 1000u);
  std::string flipped = good;
  flipped[good.size() / 2] ^= 4;
  std::string version = good;
  version[8] = 2;
  const struct {
    const char* name;
    std::string bytes;
    const char* reason;
  } kCases[] = {
      {"empty", "", "NOT_A_DOCUMENT"},
      {"model", ReadWholeFile(Digits()), "NOT_A_DOCUMENT"},
      {"cut", good.substr(0, good.size() - 1), "DOCUMENT_DAMAGED"},
      {"longer", good + "x", "DOCUMENT_DAMAGED"},
      {"flipped", flipped, "DOCUMENT_DAMAGED"},
      {"version", version, "DOCUMENT_VERSION"},
  };
  for (const auto& test : kCases) {
    const v1::ErrorDetail error = Refusal(
        sandbox().Write(absl::StrCat("bad-", test.name, ".ekn"), test.bytes),
        1);
    EXPECT_EQ(error.reason(), test.reason) << test.name;
    EXPECT_NE(error.fix(), "") << test.name;
  }
}

TEST_F(LateBindingTest, WhatADocumentHasDecidedCannotBeAsked) {
  const std::string document =
      DigitsDocument("decided.ekn", {"--target", "dla-64-o-512k"});
  const std::string data = SourcePath("docs/example/digits_calibration.npz");
  for (const Arguments& option :
       std::vector<Arguments>{{"--calibration", data},
                              {"--calibration-method", "minmax"},
                              {"--seed", "3"},
                              {"--bind", "N=1"},
                              {"--bind-input", absl::StrCat("x=", data)},
                              {"--external-data", data},
                              {"--input", "scale=2", "--calibration", data}}) {
    const v1::ErrorDetail error =
        Refusal(document, 2, Joined({"--target", "dla-64-o-512k"}, option));
    EXPECT_NAMES(error, "a document is quantized already");
  }
  const v1::ErrorDetail both =
      Refusal(document, 2, {Digits(), "--target", "dla-64-o-512k"});
  EXPECT_NAMES(both, "MODEL and --from are given");
  const v1::ErrorDetail neither =
      FailureOf(cluster(), {"compile", "--target", "dla-64-o-512k"}, 2);
  EXPECT_NAMES(neither, "MODEL is required");
  EXPECT_NAMES(neither, "--from");
  const v1::ErrorDetail missing = Refusal(sandbox().Path("nowhere.ekn"), 2);
  EXPECT_NAMES(missing, "--from");
}

}  // namespace
}  // namespace edgekiln::tests
