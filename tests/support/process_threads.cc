#include "tests/support/process_threads.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace edgekiln::tests {

int ThreadsOfThisProcess() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int threads = 0;
  while (status >> word) {
    if (word == "Threads:") status >> threads;
  }
  EXPECT_GT(threads, 0);
  return threads;
}

}  // namespace edgekiln::tests
