#ifndef EK_SERVER_WORKER_TESTING_CROWDED_PROCESSOR_H_
#define EK_SERVER_WORKER_TESTING_CROWDED_PROCESSOR_H_

// For tests of processes that wait for a processor.

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::server {

// What the calling thread starts between construction and Crowd() may use one
// processor only, which ten threads want from Crowd() to the end.
class CrowdedProcessor {
 public:
  CrowdedProcessor() {
    EXPECT_EQ(sched_getaffinity(0, sizeof(before_), &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    }
    EXPECT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  }
  ~CrowdedProcessor() {
    over_ = true;
    for (std::thread& other : others_) other.join();
    sched_setaffinity(0, sizeof(before_), &before_);
  }
  CrowdedProcessor(const CrowdedProcessor&) = delete;
  CrowdedProcessor& operator=(const CrowdedProcessor&) = delete;

  void Crowd() {
    for (int i = 0; i < 10; ++i) {
      others_.emplace_back([this] {
        while (!over_) {
        }
      });
    }
    // The calling thread need not wait for them.
    sched_setaffinity(0, sizeof(before_), &before_);
  }

 private:
  cpu_set_t before_;
  std::atomic<bool> over_{false};
  std::vector<std::thread> others_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_TESTING_CROWDED_PROCESSOR_H_
