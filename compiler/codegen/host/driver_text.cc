#include "compiler/codegen/host/driver_text.h"

namespace edgekiln::compiler {

absl::string_view DriverText() {
  return R"(/* Made by edgekiln. What the C of a network needs of its chip: a firmware
 * defines those of these functions that the network calls. Numbers of memories,
 * engines, streams, links and layouts are those of edgekiln_model.h. */
#ifndef EDGEKILN_DRIVER_H_
#define EDGEKILN_DRIVER_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the CPU reaches `address` of `memory`. Of memories that only links of
 * the host reach, NAME_copy() alone asks. */
void *edgekiln_at(int32_t memory, uint64_t address);

/* Starts commands [first, end) of a stream on its engine; end 0: all that
 * follow. What the CPU wrote before must be where the engine reads it: caches
 * are written back. */
void edgekiln_launch(int32_t stream, uint32_t first, uint32_t end);
/* Returns once the engine's last launch has ended; what it wrote is what the
 * CPU reads next. */
void edgekiln_wait(int32_t engine);

/* Registers of an engine that the host drives. */
void edgekiln_write(int32_t engine, uint32_t offset, uint32_t value);
uint32_t edgekiln_read(int32_t engine, uint32_t offset);

/* An array, from one place and layout to another. */
struct edgekiln_move {
  int32_t link;
  int32_t from_memory;
  uint64_t from;
  int32_t from_layout;
  int32_t to_memory;
  uint64_t to;
  int32_t to_layout;
  int32_t shape; /* Which loops of NAME_copy() are its own. */
};
/* The link brings it; returns when it is there. A chip whose CPU reaches both
 * places may call NAME_copy(). */
void edgekiln_transfer(const struct edgekiln_move *move);

#ifdef __cplusplus
}
#endif

#endif /* EDGEKILN_DRIVER_H_ */
)";
}

absl::string_view DeskText() {
  return R"(/* Made by edgekiln. The chip of `make check`: memories that are arrays, and
 * models of its engines. */
#ifndef DESK_H_
#define DESK_H_

#include <stdint.h>

/* Where `bytes` bytes at `address` of `memory` are; 0: nowhere, or it is
 * read-only. Memory -1 is all that the host reaches. */
uint8_t *desk_find(int32_t memory, uint64_t address, uint64_t bytes,
                   int is_write);
/* Ends the program: what is wrong with whose work, and where in it. */
void desk_stop(const char *who, const char *what, uint64_t where);
/* Reads the files of the bundle in `folder` and loads the network. */
void desk_start(const char *folder);

#endif /* DESK_H_ */
)";
}

}  // namespace edgekiln::compiler
