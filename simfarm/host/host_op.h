#ifndef EK_SIMFARM_HOST_HOST_OP_H_
#define EK_SIMFARM_HOST_HOST_OP_H_

// Ops that the host CPU of a simulated chip runs: computed by the reference
// kernels, on system memory; their cost is an estimate by class.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "ops/tensor_view.h"
#include "simfarm/simulators/chip_memory.h"
#include "simfarm/simulators/engine_stream.h"
#include "target/host_cost.h"

namespace edgekiln::simfarm {

// Bytes of a dense tensor. INVALID_ARGUMENT for an unknown element type, a
// negative extent, or more than 2^40 bytes. The type may come from outside.
absl::StatusOr<int64_t> TensorBytes(const v1::TensorType& type);

// An op with its operands resolved. Immutable, hence thread-safe.
class HostOp {
 public:
  struct Operand {
    uint64_t address = 0;
    int64_t bytes = 0;
  };

  // `op` is hostile and must outlive the result. Checks what does not depend on
  // values: types, sizes, alignment, outputs that overlap other operands; an
  // op of ops/in_place.h may write exactly over its input.
  // INVALID_ARGUMENT names the operand.
  static absl::StatusOr<HostOp> Create(const v1::Program::HostOp& op,
                                       const target::HostCosts& costs);

  // Computes on `memory`, which holds all operands. Errors as of
  // ops::Evaluate().
  absl::Status Run(const ChipMemory& memory, CpuPath cpu_path) const;

  const std::vector<Operand>& inputs() const { return input_operands_; }
  const std::vector<Operand>& outputs() const { return output_operands_; }
  // In the host's clock.
  int64_t cycles() const { return cycles_; }

 private:
  absl::Status AddInput(const v1::Program::HostOp::Operand& operand);
  absl::Status AddOutput(const v1::Program::HostOp::Operand& operand);
  bool IsInPlace() const;
  absl::Status CheckOverlap() const;
  absl::Status SetCycles(const target::HostCosts& costs);

  const v1::Program::HostOp* op_ = nullptr;
  std::vector<ops::TensorView> inputs_;  // Without addresses.
  std::vector<ops::MutableTensorView> outputs_;
  std::vector<int32_t> input_operand_of_;  // -1: absent.
  std::vector<Operand> input_operands_;    // Present ones.
  std::vector<Operand> output_operands_;
  int64_t cycles_ = 0;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_HOST_HOST_OP_H_
