#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "base/error.h"
#include "compiler/codegen/firmware/runtime.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/worker/run_program.h"
#include "server/worker/scratch_folder.h"
#include "server/worker/stages/compiler_runs.h"
#include "server/worker/stages/firmware_image.h"
#include "server/worker/stages/source_files.h"
#include "server/worker/stages/stages.h"
#include "target/firmware.h"
#include "tests/support/skip.h"

namespace edgekiln::server {
namespace {

constexpr char kGcc[] = "riscv64-unknown-elf-gcc";
constexpr uint64_t kFlash = 0x20000000;
constexpr uint64_t kRam = 0x80000000;

constexpr char kStart[] = R"(
.section .text.start,"ax"
.globl _start
_start:
  la sp, ek_stack_top
  j end
.globl ek_run
ek_run:
  la sp, ek_stack_top
  call net_invoke
end:
  li t0, 0x5555
  lui t1, 0x100
  sw t0, 0(t1)
  j end
)";

// 100 bytes of .bss, 4 of .data, 300 of .rodata, frames of 48 and 16 bytes.
constexpr char kNet[] = R"(
#include "net.h"
static uint8_t arena[100];
static const int8_t weights[300] = {1, 2, 3};
int32_t scale = 5;
static __attribute__((noinline)) int layer(int x) {
  volatile int values[12];
  for (int i = 0; i < 12; ++i) values[i] = x + weights[i * 7 + x];
  return values[3];
}
int net_invoke(void) {
  arena[1] = (uint8_t)layer(scale);
  arena[arena[1]] = 3;
  return arena[2];
}
)";

// What a stage is handed.
struct Work {
  v1::Program program;
  v1::CSourceTree tree;
  v1::Machine machine;
  v1::BuildFirmwareOptions options;

  void Set(const std::string& path, const std::string& text) {
    for (v1::CSourceTree::File& file : *tree.mutable_files()) {
      if (file.path() == path) return file.set_text(text);
    }
    v1::CSourceTree::File& file = *tree.add_files();
    file.set_path(path);
    file.set_text(text);
    std::sort(tree.mutable_files()->begin(), tree.mutable_files()->end(),
              [](const auto& a, const auto& b) { return a.path() < b.path(); });
  }
  v1::ResolvedMemory& flash() { return *machine.mutable_memories(0); }
  v1::ResolvedMemory& ram() { return *machine.mutable_memories(1); }
  // firmware.ld names what the machine has.
  void SetCapacities(int64_t flash_bytes, int64_t ram_bytes) {
    flash().set_capacity_bytes(flash_bytes);
    ram().set_capacity_bytes(ram_bytes);
    Set("firmware.ld", absl::StrCat(R"(
ENTRY(_start)
MEMORY {
  FLASH (rx) : ORIGIN = )",
                                    kFlash, R"(,
    LENGTH = DEFINED(ek_flash_bytes) ? ek_flash_bytes : )",
                                    flash_bytes, R"(
  RAM (rw) : ORIGIN = )",
                                    kRam, R"(,
    LENGTH = DEFINED(ek_ram_bytes) ? ek_ram_bytes : )",
                                    ram_bytes, R"(
}
SECTIONS {
  .text : { KEEP(*(.text.start)) *(.text*) } > FLASH
  .rodata : { *(.rodata*) *(.srodata*) } > FLASH
  .data : { *(.data*) *(.sdata*) } > RAM AT > FLASH
  .bss (NOLOAD) : { *(.bss*) *(.sbss*) } > RAM
  ek_stack_top = (ORIGIN(RAM) + LENGTH(RAM)) & ~15;
}
)"));
  }
};

Work TinyWork() {
  Work work;
  work.options.mutable_compiler()->set_family(v1::GCC);
  work.options.mutable_compiler()->set_program(kGcc);
  work.program.mutable_firmware()->set_processor(v1::RV32IMC);
  work.program.mutable_firmware()->set_run("ek_run");
  work.program.mutable_firmware()->set_stack_bytes(200);
  work.program.add_layers()->set_name("conv");
  work.machine.mutable_firmware()->set_processor(v1::RV32IMC);
  v1::ResolvedMemory& flash = *work.machine.add_memories();
  flash.set_name("rom");
  flash.add_holds(v1::MemoryDescriptor::CODE);
  flash.add_holds(v1::MemoryDescriptor::CONSTANTS);
  flash.set_base_address(kFlash);
  v1::ResolvedMemory& ram = *work.machine.add_memories();
  ram.set_name("ram");
  ram.add_holds(v1::MemoryDescriptor::ACTIVATIONS);
  ram.set_base_address(kRam);
  work.SetCapacities(64 << 10, 4 << 10);
  work.Set("net.c", kNet);
  work.Set("net.h", "#include <stdint.h>\n");
  work.Set("start.S", kStart);
  return work;
}

