#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/assembly_calls.h"
#include "compiler/codegen/firmware/object_calls.h"
#include "compiler/codegen/firmware/own_kernels.h"
#include "compiler/codegen/firmware/runtime.h"
#include "compiler/codegen/firmware/stack_bound.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "proto/convert.h"
#include "server/worker/run_program.h"
#include "server/worker/scratch_folder.h"
#include "server/worker/stages/compiler_runs.h"
#include "server/worker/stages/firmware_image.h"
#include "server/worker/stages/source_files.h"
#include "server/worker/stages/stages.h"
#include "target/firmware.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kMaxElfBytes = (int64_t{1} << 30) + (1 << 24);
constexpr int64_t kMaxCallGraphBytes = int64_t{64} << 20;
constexpr int64_t kMaxObjectBytes = int64_t{1} << 30;
// Of memories without a bound: as large as simulated ones may be.
constexpr uint64_t kHugeBytes = uint64_t{1} << 30;
constexpr uint64_t kAddresses = uint64_t{1} << 32;

bool IsCompiled(absl::string_view path) {
  return absl::EndsWith(path, ".c") || absl::EndsWith(path, ".S");
}

int64_t HugeLength(const v1::ResolvedMemory& memory) {
  const uint64_t base = memory.base_address();
  if (base >= kAddresses) return static_cast<int64_t>(kHugeBytes);
  return static_cast<int64_t>(std::min(kHugeBytes, kAddresses - base));
}

absl::StatusOr<std::string> Find(const std::string& program,
                                 const target::CompilerUse& use) {
  if (auto found = FindProgram(program, SearchPath())) return *std::move(found);
  return MakeError(
      absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = "COMPILER_MISSING",
       .what = program == use.program
                   ? "a worker does not have the compiler"
                   : "a worker does not have the compiler's linker",
       .where = "stage build_firmware",
       .need = program,
       .fix = absl::StrCat("apt-get install ", use.package,
                           " on the worker's machine")});
}

// Of layers that call functions which only the user has.
absl::Status CheckHasKernels(const v1::CSourceTree& tree) {
  bool has_calls = false;
  for (const v1::CSourceTree::File& file : tree.files()) {
    if (compiler::IsOwnPath(file.path())) return absl::OkStatus();
    has_calls = has_calls || file.path() == compiler::kOwnKernelsFile;
  }
  if (!has_calls) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "KERNEL_SOURCES_MISSING",
       .what = "layers call functions of c_kernels, whose sources the target "
               "does not give",
       .where = "stage build_firmware",
       .fix = "add c_sources to the target, or use --compiler none and link "
              "them yourself: c/KERNELS.txt of the bundle lists them"});
}

absl::Status StackTooSmall(int64_t limit, int64_t need) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   {.reason = "FIRMWARE_DOES_NOT_FIT",
                    .what = "the firmware needs more stack than the target "
                            "keeps for it",
                    .where = "stage build_firmware",
                    .limit = absl::StrCat(limit, " bytes"),
                    .need = absl::StrCat(need, " bytes"),
                    .fix = "use a target with a larger stack"});
}

// Of what a compiler wrote: that it cannot be read is nobody else's fault.
template <typename T>
absl::StatusOr<T> Written(absl::StatusOr<T> read,
                          const target::CompilerUse& use) {
  if (read.ok()) return read;
  return MakeError(absl::StatusCode::kInternal,
                   {.fault = Fault::kInfra,
                    .reason = "COMPILER_FAILED",
                    .what = absl::StrCat(
                        use.program, " ended well and wrote no file of use"),
                    .where = "stage build_firmware",
                    .need = std::string(read.status().message()),
                    .fix = "look at the compiler of the worker's machine"});
}

class Builder {
 public:
  Builder(const v1::Machine& machine, const v1::Program& program,
          const v1::CSourceTree& tree, FirmwareMemories memories)
      : flash_(machine.memories(memories.flash)),
        ram_(machine.memories(memories.ram)),
        processor_(machine.firmware().processor()),
        stack_bytes_(program.firmware().stack_bytes()),
        tree_(tree) {}

