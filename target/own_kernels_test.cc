#include "target/own_kernels.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

using testing::HasSubstr;

constexpr char kTarget[] = "schema_version: 1 extends: \"rv32imc\"\n";

// Of the target's own: two rows that share a function.
constexpr char kRows[] = R"pb(
  c_kernels {
    name: "my_conv"
    ops: "conv2d"
    in: INT8
    where: "groups == 1"
    call {
      function: "my_conv"
      header: "my_kernels.h"
      arguments { input { index: 0 } }
      arguments {
        fields {
          type: "const struct dims"
          by_address: true
          members { name: "h" value_expr: "in_h" }
        }
      }
      arguments { array { type: INT32 value_exprs: "in_h" } }
      arguments { per_channel { type: INT32 value_expr: "bias - weight_sum" } }
      arguments { output: 0 }
    }
    cost {
      instructions_expr: "2 * macs"
      code_bytes_expr: "100"
      provenance: ASSUMED
    }
    weight_layout { elements_expr: "macs" source_expr: "element" }
  }
  c_kernels {
    name: "my_sum"
    recipes: SMALL
    ops: "add"
    call { function: "my_sum" header: "my_kernels.h" }
    cost { instructions_expr: "1" code_bytes_expr: "1" provenance: FITTED }
  }
)pb";

constexpr char kSources[] = R"pb(
  c_sources { path: "src/my_kernels.c" text: "int x;" }
  c_sources { path: "inc/my_kernels.h" text: "int y;" }
)pb";

TEST(OwnKernelsTest, ResolveWithTheTarget) {
  const auto resolved = ResolveTarget(absl::StrCat(kTarget, kRows, kSources));
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  const v1::Machine::Firmware& firmware = resolved->machine().firmware();
  ASSERT_EQ(firmware.kernels_size(), 2);
  EXPECT_EQ(firmware.kernels(0).cost().provenance(),
            v1::PROVENANCE_UNSPECIFIED);
  EXPECT_THAT(firmware.kernels(0).recipes(),
              testing::ElementsAre(v1::CRecipe::KERNELS_UNSPECIFIED));
  EXPECT_THAT(firmware.kernels(1).recipes(),
              testing::ElementsAre(v1::CRecipe::SMALL));
  ASSERT_EQ(firmware.sources_size(), 2);
  EXPECT_EQ(firmware.sources(0).path(), "inc/my_kernels.h");
  EXPECT_EQ(firmware.sources(1).text(), "int x;");
  const auto without = ResolveTarget(kTarget);
  ASSERT_TRUE(without.ok());
  EXPECT_NE(without->machine().SerializeAsString(),
            resolved->machine().SerializeAsString());
}

TEST(OwnKernelsTest, MayBeLeftToWhoLinks) {
  const auto resolved = ResolveTarget(absl::StrCat(kTarget, kRows));
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->machine().firmware().sources_size(), 0);
}

// `from` of a valid target is replaced by `to`.
struct Broken {
  const char* name;
  const char* from;
  const char* to;
  const char* where;
  const char* what;
  const char* fix;
};

class BrokenOwnKernelsTest : public testing::TestWithParam<Broken> {};

TEST_P(BrokenOwnKernelsTest, NamesRowFieldAndFix) {
  const Broken& param = GetParam();
  const std::string valid = absl::StrCat(kTarget, kRows, kSources);
  ASSERT_NE(valid.find(param.from), std::string::npos);
  const std::string text = absl::StrReplaceAll(valid, {{param.from, param.to}});
  const auto resolved = ResolveTarget(text);
  ASSERT_EQ(resolved.status().code(), absl::StatusCode::kInvalidArgument)
      << resolved.status();
  const auto detail = GetErrorDetail(resolved.status());
  ASSERT_TRUE(detail.has_value()) << resolved.status();
  EXPECT_EQ(detail->reason, "TARGET_INVALID");
  EXPECT_THAT(detail->where, HasSubstr(param.where));
  EXPECT_THAT(detail->what, HasSubstr(param.what));
  EXPECT_THAT(detail->fix, HasSubstr(param.fix));
}

