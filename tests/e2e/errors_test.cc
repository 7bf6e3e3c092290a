// Bad input: the exit code says whose fault it is, the error what, where,
// which limit, what is needed and how to fix it; the daemon stays up.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kTarget[] = "dla-64-o-512k";
constexpr char kNet[] = "models/resnet8_int8.tflite";

class ErrorsTest : public ClusterTest {
 protected:
  // A healthy request still works: neither daemon nor worker was harmed.
  void TearDown() override {
    if (cluster().DaemonIsUp()) {
      const Outcome healthy = cluster().Cli(
          {"inspect", SourcePath("docs/example/digits.onnx"), "--json"});
      EXPECT_EQ(healthy.exit_code, 0) << healthy;
    } else {
      ADD_FAILURE() << "the daemon is gone";
    }
  }

  static v1::ErrorDetail Fails(std::vector<std::string> arguments,
                               int exit_code) {
    return FailureOf(cluster(), std::move(arguments), exit_code);
  }
};

TEST_F(ErrorsTest, TruncatedModels) {
  EK_REQUIRE_SHARED(kNet);
  for (const std::string& whole :
       {ReadWholeFile(SharedPath(kNet)),
        ReadWholeFile(SourcePath("docs/example/digits.onnx"))}) {
    for (const size_t size : {size_t{1}, size_t{7}, size_t{64},
                              whole.size() / 3, whole.size() - 1000}) {
      SCOPED_TRACE(size);
      const std::string path =
          sandbox().Write("truncated.tflite", whole.substr(0, size));
      const v1::ErrorDetail error = Fails({"inspect", path}, 1);
      EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
    }
  }
}

TEST_F(ErrorsTest, RandomBytes) {
  Rng rng(7);
  for (const std::string& start :
       {std::string(), std::string("\x1C\0\0\0TFL3", 8),
        std::string("\x08\x08\x12\x04test", 8)}) {
    std::string bytes = start;
    for (int i = 0; i < 20'000; ++i) {
      bytes += static_cast<char>(rng.InRange(-128, 127));
    }
    const std::string path = sandbox().Write("random.bin", bytes);
    const v1::ErrorDetail error =
        Fails({"profile", path, "--target", kTarget}, 1);
    EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
  }
}

struct RejectCase {
  const char* name;
  const char* file;
  std::vector<std::string> names;
  friend void PrintTo(const RejectCase& c, std::ostream* out) {
    *out << c.name;
  }
};

class RejectTest : public ErrorsTest,
                   public testing::WithParamInterface<RejectCase> {};

TEST_P(RejectTest, NamesWhatIsUnsupported) {
  const std::string file = std::string("models/reject/") + GetParam().file;
  EK_REQUIRE_SHARED(file);
  const v1::ErrorDetail error =
      Fails({"compile", SharedPath(file), "--target", kTarget}, 1);
  EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
  EXPECT_FALSE(error.where().empty()) << TextOf(error);
  for (const std::string& name : GetParam().names) EXPECT_NAMES(error, name);
}

INSTANTIATE_TEST_SUITE_P(
    Models, RejectTest,
    testing::Values(RejectCase{"unknown_domain",
                               "unknown_domain.onnx",
                               {"finn.custom_op.general"}},
                    RejectCase{"opset_1", "opset1_mnist.onnx", {"1"}},
                    RejectCase{"custom_op", "custom_op.tflite", {"Complex"}}),
    [](const auto& info) { return info.param.name; });

TEST_F(ErrorsTest, TooSmallSramNamesLayerAndSize) {
  EK_REQUIRE_SHARED(kNet);
  const std::string chip = sandbox().Write(
      "small.txtpb",
      "extends: \"dla\"\nset { name: \"sram_bytes\" value: 1024 }\n");
  const v1::ErrorDetail error =
      Fails({"compile", SharedPath(kNet), "--target", chip}, 1);
  EXPECT_EQ(error.reason(), "SRAM_TOO_SMALL");
  EXPECT_NAMES(error, "conv2d");
  EXPECT_NAMES(error, "1024");
  // The named size is enough, a byte less is not.
  const int64_t need = std::atoll(error.need().c_str());
  ASSERT_GT(need, 1024) << TextOf(error);
  const auto chip_of = [](int64_t bytes) {
    return sandbox().Write(
        "chip.txtpb",
        absl::StrCat("extends: \"dla\"\nset { name: \"sram_bytes\" value: ",
                     bytes, " }\n"));
  };
  const Outcome fits = cluster().Cli(
      {"profile", SharedPath(kNet), "--target", chip_of(need), "--json"});
  const v1::Report report = ReportOf(fits);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_LE(report.memory().sram_peak_bytes(), need);
  EXPECT_EQ(
      std::atoll(
          Fails({"profile", SharedPath(kNet), "--target", chip_of(need - 1)}, 1)
              .need()
              .c_str()),
      need);
}

