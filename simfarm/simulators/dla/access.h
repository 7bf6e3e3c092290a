#ifndef EK_SIMFARM_SIMULATORS_DLA_ACCESS_H_
#define EK_SIMFARM_SIMULATORS_DLA_ACCESS_H_

// Which bytes a command touches, exactly.

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "simfarm/simulators/dla/instruction.h"

namespace edgekiln::simfarm::dla {

// Input rows (or columns) of a windowed command that some output element
// reads: one entry per input row.
std::vector<bool> TouchedRows(const Instruction& instruction);
std::vector<bool> TouchedColumns(const Instruction& instruction);
// Products the two functions above compute.
inline constexpr int64_t kMaxWindowPositions = int64_t{1} << 26;

// Called with [address, address + bytes); adjacent bytes may come in one call
// or in several. Returning false stops the walk.
using SpanVisitor = absl::FunctionRef<bool(int64_t address, int64_t bytes)>;

// Visits every pixel of a view, whole rows at once where they are dense.
bool VisitTensor(const TensorView& view, SpanVisitor visit);
// The input of any compute command: what is read of it.
bool VisitInput(const Instruction& instruction, SpanVisitor visit);
// Weights and table entries.
bool VisitConstants(const Instruction& instruction, SpanVisitor visit);

// Rows of bytes, as a transfer has them on either side.
struct RowsView {
  int64_t address = 0;
  int64_t pitch = 0;  // Without meaning for one row.
  int64_t rows = 1;
  int64_t row_bytes = 0;

  bool dense() const { return rows == 1 || pitch == row_bytes; }
  // From the first byte to one past the last.
  int64_t extent() const {
    return rows == 1 ? row_bytes : (rows - 1) * pitch + row_bytes;
  }
};
// Of a DMA command.
RowsView SystemView(const Instruction& instruction);
RowsView SramView(const Instruction& instruction);
// One call for rows that are dense.
bool VisitRows(const RowsView& view, SpanVisitor visit);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_ACCESS_H_
