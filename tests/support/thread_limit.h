#ifndef EK_TESTS_SUPPORT_THREAD_LIMIT_H_
#define EK_TESTS_SUPPORT_THREAD_LIMIT_H_

namespace edgekiln::tests {

// While it lives, the process can start so many more threads; further ones are
// refused as by the system (EAGAIN). Programs that link this have a
// pthread_create() of their own: the system's limit of processes does not bind
// root, and one of address space leaves no room for sanitizers. Thread-safe;
// one at a time.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;
  ~ThreadLimit();

  int refused() const;  // Threads, since it was made.
};

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_THREAD_LIMIT_H_