const Broken kBroken[] = {
    {"Name", "name: \"my_conv\"", "name: \"my conv\"",
     "c_kernels[0] \"my conv\": name", "not a C identifier", "letters"},
    {"Keyword", "function: \"my_sum\"", "function: \"while\"",
     "c_kernels[1] \"my_sum\": call: function", "not a C identifier",
     "keyword"},
    {"Op", "ops: \"add\"", "ops: \"ad\"", "c_kernels[1] \"my_sum\": ops",
     "no op is called \"ad\"", "did you mean \"add\"?"},
    {"NoOp", "ops: \"add\"", "", ": ops", "missing", "name the ops"},
    {"Condition", "groups == 1", "group == 1",
     "c_kernels[0] \"my_conv\": where[0], column 1", "unknown name \"group\"",
     "did you mean \"groups\"?"},
    {"Unfinished", "groups == 1", "groups ==", "where[0]", "unexpected end",
     "correct the expression"},
    {"Sum", "2 * macs", "sum(i, 0, 65536, i)", "cost: instructions_expr",
     "no sum()", "without a sum"},
    {"Header", "header: \"my_kernels.h\"", "header: \"../../../etc/passwd\"",
     "call: header", "header", "relative path"},
    {"AbsoluteHeader", "header: \"my_kernels.h\"", "header: \"/etc/passwd\"",
     "call: header", "header", "relative path"},
    {"QuotedHeader", "header: \"my_kernels.h\"",
     "header: \"a.h\\\"\\n#include <b.h>\"", "call: header", "header",
     "relative path"},
    {"OtherHeader", "header: \"my_kernels.h\"", "header: \"inc/my_kernel.h\"",
     "c_kernels[0] \"my_conv\": call: header", "no file of c_sources",
     "did you mean \"inc/my_kernels.h\"?"},
    {"BuiltIn", "function: \"my_sum\"", "function: \"$shared_add\"",
     "c_kernels[1] \"my_sum\": call: function", "built-in", "of your own"},
    {"Generator", "call { function: \"my_sum\" header: \"my_kernels.h\" }",
     "generator: \"block2x4\"", "c_kernels[1] \"my_sum\": call",
     "calls no function", "function of their own"},
    {"Table", "function: \"my_sum\"", "function: \"my_sum\" table_entry: true",
     "call: table_entry", "built-in", "remove"},
    {"Provenance", "provenance: FITTED", "", "cost: provenance", "missing",
     "ASSUMED"},
    {"Scales", "provenance: FITTED",
     "provenance: FITTED scales { instructions_percent: 1 }", "cost: scales",
     "own processor", "remove"},
    {"Index", "input { index: 0 }", "input { index: -1 }",
     "call: arguments[0]: input: index", "index", "correct"},
    {"Output", "output: 0", "output: 16", "call: arguments[4]: output", "index",
     "correct"},
    {"Overwrites", "name: \"my_sum\"", "name: \"my_sum\" overwrites: -1",
     "overwrites", "index", "correct"},
    {"Cast", "output: 0", "output: 0 cast: \"int)(\"", "arguments[4]: cast",
     "not a C type", "words"},
    {"NoValue", "output: 0", "", "c_kernels[0] \"my_conv\": call: arguments[4]",
     "no value", "value_expr"},
    {"Struct", "type: \"const struct dims\"", "type: \"int;\"",
     "arguments[1]: fields: type", "C type", "struct dims"},
    {"Member", "members { name: \"h\" value_expr: \"in_h\" }",
     "members { value_expr: \"in_h\" }", "fields: members[0]", "no name",
     "in C"},
    {"MemberName", "name: \"h\"", "name: \"h = system(1), .w\"",
     "members[0]: name", "not a C identifier", "letters"},
    {"ArrayType", "array { type: INT32", "array { type: FLOAT64",
     "arguments[2]: array: type", "32 bits", "INT8"},
    {"EmptyArray", "value_exprs: \"in_h\"", "", "arguments[2]: array",
     "no elements", "value_exprs"},
    {"Channel", "bias - weight_sum", "bias - weights_sum",
     "arguments[3]: per_channel: value_expr", "weights_sum",
     "did you mean \"weight_sum\"?"},
    {"Layout", "source_expr: \"element\"", "source_expr: \"\"",
     "weight_layout: source_expr", "unexpected end", "correct"},
    {"TwoLayouts", "name: \"my_conv\"",
     "name: \"my_conv\" weight_order: PLANES", "weight_layout",
     "weight_order as well", "leave one"},
    {"SourcePath", "src/my_kernels.c", "../my_kernels.c", "c_sources[0]: path",
     "not a path", "relative"},
    {"SourceKind", "src/my_kernels.c", "src/my_kernels.o", "c_sources[0]: path",
     "is not a .c, .h or .S file", "rename"},
    {"SourceTwice", "src/my_kernels.c", "inc/my_kernels.h",
     "c_sources[1]: path", "twice", "keep one"},
    {"SourceIsAFolder", "inc/my_kernels.h", "src/my_kernels.c/my_kernels.h",
     "c_sources[1]: path", "\"src/my_kernels.c\" is a file as well",
     "rename the file or the folder"},
    {"Engines", "rv32imc", "dla", "c_kernels", "whose host runs C",
     "docs/c_targets"},
};

INSTANTIATE_TEST_SUITE_P(All, BrokenOwnKernelsTest, testing::ValuesIn(kBroken),
                         [](const auto& info) { return info.param.name; });

TEST(OwnKernelsTest, SourcesWithoutRowsAreOfNoUse) {
  const auto resolved = ResolveTarget(absl::StrCat(kTarget, kSources));
  ASSERT_FALSE(resolved.ok());
  EXPECT_THAT(std::string(resolved.status().message()),
              HasSubstr("no c_kernels"));
}

TEST(OwnKernelsTest, UnknownKeysAreNamed) {
  const auto resolved = ResolveTarget(absl::StrCat(
      kTarget, "c_kernels { name: \"k\" call { functon: \"f\" } }"));
  ASSERT_FALSE(resolved.ok());
  EXPECT_THAT(std::string(resolved.status().message()),
              HasSubstr("did you mean \"function\"?"));
}

TEST(OwnKernelsTest, NumbersOfEntriesAreLimited) {
  std::string rows(kTarget);
  for (int i = 0; i < 257; ++i) {
    absl::StrAppend(&rows, "c_kernels { name: \"k\" }\n");
  }
  const auto resolved = ResolveTarget(rows);
  ASSERT_FALSE(resolved.ok());
  EXPECT_THAT(std::string(resolved.status().message()), HasSubstr("too many"));
}

TEST(OwnKernelsTest, HeadersAreFoundInTheirFolders) {
  EXPECT_TRUE(IsIncludedAs("inc/a.h", "a.h"));
  EXPECT_TRUE(IsIncludedAs("a.h", "a.h"));
  EXPECT_TRUE(IsIncludedAs("x/inc/a.h", "inc/a.h"));
  EXPECT_FALSE(IsIncludedAs("inc/ba.h", "a.h"));
}

}  // namespace
}  // namespace edgekiln::target
