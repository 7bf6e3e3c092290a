// What docs/bundle.md tells firmware: the header of a bundle and the example
// loader, compiled by the system's C compiler, bring about the bytes that the
// simulator starts from.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "compiler/codegen/bundle.h"
#include "compiler/ir/graph.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "target/resolve.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/graph_builder.h"
#include "tests/support/golden.h"

namespace edgekiln::tests {
namespace {

// Names as models have them, and worse.
constexpr char kNastyName[] = "*/ \"in\" \\ ?\?/ \n\xC3\xBC % #endif";

class FirmwareTest : public testing::TestWithParam<const char*> {
 protected:
  FirmwareTest() {
    folder_ = testing::TempDir() + "/firmware_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_ + "/image");
  }
  ~FirmwareTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(
        WriteAtomically(*files_, absl::StrCat(folder_, "/", name), bytes).ok());
  }

  // Whether a command of the shell, run in the folder, ends well.
  bool Runs(const std::string& command) {
    const int status =
        std::system(absl::StrCat("cd '", folder_, "' && ", command).c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  std::string ReadBytes(const std::string& path) {
    const absl::StatusOr<std::string> bytes = files_->Read(path, 64 << 20);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return bytes.value_or("");
  }

  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  std::string folder_;
};

TEST_P(FirmwareTest, LoadsWhatTheSimulatorStartsFrom) {
  QuantizedGraphBuilder builder(3);
  const compiler::TensorId image = builder.Input({1, 9, 9, 5});
  compiler::TensorId x =
      builder.Conv(image, 19, {.kernel = {3, 3}, .pad = {1, 1, 1, 1}}, true);
  x = builder.Depthwise(x, 1, {.kernel = {3, 3}}, true);
  x = builder.AveragePool(x, {.kernel = {7, 7}});
  x = builder.FullyConnected(builder.Reshape(x, {1, 19}), 4);
  compiler::Graph graph = builder.Finish({x});
  graph.tensors[graph.inputs[0]].name = kNastyName;
  const auto target =
      target::ResolveTarget(absl::StrCat("extends: \"", GetParam(), "\""));
  ASSERT_TRUE(target.ok()) << target.status();
  const auto compiled = CompileQuantized(graph, *target);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  compiler::BundleOrigin origin;
  origin.model_name = kNastyName;
  origin.target_name = kNastyName;
  const auto files =
      compiler::BundleFiles(compiled->program, compiler::GraphToProto(graph),
                            compiled->constants, target->machine(), origin);
  ASSERT_TRUE(files.ok()) << files.status();
  for (const compiler::BundleFile& file : *files) {
    if (!absl::StrContains(file.path, '/')) Write(file.path, file.bytes);
  }
  const std::string sample = builder.Sample();
  Write("input.bin", sample);
  Write("cxx.cc", "#include \"edgekiln_model.h\"\n");

  const std::string example = SourcePath("docs/example/firmware");
  const std::string strict = "-Wall -Wextra -Wpedantic -Werror -I. ";
  ASSERT_TRUE(Runs(absl::StrCat("cc -std=c99 ", strict, "-I'", example, "' '",
                                example, "'/*.c -o desk_chip")));
  EXPECT_TRUE(
      Runs(absl::StrCat("c++ -std=c++11 -fsyntax-only ", strict, "cxx.cc")));
  ASSERT_TRUE(Runs("./desk_chip constants.bin input.bin image > steps.txt"));

  const auto session =
      simfarm::LoadSession(compiled->program, compiled->constants,
                           target->machine(), OptionsOf(graph));
  ASSERT_TRUE(session.ok()) << session.status();
  int visited = 0;
  const std::vector<absl::string_view> inputs = {sample};
  const absl::Status started = (*session)->VisitStart(
      inputs, [&](int32_t memory, uint64_t address, absl::string_view bytes) {
        const std::string image_file =
            ReadBytes(absl::StrCat(folder_, "/image/memory_", memory, ".bin"));
        const uint64_t at =
            address - target->machine().memories(memory).base_address();
        ASSERT_LE(at + bytes.size(), image_file.size());
        EXPECT_EQ(image_file.substr(at, bytes.size()), bytes)
            << "memory " << memory << " at " << address;
        ++visited;
      });
  EXPECT_TRUE(started.ok()) << started;
  EXPECT_GE(visited, 2);
  // The launch asked for everything: as many lines as steps that say something.
  EXPECT_NE(ReadBytes(folder_ + "/steps.txt").find("1 outputs"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Chips, FirmwareTest,
                         testing::Values("dla-64-o-512k", "toy-array",
                                         "toy-two-array"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace edgekiln::tests
