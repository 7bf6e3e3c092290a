#ifndef EK_COMPILER_CODEGEN_PROGRAM_WRITER_H_
#define EK_COMPILER_CODEGEN_PROGRAM_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/compile.h"
#include "compiler/codegen/host_form.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/codegen/tensor_uses.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Builds a program: the parts that do not depend on how engines are driven. Not
// thread-safe.
class ProgramWriter {
 public:
  static constexpr int64_t kConstantAlignment = 16;

  // The arguments must outlive it. program() has its layers from the start.
  ProgramWriter(const Graph& graph, const v1::Partition& partition,
                const v1::Machine& machine, SystemMemories memories);

  const std::vector<TensorId>& storage() const { return storage_; }
  const SystemMemories& memories() const { return memories_; }
  v1::Program& program() { return program_; }
  FlashImage& flash() { return flash_; }
  const RamPlan& ram() const { return ram_; }
  // To be called before anything that needs an address.
  void SetRam(RamPlan ram);
  // By tensor, the tensor whose place it shares if that is not its storage; for
  // the report.
  void SetPlaces(std::vector<TensorId> places) { places_ = std::move(places); }
  // Tensors that stay in memory that engines share, for the report.
  void SetResident(ResidentPlaces resident) { resident_ = std::move(resident); }

  // Whether the tensor, or what it is a reshape of, is a constant.
  bool IsConstant(TensorId tensor) const;
  // Index into the program's layouts, to which it is added if it is new.
  int32_t IndexOf(const v1::Layout& layout);

  // Where the tensor lies in system memory, also as a constant.
  v1::Location LocationOf(TensorId tensor);

  // A step for an op of the host, which is no reshape.
  void AddHostOp(int32_t op);
  // The same of one that IsPlaneSum(), and whose input lies in these planes.
  void AddPlaneSum(int32_t op, const v1::Layout& planes);
  // The same in another form.
  void AddForm(int32_t op, const HostForm& form);
  // Moves by the host's code that put the op's result, which lies in its place
  // as `left` says, in plain order, through the place of the op's input.
  void RestoreOrder(int32_t op, const v1::Layout& left);
  // Predicted cycles of the wall clock.
  void AddCycles(int64_t wall_cycles, int32_t op);
  // The RAM that has the address.
  int32_t RamAt(uint64_t address) const {
    return MemoryAt(machine_, memories_.rams, address);
  }
  // Raises the used bytes of a memory to at least `bytes`.
  void NoteBytes(int32_t memory, int64_t bytes);
  // A tap of a whole tensor in system memory, complete after the last step so
  // far. None before the first step.
  void TapWhole(TensorId tensor);
  // The same of a tensor that lies elsewhere.
  void TapWhole(TensorId tensor, const v1::Location& location,
                const v1::Layout& layout);

  // Inputs, outputs, carries, constants, sizes. At most once.
  // RESOURCE_EXHAUSTED if constants and code exceed their memory.
  absl::StatusOr<EmitResult> Finish();

 private:
  void AddLayers(const v1::Partition& partition);
  // Stores the constant in flash at the first call.
  uint64_t AddressOfConstant(TensorId constant);
  // Tensors in system memory are dense.
  int32_t DenseLayoutOf(TensorId tensor);
  v1::Program::Binding BindingOf(TensorId tensor);
  v1::Program::HostOp::Operand OperandOf(TensorId tensor);
  void AddReversal(int32_t op, const v1::Layout& planes);
  void AddHostMove(int32_t op, const v1::Location& from,
                   const v1::Layout& from_layout, const v1::Location& to,
                   const v1::Layout& to_layout);

  const Graph& graph_;
  const v1::Machine& machine_;
  const SystemMemories memories_;
  const std::vector<TensorId> storage_;
  std::vector<TensorId> places_;
  std::vector<int64_t> memory_bytes_;  // Of each memory of the machine.
  FlashImage flash_;
  std::map<TensorId, uint64_t> constant_address_;  // By storage.
  RamPlan ram_;
  ResidentPlaces resident_;
  v1::Program program_;
  std::map<std::string, int32_t> layout_index_;  // In program_, by content.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PROGRAM_WRITER_H_