absl::StatusOr<StageOutput> Build(const Work& work,
                                  const std::string& folder = "") {
  const std::string program = work.program.SerializeAsString();
  const std::string tree = work.tree.SerializeAsString();
  const std::string machine = work.machine.SerializeAsString();
  StageInputs inputs(nullptr, nullptr, 0, folder);
  inputs.Add("program", absl::string_view(program));
  inputs.Add("c_sources", absl::string_view(tree));
  inputs.Add("machine", absl::string_view(machine));
  return RunBuildFirmware(work.options, inputs);
}

ErrorDetail ErrorOf(const Work& work) {
  const auto output = Build(work);
  EXPECT_FALSE(output.ok());
  const auto detail = GetErrorDetail(output.status());
  EXPECT_TRUE(detail.has_value()) << output.status();
  return detail.value_or(ErrorDetail());
}

int64_t BytesOf(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  int64_t bytes = -1;
  EXPECT_TRUE(words.size() == 2 && words[1] == "bytes" &&
              absl::SimpleAtoi(words[0], &bytes))
      << text;
  return bytes;
}

class BuildFirmwareTest : public testing::TestWithParam<v1::CompilerFamily> {
 protected:
  void SetUp() override {
    const target::CompilerUse* const use =
        target::FindCompiler(v1::RV32IMC, GetParam());
    for (const std::string& name : {use->program, target::LinkProgram(*use)}) {
      if (!FindProgram(name, SearchPath())) {
        EK_SKIP(absl::StrCat("there is no ", name));
      }
    }
  }
  static Work TinyWork() {
    Work work = edgekiln::server::TinyWork();
    v1::Compiler& compiler = *work.options.mutable_compiler();
    compiler.set_family(GetParam());
    compiler.set_program(
        target::FindCompiler(v1::RV32IMC, GetParam())->program);
    return work;
  }
};

INSTANTIATE_TEST_SUITE_P(All, BuildFirmwareTest,
                         testing::Values(v1::GCC, v1::CLANG),
                         [](const auto& info) {
                           return std::string(
                               target::CompilerFamilyName(info.param));
                         });

TEST_P(BuildFirmwareTest, MakesAnElfFileAndTellsWhatItTakes) {
  const auto output = Build(TinyWork());
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_EQ(output->blobs.size(), 2u);
  ASSERT_EQ(output->blobs[0].first, "program");
  ASSERT_EQ(output->blobs[1].first, "constants");
  v1::Program program;
  ASSERT_TRUE(program.ParseFromString(output->blobs[0].second));
  const std::string& elf = output->blobs[1].second;
  EXPECT_EQ(elf.substr(0, 4), "\177ELF");
  EXPECT_EQ(program.firmware().elf().SerializeAsString(),
            ToProto(DigestOf(elf)).SerializeAsString());
  EXPECT_EQ(program.firmware().run(), "ek_run");
  const v1::FirmwareSections& sections = program.firmware().sections();
  EXPECT_GT(sections.text_bytes(), 40);
  EXPECT_EQ(sections.rodata_bytes(), 300);
  EXPECT_EQ(sections.data_bytes(), 4);
  EXPECT_EQ(sections.bss_bytes(), 100);
  EXPECT_EQ(sections.stack_bytes(), 48 + 16);
  // With the gaps that alignment makes.
  EXPECT_GE(program.flash_bytes(), sections.text_bytes() + 304);
  EXPECT_LT(program.flash_bytes(), sections.text_bytes() + 312);
  EXPECT_EQ(program.ram_bytes(), 104 + 200);
  const v1::StageSummary::Emit& summary = output->summary.emit();
  EXPECT_EQ(summary.layers_size(), 1);
  EXPECT_EQ(summary.flash_bytes(), program.flash_bytes());
  EXPECT_EQ(summary.ram_bytes(), program.ram_bytes());
  EXPECT_EQ(summary.sections().SerializeAsString(),
            sections.SerializeAsString());
  EXPECT_EQ(summary.program().SerializeAsString(),
            ToProto(DigestOf(output->blobs[0].second)).SerializeAsString());
  ASSERT_EQ(summary.memories_size(), 2);
  EXPECT_EQ(summary.memories(0).used_bytes(), program.flash_bytes());
  EXPECT_EQ(summary.memories(1).used_bytes(), program.ram_bytes());
  EXPECT_EQ(summary.memories(1).capacity_bytes(), 4 << 10);
}

