#ifndef EK_BASE_MEMORY_H_
#define EK_BASE_MEMORY_H_

#include <cstddef>

namespace edgekiln {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Asks the kernel for huge pages where whole ones lie within `bytes` from
// `memory` on, which has not been written yet. Handing out small ones one by
// one takes longer than filling them.
void PreferHugePages(void* memory, size_t bytes);

// For programs through which large messages pass: what they free is kept for
// the next ones, up to 32 MiB. Otherwise the C library gives it back to the
// kernel with each message and asks for it, zeroed, with the next. To be called
// at the start of main(), before there are threads.
void KeepFreedMemory();

// Gives back what is kept; for moments without work.
void ReturnFreedMemory();

}  // namespace edgekiln

#endif  // EK_BASE_MEMORY_H_