  struct Built {
    std::string elf;
    FirmwareImage image;  // With sections.stack_bytes.
  };
  absl::StatusOr<Built> Build(const target::CompilerUse& use,
                              CompilerPrograms programs,
                              const std::string& folder,
                              const CompilerLimits& limits, bool debug_info) {
    EK_RETURN_IF_ERROR(disk_->CreateDirectories(folder + "/tree"));
    EK_RETURN_IF_ERROR(disk_->CreateDirectories(folder + "/objects"));
    EK_RETURN_IF_ERROR(WriteSourceTree(tree_, folder + "/tree"));
    use_ = &use;
    CompilerRuns runs(use, std::move(programs), folder, limits, debug_info,
                      IncludeFolders());
    EK_ASSIGN_OR_RETURN(const int objects, Compile(runs));
    EK_ASSIGN_OR_RETURN(const int64_t stack, Stack(runs));
    EK_ASSIGN_OR_RETURN(const auto linked, runs.Link(objects, "firmware.elf"));
    if (!linked.ok) {
      // Whatever the linker says: if larger memories are all it takes, the
      // firmware does not fit.
      EK_ASSIGN_OR_RETURN(const auto image, LinkUnbounded(objects, runs));
      if (!image || Fits(*image)) return linked.why;
      return DoesNotFit(*image);
    }
    Built built;
    EK_ASSIGN_OR_RETURN(
        built.elf,
        Written(disk_->Read(runs.ObjectPath("firmware.elf"), kMaxElfBytes),
                use));
    EK_ASSIGN_OR_RETURN(built.image,
                        Written(MeasureImage(built.elf, flash_, ram_), use));
    built.image.sections.set_stack_bytes(stack);
    if (!Fits(built.image)) return DoesNotFit(built.image);
    if (stack > stack_bytes_) return StackTooSmall(stack_bytes_, stack);
    return built;
  }

 private:
  std::vector<std::string> IncludeFolders() const {
    std::vector<std::string> paths;
    for (const v1::CSourceTree::File& file : tree_.files()) {
      paths.push_back(file.path());
    }
    return compiler::OwnIncludeFolders(paths);
  }

  // Returns the number of objects.
  absl::StatusOr<int> Compile(CompilerRuns& runs) {
    int objects = 0;
    for (const v1::CSourceTree::File& file : tree_.files()) {
      if (!IsCompiled(file.path())) continue;
      EK_RETURN_IF_ERROR(runs.Compile(file.path(), objects++));
    }
    return objects;
  }

  // The bound of what was compiled; 0: unknown.
  absl::StatusOr<int64_t> Stack(CompilerRuns& runs) {
    std::vector<std::string> graphs;
    std::vector<std::string> libraries;
    int object = 0;
    for (const v1::CSourceTree::File& file : tree_.files()) {
      if (!IsCompiled(file.path())) continue;
      const int number = object++;
      if (!absl::EndsWith(file.path(), ".c")) continue;
      EK_ASSIGN_OR_RETURN(std::string graph,
                          CallGraph(file.path(), number, runs));
      const bool is_library = file.path() == compiler::kRuntimeFile ||
                              compiler::IsOwnPath(file.path());
      (is_library ? libraries : graphs).push_back(std::move(graph));
    }
    EK_ASSIGN_OR_RETURN(const std::vector<compiler::PointerCall> calls,
                        PointerCalls());
    return Written(compiler::BoundStack(graphs, libraries, calls), *use_);
  }

