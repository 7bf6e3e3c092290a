#ifndef EK_TESTS_C_TARGETS_HOST_BUNDLE_H_
#define EK_TESTS_C_TARGETS_HOST_BUNDLE_H_

// The part of a bundle that `make check` needs, of a chip with engines: built
// by the system's C compiler.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::tests {

// A folder that is removed in the end. Not thread-safe.
class HostBundle {
 public:
  // Compiles `graph`, which is quantized and verified, for the target, by a
  // recipe of it.
  static absl::StatusOr<HostBundle> Create(
      const compiler::Graph& graph, const v1::ResolvedTarget& target,
      const v1::TileRecipe& recipe = v1::TileRecipe());
  HostBundle(HostBundle&& other) noexcept;
  HostBundle& operator=(HostBundle&&) = delete;
  ~HostBundle();

  const compiler::EmitResult& compiled() const { return compiled_; }
  const std::string& folder() const { return folder_; }
  // Of a path in the folder.
  std::string Read(const std::string& path) const;
  void Write(const std::string& path, const std::string& bytes) const;

  // Whether a command of the shell, run in the folder, ends well within five
  // minutes.
  bool Runs(const std::string& command) const;
  // `make check` with these variables.
  bool Checks(const std::string& variables = "") const;

  // Runs that many samples, states among them, on the chip of `make check`:
  // every output is the interpreter's, but one NaN for another. INTERNAL with
  // what differs. Faster to build than `make check`.
  absl::Status CompareWithInterpreter(int samples, const std::string& flags);

 private:
  HostBundle(const compiler::Graph& graph, std::string folder)
      : graph_(graph), folder_(std::move(folder)) {}

  absl::Status BuildHarness(const std::string& flags) const;

  compiler::Graph graph_;
  std::string folder_;
  compiler::EmitResult compiled_;
};

}  // namespace edgekiln::tests

#endif  // EK_TESTS_C_TARGETS_HOST_BUNDLE_H_
