#ifndef EK_SERVER_WORKER_STAGES_COMPILER_RUNS_H_
#define EK_SERVER_WORKER_STAGES_COMPILER_RUNS_H_

// Runs a C compiler so that equal sources become equal bytes, whatever the
// folder and the time.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/worker/compiler_limits.h"
#include "server/worker/run_program.h"
#include "target/firmware.h"

namespace edgekiln::server {

// Lengths of the linker script's memories, instead of those it names itself.
struct MemoryLengths {
  int64_t flash_bytes = 0;
  int64_t ram_bytes = 0;
};

// What a run of a compiler may take.
struct CompilerLimits {
  int64_t memory_bytes = 0;  // That its processes have each; 0 = unlimited.
  absl::Duration time = kCompilerTime;
  // As ProgramRun.in_callers_group: the caller is a builder (confinement.h).
  bool in_callers_group = false;
};

// Where they lie, as absolute paths.
struct CompilerPrograms {
  std::string compiler;
  std::string linker;  // The same file, where the compiler links.
};

// With a target's own sources, what the compiler finds wrong in a line of them
// or of the network's file, which includes their headers, and what does not
// link, is the target's fault: INVALID_ARGUMENT (KERNEL_SOURCES_INVALID). So is
// the CPU time that one of these sources takes.
// Errors of a compiler that does not do its work otherwise are ours: INTERNAL
// (COMPILER_FAILED) names it, the file, and the first line of its message;
// DEADLINE_EXCEEDED (COMPILER_TIMEOUT) the file at which it took too long, or
// more CPU time than its process may.
// Where it ran out of memory: OverMemoryLimit().
class CompilerRuns {
 public:
  // Sources lie in "tree" of `folder`, results in "objects". With `debug_info`,
  // objects have line tables, with paths relative to "tree", and the same
  // instructions. `include_folders`: of a target's own sources, in "tree";
  // empty without any.
  CompilerRuns(const target::CompilerUse& use, CompilerPrograms programs,
               std::string folder, const CompilerLimits& limits,
               bool debug_info, std::vector<std::string> include_folders = {});

  // Makes objects/NUMBER.o of the C or assembler file; of C, gcc also makes
  // objects/NUMBER.ci, its call graph, and clang objects/NUMBER.su, its stack
  // frames.
  absl::Status Compile(const std::string& source, int number);
  // Makes objects/NUMBER.s of a C file: the assembler text of that object.
  absl::Status WriteAssembly(const std::string& source, int number);

  // What came of linking. A script whose memories are too small makes it fail.
  struct Linked {
    bool ok = false;
    absl::Status why;  // It is not.
  };
  // Makes objects/NAME of objects/0.o and so on, with tree/firmware.ld.
  absl::StatusOr<Linked> Link(int objects, const std::string& name);
  // The same with other memories, which may overlap.
  absl::StatusOr<Linked> Link(int objects, const std::string& name,
                              const MemoryLengths& lengths);

  std::string ObjectPath(const std::string& name) const;

 private:
  ProgramRun RunOf(const std::string& program,
                   std::vector<std::string> arguments) const;
  std::vector<std::string> DebugFlags() const;
  // Whether it is one of the target's own sources or may include one.
  bool SeesOwnSources(const std::string& file) const;
  bool IsOwnMistake(const ProgramEnd& end, const std::string& file) const;
  // Up to what says which file is made.
  std::vector<std::string> FlagsOf(const std::string& source) const;
  absl::Status Failed(const ProgramEnd& end, const ProgramRun& run,
                      const std::string& name, const std::string& file) const;
  absl::StatusOr<Linked> LinkWith(int objects, const std::string& name,
                                  const std::vector<std::string>& flags);

  const target::CompilerUse& use_;
  const CompilerPrograms programs_;
  const std::string folder_;
  const CompilerLimits limits_;
  const bool debug_info_;
  const std::vector<std::string> include_folders_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_COMPILER_RUNS_H_
