#ifndef EK_SERVER_WORKER_SANITIZED_H_
#define EK_SERVER_WORKER_SANITIZED_H_

// EK_SANITIZED is 1 where a sanitizer brings its own allocator and signal
// handlers, and reserves terabytes of address space for its shadow memory.
#define EK_SANITIZED 0
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef EK_SANITIZED
#define EK_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef EK_SANITIZED
#define EK_SANITIZED 1
#endif

#endif  // EK_SERVER_WORKER_SANITIZED_H_
