#ifndef EK_SIMFARM_SIMULATORS_DLA_CONVOLUTION_H_
#define EK_SIMFARM_SIMULATORS_DLA_CONVOLUTION_H_

// Execution of CONV, CONV_RELU, DEPTH_CONV and MAT_MUL.

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "simfarm/simulators/arithmetic.h"
#include "simfarm/simulators/dla/instruction.h"
#include "simfarm/simulators/dla/micro_kernel.h"
#include "simfarm/simulators/dla/table.h"
#include "simfarm/simulators/dla/wide_convolution.h"

namespace edgekiln::simfarm::dla {

// Keeps its buffers between commands. Not thread-safe.
// What commands made of their constants, for all runs. Thread-safe as used by
// ConvolutionUnit.
struct KeptConstants {
  std::once_flag once;
  absl::Status status;
  PreparedConstants prepared;
};

class ConvolutionUnit {
 public:
  ConvolutionUnit(const StreamContext& context, uint8_t* sram,
                  int64_t sram_bytes);

  // `instruction` passed CheckLimits(). Weights and table are read in SRAM.
  // Errors as of ReadTable().
  absl::Status Execute(const Instruction& instruction);
  // The same with constants that lie elsewhere and never change. What is made
  // of them is kept in `kept`, which belongs to the instruction.
  absl::Status ExecuteWith(const Instruction& instruction,
                           const uint8_t* weights, const uint8_t* table,
                           KeptConstants* kept);

 private:
  absl::Status ExecuteWide(const Instruction& instruction, KeptConstants* kept);
  absl::Status Prepare(const Instruction& instruction,
                       PreparedConstants* prepared);
  void Dense(const Instruction& instruction);
  void DenseBlocks(const Instruction& instruction);
  void DenseFewPixels(const Instruction& instruction);
  void Depthwise(const Instruction& instruction);
  void DepthwisePixel(const Instruction& instruction, int64_t oy, int64_t ox);
  void PackWeights();
  // The input window of an output pixel as kernel_ 16-bit differences to the
  // zero point.
  void GatherPatch(const Instruction& instruction, int64_t oy, int64_t ox,
                   int16_t* patch) const;
  void StorePixel(int64_t oy, int64_t ox, int64_t first_channel,
                  int64_t channels, const int32_t* acc) const;

  const StreamContext& context_;
  uint8_t* sram_;
  MicroKernel micro_kernel_;
  std::optional<WideConvolution> wide_;  // If the CPU path has it.

  // Of the command that is being executed.
  TensorView input_;
  TensorView output_;
  OutputLimits limits_;
  bool writes_int32_ = false;
  bool half_even_ = false;
  const uint8_t* weight_bytes_ = nullptr;
  int32_t weight_zero_point_ = 0;
  const uint8_t* table_bytes_ = nullptr;
  int64_t kernel_ = 0;  // Products per output of CONV and MAT_MUL.
  int64_t pairs_ = 0;   // kernel_ / 2, rounded up.
  Table table_;
  PreparedConstants prepared_;
  std::vector<int16_t> weights_;
  std::vector<int16_t> patches_;
  std::vector<int32_t> sums_;
};

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_CONVOLUTION_H_
