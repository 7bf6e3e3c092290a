#include "edgekiln_run.h"

#include <stddef.h>
#include <string.h>

#include "edgekiln_model.h"

struct port {
  int memory;
  uint64_t address;
  uint64_t size;
};

/* C has no empty arrays, hence the entry behind the last. */
#define PORT(index, memory, address, size) {memory, address, size},
static const struct port inputs[] = {EDGEKILN_INPUTS(PORT){0, 0, 0}};
static const struct port outputs[] = {EDGEKILN_OUTPUTS(PORT){0, 0, 0}};
#undef PORT

/* What is carried from one inference to the next waits here: where it belongs,
 * outputs may lie that are yet to be read. */
#define INPUT(index, memory, address, size) enum { bytes_##index = size };
EDGEKILN_INPUTS(INPUT)
#undef INPUT
#define CARRY(output, input, zero) \
  static unsigned char state_##input[bytes_##input + 1];
EDGEKILN_CARRIES(CARRY)
#undef CARRY

struct term {
  int axis;
  int64_t divide;
  int64_t modulo;
  int64_t stride;
};

struct layout {
  int index;
  int rank;
  int element_bits;
  const int64_t *extents;
  const struct term *terms;
  size_t term_count;
};

#define TERM(axis, divide, modulo, stride) {axis, divide, modulo, stride},
#define LAYOUT(index, rank, element_bits, size)                   \
  static const int64_t extents_##index[] =                        \
      EDGEKILN_LAYOUT_##index##_EXTENTS;                          \
  static const struct term terms_##index[] = {                    \
      EDGEKILN_LAYOUT_##index##_TERMS(TERM){0, 1, 0, 0}};
EDGEKILN_LAYOUTS(LAYOUT)
#undef LAYOUT

#define LAYOUT(index, rank, element_bits, size)                    \
  {index,         rank, element_bits, extents_##index, terms_##index, \
   sizeof(terms_##index) / sizeof(terms_##index[0])},
static const struct layout layouts[] = {
    EDGEKILN_LAYOUTS(LAYOUT){-1, 0, 8, NULL, NULL, 0}};
#undef LAYOUT
#undef TERM

unsigned char *edgekiln_input(int index) {
  return chip_bytes(inputs[index].memory, inputs[index].address,
                    inputs[index].size);
}

const unsigned char *edgekiln_output(int index) {
  return chip_bytes(outputs[index].memory, outputs[index].address,
                    outputs[index].size);
}

void edgekiln_load(const unsigned char *constants) {
#define CONSTANTS(memory, address, size, offset) \
  memcpy(chip_bytes(memory, address, size), constants + (offset), (size_t)(size));
  EDGEKILN_CONSTANTS(CONSTANTS)
#undef CONSTANTS
#define CARRY(output, input, zero) \
  memset(state_##input, (zero), sizeof(state_##input));
  EDGEKILN_CARRIES(CARRY)
#undef CARRY
  (void)constants;
}

static const struct layout *find_layout(int index) {
  const struct layout *layout = layouts;
  while (layout->index != index) ++layout;
  return layout;
}

/* The byte at which element `number`, counted with the last axis fastest,
 * begins. */
static uint64_t element_offset(const struct layout *layout, uint64_t number) {
  uint64_t offset = 0;
  int axis;
  for (axis = layout->rank - 1; axis >= 0; --axis) {
    const uint64_t extent = (uint64_t)layout->extents[axis];
    const uint64_t i = number % extent;
    size_t t;
    number /= extent;
    for (t = 0; t + 1 < layout->term_count; ++t) {
      const struct term *term = &layout->terms[t];
      uint64_t part;
      if (term->axis != axis) continue;
      part = i / (uint64_t)term->divide;
      if (term->modulo > 0) part %= (uint64_t)term->modulo;
      offset += part * (uint64_t)term->stride;
    }
  }
  return offset;
}

#ifndef EDGEKILN_CHIP_MOVES
void chip_move(int link, const struct edgekiln_array *from,
               const struct edgekiln_array *to) {
  const struct layout *of_from = find_layout(from->layout);
  const struct layout *of_to = find_layout(to->layout);
  const uint64_t bytes = (uint64_t)of_from->element_bits / 8;
  uint64_t count = 1, n;
  int axis;
  (void)link;
  for (axis = 0; axis < of_from->rank; ++axis) {
    count *= (uint64_t)of_from->extents[axis];
  }
  for (n = 0; n < count; ++n) {
    memcpy(chip_bytes(to->memory, to->address + element_offset(of_to, n), bytes),
           chip_bytes(from->memory, from->address + element_offset(of_from, n),
                      bytes),
           (size_t)bytes);
  }
}
#endif

static void move(int link, int from_memory, uint64_t from_address,
                 int from_layout, int to_memory, uint64_t to_address,
                 int to_layout) {
  struct edgekiln_array from, to;
  from.memory = from_memory;
  from.address = from_address;
  from.layout = from_layout;
  to.memory = to_memory;
  to.address = to_address;
  to.layout = to_layout;
  chip_move(link, &from, &to);
}

static void poll(int engine, uint32_t offset, uint32_t mask, uint32_t value) {
  while ((chip_read(engine, offset) & mask) != value) {
  }
}

void edgekiln_infer(void) {
#define CARRY(output, input, zero) \
  memcpy(edgekiln_input(input), state_##input, (size_t)inputs[input].size);
  EDGEKILN_CARRIES(CARRY)
#undef CARRY
#define HOST(position, layer) chip_host_operator(position);
#define LAUNCH(stream, first, end) chip_launch(stream, first, end);
#define WAIT(engine) chip_wait(engine);
#define MOVE(link, memory, address, layout, to_memory, to_address, to_layout) \
  move(link, memory, address, layout, to_memory, to_address, to_layout);
#define WRITE(engine, offset, value) chip_write(engine, offset, value);
#define POLL(engine, offset, mask, value) poll(engine, offset, mask, value);
  EDGEKILN_STEPS(HOST, LAUNCH, WAIT, MOVE, WRITE, POLL)
  /* What an inference leaves is where the next one begins. */
#define CARRY(output, input, zero) \
  memcpy(state_##input, edgekiln_output(output), (size_t)inputs[input].size);
  EDGEKILN_CARRIES(CARRY)
  (void)move;
  (void)poll;
}