  absl::StatusOr<std::string> CallGraph(const std::string& source, int number,
                                        CompilerRuns& runs) {
    const auto read = [&](const char* suffix, int64_t max_bytes) {
      return Written(
          disk_->Read(runs.ObjectPath(absl::StrCat(number, suffix)), max_bytes),
          *use_);
    };
    if (use_->family == v1::GCC) return read(".ci", kMaxCallGraphBytes);
    // Of a file without functions, clang writes none.
    const bool has_frames =
        disk_->Stat(runs.ObjectPath(absl::StrCat(number, ".su"))).ok();
    std::string frames;
    if (has_frames) {
      EK_ASSIGN_OR_RETURN(frames, read(".su", kMaxCallGraphBytes));
    }
    if (processor_ == v1::X86_64) {
      EK_RETURN_IF_ERROR(runs.WriteAssembly(source, number));
      EK_ASSIGN_OR_RETURN(const std::string text, read(".s", kMaxObjectBytes));
      return Written(compiler::AssemblyCallGraph(text, frames), *use_);
    }
    EK_ASSIGN_OR_RETURN(const std::string object, read(".o", kMaxObjectBytes));
    return Written(compiler::ObjectCallGraph(object, frames), *use_);
  }

  // As the sources tell of them.
  absl::StatusOr<std::vector<compiler::PointerCall>> PointerCalls() const {
    for (const v1::CSourceTree::File& file : tree_.files()) {
      if (file.path() == compiler::kPointerCallsFile) {
        return compiler::ParsePointerCalls(file.text());
      }
    }
    return std::vector<compiler::PointerCall>();
  }

  bool Fits(const FirmwareImage& image) const {
    return image.flash_bytes <= flash_.capacity_bytes() &&
           RamNeed(image, stack_bytes_, ram_) <= ram_.capacity_bytes();
  }

  // What the objects take where both memories have any size; empty if they do
  // not even link then.
  absl::StatusOr<std::optional<FirmwareImage>> LinkUnbounded(
      int objects, CompilerRuns& runs) {
    EK_ASSIGN_OR_RETURN(auto image,
                        LinkAndMeasure(objects, "unbounded.elf", runs,
                                       {.flash_bytes = HugeLength(flash_),
                                        .ram_bytes = HugeLength(ram_)}));
    if (!image) return image;
    // Instructions that name the end of a memory may be shorter or longer for
    // another one.
    EK_ASSIGN_OR_RETURN(
        auto exact,
        LinkAndMeasure(objects, "exact.elf", runs,
                       {.flash_bytes = image->flash_bytes,
                        .ram_bytes = RamNeed(*image, stack_bytes_, ram_)}));
    return exact ? exact : image;
  }

  absl::StatusOr<std::optional<FirmwareImage>> LinkAndMeasure(
      int objects, const std::string& name, CompilerRuns& runs,
      const MemoryLengths& lengths) {
    EK_ASSIGN_OR_RETURN(const auto linked, runs.Link(objects, name, lengths));
    if (!linked.ok) return std::optional<FirmwareImage>();
    EK_ASSIGN_OR_RETURN(
        const std::string elf,
        Written(disk_->Read(runs.ObjectPath(name), kMaxElfBytes), *use_));
    EK_ASSIGN_OR_RETURN(FirmwareImage image,
                        Written(MeasureImage(elf, flash_, ram_), *use_));
    return std::optional<FirmwareImage>(std::move(image));
  }

  // Names each memory that is too small.
  absl::Status DoesNotFit(const FirmwareImage& image) const {
    std::string where;
    std::string limit;
    std::string need;
    const auto name = [&](const v1::ResolvedMemory& memory, int64_t bytes) {
      if (bytes <= memory.capacity_bytes()) return;
      const bool second = !where.empty();
      absl::StrAppend(&where, second ? ", " : "memory ", memory.name());
      absl::StrAppend(&limit, second ? ", " : "", memory.capacity_bytes(),
                      " bytes");
      absl::StrAppend(&need, second ? ", " : "",
                      RoundUp(bytes, target::kMemoryAlignment), " bytes");
    };
    name(flash_, image.flash_bytes);
    name(ram_, RamNeed(image, stack_bytes_, ram_));
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.reason = "FIRMWARE_DOES_NOT_FIT",
         .what = "the firmware does not fit",
         .where = std::move(where),
         .limit = std::move(limit),
         .need = std::move(need),
         .fix = "use a target with more of this memory, or a smaller model"});
  }

  const v1::ResolvedMemory& flash_;
  const v1::ResolvedMemory& ram_;
  const v1::Processor processor_;
  const int64_t stack_bytes_;
  const v1::CSourceTree& tree_;
  const target::CompilerUse* use_ = nullptr;
  const std::unique_ptr<FileSystem> disk_ = NewPosixFileSystem();
};

