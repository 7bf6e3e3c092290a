/* Front end and DMA (sections 2, 3 and 5). */
#include "dla_model.h"

enum { kMaxCommands = 1 << 18, kMaxWords = 1 << 24 };

static int rounds(enum dla_command command) {
  return (command >= DLA_CONV && command <= DLA_MAT_MUL) ||
         command == DLA_ACT_LRELU || command == DLA_POOL ||
         command == DLA_E_ADD || command == DLA_REQUANT;
}

static uint64_t read_word(const struct dla_encoding *encoding,
                          const uint8_t *stream, uint64_t index) {
  uint64_t word = 0;
  uint32_t i;
  for (i = 0; i < encoding->word_bytes; ++i) {
    word |= (uint64_t)stream[index * encoding->word_bytes + i] << (8 * i);
  }
  return word;
}

static uint64_t mask_of(struct dla_field field) {
  return field.bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << field.bits) - 1;
}

static uint64_t field_of(uint64_t word, struct dla_field field) {
  return field.bits == 0 ? 0 : (word >> field.low_bit) & mask_of(field);
}

static uint64_t bits_of(struct dla_field field) {
  return field.bits == 0 ? 0 : mask_of(field) << field.low_bit;
}

/* The lower `bits` of a value as two's complement. */
static int64_t sign_extended(uint64_t value, uint32_t bits) {
  const uint64_t sign = (uint64_t)1 << (bits - 1);
  return (value & sign) == 0 ? (int64_t)value
                             : -(int64_t)(sign - (value & (sign - 1)));
}

static void write_register(struct dla_model *m, uint64_t index,
                           uint64_t immediate) {
  const struct dla_encoding *e = m->encoding;
  int r;
  for (r = 0; r < DLA_REGISTERS; ++r) {
    const uint32_t bits = e->registers[r].bits;
    int64_t value, limit;
    if (bits == 0 || e->registers[r].index != index) continue;
    limit = (int64_t)1 << (bits - (e->registers[r].is_signed ? 1 : 0));
    value = e->registers[r].is_signed
                ? sign_extended(immediate, e->immediate.bits)
                : (int64_t)immediate;
    if (value >= limit || value < (e->registers[r].is_signed ? -limit : 0)) {
      dla_fail(m, "encoding: the value is outside the register's range");
      return;
    }
    m->registers[r] = value;
    m->is_defined[r] = 1;
    return;
  }
  dla_fail(m, "encoding: unknown register");
}

static void transfer(struct dla_model *m, int to_sram) {
  const int64_t *r = m->registers;
  int64_t row, i;
  for (row = 0; row < r[DLA_DMA_ROWS] && m->error == 0; ++row) {
    const uint64_t bytes = (uint64_t)r[DLA_DMA_ROW_BYTES];
    const uint64_t system_pitch =
        row == 0 ? 0 : (uint64_t)r[DLA_DMA_SYSTEM_PITCH];
    const uint64_t sram_pitch = row == 0 ? 0 : (uint64_t)r[DLA_DMA_SRAM_PITCH];
    uint8_t *system = m->system(
        (uint64_t)r[DLA_DMA_SYSTEM_ADDR] + (uint64_t)row * system_pitch, bytes,
        !to_sram);
    uint8_t *sram = dla_transfer(
        m, (uint64_t)r[DLA_DMA_SRAM_ADDR] + (uint64_t)row * sram_pitch, bytes,
        to_sram);
    if (system == 0) {
      dla_fail(m, to_sram ? "the DMA reads what is no system memory"
                          : "the DMA writes what is no writable memory");
    }
    if (system == 0 || sram == 0) return;
    for (i = 0; i < (int64_t)bytes; ++i) {
      if (to_sram) {
        sram[i] = system[i];
      } else {
        system[i] = sram[i];
      }
    }
  }
}

