#include "compiler/engines/dla/transfers.h"

namespace edgekiln::compiler::dla {

std::vector<Transfer> TransfersOf(const ImageExtent& tensor,
                                  int64_t element_bytes, const Slice& slice,
                                  const Placement& place) {
  const bool all_columns = slice.columns() == tensor.w;
  const bool all_channels = slice.channels() == tensor.c;
  const bool by_row = !all_columns && !all_channels;
  const int64_t pixel = slice.channels() * element_bytes;
  std::vector<Transfer> transfers;
  for (int64_t h = slice.h_begin; h < slice.h_end;) {
    Slice part = slice;
    part.h_begin = h;
    part.h_end = by_row ? h + 1 : slice.h_end;
    const Placement from = WholePlacement(tensor, element_bytes, part);
    Transfer& transfer = transfers.emplace_back();
    transfer.system_offset = from.offset;
    transfer.sram_offset = place.offset + (h - slice.h_begin) * place.row_pitch;
    if (!all_channels) {
      transfer.row_bytes = pixel;
      transfer.rows = part.rows() * part.columns();
      transfer.system_pitch = from.pixel_pitch;
      transfer.sram_pitch = place.pixel_pitch;
    } else if (!all_columns) {
      transfer.row_bytes = part.columns() * pixel;
      transfer.rows = part.rows();
      transfer.system_pitch = from.row_pitch;
      transfer.sram_pitch = place.row_pitch;
    } else {
      transfer.row_bytes = part.elements() * element_bytes;
    }
    h = part.h_end;
  }
  return transfers;
}

}  // namespace edgekiln::compiler::dla