TEST_P(BuildFirmwareTest, SameBytesFromAnyFolder) {
  const auto first = *ScratchFolder::Make(TemporaryFolder(), "build-test-");
  const auto second =
      *ScratchFolder::Make(first->path(), "a-much-longer-name-");
  const Work work = TinyWork();
  const auto output = Build(work, first->path());
  ASSERT_TRUE(output.ok()) << output.status();
  for (const std::string& folder : {first->path(), second->path()}) {
    const auto again = Build(work, folder);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->blobs, output->blobs) << folder;
  }
  EXPECT_FALSE(absl::StrContains(output->blobs[1].second, first->path()));
}

// Of the ELF file's segments: what a loader takes.
std::string LoadedBytes(const std::string& elf) {
  Elf32_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof(header));
  std::string loaded = absl::StrCat("entry ", header.e_entry);
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf32_Phdr segment;
    std::memcpy(&segment, elf.data() + header.e_phoff + i * header.e_phentsize,
                sizeof(segment));
    if (segment.p_type != PT_LOAD) continue;
    absl::StrAppend(&loaded, " at ", segment.p_paddr, ", ", segment.p_vaddr,
                    ", ", segment.p_memsz, ": ",
                    elf.substr(segment.p_offset, segment.p_filesz));
  }
  return loaded;
}

TEST_P(BuildFirmwareTest, LineTablesChangeNothingThatIsLoaded) {
  Work work = TinyWork();
  const auto plain = Build(work);
  ASSERT_TRUE(plain.ok()) << plain.status();
  work.options.set_debug_info(true);
  const auto with_lines = Build(work);
  ASSERT_TRUE(with_lines.ok()) << with_lines.status();
  const std::string& elf = with_lines->blobs[1].second;
  EXPECT_FALSE(absl::StrContains(plain->blobs[1].second, ".debug_line"));
  EXPECT_TRUE(absl::StrContains(elf, ".debug_line"));
  EXPECT_TRUE(absl::StrContains(elf, "net.c"));
  EXPECT_EQ(LoadedBytes(elf), LoadedBytes(plain->blobs[1].second));
  EXPECT_EQ(with_lines->summary.emit().sections().SerializeAsString(),
            plain->summary.emit().sections().SerializeAsString());
}

// Also where the folder's name is a link, which the compiler could look behind.
TEST_P(BuildFirmwareTest, LineTablesHaveTheSameBytesFromAnyFolder) {
  Work work = TinyWork();
  work.options.set_debug_info(true);
  const auto first = Build(work);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto folder = ScratchFolder::Make(TemporaryFolder(), "some-place-");
  ASSERT_TRUE(folder.ok()) << folder.status();
  const std::string link = (*folder)->path() + "/link";
  std::filesystem::create_directory((*folder)->path() + "/target");
  std::filesystem::create_directory_symlink((*folder)->path() + "/target",
                                            link);
  const auto second = Build(work, link);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(DigestOf(first->blobs[1].second),
            DigestOf(second->blobs[1].second));
  EXPECT_FALSE(absl::StrContains(first->blobs[1].second, TemporaryFolder()));
}

