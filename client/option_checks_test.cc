#include "client/option_checks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

using Args = std::vector<std::string>;

// What is wrong with a command line, "" if nothing is.
std::string Refusal(const Args& args, std::string* fix = nullptr) {
  const auto line = ParseCommandLine(args);
  if (line.ok()) return "";
  EXPECT_EQ(ExitCodeFor(line.status()), ExitCode::kUsage) << line.status();
  const auto detail = GetErrorDetail(line.status());
  if (!detail.has_value()) return "no detail";
  EXPECT_NE(detail->fix, "") << detail->what;
  if (fix != nullptr) *fix = detail->fix;
  return detail->what;
}

TEST(OptionChecksTest, NamesOfFilesAreNotEmpty) {
  EXPECT_EQ(Refusal({"quantize", "m", "-o", ""}), "the OUT.onnx is empty");
  EXPECT_EQ(Refusal({"quantize", "m", "--data", ""}), "the DATA is empty");
  EXPECT_EQ(Refusal({"compile", "m", "--target", "t", "-o", ""}),
            "the DIR is empty");
  EXPECT_EQ(Refusal({"profile", "m", "--target", "t", "--timeline", ""}),
            "the FILE is empty");
  EXPECT_EQ(Refusal({"validate", "m", "--target", "t", "--calibration", ""}),
            "the DATA is empty");
  EXPECT_EQ(Refusal({"sweep", "m", "--target", "t", "--csv", ""}),
            "the FILE is empty");
  EXPECT_EQ(Refusal({"report", "baseline", "last", "-o", ""}),
            "the OUT.json is empty");
  EXPECT_EQ(Refusal({"quantize", "m", "--quantization", ""}),
            "the FILE is empty");
  EXPECT_EQ(Refusal({"quantize", "m", "-o", "x"}), "");
}

TEST(OptionChecksTest, NamesOfNetworksBeginIdentifiers) {
  const auto refusal = [](const std::string& name, std::string* fix = nullptr) {
    return Refusal({"compile", "m", "--target", "t", "--name", name}, fix);
  };
  EXPECT_EQ(refusal("person_2"), "");
  std::string fix;
  EXPECT_EQ(refusal("Person", &fix),
            "'Person' cannot begin the names of C files and identifiers");
  EXPECT_EQ(fix, "--name person");
  EXPECT_EQ(refusal("main", &fix),
            "'main' cannot begin the names of C files and identifiers");
  EXPECT_EQ(fix, "--name net_main");
  EXPECT_EQ(refusal(""),
            "'' cannot begin the names of C files and identifiers");
  EXPECT_EQ(refusal(std::string(5000, 'x')),
            "'" + std::string(40, 'x') +
                "...' cannot begin the names of C files and identifiers");
  EXPECT_EQ(Refusal({"compile", "--from", "d", "--target", "t", "--name", "a"}),
            "--name is for models: a document has the name of its network");
  EXPECT_EQ(Refusal({"profile", "m", "--target", "t", "--name", "a"}),
            "unknown option '--name'");
}

TEST(OptionChecksTest, ComparingTakesNoOptionsOfOneJob) {
  for (const Args& more :
       {Args{"--calibration-method", "mse"}, Args{"-o", "x"},
        Args{"--supersede", "k"}, Args{"--stages"}, Args{"--follow"}}) {
    Args args = {"quantize", "m", "--json", "--compare"};
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_EQ(Refusal(args), more[0] + " does not go with --compare");
  }
}

TEST(OptionChecksTest, OptionsOfDataNeedData) {
  std::string fix;
  EXPECT_EQ(Refusal({"quantize", "m", "--limit", "8"}, &fix),
            "--limit needs --data");
  EXPECT_NE(fix.find("`samples`"), std::string::npos) << fix;
  EXPECT_EQ(Refusal({"quantize", "m", "--label-offset", "0"}),
            "--label-offset needs --data");
  EXPECT_EQ(Refusal({"quantize", "m", "--data", "d", "--limit", "8"}), "");
  // Of random inputs.
  EXPECT_EQ(Refusal({"profile", "m", "--target", "t", "--limit", "8"}), "");
}

TEST(OptionChecksTest, WhatIsVariedIsNotGivenToo) {
  const Args sweep = {"sweep", "m",      "--target",
                      "t",     "--vary", "quantization=default,q.txtpb"};
  EXPECT_EQ(Refusal(sweep), "");
  std::string fix;
  Args both = sweep;
  both.insert(both.end(), {"--quantization", "r.txtpb"});
  EXPECT_EQ(Refusal(both, &fix), "--quantization is given and varied");
  EXPECT_NE(fix.find("--vary quantization"), std::string::npos) << fix;
  EXPECT_EQ(Refusal({"sweep", "m", "--target", "t", "--vary", "io=int,float",
                     "--io", "int"}),
            "--io is given and varied");
  // Of ranges alone: it comes before those of each file.
  both = sweep;
  both.insert(both.end(), {"--calibration-method", "mse"});
  EXPECT_EQ(Refusal(both), "");
}

}  // namespace
}  // namespace edgekiln::client
