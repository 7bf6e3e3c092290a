#include "simfarm/simulators/dla/access.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

struct Axis {
  int64_t in, out, kernel, stride, dilation, pad;
};

std::vector<bool> Touched(const Axis& axis) {
  std::vector<bool> touched(axis.in, false);
  for (int64_t o = 0; o < axis.out; ++o) {
    for (int64_t k = 0; k < axis.kernel; ++k) {
      const int64_t i = o * axis.stride - axis.pad + k * axis.dilation;
      if (i >= 0 && i < axis.in) touched[i] = true;
    }
  }
  return touched;
}

int64_t Dilation(const Instruction& i, Reg reg) {
  return i.command == DlaCommand::kPool ? 1 : i[reg];
}

}  // namespace

std::vector<bool> TouchedRows(const Instruction& i) {
  return Touched({i[Reg::kInH], i[Reg::kOutH], i[Reg::kKernelH],
                  i[Reg::kStrideH], Dilation(i, Reg::kDilationH),
                  i[Reg::kPadTop]});
}

std::vector<bool> TouchedColumns(const Instruction& i) {
  return Touched({i[Reg::kInW], i[Reg::kOutW], i[Reg::kKernelW],
                  i[Reg::kStrideW], Dilation(i, Reg::kDilationW),
                  i[Reg::kPadLeft]});
}

bool VisitTensor(const TensorView& view, SpanVisitor visit) {
  const bool dense_pixels = view.pixel_pitch == view.pixel_bytes();
  const int64_t row_bytes = view.w * view.pixel_bytes();
  if (dense_pixels && (view.row_pitch == row_bytes || view.h == 1)) {
    return visit(view.address, view.h * row_bytes);
  }
  for (int64_t y = 0; y < view.h; ++y) {
    if (dense_pixels) {
      if (!visit(view.PixelAddress(y, 0), row_bytes)) return false;
      continue;
    }
    for (int64_t x = 0; x < view.w; ++x) {
      if (!visit(view.PixelAddress(y, x), view.pixel_bytes())) return false;
    }
  }
  return true;
}

bool VisitInput(const Instruction& instruction, SpanVisitor visit) {
  const TensorView view = InputView(instruction);
  if (!IsWindowed(instruction.command)) return VisitTensor(view, visit);
  const std::vector<bool> rows = TouchedRows(instruction);
  const std::vector<bool> columns = TouchedColumns(instruction);
  for (int64_t y = 0; y < view.h; ++y) {
    if (!rows[y]) continue;
    for (int64_t x = 0; x < view.w;) {
      if (!columns[x]) {
        ++x;
        continue;
      }
      // A run of touched pixels is one span if they lie side by side.
      const int64_t first = x++;
      while (x < view.w && columns[x] &&
             view.pixel_pitch == view.pixel_bytes()) {
        ++x;
      }
      if (!visit(view.PixelAddress(y, first),
                 (x - first) * view.pixel_bytes())) {
        return false;
      }
    }
  }
  return true;
}

bool VisitConstants(const Instruction& instruction, SpanVisitor visit) {
  const int64_t weights = WeightBytes(instruction);
  if (weights > 0 && !visit(instruction[Reg::kWeightAddr], weights)) {
    return false;
  }
  if (!HasTable(instruction.command)) return true;
  const int64_t table = instruction[Reg::kTableAddr];
  const int64_t channels = instruction[Reg::kOutC];
  if (!WritesInt32(instruction)) {
    return visit(table, channels * target::kDlaTableEntryBytes);
  }
  // Only the biases.
  for (int64_t c = 0; c < channels; ++c) {
    if (!visit(table + c * target::kDlaTableEntryBytes, 4)) return false;
  }
  return true;
}

RowsView SystemView(const Instruction& i) {
  return {.address = i[Reg::kDmaSystemAddr],
          .pitch = i[Reg::kDmaSystemPitch],
          .rows = i[Reg::kDmaRows],
          .row_bytes = i[Reg::kDmaRowBytes]};
}

RowsView SramView(const Instruction& i) {
  return {.address = i[Reg::kDmaSramAddr],
          .pitch = i[Reg::kDmaSramPitch],
          .rows = i[Reg::kDmaRows],
          .row_bytes = i[Reg::kDmaRowBytes]};
}

bool VisitRows(const RowsView& view, SpanVisitor visit) {
  if (view.dense()) return visit(view.address, view.rows * view.row_bytes);
  for (int64_t row = 0; row < view.rows; ++row) {
    if (!visit(view.address + row * view.pitch, view.row_bytes)) return false;
  }
  return true;
}

}  // namespace edgekiln::simfarm::dla