TEST_P(BuildFirmwareTest, LeavesNothingBehind) {
  const auto place = *ScratchFolder::Make(TemporaryFolder(), "build-test-");
  ASSERT_TRUE(Build(TinyWork(), place->path()).ok());
  Work broken = TinyWork();
  broken.Set("net.c", "int net_invoke(void) { return }\n");
  ASSERT_FALSE(Build(broken, place->path()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(place->path()));
}

TEST_P(BuildFirmwareTest, NamesTheFlashItTakes) {
  Work work = TinyWork();
  work.SetCapacities(128, 4 << 10);
  const ErrorDetail error = ErrorOf(work);
  EXPECT_EQ(error.reason, "FIRMWARE_DOES_NOT_FIT");
  EXPECT_EQ(error.fault, Fault::kUser);
  EXPECT_EQ(error.where, "memory rom");
  EXPECT_EQ(error.limit, "128 bytes");
  const int64_t need = BytesOf(error.need);
  EXPECT_GT(need, 128);
  EXPECT_EQ(need % 16, 0) << "memories have such sizes";
  work.SetCapacities(need - 16, 4 << 10);
  EXPECT_EQ(BytesOf(ErrorOf(work).need), need);
  work.SetCapacities(need, 4 << 10);
  EXPECT_TRUE(Build(work).ok()) << Build(work).status();
}

// The stack counts, whether the linker knows of it or not.
TEST_P(BuildFirmwareTest, NamesTheRamItTakes) {
  Work work = TinyWork();
  for (const int64_t capacity : {64, 256}) {
    work.SetCapacities(64 << 10, capacity);
    const ErrorDetail error = ErrorOf(work);
    EXPECT_EQ(error.reason, "FIRMWARE_DOES_NOT_FIT");
    EXPECT_EQ(error.where, "memory ram");
    EXPECT_EQ(error.limit, absl::StrCat(capacity, " bytes"));
    // 104 + 200, whose end is that of the stack.
    EXPECT_EQ(error.need, "304 bytes");
  }
  work.SetCapacities(64 << 10, 303);
  EXPECT_EQ(ErrorOf(work).need, "304 bytes");
  work.SetCapacities(64 << 10, 304);
  EXPECT_TRUE(Build(work).ok()) << Build(work).status();
  work.program.mutable_firmware()->set_stack_bytes(201);
  EXPECT_EQ(ErrorOf(work).need, "320 bytes");
}

TEST_P(BuildFirmwareTest, NamesBothMemories) {
  Work work = TinyWork();
  work.SetCapacities(100, 64);
  const ErrorDetail error = ErrorOf(work);
  EXPECT_EQ(error.where, "memory rom, ram");
  EXPECT_EQ(error.limit, "100 bytes, 64 bytes");
  EXPECT_TRUE(absl::EndsWith(error.need, " bytes, 304 bytes")) << error.need;
}

TEST_P(BuildFirmwareTest, NamesTheStackItTakes) {
  Work work = TinyWork();
  work.program.mutable_firmware()->set_stack_bytes(63);
  const ErrorDetail error = ErrorOf(work);
  EXPECT_EQ(error.reason, "FIRMWARE_DOES_NOT_FIT");
  EXPECT_EQ(error.fault, Fault::kUser);
  EXPECT_EQ(error.limit, "63 bytes");
  EXPECT_EQ(error.need, "64 bytes");
  work.program.mutable_firmware()->set_stack_bytes(64);
  EXPECT_TRUE(Build(work).ok()) << Build(work).status();
}

// Nobody knows how much, so that no bound is told, and none is missed.
TEST_P(BuildFirmwareTest, AnUnknownStackIsZero) {
  Work work = TinyWork();
  work.program.mutable_firmware()->set_stack_bytes(32);
  work.Set("net.c", R"(
static int zero(void) { return 0; }
int (*volatile pointer)(void) = zero;
int net_invoke(void) { return pointer() + 1; }
)");
  const auto output = Build(work);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->summary.emit().sections().stack_bytes(), 0);
}

// What the processor lacks is beside the network. Only what is called of it is
// in the file, and counts.
TEST_P(BuildFirmwareTest, TheRuntimeTakesStack) {
  Work work = TinyWork();
  work.Set(compiler::kRuntimeFile, compiler::RuntimeText());
  const auto without = Build(work);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->summary.emit().sections().stack_bytes(), 48 + 16);
  EXPECT_LT(without->summary.emit().sections().text_bytes(), 300);
  work.Set("net.c", R"(
volatile float a, b;
volatile double c;
int net_invoke(void) {
  a = a * b + a / b;
  c = c / a;
  return (int)(1000000007LL / (long long)a);
}
)");
  const auto output = Build(work);
  ASSERT_TRUE(output.ok()) << output.status();
  const int64_t stack = output->summary.emit().sections().stack_bytes();
  EXPECT_GT(stack, 16);  // More than net_invoke() itself
  EXPECT_LT(stack, 200);
  work.program.mutable_firmware()->set_stack_bytes(stack - 1);
  EXPECT_EQ(BytesOf(ErrorOf(work).need), stack);
}

