#ifndef EK_TESTS_SUPPORT_PROCESS_THREADS_H_
#define EK_TESTS_SUPPORT_PROCESS_THREADS_H_

namespace edgekiln::tests {

// How many threads there are now; a test failure where /proc does not say.
int ThreadsOfThisProcess();

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_PROCESS_THREADS_H_
