#ifndef EK_COMPILER_ENGINES_BACKEND_H_
#define EK_COMPILER_ENGINES_BACKEND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "google/protobuf/any.pb.h"

// The compiler's half of an engine model: what code generation asks for.
namespace edgekiln::compiler {

// Ops of a graph that one engine runs without the host between them.
struct Region {
  const Graph* graph = nullptr;
  std::vector<int32_t> ops;       // Indices into graph->ops, rising.
  std::vector<TensorId> storage;  // StorageOf(*graph).
  // Tensors, by storage and rising, that ops of the region read and others, or
  // nobody, made; no constants.
  std::vector<TensorId> inputs;
  // Tensors, by storage, of those that ops of the region read or make, that
  // somebody outside reads, or the graph's caller.
  absl::flat_hash_set<TensorId> external;
};

// Makes regions of one graph, which must outlive it and them.
class RegionMaker {
 public:
  explicit RegionMaker(const Graph& graph);

  Region Make(std::vector<int32_t> ops) const;
  const std::vector<TensorId>& storage() const { return storage_; }

 private:
  const Graph& graph_;
  std::vector<TensorId> storage_;
  std::vector<std::vector<int32_t>> readers_;  // Ops, by storage, rising.
  std::vector<bool> is_output_;                // Of the graph, by storage.
};

// One region alone.
Region RegionOf(const Graph& graph, std::vector<int32_t> ops);
// Tensors, by storage and rising, that the region makes and somebody outside
// reads.
std::vector<TensorId> OutputsOf(const Region& region);

// What a region may use. Whoever plans a chip asks with several and keeps what
// is best for the whole.
struct Budget {
  // A tensor that crosses the region's border.
  struct Border {
    TensorId tensor = kNoTensor;      // By storage.
    int32_t memory = 0;               // Index into Machine.memories.
    std::optional<uint64_t> address;  // Absent: anywhere, told to Emit().
    v1::Layout layout;
    // Is there before the region starts, or stays after it has ended, in a
    // memory that the engine fills itself.
    bool resident = false;
    // Set for an output that is written over this input, one of
    // OverwritableInputs(); both are resident, in the same layout.
    TensorId over = kNoTensor;
  };
  std::vector<int64_t> memory_bytes;  // Of each of Machine.memories.
  std::vector<Border> borders;        // All inputs and outputs of the region.
};

// Where things lie, for Emit().
struct RegionMemory {
  // By storage; whatever the plan does not keep in the engine's memory.
  const absl::flat_hash_map<TensorId, uint64_t>* tensors = nullptr;
  int32_t ram = 0;         // The memory they are in.
  int32_t flash = 0;       // The memory of constants.
  uint64_t constants = 0;  // Address of the region's first constant.
  // Address of each of the plan's buffers, in the buffer's memory.
  std::vector<uint64_t> buffers;
  // In `ram`: what the plan needs there for one step at a time.
  uint64_t step_room = 0;
};

// What a region adds to a program.
struct RegionCode {
  std::string code;  // None of engines that the host drives.
  // Engines that the host drives: for each step of the plan Moves, or
  // RegisterWrites. Their layouts are indices into `layouts`.
  std::vector<std::vector<v1::Program::Step>> steps;
  std::string constants;            // Flash content, from memory.constants on.
  std::vector<v1::Layout> layouts;  // Of taps and moves.
  // Without `stream`; layout: see above. For engines that the host drives,
  // `step` is a job of the plan, at whose end the bytes are complete.
  std::vector<v1::Program::Tap> taps;
  std::vector<v1::Program::CommandRange> ranges;  // Without `stream`.
  struct LayerUse {
    int32_t op = 0;
    int64_t sram_bytes = 0;  // As Program.Layer.
    int32_t tiles = 0;
    int64_t cycles = 0;  // Predicted, of the engine's clock; they sum to all.
    // As Program.Layer, of the engine's clock; 0: the model does not say.
    int64_t bound_cycles = 0;
    int64_t compulsory_bytes = 0;
  };
  std::vector<LayerUse> layers;
  // Peak use of each memory that the engine fills itself.
  struct MemoryUse {
    int32_t memory = 0;  // Index into Machine.memories.
    int64_t bytes = 0;
  };
  std::vector<MemoryUse> memories;
};

// What an engine needs of a memory.
struct MemoryNeed {
  int32_t memory = -1;  // -1: nothing is known.
  int64_t bytes = 0;
  absl::Status refusal;  // OK, or what is said of less: it names the op.
};

// Stateless and pure, hence thread-safe: equal arguments, equal bytes. Machines
// passed ValidateMachine(); an engine is one of the model's in the machine.
class EngineBackend {
 public:
  virtual ~EngineBackend() = default;

  // The same back end for many calls about one machine, which keeps what it
  // reads of it: equal answers, but not thread-safe. Null if there is nothing
  // to keep. The machine must outlive it and stay as it is.
  virtual std::unique_ptr<const EngineBackend> OnMachine(
      const v1::Machine& /*machine*/) const {
    return nullptr;
  }

  // The host writes its registers, moves its data and polls: plans have steps
  // and buffers, regions are single ops. Otherwise the engine runs streams.
  virtual bool HostDriven() const { return false; }

  // Neighbouring layers may take turns, piece by piece (depth-first): what is
  // between them is nowhere as a whole.
  virtual bool ComputesInPieces() const { return false; }