TEST_P(BuildFirmwareTest, AFailingCompilerIsOurFault) {
  Work work = TinyWork();
  work.Set("net.c", "int net_invoke(void) { return mistake; }\n");
  ErrorDetail error = ErrorOf(work);
  EXPECT_EQ(error.reason, "COMPILER_FAILED");
  EXPECT_EQ(error.fault, Fault::kInfra);
  EXPECT_EQ(error.where, "stage build_firmware, net.c");
  const bool is_gcc = GetParam() == v1::GCC;
  EXPECT_TRUE(absl::StrContains(error.what, is_gcc ? kGcc : "clang"))
      << error.what;
  EXPECT_TRUE(absl::StrContains(error.what, is_gcc ? "'mistake' undeclared"
                                                   : "undeclared identifier "
                                                     "'mistake'"))
      << error.what;
  EXPECT_EQ(Build(work).status().code(), absl::StatusCode::kInternal);
  // Larger memories do not make it link.
  work.Set("net.c",
           "int other(void);\nint net_invoke(void) { return "
           "other(); }\n");
  error = ErrorOf(work);
  EXPECT_EQ(error.reason, "COMPILER_FAILED");
  EXPECT_EQ(error.where, "stage build_firmware, linking");
  EXPECT_TRUE(
      absl::StrContains(error.what, is_gcc ? "undefined reference to `other'"
                                           : "undefined symbol: other"))
      << error.what;
  EXPECT_TRUE(absl::StrContains(error.what, is_gcc ? kGcc : "ld.lld"))
      << error.what;
}

TEST_P(BuildFirmwareTest, ItsEnvironmentIsOurs) {
  setenv("CPATH", "/nonexistent", 1);
  setenv("COMPILER_PATH", "/nonexistent", 1);
  setenv("GCC_COMPARE_DEBUG", "yes", 1);
  const auto with = Build(TinyWork());
  unsetenv("CPATH");
  unsetenv("COMPILER_PATH");
  unsetenv("GCC_COMPARE_DEBUG");
  const auto without = Build(TinyWork());
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ(with->blobs, without->blobs);
}

TEST(BuildFirmwareErrorTest, ACompilerThatIsNotThere) {
  Work work = TinyWork();
  const std::string path = SearchPath();
  setenv("PATH", "/nonexistent", 1);
  const auto output = Build(work);
  setenv("PATH", path.c_str(), 1);
  const auto detail = GetErrorDetail(output.status());
  ASSERT_TRUE(detail.has_value()) << output.status();
  EXPECT_EQ(detail->reason, "COMPILER_MISSING");
  EXPECT_EQ(detail->fault, Fault::kInfra);
  EXPECT_EQ(detail->need, kGcc);
}

TEST(BuildFirmwareErrorTest, ALinkerThatIsNotThere) {
  Work work = TinyWork();
  work.options.mutable_compiler()->set_family(v1::CLANG);
  work.options.mutable_compiler()->set_program("clang");
  const auto folder = *ScratchFolder::Make(TemporaryFolder(), "build-test-");
  std::ofstream(folder->path() + "/clang") << "#!/bin/sh\n";
  std::filesystem::permissions(folder->path() + "/clang",
                               std::filesystem::perms::owner_all);
  const std::string path = SearchPath();
  setenv("PATH", folder->path().c_str(), 1);
  const auto output = Build(work);
  setenv("PATH", path.c_str(), 1);
  const auto detail = GetErrorDetail(output.status());
  ASSERT_TRUE(detail.has_value()) << output.status();
  EXPECT_EQ(detail->reason, "COMPILER_MISSING");
  EXPECT_EQ(detail->need, "ld.lld");
  EXPECT_EQ(detail->fix, "apt-get install clang lld on the worker's machine");
}

