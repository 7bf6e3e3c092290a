#include "simfarm/session/testing/test_firmware.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"

namespace edgekiln::simfarm::firmware {
namespace {

namespace fs = std::filesystem;

constexpr char kLinkerScript[] = R"(
OUTPUT_ARCH(riscv)
ENTRY(_start)
MEMORY {
  FLASH (rx) : ORIGIN = 0x20000000, LENGTH = 64K
  RAM (rw)   : ORIGIN = 0x80000000, LENGTH = 15K
}
ek_stack_top = 0x80004000;
SECTIONS {
  .text : { *(.text.start) *(.text*) *(.rodata*) *(.srodata*) } > FLASH
  .data : ALIGN(4) {
    ek_data = .; *(.data* .sdata*) . = ALIGN(4); ek_data_end = .;
  } > RAM AT > FLASH
  ek_data_load = LOADADDR(.data);
  .bss : ALIGN(4) {
    ek_bss = .; *(.bss* .sbss* COMMON) . = ALIGN(4); ek_bss_end = .;
  } > RAM
  .arena 0x80001000 (NOLOAD) : { *(.arena) } > RAM
}
)";

constexpr char kStart[] = R"(
#define EXIT_DEVICE "  li t0, 0x100000\n"
__asm__(
    ".section .text.start, \"ax\"\n"
    ".globl _start\n"
    "_start:\n"
    "  la sp, ek_stack_top\n"
    "  la a0, ek_data\n  la a1, ek_data_end\n  la a2, ek_data_load\n"
    "1: bgeu a0, a1, 2f\n"
    "  lw a3, 0(a2)\n  sw a3, 0(a0)\n"
    "  addi a0, a0, 4\n  addi a2, a2, 4\n  j 1b\n"
    "2: la a0, ek_bss\n  la a1, ek_bss_end\n"
    "3: bgeu a0, a1, 4f\n"
    "  sw zero, 0(a0)\n  addi a0, a0, 4\n  j 3b\n"
    "4: call net_setup\n"
    EXIT_DEVICE
    "  li t1, 0x5555\n  sw t1, 0(t0)\n"
    "5: j 5b\n"
    ".globl ek_run\n"
    ".type ek_run, @function\n"
    "ek_run:\n"
    "  la sp, ek_stack_top\n"
    "  call net_invoke\n"
    EXIT_DEVICE
    "  li t1, 0x5555\n"
    "  beqz a0, 6f\n"
    "  slli a0, a0, 16\n  li t1, 0x3333\n  or t1, t1, a0\n"
    "6: sw t1, 0(t0)\n"
    "7: j 7b\n"
    ".size ek_run, . - ek_run\n"
    ".text\n");
)";

// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "ek_fw_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

bool HasCompiler() {
  static const bool has =
      std::system("command -v riscv64-unknown-elf-gcc >/dev/null 2>&1") == 0;
  return has;
}

v1::Machine Machine() {
  v1::Machine machine;
  google::protobuf::TextFormat::ParseFromString(R"(
      clock_hz: 100
      host_clock_hz: 100
      host_name: "core"
      host_costs { op: "default" cycles_expr: "1" }
      memories { name: "flash" holds: [CODE, CONSTANTS] alignment_bytes: 4
                 base_address: 0x20000000 capacity_bytes: 0x10000
                 host_reaches: true }
      memories { name: "ram" holds: ACTIVATIONS alignment_bytes: 4
                 base_address: 0x80000000 capacity_bytes: 0x4000
                 host_reaches: true }
      firmware { processor: RV32IM stack_bytes: 1024 })",
                                                &machine);
  return machine;
}

absl::StatusOr<std::string> Build(const std::string& network, bool debug_info) {
  const TemporaryFolder folder;
  const std::string debug_flags =
      debug_info ? "-g1 -gno-record-gcc-switches \"-fdebug-prefix-map=$PWD=.\" "
                 : "";
  std::ofstream(folder / "firmware.ld") << kLinkerScript;
  std::ofstream(folder / "net.c") << kStart << network;
  const std::string command = absl::StrCat(
      "riscv64-unknown-elf-gcc -march=rv32im -mabi=ilp32 -misa-spec=2.2 -O1 "
      "-std=gnu99 -ffreestanding -nostdlib -nostartfiles -static ",
      debug_flags, "-Wl,-T,", folder / "firmware.ld", " -o ",
      folder / "net.elf", " ", folder / "net.c", " 2> ", folder / "errors.txt");
  if (std::system(command.c_str()) != 0) {
    return absl::InternalError(ReadFile(folder / "errors.txt"));
  }
  return ReadFile(folder / "net.elf");
}

}  // namespace edgekiln::simfarm::firmware
