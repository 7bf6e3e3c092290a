// Kernels that a target brings itself: c_kernels and c_sources of a descriptor.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {
namespace {

using testing::HasSubstr;

constexpr char kGcc[] = "/usr/bin/riscv64-unknown-elf-gcc";

// The residual addition of the example, and what the report calls it.
constexpr char kRow[] = R"pb(
  c_kernels {
    name: "my_add"
    ops: "add"
    out: INT8
    where: "factors * one_shape * (rounding == 0)"
    call {
      function: "my_add"
      header: "my_add.h"
      arguments { value_expr: "out_elements" }
      arguments { input { index: 0 } }
      arguments { input { index: 1 } }
      arguments {
        array {
          type: INT32
          value_exprs: "in_zero"
          value_exprs: "in2_zero"
          value_exprs: "out_zero"
          value_exprs: "pow2_left_shift"
          value_exprs: "multiplier_a"
          value_exprs: "n_a"
          value_exprs: "multiplier_b"
          value_exprs: "n_b"
          value_exprs: "multiplier_out"
          value_exprs: "n_out"
          value_exprs: "clamp_min"
          value_exprs: "clamp_max"
        }
      }
      arguments { output: 0 }
    }
    cost {
      instructions_expr: "out_elements"
      code_bytes_expr: "40"
      provenance: ASSUMED
    }
  }
)pb";

constexpr char kHeader[] =
    "#include <stdint.h>\n"
    "void my_add(int32_t n, const int8_t *a, const int8_t *b, const int32_t *p,"
    " int8_t *y);\n";

constexpr char kSource[] = R"(
#include "my_add.h"
static int32_t scaled(int32_t value, int32_t multiplier, int32_t n) {
  return (int32_t)((((int64_t)value * multiplier >> (n - 1)) + 1) >> 1);
}
void my_add(int32_t n, const int8_t *a, const int8_t *b, const int32_t *p,
            int8_t *y) {
  int32_t i;
  for (i = 0; i < n; ++i) {
    const int32_t u = scaled((a[i] - p[0]) * p[3], p[4], p[5]);
    const int32_t v = scaled((b[i] - p[1]) * p[3], p[6], p[7]);
    int32_t sum = scaled(u + v, p[8], p[9]) + p[2];
    if (sum < p[10]) sum = p[10];
    if (sum > p[11]) sum = p[11];
    y[i] = (int8_t)sum;
  }
}
)";

class OwnKernelsTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (!std::filesystem::exists(kGcc)) EK_SKIP("no riscv64-unknown-elf-gcc");
  }

  static std::string Target(const std::string& name,
                            const std::string& source) {
    return cluster().sandbox().Write(
        absl::StrCat(name, ".txtpb"),
        absl::StrCat("schema_version: 1\nextends: \"rv32imc\"\nname: \"", name,
                     "\"\n", kRow, "c_sources { path: \"my_add.h\" text: \"",
                     absl::CEscape(kHeader),
                     "\" }\nc_sources { path: \"my_add.c\" text: \"",
                     absl::CEscape(source), "\" }\n"));
  }
  static std::vector<std::string> Profile(const std::string& target) {
    return {"profile", SourcePath("docs/example/digits.onnx"), "--target",
            target};
  }
  // What the body of the function makes of the job.
  static v1::ErrorDetail FailureWith(const std::string& name,
                                     const std::string& body, int exit_code) {
    const std::string source = absl::StrCat(
        "#include \"my_add.h\"\nextern int elsewhere(int);\n"
        "static volatile uint32_t at = 1;\n"
        "static int deeper(int n) {\n  volatile int own[64];\n"
        "  own[n & 63] = n;\n"
        "  return n == 0 ? 0 : deeper(n + 1) + own[n & 63];\n}\n"
        "int unused(int n) { return deeper(n); }\n"
        "void my_add(int32_t n, const int8_t *a, const int8_t *b, "
        "const int32_t *p, int8_t *y) {\n  (void)n, (void)a, (void)b, "
        "(void)p, (void)y;\n",
        body, "\n}\n");
    return FailureOf(cluster(), Profile(Target(name, source)), exit_code);
  }
};

TEST_F(OwnKernelsTest, ComputeWhatTheReferenceDoes) {
  std::vector<std::string> arguments = Profile(Target("good", kSource));
  arguments.insert(arguments.end(), {"--hot", "--json"});
  const v1::Report report = ReportOf(cluster().Cli(arguments));
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  EXPECT_GT(report.memory().sections().stack_bytes(), 0);
  bool is_called = false;
  for (const v1::HotSpots::Function& function :
       report.hot_spots().functions()) {
    is_called = is_called || function.name() == "my_add";
  }
  EXPECT_TRUE(is_called);
}

TEST_F(OwnKernelsTest, OtherValuesAreFound) {
  std::string source(kSource);
  source.replace(source.find("y[i] = (int8_t)sum"), 18,
                 "y[i] = (int8_t)(sum ^ (i == 7))");
  std::vector<std::string> arguments = Profile(Target("wrong", source));
  arguments.emplace_back("--json");
  const Outcome result = cluster().Cli(arguments);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.out + result.err, HasSubstr("block1_add"));
}

TEST_F(OwnKernelsTest, AreJudgedByTheCompiler) {
  EXPECT_NAMES(FailureWith("syntax", "return }", 1), "my_add.c");
  EXPECT_NAMES(FailureWith("missing", "y[0] = (int8_t)elsewhere(n);", 1),
               "elsewhere");
  // What no package has brought is not there for it.
  const std::string secret =
      cluster().sandbox().Write("secret.h", "#error it reads SESAME\n");
  const v1::ErrorDetail error = FailureOf(
      cluster(),
      Profile(Target("reader", absl::StrCat("#include \"", secret, "\"\n"))),
      1);
  EXPECT_EQ(error.what().find("SESAME"), std::string::npos) << error.what();
}

TEST_F(OwnKernelsTest, FaultsNameFunctionAndLayer) {
  const struct {
    const char* name;
    const char* body;
    const char* what;
  } kCases[] = {
      {"jumps", "((void (*)(void))(at << 30))();", "holds no code"},
      {"misaligned", "y[0] = (int8_t)*(volatile int32_t *)(a + at);",
       "misaligned load"},
      {"wild", "*(volatile int32_t *)(at << 28) = n;", "store to"},
      {"recurses", "y[0] = (int8_t)deeper((int)at);", "stack overflow"},
      {"undefined", "{ volatile int8_t own[8]; y[0] = own[at]; }",
       "which nothing wrote"},
  };
  for (const auto& row : kCases) {
    const v1::ErrorDetail error = FailureWith(row.name, row.body, 1);
    EXPECT_THAT(error.reason(),
                testing::AnyOf("FIRMWARE_FAULT", "STACK_OVERFLOW"))
        << row.name;
    EXPECT_THAT(error.what(), HasSubstr(row.what)) << row.name;
    EXPECT_THAT(error.where(), HasSubstr("pc 0x")) << row.name;
  }
}

}  // namespace
}  // namespace edgekiln::tests
