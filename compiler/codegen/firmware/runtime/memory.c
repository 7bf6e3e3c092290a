
/* What compilers call for structures and arrays, whatever the processor. */

#if defined(__GNUC__) && !defined(__clang__)
#define EK_NO_CALLS \
  __attribute__((optimize("no-tree-loop-distribute-patterns")))
#else
#define EK_NO_CALLS
#endif

EK_NO_CALLS void* EK_NAME(memcpy, memcpy)(void* to, const void* from,
                                          size_t bytes) {
  unsigned char* t = to;
  const unsigned char* f = from;
  for (; bytes != 0; --bytes) *t++ = *f++;
  return to;
}

EK_NO_CALLS void* EK_NAME(memmove, memmove)(void* to, const void* from,
                                            size_t bytes) {
  unsigned char* t = to;
  const unsigned char* f = from;
  if ((uintptr_t)t - (uintptr_t)f >= bytes) {
    for (; bytes != 0; --bytes) *t++ = *f++;
  } else {
    for (; bytes != 0; --bytes) t[bytes - 1] = f[bytes - 1];
  }
  return to;
}

EK_NO_CALLS void* EK_NAME(memset, memset)(void* to, int value, size_t bytes) {
  unsigned char* t = to;
  for (; bytes != 0; --bytes) *t++ = (unsigned char)value;
  return to;
}

EK_NO_CALLS int EK_NAME(memcmp, memcmp)(const void* a, const void* b,
                                        size_t bytes) {
  const unsigned char *x = a, *y = b;
  for (; bytes != 0; --bytes, ++x, ++y) {
    if (*x != *y) return *x < *y ? -1 : 1;
  }
  return 0;
}
