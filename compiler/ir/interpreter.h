#ifndef EK_COMPILER_IR_INTERPRETER_H_
#define EK_COMPILER_IR_INTERPRETER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "ops/cpu_path.h"

// Computes a graph with the reference kernels of ops/: the truth that every
// simulated chip is compared with.
namespace edgekiln::compiler {

struct InterpreterOptions {
  // Which values are readable after Run(). kOutputs lets intermediate tensors
  // share memory.
  enum class Keep { kOutputs, kAllTensors };
  Keep keep = Keep::kOutputs;
  // Called after graph().ops[op], while the values that it made are there; its
  // error ends the run. Sees every value in the memory of kOutputs.
  std::function<absl::Status(int32_t op,
                             absl::Span<const absl::string_view> outputs)>
      after_op = nullptr;
  // Changes speed only, never results.
  ops::CpuPath cpu_path = ops::CpuPath::kAuto;
  // RESOURCE_EXHAUSTED above this much memory for values that are not
  // constants.
  int64_t max_buffer_bytes = int64_t{4} << 30;
};

// One graph, prepared once, run on many samples with the same buffers.
// Thread-compatible: one thread at a time; make one per thread.
class Interpreter {
 public:
  // Verifies the graph, copies it (constant data is shared) and allocates.
  static absl::StatusOr<std::unique_ptr<Interpreter>> Create(
      const Graph& graph, const InterpreterOptions& options = {});
  virtual ~Interpreter() = default;

  // Computes all ops. `inputs` in the order of graph().inputs, each with
  // exactly the bytes of its tensor: little-endian, row-major. An empty value
  // for the input of a state stands for its value in states().
  virtual absl::Status Run(absl::Span<const absl::string_view> inputs) = 0;

  // One value per graph().states: real zero at first, then what the last
  // successful Run() computed.
  virtual const std::vector<std::string>& states() const = 0;
  // INVALID_ARGUMENT if there are not as many, or one has another size. An
  // empty list sets all to real zero.
  virtual absl::Status SetStates(std::vector<std::string> values) = 0;

  // Bytes of a tensor after the last successful Run(), until the next one:
  // graph inputs, outputs and constants, with kAllTensors every tensor. Empty
  // for a tensor that was not kept.
  virtual absl::string_view value(TensorId tensor) const = 0;

  virtual const Graph& graph() const = 0;
};

// Convenience for one sample: the bytes of each graph output.
absl::StatusOr<std::vector<std::string>> Evaluate(
    const Graph& graph, absl::Span<const absl::string_view> inputs,
    const InterpreterOptions& options = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_INTERPRETER_H_