TEST(BuildFirmwareErrorTest, AnotherCompilerThanTheProcessors) {
  Work work = TinyWork();
  work.options.mutable_compiler()->set_program("/bin/sh");
  EXPECT_EQ(Build(work).status().code(), absl::StatusCode::kInternal);
  work = TinyWork();
  work.options.mutable_compiler()->set_family(v1::CLANG);
  EXPECT_EQ(Build(work).status().code(), absl::StatusCode::kInternal);
}

TEST(SourceTreeTest, HostilePathsAreRefused) {
  for (const std::string path :
       {"", ".", "..", "../a.c", "a/../b.c", "/a.c", "a//b.c", "a/", "/",
        "-o.c", "a/-I.c", ".a.c", "a b.c", "@a.c", "a;b.c", "a\n.c", "a\\b.c",
        "\xc3\xa4.c"}) {
    v1::CSourceTree tree;
    tree.add_files()->set_path(path);
    const auto detail = GetErrorDetail(CheckSourceTree(tree));
    ASSERT_TRUE(detail.has_value()) << path;
    EXPECT_EQ(detail->reason, "C_SOURCES_INVALID") << path;
  }
  v1::CSourceTree tree;
  tree.add_files()->set_path(std::string("a\0.c", 4));
  EXPECT_FALSE(CheckSourceTree(tree).ok());
  tree.mutable_files(0)->set_path(std::string(256, 'a'));
  EXPECT_FALSE(CheckSourceTree(tree).ok());
  tree.mutable_files(0)->set_path("a.b/c_d/e-f.c");
  EXPECT_TRUE(CheckSourceTree(tree).ok());
}

TEST(SourceTreeTest, EveryPathOnceAndSorted) {
  v1::CSourceTree tree;
  tree.add_files()->set_path("b.c");
  tree.add_files()->set_path("b.c");
  EXPECT_FALSE(CheckSourceTree(tree).ok());
  tree.mutable_files(1)->set_path("a.c");
  EXPECT_FALSE(CheckSourceTree(tree).ok());
  tree.mutable_files(1)->set_path("c.c");
  EXPECT_TRUE(CheckSourceTree(tree).ok());
}

TEST(SourceTreeTest, NumbersAreBounded) {
  v1::CSourceTree tree;
  for (int i = 0; i < 4096; ++i) {
    tree.add_files()->set_path(absl::StrCat("f", 10000 + i, ".c"));
  }
  EXPECT_TRUE(CheckSourceTree(tree).ok());
  tree.add_files()->set_path("g.c");
  EXPECT_FALSE(CheckSourceTree(tree).ok());
}

// A file cannot be a folder as well: nothing is written over.
TEST(SourceTreeTest, FilesAndFoldersDoNotMix) {
  const auto folder = *ScratchFolder::Make(TemporaryFolder(), "build-test-");
  v1::CSourceTree tree;
  tree.add_files()->set_path("a");
  tree.add_files()->set_path("a/b.c");
  EXPECT_FALSE(WriteSourceTree(tree, folder->path()).ok());
}

// With that script for a compiler.
absl::Status CompileBy(const std::string& script, const CompilerLimits& limits,
                       const std::string& source = "net.c",
                       std::vector<std::string> include_folders = {}) {
  const auto folder = *ScratchFolder::Make(TemporaryFolder(), "build-test-");
  std::filesystem::create_directories(folder->path() + "/tree");
  const std::string program = folder->path() + "/gcc";
  std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  target::CompilerUse use;
  use.family = v1::GCC;
  use.program = "gcc";
  return CompilerRuns(use, {program, program}, folder->path(), limits, false,
                      std::move(include_folders))
      .Compile(source, 0);
}