TEST_F(ErrorsTest, UnknownOption) {
  const v1::ErrorDetail error =
      Fails({"profile", "net.tflite", "--taregt", kTarget}, 2);
  EXPECT_EQ(error.reason(), "USAGE");
  EXPECT_NAMES(error, "--taregt");
  EXPECT_NAMES(error, "--target");
}

TEST_F(ErrorsTest, UnknownCommand) {
  const v1::ErrorDetail error = Fails({"profil"}, 2);
  EXPECT_NAMES(error, "profile");
}

TEST_F(ErrorsTest, AbsentFile) {
  const v1::ErrorDetail error = Fails(
      {"profile", sandbox().Path("absent.tflite"), "--target", kTarget}, 2);
  EXPECT_NAMES(error, "absent.tflite");
}

TEST_F(ErrorsTest, UnknownTargetNamesTheNearest) {
  EK_REQUIRE_SHARED(kNet);
  const v1::ErrorDetail error =
      Fails({"profile", SharedPath(kNet), "--target", "dla-64-o-512"}, 1);
  EXPECT_NAMES(error, "'dla-64-o-512'");
  EXPECT_EQ(error.need(), "");
  EXPECT_EQ(error.fix(), "did you mean \"dla-64-o-512k\"?");
  const v1::ErrorDetail pattern =
      Fails({"profile", SharedPath(kNet), "--target", "dla-64-*"}, 1);
  EXPECT_NAMES(pattern, "edgekiln sweep");
}

TEST_F(ErrorsTest, DataOfAnotherShapeNamesBoth) {
  EK_REQUIRE_SHARED(kNet);
  EK_REQUIRE_SHARED("data/kws_500.npz");
  const v1::ErrorDetail error =
      Fails({"validate", SharedPath(kNet), "--target", kTarget, "--data",
             SharedPath("data/kws_500.npz")},
            1);
  EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
  EXPECT_NAMES(error, "32x32x3");
  EXPECT_NAMES(error, "49x10x1");
}

TEST_F(ErrorsTest, DataThatIsNoData) {
  EK_REQUIRE_SHARED(kNet);
  const std::string data = sandbox().Write("data.npz", std::string(5000, 'x'));
  Fails({"profile", SharedPath(kNet), "--target", kTarget, "--data", data}, 1);
}

struct DescriptorCase {
  const char* name;
  const char* text;
  std::vector<std::string> names;
  friend void PrintTo(const DescriptorCase& c, std::ostream* out) {
    *out << c.name;
  }
};

class DescriptorTest : public ErrorsTest,
                       public testing::WithParamInterface<DescriptorCase> {};

TEST_P(DescriptorTest, IsRefusedBeforeAndInAJob) {
  EK_REQUIRE_SHARED(kNet);
  const std::string chip = sandbox().Write("bad.txtpb", GetParam().text);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"targets", "check", chip},
        {"profile", SharedPath(kNet), "--target", chip}}) {
    const v1::ErrorDetail error = Fails(command, 1);
    EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
    for (const std::string& name : GetParam().names) EXPECT_NAMES(error, name);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Descriptors, DescriptorTest,
    testing::Values(
        DescriptorCase{"UnknownKey",
                       "extends: \"dla\"\nset { name: \"pes\" value: 96 }\n"
                       "sram: 5\n",
                       {"line 3", "sram"}},
        DescriptorCase{"UnknownParameter",
                       "extends: \"dla\"\nset { name: \"pess\" value: 96 }\n",
                       {"pess", "pes"}},
        DescriptorCase{"OutOfRange",
                       "extends: \"dla\"\nset { name: \"pes\" value: 0 }\n",
                       {"pes", "1024"}},
        DescriptorCase{"UnknownBase", "extends: \"dlb\"\n", {"dlb", "dla"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::tests
