#ifndef DLA_MODEL_H_
#define DLA_MODEL_H_

/* A functional model of the DLA: what its commands compute, without time.
 * C99, no library. The sections are those of docs/targets/dla.md of edgekiln,
 * from which alone it is written. Units work in the order of the stream, so
 * that races are not noticed; reading what nothing wrote is. */

#include <stdint.h>

enum dla_register {
  DLA_IN_ADDR,
  DLA_IN2_ADDR,
  DLA_WEIGHT_ADDR,
  DLA_TABLE_ADDR,
  DLA_OUT_ADDR,
  DLA_IN_H,
  DLA_IN_W,
  DLA_IN_C,
  DLA_OUT_H,
  DLA_OUT_W,
  DLA_OUT_C,
  DLA_KERNEL_H,
  DLA_KERNEL_W,
  DLA_STRIDE_H,
  DLA_STRIDE_W,
  DLA_DILATION_H,
  DLA_DILATION_W,
  DLA_PAD_TOP,
  DLA_PAD_LEFT,
  DLA_IN_ROW_PITCH,
  DLA_IN_PIXEL_PITCH,
  DLA_OUT_ROW_PITCH,
  DLA_OUT_PIXEL_PITCH,
  DLA_IN2_ROW_PITCH,
  DLA_IN2_PIXEL_PITCH,
  DLA_IN_ZERO_POINT,
  DLA_IN2_ZERO_POINT,
  DLA_OUT_ZERO_POINT,
  DLA_CLAMP_MIN,
  DLA_CLAMP_MAX,
  DLA_DEPTH_MULTIPLIER,
  DLA_IN_MULTIPLIER,
  DLA_IN_SHIFT,
  DLA_IN2_MULTIPLIER,
  DLA_IN2_SHIFT,
  DLA_OUT_MULTIPLIER,
  DLA_OUT_SHIFT,
  DLA_LEFT_SHIFT,
  DLA_FLAGS,
  DLA_POOL_KIND,
  DLA_DMA_SYSTEM_ADDR,
  DLA_DMA_SRAM_ADDR,
  DLA_DMA_ROW_BYTES,
  DLA_DMA_ROWS,
  DLA_DMA_SYSTEM_PITCH,
  DLA_DMA_SRAM_PITCH,
  DLA_WEIGHT_ZERO_POINT,
  DLA_REGISTERS
};

enum dla_command {
  DLA_REG_WRITE,
  DLA_END,
  DLA_CONV,
  DLA_CONV_RELU,
  DLA_DEPTH_CONV,
  DLA_MAT_MUL,
  DLA_ACT_RELU,
  DLA_ACT_LRELU,
  DLA_POOL,
  DLA_E_ABS,
  DLA_C_MIN,
  DLA_C_MAX,
  DLA_E_ADD,
  DLA_E32_ADD,
  DLA_E32_SHIFT,
  DLA_REQUANT,
  DLA_DMA_READ,
  DLA_DMA_WRITE,
  DLA_COMMANDS
};

struct dla_field {
  uint32_t low_bit;
  uint32_t bits; /* 0: there is none. */
};

/* How a chip numbers fields, commands and registers (section 2). */
struct dla_encoding {
  uint32_t word_bytes;
  struct dla_field opcode, index, rounding, immediate;
  /* 0: the chip lacks the command. */
  uint32_t opcodes[DLA_COMMANDS];
  uint8_t takes_rounding[DLA_COMMANDS];
  struct {
    uint32_t index;
    uint32_t bits; /* 0: the chip lacks the register. */
    uint32_t is_signed;
  } registers[DLA_REGISTERS];
};

struct dla_model {
  /* Set by the user. SRAM addresses begin at 0; the maps have a bit for each of
   * its bytes. */
  const struct dla_encoding* encoding;
  uint8_t* sram;
  uint8_t* written;
  uint8_t* read;
  uint64_t sram_bytes;
  /* Where system memory has these bytes; 0: nowhere, or it is read-only. */
  uint8_t* (*system)(uint64_t address, uint64_t bytes, int is_write);

  /* What is wrong, 0 if nothing, and with which word of the stream. */
  const char* error;
  uint64_t word;

  /* Of the stream that runs. */
  int64_t registers[DLA_REGISTERS];
  uint8_t is_defined[DLA_REGISTERS];
  uint32_t issued[2];            /* To the compute unit, to the DMA unit. */
  uint64_t written_end;          /* One past the last SRAM byte written. */
  uint64_t read_begin, read_end; /* Where the command's reads are noted. */
};

/* Runs words [first, end) of a stream (end 0: all that follow) as a stream of
 * their own. Returns 0, or 1 with `error` and `word` set. */
int dla_model_run(struct dla_model* model, const uint8_t* stream,
                  uint64_t stream_bytes, uint32_t first, uint32_t end);

/* Of dla_compute.c: a compute command with the registers that are set. */
void dla_compute(struct dla_model* model, enum dla_command command,
                 int half_even);

/* Of dla_sram.c. Each sets `error`, unless it is set, where the rules of
 * section 4 are broken. Notes that a command reads bytes. */
void dla_read(struct dla_model* model, uint64_t address, uint64_t bytes);
/* The same for bytes that it writes, which it must not read. */
void dla_write(struct dla_model* model, uint64_t address, uint64_t bytes);
/* Bytes that the DMA brings or takes. */
uint8_t* dla_transfer(struct dla_model* model, uint64_t address, uint64_t bytes,
                      int is_write);
/* Forgets what the command read. */
void dla_forget_reads(struct dla_model* model);
void dla_fail(struct dla_model* model, const char* what);

#endif /* DLA_MODEL_H_ */
