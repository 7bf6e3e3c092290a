/* Who touches which byte of the SRAM (section 4). */
#include "dla_model.h"

void dla_fail(struct dla_model *model, const char *what) {
  if (model->error == 0) model->error = what;
}

static int is_set(const uint8_t *map, uint64_t at) {
  return (map[at / 8] >> (at % 8)) & 1;
}

static int is_inside(struct dla_model *model, uint64_t address,
                     uint64_t bytes) {
  if (address <= model->sram_bytes && bytes <= model->sram_bytes - address) {
    return 1;
  }
  dla_fail(model, "an operand lies outside the SRAM");
  return 0;
}

void dla_read(struct dla_model *model, uint64_t address, uint64_t bytes) {
  uint64_t i;
  if (!is_inside(model, address, bytes)) return;
  if (model->read_begin == model->read_end || address < model->read_begin) {
    model->read_begin = address;
  }
  if (address + bytes > model->read_end) model->read_end = address + bytes;
  for (i = address; i < address + bytes; ++i) {
    if (!is_set(model->written, i)) {
      dla_fail(model, "reads a byte of the SRAM that nothing wrote");
      return;
    }
    model->read[i / 8] |= (uint8_t)(1u << (i % 8));
  }
}

static void define(struct dla_model *model, uint64_t address, uint64_t bytes) {
  uint64_t i;
  for (i = address; i < address + bytes; ++i) {
    model->written[i / 8] |= (uint8_t)(1u << (i % 8));
  }
  if (address + bytes > model->written_end) {
    model->written_end = address + bytes;
  }
}

void dla_write(struct dla_model *model, uint64_t address, uint64_t bytes) {
  uint64_t i;
  if (!is_inside(model, address, bytes)) return;
  for (i = address; i < address + bytes; ++i) {
    if (is_set(model->read, i)) {
      dla_fail(model, "writes a byte that it reads");
      return;
    }
  }
  define(model, address, bytes);
}

uint8_t *dla_transfer(struct dla_model *model, uint64_t address, uint64_t bytes,
                      int is_write) {
  uint64_t i;
  if (!is_inside(model, address, bytes)) return 0;
  if (is_write) {
    define(model, address, bytes);
    return model->sram + address;
  }
  for (i = address; i < address + bytes; ++i) {
    if (!is_set(model->written, i)) {
      dla_fail(model, "reads a byte of the SRAM that nothing wrote");
      return 0;
    }
  }
  return model->sram + address;
}

void dla_forget_reads(struct dla_model *model) {
  uint64_t i;
  for (i = model->read_begin / 8; i < (model->read_end + 7) / 8; ++i) {
    model->read[i] = 0;
  }
  model->read_begin = model->read_end = 0;
}
