#include "client/lsp/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/scoped_fd.h"

namespace edgekiln::client::lsp {
namespace {

// Waits for an answer that never comes.
class SilentDaemon final : public Daemon {
 public:
  ~SilentDaemon() override {
    while (true) pause();
  }
  void Check(const std::string&, int64_t, const std::string&) override {}
  void Run(RunRequest) override {}
  void Forget(const std::string&) override {}
  void List() override {}
  void LookUp(const std::string&) override {}
};

TEST(LoopDeathTest, ASilentDaemonHidesNoError) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const auto serve = [&](const std::string& input) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    const ScopedFd read_end(ends[0]);
    ScopedFd write_end(ends[1]);
    if (write(write_end.get(), input.data(), input.size()) < 0) return;
    write_end.reset();
    const ScopedFd output(open("/dev/null", O_WRONLY | O_CLOEXEC));
    (void)ServeLanguage(
        {.input_fd = read_end.get(),
         .output_fd = output.get(),
         .new_daemon = [](auto) { return std::make_unique<SilentDaemon>(); },
         .files = files.get(),
         .patience = absl::Milliseconds(20)});
  };
  EXPECT_EXIT(serve("GET / HTTP/1.1\r\n\r\n"), testing::ExitedWithCode(1),
              "error: a header line has no colon");
  EXPECT_EXIT(serve(""), testing::ExitedWithCode(1), "^$");
}

}  // namespace
}  // namespace edgekiln::client::lsp
