#include "tests/chaos/farm.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace edgekiln::chaos {
namespace {

void WriteProgram(const std::string& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text;
  ASSERT_EQ(chmod(path.c_str(), 0700), 0);
}

// With programs that do as little as such ones could.
class FarmTest : public testing::Test {
 protected:
  FarmTest() {
    WriteProgram(programs_.At("edgekilnd"),
                 "while [ \"$1\" != --ready-file ]; do shift; done\n"
                 "printf 'a:1\\nb:2\\n' > \"$2.part\"\n"
                 "mv \"$2.part\" \"$2\"\n"
                 "exec sleep 60\n");
  }
  auto Start() {
    return Farm::Start({.bin = programs_.path(), .workers = 2}, scratch_);
  }

  const Scratch programs_;
  const Scratch scratch_;
};

TEST_F(FarmTest, AWorkerThatIsRefusedIsAnError) {
  WriteProgram(programs_.At("edgekiln-worker"),
               "echo 'this worker is of another build' >&2\nexit 4\n");
  const absl::Status status = Start().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "ended at once: this worker is of another "
                                "build"))
      << status;
}

TEST_F(FarmTest, StartsOnceAllWorkersAreConnected) {
  WriteProgram(programs_.At("edgekiln-worker"),
               "echo 'connected to b:2' >&2\nexec sleep 60\n");
  const auto farm = Start();
  ASSERT_TRUE(farm.ok()) << farm.status();
  EXPECT_EQ((*farm)->address(), "a:1");
}

}  // namespace
}  // namespace edgekiln::chaos
