/* A chip of memory alone, for a desk: its engines and its CPU's operators do
 * nothing but say that they were asked.
 *
 *   desk_chip constants.bin INPUT.bin... FOLDER
 *
 * loads the model and its inputs, writes what every memory holds then into
 * FOLDER/memory_<index>.bin, and runs one inference. */

#include <stdio.h>
#include <stdlib.h>

#include "edgekiln_model.h"
#include "edgekiln_run.h"

#define MAX_CONSTANTS (64u << 20)

/* A byte more, as no array may be empty. */
#define MEMORY(index, name, base, capacity, used) \
  static unsigned char memory_##index[(used) + 1];
EDGEKILN_MEMORIES(MEMORY)
#undef MEMORY

struct memory {
  unsigned char *bytes;
  uint64_t base;
  uint64_t used;
};
#define MEMORY(index, name, base, capacity, used) {memory_##index, base, used},
static const struct memory memories[] = {EDGEKILN_MEMORIES(MEMORY){NULL, 0, 0}};
#undef MEMORY

static unsigned char constants[MAX_CONSTANTS];

unsigned char *chip_bytes(int memory, uint64_t address, uint64_t size) {
  const struct memory *m = &memories[memory];
  if (address >= m->base && size <= m->used &&
      address - m->base <= m->used - size) {
    return m->bytes + (address - m->base);
  }
  fprintf(stderr, "memory %d has no %llu bytes at 0x%llx\n", memory,
          (unsigned long long)size, (unsigned long long)address);
  exit(1);
}

void chip_launch(int stream, int first, int end) {
  printf("launch stream %d from %d to %d\n", stream, first, end);
}

void chip_wait(int engine) { printf("wait for engine %d\n", engine); }

static uint32_t written; /* A job is over as soon as somebody asks. */

void chip_write(int engine, uint32_t offset, uint32_t value) {
  printf("engine %d: register 0x%lx = 0x%lx\n", engine, (unsigned long)offset,
         (unsigned long)value);
}

uint32_t chip_read(int engine, uint32_t offset) {
  (void)engine;
  (void)offset;
  return written = ~written;
}

void chip_host_operator(int position) {
  printf("operator of the host at step %d\n", position);
}

static int read_file(const char *path, unsigned char *to, size_t size) {
  FILE *file = fopen(path, "rb");
  size_t got;
  if (file == NULL) {
    fprintf(stderr, "%s: cannot be opened\n", path);
    return 0;
  }
  got = fread(to, 1, size, file);
  fclose(file);
  return got > 0 || size == 0;
}

static int write_memory(const char *folder, int index,
                        const unsigned char *bytes, size_t size) {
  char path[4096];
  FILE *file;
  size_t put;
  if (snprintf(path, sizeof(path), "%s/memory_%d.bin", folder, index) >=
      (int)sizeof(path)) {
    return 0;
  }
  file = fopen(path, "wb");
  if (file == NULL) return 0;
  put = fwrite(bytes, 1, size, file);
  return fclose(file) == 0 && put == size;
}

int main(int argc, char **argv) {
  static const uint64_t sizes[] = {
#define INPUT(index, memory, address, size) size,
      EDGEKILN_INPUTS(INPUT) 0};
  int i;
  if (argc != EDGEKILN_INPUT_COUNT + 3) {
    fprintf(stderr, "usage: desk_chip constants.bin %d-INPUTS FOLDER\n",
            EDGEKILN_INPUT_COUNT);
    return 2;
  }
  if (!read_file(argv[1], constants, sizeof(constants))) return 1;
  edgekiln_load(constants);
  for (i = 0; i < EDGEKILN_INPUT_COUNT; ++i) {
    if (!read_file(argv[2 + i], edgekiln_input(i), (size_t)sizes[i])) return 1;
  }
  for (i = 0; memories[i].bytes != NULL; ++i) {
    if (!write_memory(argv[argc - 1], i, memories[i].bytes,
                      (size_t)memories[i].used)) {
      return 1;
    }
  }
  edgekiln_infer();
  printf("%s on %s: %d outputs\n", EDGEKILN_MODEL_NAME, EDGEKILN_TARGET_NAME,
         EDGEKILN_OUTPUT_COUNT);
  return 0;
}