static void start_transfer(struct dla_model *m, enum dla_command command) {
  static const uint8_t reads[] = {DLA_DMA_SYSTEM_ADDR,  DLA_DMA_SRAM_ADDR,
                                  DLA_DMA_ROW_BYTES,    DLA_DMA_ROWS,
                                  DLA_DMA_SYSTEM_PITCH, DLA_DMA_SRAM_PITCH};
  int i;
  for (i = 0; i < 6; ++i) {
    if (i >= 4 && m->registers[DLA_DMA_ROWS] == 1) break;
    if (!m->is_defined[reads[i]]) {
      dla_fail(m, "reads a register that nothing wrote");
      return;
    }
  }
  if (m->registers[DLA_DMA_ROWS] < 1 || m->registers[DLA_DMA_ROW_BYTES] < 1) {
    dla_fail(m, "DMA_ROWS or DMA_ROW_BYTES is 0");
    return;
  }
  if (m->registers[DLA_DMA_ROWS] > 1 &&
      m->registers[command == DLA_DMA_READ ? DLA_DMA_SRAM_PITCH
                                           : DLA_DMA_SYSTEM_PITCH] <
          m->registers[DLA_DMA_ROW_BYTES]) {
    dla_fail(m, "rows of the transfer overwrite each other");
    return;
  }
  transfer(m, command == DLA_DMA_READ);
}

/* Whether the word is OP_END. */
static int run_word(struct dla_model *m, uint64_t word) {
  const struct dla_encoding *e = m->encoding;
  const uint64_t opcode = field_of(word, e->opcode);
  const uint64_t index = field_of(word, e->index);
  const uint64_t immediate = field_of(word, e->immediate);
  const int half_even = (int)field_of(word, e->rounding);
  const int first = DLA_REG_WRITE;
  int command = first;
  int unit;
  while (command < DLA_COMMANDS &&
         (e->opcodes[command] == 0 || e->opcodes[command] != opcode)) {
    ++command;
  }
  if (command == DLA_COMMANDS) {
    dla_fail(m, "encoding: unknown opcode");
    return 0;
  }
  if ((word & ~(bits_of(e->opcode) | bits_of(e->index) | bits_of(e->rounding) |
                bits_of(e->immediate))) != 0 ||
      (command != DLA_REG_WRITE && index != 0)) {
    dla_fail(m, "encoding: a reserved bit is set");
    return 0;
  }
  if (half_even &&
      (!rounds((enum dla_command)command) || !e->takes_rounding[command])) {
    dla_fail(m, "encoding: ROUNDING in a command that does not round");
    return 0;
  }
  if (command == DLA_REG_WRITE) {
    write_register(m, index, immediate);
    return 0;
  }
  if (command == DLA_END) {
    if (immediate != 0) dla_fail(m, "encoding: OP_END with an immediate");
    return 1;
  }
  unit = command == DLA_DMA_READ || command == DLA_DMA_WRITE;
  if (immediate > m->issued[!unit]) {
    dla_fail(m, "encoding: waits for commands that were not issued");
    return 0;
  }
  if (m->issued[0] + m->issued[1] == kMaxCommands) {
    dla_fail(m, "the stream has too many commands");
    return 0;
  }
  m->issued[unit] += 1;
  if (unit == 1) {
    start_transfer(m, (enum dla_command)command);
  } else {
    dla_compute(m, (enum dla_command)command, half_even);
  }
  return 0;
}

int dla_model_run(struct dla_model *m, const uint8_t *stream,
                  uint64_t stream_bytes, uint32_t first, uint32_t end) {
  const uint64_t words = stream_bytes / m->encoding->word_bytes;
  const uint64_t last = end == 0 ? words : end;
  uint64_t i;
  m->error = 0;
  m->word = first;
  if (words > kMaxWords || stream_bytes % m->encoding->word_bytes != 0) {
    dla_fail(m, "the stream's size is none of a stream");
    return 1;
  }
  if (first >= last || last > words) {
    dla_fail(m, "the launch is no part of the stream");
    return 1;
  }
  /* SRAM and registers are undefined, but for one. */
  for (i = 0; i < (m->written_end + 7) / 8; ++i) m->written[i] = 0;
  m->written_end = 0;
  for (i = 0; i < DLA_REGISTERS; ++i) {
    m->registers[i] = 0;
    m->is_defined[i] = i == DLA_WEIGHT_ZERO_POINT;
  }
  m->issued[0] = m->issued[1] = 0;
  for (i = first; i < last && m->error == 0; ++i) {
    int is_end;
    m->word = i;
    is_end = run_word(m, read_word(m->encoding, stream, i));
    if (m->error == 0 && is_end != (i + 1 == last)) {
      dla_fail(m, is_end ? "OP_END before the end of the stream"
                         : "the stream does not end with OP_END");
    }
  }
  return m->error != 0;
}
