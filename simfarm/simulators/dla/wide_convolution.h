#ifndef EK_SIMFARM_SIMULATORS_DLA_WIDE_CONVOLUTION_H_
#define EK_SIMFARM_SIMULATORS_DLA_WIDE_CONVOLUTION_H_

// CONV, CONV_RELU, DEPTH_CONV and MAT_MUL with the loops of avx512.h.

#include <cstdint>
#include <vector>

#include "simfarm/simulators/arithmetic.h"
#include "simfarm/simulators/dla/avx512.h"
#include "simfarm/simulators/dla/instruction.h"
#include "simfarm/simulators/dla/padded_image.h"
#include "simfarm/simulators/dla/table.h"

namespace edgekiln::simfarm::dla {

// Weights and table of a command as the loops read them.
struct PreparedConstants {
  std::vector<uint8_t> weights;
  std::vector<int32_t> bias;
  std::vector<int32_t> multiplier;
  std::vector<int32_t> n;
};

// Keeps its buffers between commands. Not thread-safe.
class WideConvolution {
 public:
  WideConvolution(uint8_t* sram, int64_t sram_bytes)
      : sram_(sram), sram_bytes_(sram_bytes) {}

  // Most bytes of weights that Prepare() makes of a command's.
  static int64_t MaxPreparedBytes(const Instruction& instruction);

  // Begins a command that passed CheckLimits(). False, and nothing was done,
  // for one of such a shape that these loops do not pay.
  bool Begin(const Instruction& instruction);
  // Whether it has so few pixels that preparing its constants pays only if they
  // are used again.
  bool HasFewPixels() const;

  // Of the command that was begun.
  void Prepare(const Instruction& instruction, const uint8_t* weights,
               const Table& table, PreparedConstants* prepared);
  // Either ends it.
  void Run(const Instruction& instruction, const PreparedConstants& prepared,
           const OutputLimits& limits);
  void RunFewPixels(const Instruction& instruction, const uint8_t* weights,
                    const Table& table, const OutputLimits& limits);

 private:
  // How a depthwise command uses the lanes of a vector.
  struct DepthwiseShape {
    int64_t taps = 0;
    int64_t tap_groups = 0;  // Of four.
    // Few channels: several pixels share a vector where that gives the same
    // bytes in the same places.
    bool flat = false;

    int64_t group_bytes() const {
      return tap_groups * 4 * avx512::kDepthwiseLanes;
    }
  };

  void PrepareDense(const Instruction& instruction, const uint8_t* weights,
                    const Table& table, PreparedConstants* prepared);
  void PrepareDepthwise(const Instruction& instruction, const uint8_t* weights,
                        const Table& table, PreparedConstants* prepared);
  void RunDense(const PreparedConstants& prepared);
  void Blocks(int64_t first_channel, avx512::ConvolutionBlock* block);
  void RunDepthwise(const PreparedConstants& prepared);
  void DepthwiseChannels(const PreparedConstants& prepared, int64_t first,
                         int64_t channels);
  // Takes `offset` times the channel's `weight_sums_` from its bias. Channel c
  // of the result is channel c % period of the table.
  void SetTable(const Table& table, int64_t channels, int64_t period,
                int32_t offset, PreparedConstants* prepared) const;
  void SetRequantization(const PreparedConstants& prepared,
                         const OutputLimits& limits);
  void SetSegments(const Instruction& instruction);

  uint8_t* sram_;
  int64_t sram_bytes_;

  // Of the command that is being executed.
  TensorView output_;
  PaddedImage image_;
  bool writes_int32_ = false;
  bool half_even_ = false;
  avx512::WeightShape shape_;
  DepthwiseShape depthwise_;
  avx512::Requantization requantization_;
  std::vector<int64_t> segment_offsets_;  // Or those of taps.
  std::vector<uint8_t> patch_;
  std::vector<int32_t> sums_;
  std::vector<int32_t> weight_sums_;
  PreparedConstants few_;  // Of RunFewPixels(): the table only.
};

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_WIDE_CONVOLUTION_H_
