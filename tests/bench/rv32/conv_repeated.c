// The convolution of the shared example, 201 times. Its main() is conv_main().
#include <stdint.h>

int conv_main(void);
void conv(void);

// The console takes words; QEMU's takes the byte that is in them.
void out_str(const char* text) {
  while (*text != 0) *(volatile uint32_t*)0x10000000 = (uint8_t)*text++;
}

void out_dec(uint64_t value) {
  char digits[24];
  int at = 23;
  digits[at] = 0;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  out_str(digits + at);
}

void kernel_main(void) {
  conv_main();
  for (int i = 0; i < 200; ++i) conv();
}
