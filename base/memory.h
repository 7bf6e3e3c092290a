#ifndef EK_BASE_MEMORY_H_
#define EK_BASE_MEMORY_H_

namespace edgekiln {

// For programs through which large messages pass: what they free is kept for
// the next ones, up to 32 MiB a thread. Otherwise the C library gives it back
// to the kernel with each message and asks for it, zeroed, with the next. To be
// called at the start of main().
void KeepFreedMemory();

}  // namespace edgekiln

#endif  // EK_BASE_MEMORY_H_
