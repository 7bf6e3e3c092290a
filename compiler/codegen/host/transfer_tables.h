#ifndef EK_COMPILER_CODEGEN_HOST_TRANSFER_TABLES_H_
#define EK_COMPILER_CODEGEN_HOST_TRANSFER_TABLES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "target/move_transfers.h"

namespace edgekiln::compiler {

// The transfers of links that registers start, as C: tables of what the host
// writes, and a function for each window that writes it. Not thread-safe.
class TransferTables {
 public:
  // Both must outlive it.
  TransferTables(const v1::Program& program, const v1::Machine& machine,
                 const std::string& prefix);
  ~TransferTables();

  // Whether registers start the move's link.
  bool Starts(const v1::Program::Move& move) const;

  // Entries [first, second) of the table of the move's window. Errors as of
  // target::MoveTransfersView.
  absl::StatusOr<std::pair<int64_t, int64_t>> Add(
      const v1::Program::Move& move);
  int32_t WindowOf(const v1::Program::Move& move) const;

  // By window, in their order: `static void PREFIX_transfer_ENGINE(uint32_t
  // first, uint32_t end)` and its tables.
  std::string Text() const;
  std::vector<int32_t> Windows() const;

 private:
  struct Window;

  const v1::Program& program_;
  const v1::Machine& machine_;
  const std::string p_;
  std::map<int32_t, std::unique_ptr<Window>> windows_;  // By engine.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_TRANSFER_TABLES_H_
