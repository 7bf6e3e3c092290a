#ifndef EK_CLIENT_TESTING_COMMANDS_FIXTURE_H_
#define EK_CLIENT_TESTING_COMMANDS_FIXTURE_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "client/command_context.h"
#include "client/testing/fake_connection.h"

namespace edgekiln::client {

// Runs commands against a scripted daemon, in a folder of the test's own.
class CommandsTest : public testing::Test {
 protected:
  CommandsTest() : files_(NewPosixFileSystem()) {
    std::string pattern = testing::TempDir() + "/edgekiln_commands_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    model_ = Put("net.tflite", "model");
    connection_.job.set_id("7");
    connection_.job.set_state(v1::SUCCEEDED);
  }
  ~CommandsTest() override { std::filesystem::remove_all(folder_); }

  std::string Put(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string Get(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return file ? all.str() : "absent";
  }

  v1::Report NewReport(const std::string& target) {
    v1::Report report;
    report.set_job_id("7");
    report.set_target_name(target);
    report.mutable_totals()->set_cycles(5);
    return report;
  }

  absl::Status Run(absl::Status (*command)(CommandContext&),
                   const std::vector<std::string>& args) {
    const auto line = ParseCommandLine(args);
    EXPECT_TRUE(line.ok()) << line.status();
    if (!line.ok()) return line.status();
    Progress::Options options;
    options.style = ProgressStyle::kPlain;
    options.write = [&](absl::string_view text) {
      err_.append(text.data(), text.size());
    };
    options.now = [&] { return clock_.Monotonic(); };
    Progress progress(options);
    const auto print = [&](absl::string_view text) {
      out_.append(text.data(), text.size());
    };
    CommandContext context{.line = *line,
                           .connection = connection_,
                           .files = *files_,
                           .clock = clock_,
                           .progress = progress,
                           .print = print,
                           .print_bytes = print,
                           .style = style_,
                           .deadline = clock_.Monotonic() + line->timeout,
                           .own_daemon = own_daemon_,
                           .reachable = reachable_};
    return command(context);
  }

  std::string folder_;
  std::string model_;
  const std::unique_ptr<FileSystem> files_;
  FakeClock clock_;
  FakeConnection connection_;
  bool own_daemon_ = false;
  absl::Status reachable_;  // As CommandContext has it.
  Style style_ = Style::Plain();
  std::string out_;
  std::string err_;  // Progress, as a log has it.
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_TESTING_COMMANDS_FIXTURE_H_
