#ifndef EK_SIMFARM_SIMULATORS_DLA_WIDE_CONVOLUTION_H_
#define EK_SIMFARM_SIMULATORS_DLA_WIDE_CONVOLUTION_H_

// CONV, CONV_RELU, DEPTH_CONV and MAT_MUL with the loops of avx512.h.

#include <cstdint>
#include <vector>

#include "simfarm/simulators/dla/arithmetic.h"
#include "simfarm/simulators/dla/avx512.h"
#include "simfarm/simulators/dla/instruction.h"
#include "simfarm/simulators/dla/padded_image.h"
#include "simfarm/simulators/dla/table.h"

namespace edgekiln::simfarm::dla {

// Keeps its buffers between commands. Not thread-safe.
class WideConvolution {
 public:
  WideConvolution(uint8_t* sram, int64_t sram_bytes)
      : sram_(sram), sram_bytes_(sram_bytes) {}

  // `instruction` passed CheckLimits(), the other two were made from it. False,
  // and nothing was done, for a command of such a shape that these loops do
  // not pay.
  bool Execute(const Instruction& instruction, const Table& table,
               const OutputLimits& limits);

 private:
  void Dense(const Instruction& instruction, const Table& table);
  void FewPixels(const Instruction& instruction, const Table& table);
  void Blocks(int64_t first_channel, avx512::ConvolutionBlock* block);
  void Depthwise(const Instruction& instruction, const Table& table);
  void DepthwiseChannels(const Instruction& instruction, int64_t first,
                         int64_t channels, bool flat);
  // Takes `offset` times the channel's `weight_sums_` from its bias. Channel c
  // of the result is channel c % period of the table.
  void SetTable(const Table& table, int64_t channels, int64_t period,
                int32_t offset);
  void SetSegments(const Instruction& instruction);

  uint8_t* sram_;
  int64_t sram_bytes_;

  // Of the command that is being executed.
  TensorView output_;
  PaddedImage image_;
  avx512::WeightShape shape_;
  avx512::Requantization requantization_;
  std::vector<int64_t> segment_offsets_;  // Or those of taps.
  std::vector<uint8_t> weights_;
  std::vector<uint8_t> patch_;
  std::vector<int32_t> sums_;
  std::vector<int32_t> weight_sums_;
  std::vector<int32_t> bias_;
  std::vector<int32_t> multiplier_;
  std::vector<int32_t> n_;
};

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_WIDE_CONVOLUTION_H_
