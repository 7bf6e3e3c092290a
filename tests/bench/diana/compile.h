#ifndef EK_TESTS_BENCH_DIANA_COMPILE_H_
#define EK_TESTS_BENCH_DIANA_COMPILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"
#include "tests/bench/diana/columns.h"
#include "tests/bench/diana/program_figures.h"
#include "tests/bench/diana/published.h"
#include "tests/bench/program.h"

namespace edgekiln::bench {

// Compiles networks with the command line. Not thread-safe.
class DianaCompiler {
 public:
  // `edgekiln` is the command, `shared` has models/; models that are not there
  // are looked for in `variants`.
  static absl::StatusOr<DianaCompiler> Create(std::string edgekiln,
                                              std::string shared,
                                              std::string variants);

  const std::string& edgekiln() const { return edgekiln_; }
  // The parameter: the host's loop around a job.
  int64_t tile_cycles() const { return tile_cycles_; }
  std::string ModelOf(const Published& network, const Column& column) const;
  bool HasModel(const Published& network, const Column& column) const;

  // The folder of the bundle. `target` is a name or a file.
  absl::StatusOr<std::string> Compile(const Published& network,
                                      const Column& column,
                                      const std::string& target,
                                      const std::string& recipe) const;
  absl::StatusOr<ProgramFigures> Figures(const Published& network,
                                         const Column& column,
                                         const std::string& target,
                                         const std::string& recipe) const;

  // A file with the chip, whose recipes do not round input channels up: as the
  // published sizes of weights.
  absl::StatusOr<std::string> UnpaddedTarget() const;
  std::string At(const std::string& file) const { return folder_->At(file); }

 private:
  std::string edgekiln_;
  std::string shared_;
  std::string variants_;
  v1::Machine machine_;
  int64_t tile_cycles_ = 0;
  std::shared_ptr<ScratchFolder> folder_;
};

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_COMPILE_H_
