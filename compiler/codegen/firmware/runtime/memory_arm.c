
/* Names of Arm's EABI. */

#if defined(__arm__) && !defined(EK_RUNTIME_TEST)
#define EK_COPY(name, copy) \
  void name(void* to, const void* from, size_t bytes) { copy(to, from, bytes); }
EK_COPY(__aeabi_memcpy, memcpy)
EK_COPY(__aeabi_memcpy4, memcpy)
EK_COPY(__aeabi_memcpy8, memcpy)
EK_COPY(__aeabi_memmove, memmove)
EK_COPY(__aeabi_memmove4, memmove)
EK_COPY(__aeabi_memmove8, memmove)
void __aeabi_memset(void* to, size_t bytes, int value) {
  memset(to, value, bytes);
}
void __aeabi_memset4(void* to, size_t bytes, int value) {
  memset(to, value, bytes);
}
void __aeabi_memset8(void* to, size_t bytes, int value) {
  memset(to, value, bytes);
}
void __aeabi_memclr(void* to, size_t bytes) { memset(to, 0, bytes); }
void __aeabi_memclr4(void* to, size_t bytes) { memset(to, 0, bytes); }
void __aeabi_memclr8(void* to, size_t bytes) { memset(to, 0, bytes); }
#endif
