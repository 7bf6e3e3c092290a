#ifndef EDGEKILN_RUN_H_
#define EDGEKILN_RUN_H_

/* Loads and runs the model of edgekiln_model.h on a chip. Portable C99 without
 * allocation; all that knows a chip is behind the chip_ functions, which the
 * firmware's platform has to define. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- What the platform defines. -------------------------------------------- */

/* Where the CPU reaches `size` bytes at `address` of memory `memory`, an index
 * of EDGEKILN_MEMORIES. */
unsigned char* chip_bytes(int memory, uint64_t address, uint64_t size);
/* Starts commands [first, end) of a stream on its engine; end 0: all that
 * follow. */
void chip_launch(int stream, int first, int end);
/* Returns once the engine's last launch has ended. */
void chip_wait(int engine);
/* Registers of an engine that the host drives. */
void chip_write(int engine, uint32_t offset, uint32_t value);
uint32_t chip_read(int engine, uint32_t offset);
/* The operator of the host CPU at this position of EDGEKILN_STEPS. */
void chip_host_operator(int position);

/* -- What this file does. ------------------------------------------------- */

/* An array's place and layout. */
struct edgekiln_array {
  int memory;
  uint64_t address;
  int layout; /* Index of EDGEKILN_LAYOUTS. */
};

/* Brings the array into the other layout, an element at a time. Chips with a
 * mover have it do this instead: define EDGEKILN_CHIP_MOVES and chip_move(). */
void chip_move(int link, const struct edgekiln_array* from,
               const struct edgekiln_array* to);

/* Puts constants.bin where the program expects it, and real zero into arrays
 * that are carried from one inference to the next. Once, before the first
 * edgekiln_infer(); constants that lie in flash may be there already. */
void edgekiln_load(const unsigned char* constants);
/* Where input or output `index` lies: EDGEKILN_INPUT_<index>_SHAPE elements,
 * dense, the last axis fastest. Inputs may be overwritten by an inference. */
unsigned char* edgekiln_input(int index);
const unsigned char* edgekiln_output(int index);
/* One inference. */
void edgekiln_infer(void);

#ifdef __cplusplus
}
#endif

#endif /* EDGEKILN_RUN_H_ */