  // How `tensor`, an operand of the region's op or a reshape of one, lies whole
  // in the engine's memory: a resident border. Its extents are those of the
  // tensor that owns the storage. The layout is canonical: layouts that place
  // elements alike are equal. UNIMPLEMENTED if no layout of that shape
  // expresses it, or the engine has no resident borders.
  virtual absl::StatusOr<v1::Layout> OperandLayout(const Region& region,
                                                   TensorId tensor,
                                                   const v1::Machine& machine,
                                                   int32_t engine) const;

  // OK if the region's op can use a border in that memory and layout: jobs
  // access it in place, or the host moves tiles of it. UNIMPLEMENTED if no
  // layout expresses the engine's view of it, no link joins the memories, or
  // the engine's borders must be dense in system memory.
  virtual absl::Status CheckBorder(const Region& region,
                                   const Budget::Border& border,
                                   const v1::Machine& machine,
                                   int32_t engine) const;

  // Whether the host's code must rearrange `border` for the engine, as no link
  // does: then it is better off in system memory in an engine's layout.
  virtual bool NeedsRearranging(const Region& region,
                                const Budget::Border& border,
                                const v1::Machine& machine,
                                int32_t engine) const;

  // Inputs of the region, by storage, that its op can overwrite with its
  // output, element by element, if both are resident in one layout.
  virtual std::vector<TensorId> OverwritableInputs(const Region& region,
                                                   const v1::Machine& machine,
                                                   int32_t engine) const;

  // Whether each of these ops of `graph`, placed on one engine, could be
  // computed in that engine's memory alone. Quick, and necessary rather than
  // sufficient. Ops whose quantization does not hold together are skipped.
  // RESOURCE_EXHAUSTED names the op that needs the most, and how much.
  virtual absl::Status CheckSmallest(const Graph& graph,
                                     const std::vector<int32_t>& ops,
                                     const v1::Machine& machine,
                                     int32_t engine) const = 0;

  // The fewest bytes of the engine's memory with which each of these ops, by
  // itself and with its borders in system memory, has a Plan() by this recipe.
  // Of HostDriven() back ends; the default says nothing.
  virtual absl::StatusOr<MemoryNeed> NeedOfEachAlone(
      const Graph& graph, const std::vector<int32_t>& ops,
      const v1::Machine& machine, int32_t engine,
      const google::protobuf::Any& recipe) const;

  // Bytes that the engine's constants for an op with weights have beside them.
  virtual int64_t ConstantBytesBesideWeights(const Graph& graph, const Op& op,
                                             const v1::Machine& machine,
                                             int32_t engine) const = 0;

  // The fewest bytes that the engine has weights in which are so many int8
  // ones: fewer where it packs them.
  virtual int64_t LeastWeightBytes(int64_t bytes,
                                   const v1::Machine& /*machine*/,
                                   int32_t /*engine*/) const {
    return bytes;
  }

  // About the predicted_cycles of Plan() with the whole machine and no recipe,
  // in cycles of the engine's clock, for less work: to choose an engine before
  // any of them plans. From the engine's own timing, moves at borders included;
  // borders are resident where the engine supports that and they fit, else in
  // system memory. Errors: RESOURCE_EXHAUSTED as of Plan().
  virtual absl::StatusOr<int64_t> EstimateCycles(const Region& region,
                                                 const v1::Machine& machine,
                                                 int32_t engine) const = 0;

  // Decides how the region is computed within the budget, for few cycles by the
  // engine's own timing. `recipe` is the engine's part of one; empty: its own
  // choice. `region` of the result is the caller's to set. RESOURCE_EXHAUSTED
  // names layer, memory and the smallest size that suffices; UNIMPLEMENTED
  // names a border that the engine cannot have; INVALID_ARGUMENT if the recipe
  // is not the engine's.
  virtual absl::StatusOr<v1::RegionPlan> Plan(
      const Region& region, const Budget& budget, const v1::Machine& machine,
      int32_t engine, const google::protobuf::Any& recipe) const = 0;

  // INVALID_ARGUMENT if `plan` is not about this region on this machine.
  virtual absl::StatusOr<RegionCode> Emit(const Region& region,
                                          const v1::RegionPlan& plan,
                                          const v1::Machine& machine,
                                          const RegionMemory& memory) const = 0;

  // A stream as text, and back to the same bytes. INVALID_ARGUMENT names word
  // or line, and what is wrong with it.
  virtual absl::StatusOr<std::string> Disassemble(
      const v1::Machine::Engine& engine, absl::string_view code) const = 0;
  virtual absl::StatusOr<std::string> Assemble(
      const v1::Machine::Engine& engine, absl::string_view text) const = 0;

  // A file of the folder c/desk of a bundle.
  struct ModelFile {
    std::string path;  // One component.
    std::string text;
  };
  // What the engine computes, without time, in C99 for `make check` of a
  // bundle; none if there is no such model. Engines of one kind may give the
  // same files beside one of their own, engine_<engine>.c. That defines, of
  // engines that run streams,
  //   void engine_<engine>_launch(const uint8_t *stream, uint64_t bytes,
  //                               uint32_t first, uint32_t end);
  // which returns when the commands [first, end) are done, and of others
  //   void engine_<engine>_write(uint32_t offset, uint32_t value);
  //   uint32_t engine_<engine>_read(uint32_t offset);
  // for their registers. What is illegal ends the program by desk_stop() of
  // desk.h, which also finds memory.
  virtual absl::StatusOr<std::vector<ModelFile>> FunctionalModel(
      const v1::Machine& machine, int32_t engine) const;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_ENGINES_BACKEND_H_
