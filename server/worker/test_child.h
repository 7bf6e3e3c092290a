#ifndef EK_SERVER_WORKER_TEST_CHILD_H_
#define EK_SERVER_WORKER_TEST_CHILD_H_

// Where tests find test_child_main.cc: beside themselves.

#include <filesystem>

#include "server/worker/child_process.h"

namespace edgekiln::server {

inline ChildOptions TestChild() {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  ChildOptions options;
  options.binary = self.parent_path() / "worker_test_child";
  return options;
}

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_TEST_CHILD_H_
