// Memory and branches: heap sort of random words, then binary searches.
#include <stdint.h>

enum { kCount = 8192, kRounds = 60 };

static uint32_t words[kCount];
volatile uint32_t checksum;

static void sift(uint32_t root, uint32_t end) {
  const uint32_t value = words[root];
  for (;;) {
    uint32_t child = 2 * root + 1;
    if (child >= end) break;
    if (child + 1 < end && words[child] < words[child + 1]) ++child;
    if (words[child] <= value) break;
    words[root] = words[child];
    root = child;
  }
  words[root] = value;
}

static uint32_t lower_bound(uint32_t value) {
  uint32_t low = 0;
  uint32_t high = kCount;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (words[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void kernel_main(void) {
  uint32_t state = 1;
  for (int round = 0; round < kRounds; ++round) {
    for (uint32_t i = 0; i < kCount; ++i) {
      state = state * 1664525u + 1013904223u;
      words[i] = state >> 4;
    }
    for (uint32_t i = kCount / 2; i-- > 0;) sift(i, kCount);
    for (uint32_t end = kCount - 1; end > 0; --end) {
      const uint32_t last = words[end];
      words[end] = words[0];
      words[0] = last;
      sift(0, end);
    }
    for (uint32_t i = 0; i < kCount; ++i) {
      state = state * 1664525u + 1013904223u;
      checksum += lower_bound(state >> 4);
    }
  }
}
