#include "client/text_arguments.h"

#include <string>
#include <vector>

#include "client/exit_code.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

constexpr char kLatin[] = "caf\xE9";

// The last argument has the name that cannot be sent.
TEST(TextArgumentsTest, NamesThatAreSentAreUtf8) {
  const std::string bad = kLatin;
  const std::vector<std::string> cases[] = {
      {"inspect", "m", "--bind", bad + "=2"},
      {"inspect", "m", "--bind-input", bad + "=s.npy"},
      {"inspect", "m", "--external-data", bad + "=w.bin"},
      {"inspect", "m", "--external-data", "d/" + bad},
      {"profile", "m", "--data", "d", "--target", bad},
      {"profile", "m", "--target", "t", "--supersede", bad},
      {"profile", "m", "--target", "t", "--data", "d", "--input",
       bad + ":scale=2"},
      {"targets", "show", bad},
      {"jobs", "show", bad},
  };
  for (const std::vector<std::string>& args : cases) {
    const auto line = ParseCommandLine(args);
    ASSERT_FALSE(line.ok()) << testing::PrintToString(args);
    EXPECT_EQ(ExitCodeFor(line.status()), ExitCode::kUsage);
    EXPECT_NE(line.status().message().find("is not UTF-8"), std::string::npos)
        << line.status();
  }
}

TEST(TextArgumentsTest, PathsMayBeAnyBytes) {
  const std::string bad = kLatin;
  const std::vector<std::string> cases[] = {
      {"inspect", "d/" + bad + ".onnx"},
      {"inspect", bad},
      {"profile", bad, "--target", bad + ".txtpb", "--data", bad},
      {"profile", bad, "--target", "./" + bad},
      {"inspect", "m", "--bind-input", "x=" + bad},
      {"run", "m", "--data", "d", "-o", bad},
      {"targets", "check", bad},
      {"report", "diff", bad, "b.json"},
      {"report", "baseline", bad, "-o", bad},
      {"profile", "m", "--target", "caf\xC3\xA9"},
  };
  for (const std::vector<std::string>& args : cases) {
    const auto line = ParseCommandLine(args);
    EXPECT_TRUE(line.ok()) << testing::PrintToString(args) << line.status();
  }
}

TEST(TextArgumentsTest, FileNamesAreShownAsText) {
  EXPECT_EQ(ShownFileName("models/net.tflite"), "net.tflite");
  EXPECT_EQ(ShownFileName("net"), "net");
  EXPECT_EQ(ShownFileName("\xE9/\xC3\xA9t\xE9.onnx"), "\xC3\xA9t?.onnx");
  EXPECT_LT(ShownFileName(std::string(5000, 'x')).size(), 256u);
}

}  // namespace
}  // namespace edgekiln::client