TEST(CompilerRunsTest, ACompilerThatHangsIsEndedAndTheFileIsNamed) {
  const struct {
    const char* script;
    const char* limit;
  } kCases[] = {
      {"sleep 1000", "500ms"},
      {"kill -XCPU $$", "2m of CPU time"},
      // As gcc's driver tells of its parts.
      {"echo 'gcc: fatal error: CPU time limit exceeded signal terminated "
       "program cc1' >&2; exit 1",
       "2m of CPU time"}};
  for (const auto& each : kCases) {
    CompilerLimits limits;
    if (each.script[0] == 's') limits.time = absl::Milliseconds(500);
    const absl::Status status = CompileBy(each.script, limits);
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << status;
    EXPECT_EQ(detail->reason, "COMPILER_TIMEOUT");
    EXPECT_EQ(detail->fault, Fault::kInfra);
    EXPECT_EQ(detail->where, "stage build_firmware, net.c");
    EXPECT_EQ(detail->limit, each.limit);
    EXPECT_TRUE(absl::StrContains(detail->fix, "--compiler none"));
  }
  EXPECT_TRUE(CompileBy("exit 0", {}).ok());
}

// Beside a target's own sources, too, what the machine does is our fault, and
// no user's error is kept for it.
TEST(CompilerRunsTest, FaultsOfTheMachineAreNotTheTargets) {
  constexpr char kOwn[] = "kernels/my.c";
  const struct {
    const char* script;
    const char* source;
    const char* reason;
  } kCases[] = {
      {"sleep 1000", kOwn, "COMPILER_TIMEOUT"},
      {"kill -XCPU $$", kOwn, "KERNEL_SOURCES_INVALID"},
      {"kill -XCPU $$", "net.c", "COMPILER_TIMEOUT"},
      {"kill -KILL $$", kOwn, "COMPILER_FAILED"},
      {"echo 'gcc: fatal error: Killed signal terminated program cc1' >&2; "
       "exit 1",
       kOwn, "COMPILER_FAILED"},
      {"echo 'my.c:3:5: internal compiler error: in f, at g.c:7' >&2; exit 1",
       kOwn, "COMPILER_FAILED"},
      {"echo \"gcc: fatal error: cannot execute 'cc1': vfork: Resource "
       "temporarily unavailable\" >&2; exit 1",
       kOwn, "COMPILER_FAILED"},
      {"echo 'cc1: error: something else' >&2; exit 1", kOwn,
       "COMPILER_FAILED"},
      {"echo 'my.c:1:9: fatal error: a.h: Too many open files' >&2; exit 1",
       kOwn, "COMPILER_FAILED"},
      {"exit 1", kOwn, "COMPILER_FAILED"},
      {"echo 'my.c:3:5: error: this is wrong' >&2; exit 1", kOwn,
       "KERNEL_SOURCES_INVALID"},
      {"echo 'net.c:3:5: error: this is wrong' >&2; exit 1", "net.c",
       "KERNEL_SOURCES_INVALID"},
      {"echo 'my.S:3: Error: this is wrong' >&2; exit 1", "kernels/my.S",
       "KERNEL_SOURCES_INVALID"},
      {"echo 'x.c:3:5: error: this is wrong' >&2; exit 1", "runtime.c",
       "COMPILER_FAILED"},
      {"echo 'x.S:3: Error: this is wrong' >&2; exit 1", "start.S",
       "COMPILER_FAILED"}};
  for (const auto& each : kCases) {
    CompilerLimits limits;
    if (each.script[0] == 's') limits.time = absl::Milliseconds(500);
    const absl::Status status =
        CompileBy(each.script, limits, each.source, {"kernels"});
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << status;
    EXPECT_EQ(detail->reason, each.reason) << each.script;
    EXPECT_EQ(detail->fault, detail->reason == "KERNEL_SOURCES_INVALID"
                                 ? Fault::kUser
                                 : Fault::kInfra)
        << each.script;
  }
}

// A network that calls a function of the target's own.
Work OwnWork(Work work) {
  work.program.mutable_firmware()->set_stack_bytes(600);
  const std::string net(kNet);
  work.Set("net.c",
           absl::StrReplaceAll(net, {{"#include \"net.h\"",
                                      "#include \"net.h\"\n#include \"my.h\""},
                                     {"arena[1] = (uint8_t)layer(scale);",
                                      "arena[1] = (uint8_t)my_layer(scale);\n"
                                      "  arena[4] = (uint8_t)layer(scale);"}}));
  work.Set("KERNELS.txt", "my_layer my.h net_layer_0\n");
  work.Set("kernels/inc/my.h", "int my_layer(int x);\n");
  // A time of the build would make another file of it.
  work.Set("kernels/src/my.c", R"(
#include "inc/my.h"
static int all[sizeof(__DATE__) + sizeof(__TIME__) + sizeof(__TIMESTAMP__) == 3
                   ? 1 : -1];
int my_layer(int x) {
  volatile int values[100];
  values[x & 63] = x;
  return values[x & 31] + all[0];
}
int unused(int n) { return n < 2 ? n : unused(n - 1) * unused(n - 2); }
)");
  return work;
}

