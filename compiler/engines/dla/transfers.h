#ifndef EK_COMPILER_ENGINES_DLA_TRANSFERS_H_
#define EK_COMPILER_ENGINES_DLA_TRANSFERS_H_

#include <cstdint>
#include <vector>

#include "compiler/engines/dla/compute_command.h"
#include "compiler/engines/dla/image_extent.h"
#include "compiler/engines/dla/layer.h"

// From a slice of a tensor in system memory to the DMA commands that move it.
namespace edgekiln::compiler::dla {

// Rows of bytes, by docs/targets/dla.md section 5. Pitches are 0 for one row.
struct Transfer {
  int64_t system_offset = 0;  // From the tensor's first byte.
  int64_t sram_offset = 0;    // From the buffer's first byte.
  int64_t row_bytes = 0;
  int64_t rows = 1;
  int64_t system_pitch = 0;
  int64_t sram_pitch = 0;
  // Bytes of the buffer from its first to its last one.
  int64_t sram_extent() const { return (rows - 1) * sram_pitch + row_bytes; }
};

// Between the slice of a dense tensor and a buffer that holds it at `place`:
// one transfer, or one for each row where neither columns nor channels are all
// of the tensor's, as the DMA counts in two dimensions.
std::vector<Transfer> TransfersOf(const ImageExtent& tensor,
                                  int64_t element_bytes, const Slice& slice,
                                  const Placement& place);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TRANSFERS_H_
