#include "simfarm/conformance/register_job/naive_cells.h"

#include <optional>

namespace edgekiln::simfarm::conformance::register_job {
namespace {

int64_t V(const NaiveJob& job, const char* name) { return job.v.at(name); }

bool Cell(const NaiveJob& job, const std::string& memory, int64_t row,
          bool negative, int64_t column) {
  const NaiveOperand& weights = job.operands.at("weights");
  const int64_t bit =
      (2 * row + (negative ? 1 : 0)) * weights.cells->columns + column;
  const char byte =
      memory.at(NaivePlace(weights.address + bit / 8, weights.group));
  return ((static_cast<uint8_t>(byte) >> (7 - bit % 8)) & 1) != 0;
}

// The row as it lies; nothing if no input has it.
std::optional<int64_t> InputOf(const NaiveJob& job, int64_t row) {
  const NaiveCells& cells = *job.operands.at("weights").cells;
  const int64_t input = cells.last_row_first ? cells.rows - 1 - row : row;
  if (input >= V(job, "in_c") * V(job, "kernel_h") * V(job, "kernel_w")) {
    return std::nullopt;
  }
  return input;
}

}  // namespace

int64_t WeightOfCells(const NaiveJob& job, const std::string& memory, int64_t o,
                      int64_t y, int64_t x, int64_t i) {
  const NaiveCells& cells = *job.operands.at("weights").cells;
  const int64_t input = (i * V(job, "kernel_h") + y) * V(job, "kernel_w") + x;
  const int64_t row = cells.last_row_first ? cells.rows - 1 - input : input;
  int64_t weight = 0;
  if (Cell(job, memory, row, false, o)) ++weight;
  if (Cell(job, memory, row, true, o)) --weight;
  if (cells.sign_rows > 0) {
    const int64_t mask = row / cells.sign_rows;
    if (mask < std::ssize(cells.sign_masks) &&
        ((cells.sign_masks[mask] >> (o % cells.sign_columns)) & 1) != 0) {
      weight = -weight;
    }
  }
  return weight;
}

bool AreWeights(const NaiveJob& job, const std::string& memory) {
  const NaiveCells& cells = *job.operands.at("weights").cells;
  for (int64_t row = 0; row < cells.rows; ++row) {
    for (int64_t column = 0; column < cells.columns; ++column) {
      const bool positive = Cell(job, memory, row, false, column);
      const bool negative = Cell(job, memory, row, true, column);
      const bool is_weight =
          InputOf(job, row).has_value() && column < V(job, "out_c");
      if (positive && negative) return false;
      if (!is_weight && (positive || negative)) return false;
    }
  }
  return true;
}

}  // namespace edgekiln::simfarm::conformance::register_job