// What the firmware takes, as code generation's estimate is replaced by it.
void Summarize(const v1::Program& program, const v1::Machine& machine,
               const FirmwareMemories& memories, const FirmwareImage& image,
               v1::StageSummary::Emit& summary) {
  *summary.mutable_layers() = program.layers();
  *summary.mutable_tensors() = program.tensors();
  summary.set_flash_bytes(program.flash_bytes());
  summary.set_ram_bytes(program.ram_bytes());
  *summary.mutable_sections() = image.sections;
  for (int i = 0; i < machine.memories_size(); ++i) {
    v1::MemoryUse& use = *summary.add_memories();
    use.set_name(machine.memories(i).name());
    use.set_capacity_bytes(machine.memories(i).capacity_bytes());
    if (i == memories.flash) use.set_used_bytes(program.flash_bytes());
    if (i == memories.ram) use.set_used_bytes(program.ram_bytes());
  }
}

}  // namespace

absl::StatusOr<StageOutput> RunBuildFirmware(
    const v1::BuildFirmwareOptions& options, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(v1::Program program,
                      inputs.Parse<v1::Program>("program"));
  EK_ASSIGN_OR_RETURN(const v1::CSourceTree tree,
                      inputs.Parse<v1::CSourceTree>("c_sources"));
  EK_ASSIGN_OR_RETURN(const v1::Machine machine,
                      inputs.Parse<v1::Machine>("machine"));
  const auto memories = FindFirmwareMemories(machine);
  const target::CompilerUse* const use = target::FindCompiler(
      machine.firmware().processor(),
      options.compiler().family() == v1::CLANG ? v1::CLANG : v1::GCC);
  if (!program.has_firmware() || !memories || use == nullptr ||
      use->program != options.compiler().program()) {
    return absl::InternalError(
        "building firmware for a target or with a compiler that has none");
  }
  EK_RETURN_IF_ERROR(CheckHasKernels(tree));
  CompilerPrograms programs;
  EK_ASSIGN_OR_RETURN(programs.compiler, Find(use->program, *use));
  EK_ASSIGN_OR_RETURN(programs.linker, Find(target::LinkProgram(*use), *use));
  EK_ASSIGN_OR_RETURN(const auto folder,
                      ScratchFolder::Make(inputs.scratch_folder().empty()
                                              ? TemporaryFolder()
                                              : inputs.scratch_folder(),
                                          "edgekiln-firmware-"));
  Builder builder(machine, program, tree, *memories);
  EK_ASSIGN_OR_RETURN(
      Builder::Built built,
      builder.Build(*use, std::move(programs), folder->path(),
                    {.memory_bytes = inputs.memory_limit_bytes(),
                     .in_callers_group = !inputs.scratch_folder().empty()},
                    options.debug_info()));
  const v1::FirmwareSections& sections = built.image.sections;
  v1::Program::Firmware& firmware = *program.mutable_firmware();
  *firmware.mutable_elf() = ToProto(DigestOf(built.elf));
  *firmware.mutable_sections() = sections;
  program.set_flash_bytes(built.image.flash_bytes);
  program.set_ram_bytes(built.image.ram_bytes + firmware.stack_bytes());
  StageOutput output;
  v1::StageSummary::Emit& summary = *output.summary.mutable_emit();
  Summarize(program, machine, *memories, built.image, summary);
  std::string bytes = program.SerializeAsString();
  *summary.mutable_program() = ToProto(DigestOf(bytes));
  output.Add("program", std::move(bytes));
  output.Add("constants", std::move(built.elf));
  return output;
}

}  // namespace edgekiln::server