TEST_P(BuildFirmwareTest, SourcesOfTheTargetAreCompiledWithTheNetwork) {
  const auto output = Build(OwnWork(TinyWork()));
  ASSERT_TRUE(output.ok()) << output.status();
  // Of its frame, too; what nobody calls does not count.
  EXPECT_GT(output->summary.emit().sections().stack_bytes(), 400);
  EXPECT_LT(output->summary.emit().sections().stack_bytes(), 500);
}

TEST_P(BuildFirmwareTest, WhatIsWrongWithSourcesOfTheTargetIsItsFault) {
  const struct {
    const char* name;
    const char* path;
    const char* text;
    const char* where;
    const char* what;
  } kCases[] = {
      {"syntax", "kernels/src/my.c", "int my_layer(int x) { return }\n",
       "kernels/src/my.c", "error: "},
      {"header", "kernels/inc/my.h", "int my_layer(\n", "", "error: "},
      {"arguments", "kernels/inc/my.h", "int my_layer(int x, int y);\n", "",
       "my_layer"},
      {"function", "kernels/src/my.c", "int other;\n", "linking", "my_layer"},
      {"another", "kernels/src/my.c",
       "int my_layer(int x) { return x; } int net_invoke(void) { return 1; }",
       "linking", "net_invoke"},
      {"file", "kernels/src/my.c", "#include \"none.h\"\n", "kernels/src/my.c",
       "none.h"},
  };
  for (const auto& row : kCases) {
    Work work = OwnWork(TinyWork());
    work.Set(row.path, row.text);
    const ErrorDetail error = ErrorOf(work);
    EXPECT_EQ(error.reason, "KERNEL_SOURCES_INVALID") << row.name;
    EXPECT_EQ(error.fault, Fault::kUser) << row.name;
    EXPECT_TRUE(absl::StrContains(error.where, row.where)) << error.where;
    EXPECT_TRUE(absl::StrContains(error.what, row.what)) << error.what;
    EXPECT_TRUE(absl::StrContains(error.fix, "c_sources")) << error.fix;
  }
}

// Headers of the target may have any name.
TEST_P(BuildFirmwareTest, OurFilesDoNotSeeSourcesOfTheTarget) {
  Work work = OwnWork(TinyWork());
  work.Set(compiler::kRuntimeFile, compiler::RuntimeText());
  work.Set("kernels/inc/stdint.h", R"(
#ifndef MY_STDINT_H
#define MY_STDINT_H
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef __INT32_TYPE__ int32_t;
#endif
)");
  const auto output = Build(work);
  EXPECT_TRUE(output.ok()) << output.status();
}

TEST_P(BuildFirmwareTest, CallsOfWhatOnlyTheUserHasAreRefused) {
  Work work = TinyWork();
  work.Set("KERNELS.txt", "my_layer my.h net_layer_0\n");
  const ErrorDetail error = ErrorOf(work);
  EXPECT_EQ(error.reason, "KERNEL_SOURCES_MISSING");
  EXPECT_EQ(error.fault, Fault::kUser);
  EXPECT_TRUE(absl::StrContains(error.fix, "--compiler none")) << error.fix;
}

TEST(FirmwareMemoriesTest, AreTwo) {
  Work work = TinyWork();
  const auto memories = FindFirmwareMemories(work.machine);
  ASSERT_TRUE(memories.has_value());
  EXPECT_EQ(memories->flash, 0);
  EXPECT_EQ(memories->ram, 1);
  work.flash().add_holds(v1::MemoryDescriptor::ACTIVATIONS);
  EXPECT_FALSE(FindFirmwareMemories(work.machine).has_value());
  work.flash().clear_holds();
  EXPECT_FALSE(FindFirmwareMemories(work.machine).has_value());
}

}  // namespace
}  // namespace edgekiln::server
