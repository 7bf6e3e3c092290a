#ifndef EK_SIMFARM_SIMULATORS_DLA_PADDED_IMAGE_H_
#define EK_SIMFARM_SIMULATORS_DLA_PADDED_IMAGE_H_

// The input of a convolution as the loops of avx512.h want it: unsigned (value
// + 128), channels dense, with the zero point wherever a window reaches over
// the border. No window needs a look at borders after that.

#include <cstdint>
#include <vector>

#include "simfarm/simulators/dla/instruction.h"

namespace edgekiln::simfarm::dla {

// Keeps its buffer between commands. Not thread-safe.
class PaddedImage {
 public:
  // `instruction` passed CheckLimits(); of CONV, CONV_RELU, DEPTH_CONV or
  // MAT_MUL. False, and nothing else may be called, if the image would be
  // larger than the work it saves or the input does not lie in `sram_bytes`.
  // Of DEPTH_CONV each output channel gets its input channel, and neighbouring
  // output columns read neighbouring pixels, whatever the stride.
  bool Build(const Instruction& instruction, const uint8_t* sram,
             int64_t sram_bytes);

  int64_t channels() const { return channels_; }
  // Where the window of an output pixel starts; TapOffset() counts from there.
  const uint8_t* Pixel(int64_t oy, int64_t ox) const {
    return bytes_.data() + oy * row_stride_ * row_bytes_ + ox * column_step_;
  }
  int64_t TapOffset(int64_t ky, int64_t kx) const;
  // Bytes between the windows of neighbouring output columns.
  int64_t column_step() const { return column_step_; }
  // True if the taps of a window's row lie together.
  bool RowsAreSegments() const { return phases_ == 1 && dilation_w_ == 1; }

 private:
  void CopyRow(const Instruction& instruction, const uint8_t* from,
               int64_t pixel_pitch, int64_t begin, int64_t end, uint8_t* row);
  int64_t ColumnOffset(int64_t x) const {
    return x % phases_ * phase_bytes_ + x / phases_ * channels_;
  }

  std::vector<uint8_t> bytes_;
  int64_t channels_ = 0;
  int64_t phases_ = 1;  // Columns x with equal x % phases lie together.
  int64_t phase_bytes_ = 0;
  int64_t row_bytes_ = 0;
  int64_t row_stride_ = 1;
  int64_t column_step_ = 0;
  int64_t dilation_h_ = 1;
  int64_t dilation_w_ = 1;
};

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_PADDED_IMAGE_H_
