#include "compiler/codegen/firmware/emit_firmware.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/codegen/firmware/check_files.h"
#include "compiler/ir/text.h"
#include "compiler/passes/integer_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kRam = 0x80000000;

// A reshape of the input, two layers, and a state.
constexpr char kNet[] = R"(graph "net"
%x : float32[4] = input
%h : float32[1,4] = input
%r : float32[1,4] = reshape(%x) id r
%s : float32[1,4] = add(%r, %h) id s
%y : float32[1,4] = unary(%s) {function ABS} id y
return %y, %s states %h = %s
)";

Graph GraphOf(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

v1::Machine MachineOf(int64_t flash_bytes = 65536, int64_t ram_bytes = 65536) {
  v1::Machine machine;
  machine.set_clock_hz(1'000'000);
  v1::ResolvedMemory& flash = *machine.add_memories();
  flash.set_name("flash");
  flash.add_holds(v1::MemoryDescriptor::CODE);
  flash.add_holds(v1::MemoryDescriptor::CONSTANTS);
  flash.set_base_address(0x20000000);
  flash.set_capacity_bytes(flash_bytes);
  v1::ResolvedMemory& ram = *machine.add_memories();
  ram.set_name("ram");
  ram.add_holds(v1::MemoryDescriptor::ACTIVATIONS);
  ram.set_base_address(kRam);
  ram.set_capacity_bytes(ram_bytes);
  for (v1::ResolvedMemory& memory : *machine.mutable_memories()) {
    memory.set_host_reaches(true);
    memory.set_alignment_bytes(16);
  }
  machine.mutable_firmware()->set_processor(v1::RV32IMC);
  machine.mutable_firmware()->set_stack_bytes(1024);
  return machine;
}

std::string FileOf(const FirmwareSources& made, const std::string& path) {
  for (const v1::CSourceTree::File& file : made.sources.files()) {
    if (file.path() == path) return file.text();
  }
  ADD_FAILURE() << "no " << path;
  return "";
}

constexpr char kTwoLayers[] = R"(graph "net"
%x : int8[2,8] scale 0.5 zero 0 = input
%v : int8[2,8] scale 0.01 zero 0 = constant [1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8]
%w : int8[2,2] scale 0.01 zero 0 = constant [1, 2, 3, 4]
%a : int8[2,2] scale 0.5 zero 3 = fully_connected(%x, %v) id a
%b : int8[2,2] scale 0.5 zero 0 = fully_connected(%a, %w) id b
return %b
)";

TEST(EmitFirmwareTest, EachRefusalMakesTheNextProgramSmaller) {
  const Graph graph = GraphOf(kTwoLayers);
  std::vector<int64_t> refused;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto made = EmitFirmware(graph, MachineOf(), {}, refused);
    ASSERT_TRUE(made.ok()) << made.status();
    if (attempt == 0) {
      EXPECT_THAT(made->warnings, ElementsAre());
    } else {
      EXPECT_LT(made->program.flash_bytes(), refused.back());
      EXPECT_THAT(made->warnings,
                  ElementsAre(testing::AllOf(HasSubstr("b plain for block2x4"),
                                             HasSubstr("cycles more"))));
    }
    refused.push_back(made->program.flash_bytes());
  }
}

TEST(EmitFirmwareTest, TheProgramSaysWhereEverythingIs) {
  const Graph graph = GraphOf(kNet);
  const auto made = EmitFirmware(graph, MachineOf(), {});
  ASSERT_TRUE(made.ok()) << made.status();
  const v1::Program& program = made->program;
  EXPECT_EQ(program.firmware().run(), "ek_run");
  EXPECT_EQ(program.firmware().processor(), v1::RV32IMC);
  EXPECT_EQ(program.firmware().stack_bytes(), 1024);
  ASSERT_EQ(program.layers_size(), 3);
  EXPECT_THAT(program.firmware().functions(),
              ElementsAre("", "net_layer_1_s", "net_layer_2_y"));
  ASSERT_EQ(program.inputs_size(), 2);
  for (const auto* bindings : {&program.inputs(), &program.outputs()}) {
    for (const v1::Program::Binding& binding : *bindings) {
      EXPECT_EQ(binding.location().memory(), 1);
      EXPECT_GE(binding.location().address(), kRam);
      EXPECT_LT(binding.location().address(), kRam + 1024);
    }
  }
  ASSERT_EQ(program.carries_size(), 1);
  EXPECT_EQ(program.carries(0).input(), 1);
  EXPECT_EQ(program.carries(0).output(), 1);
  // What is another shape of an input is computed by no layer.
  ASSERT_EQ(program.taps_size(), 2);
  EXPECT_EQ(program.taps(0).step(), 1);
  EXPECT_EQ(program.taps(1).step(), 2);
  EXPECT_GT(program.tensors_size(), 0);
  EXPECT_EQ(made->memory_bytes[1], program.ram_bytes());
  EXPECT_GT(program.ram_bytes(), 1024);
}

TEST(EmitFirmwareTest, TheLinkerPutsTheArenaFirst) {
  const auto made = EmitFirmware(GraphOf(kNet), MachineOf(), {});
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string script = FileOf(*made, "firmware.ld");
  EXPECT_THAT(script, HasSubstr("ORIGIN = 0x20000000"));
  EXPECT_THAT(script, HasSubstr("ORIGIN = 0x80000000"));
  EXPECT_THAT(script, HasSubstr("*(.bss.net_arena)"));
  EXPECT_LT(script.find(".bss.net_arena"), script.find(".data"));
  EXPECT_THAT(FileOf(*made, "start.S"), HasSubstr("call net_invoke"));
  EXPECT_THAT(FileOf(*made, "runtime.c"), HasSubstr("__mulsf3"));
  FileOf(*made, "net.c");
  FileOf(*made, "net.h");
}

// Call graphs of compilers end at a pointer.
TEST(EmitFirmwareTest, CallsByPointersAreListed) {
  v1::CRecipe recipe;
  recipe.set_kernels(v1::CRecipe::TABLE);
  const auto table = EmitFirmware(GraphOf(kNet), MachineOf(), recipe);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(FileOf(*table, "pointer_calls.txt"),
            "net_invoke net_layer_1_s\n"
            "net_layer_1_s net_table_add_float\n"
            "net_invoke net_layer_2_y\n");
  recipe.set_kernels(v1::CRecipe::PLAIN);
  const auto plain = EmitFirmware(GraphOf(kNet), MachineOf(), recipe);
  ASSERT_TRUE(plain.ok()) << plain.status();
  for (const v1::CSourceTree::File& file : plain->sources.files()) {
    EXPECT_NE(file.path(), "pointer_calls.txt");
  }
}

// Of float ports: a value takes hundreds of instructions.
TEST(EmitFirmwareTest, FormsOfInputsAndOutputsDifferByConversions) {
  const Graph with_floats = GraphOf(R"(graph "net"
%x : float32[8] = input
%q : int8[8] scale 0.5 zero 3 = quantize(%x) id q
%a : int8[8] scale 0.5 zero 3 = unary(%q) {function ABS} id a
%y : float32[8] = dequantize(%a) id y
return %y
)");
  Graph integers = with_floats;
  SetIoForm(v1::IO_INTEGER, integers);
  ASSERT_LT(integers.ops.size(), with_floats.ops.size());
  for (const Graph& graph : {with_floats, integers}) {
    const auto made = EmitFirmware(graph, MachineOf(), {});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->io_conversion_cycles, 8 * (500 + 175));
  }
}

TEST(EmitFirmwareTest, TheRuntimesFileIsNoNetworks) {
  Graph graph = GraphOf(kNet);
  graph.name = "runtime";
  const auto made = EmitFirmware(graph, MachineOf(), {});
  ASSERT_TRUE(made.ok()) << made.status();
  FileOf(*made, "net_runtime.c");
  EXPECT_THAT(FileOf(*made, "runtime.c"), HasSubstr("__mulsf3"));
}

TEST(EmitFirmwareTest, WhatTakesMoreRamThanThereIsSaysHowMuch) {
  const auto made = EmitFirmware(GraphOf(kNet), MachineOf(65536, 1040), {});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("1024 of them for the stack"));
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("limit: 1040 bytes"));
}

// Whether it fits, the compiler says: estimates refuse nothing.
TEST(EmitFirmwareTest, LittleFlashGivesTheSmallestCode) {
  EXPECT_TRUE(EmitFirmware(GraphOf(kNet), MachineOf(16), {}).ok());
}

TEST(EmitFirmwareTest, OtherMachinesRunNoC) {
  v1::Machine machine = MachineOf();
  machine.clear_firmware();
  EXPECT_EQ(EmitFirmware(GraphOf(kNet), machine, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(CheckFilesTest, RecordTwoSamplesAndTheirOutputs) {
  const auto files = CheckFiles(GraphOf(kNet), v1::RV32IMC);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 3u);
  EXPECT_THAT((*files)[0].text, HasSubstr("GCC_LD = riscv64-unknown-elf-gcc"));
  EXPECT_THAT((*files)[0].text, HasSubstr("CLANG_LD = ld.lld"));
  EXPECT_THAT((*files)[1].text, HasSubstr("NET_INPUT_0, input_1_0"));
  // The network keeps its state.
  EXPECT_FALSE(absl::StrContains((*files)[1].text, "NET_INPUT_1"));
  EXPECT_THAT((*files)[2].text, HasSubstr("output_1_1[16]"));
}

// 0 / 0 has a sign on some machines.
TEST(CheckFilesTest, TakeOneNanForAnother) {
  const Graph graph = GraphOf(R"(graph "net"
%x : float32[8] = input
%y : float32[8] = unary(%x) {function SQRT} id y
%z : float16[8] = cast(%y) id z
return %y, %z
)");
  const auto made = EmitFirmware(graph, MachineOf(), {});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto files = CheckFiles(graph, v1::RV32IMC);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string folder = testing::TempDir() + "/check_files_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name) << text;
  };
  for (const char* name : {"net.c", "net.h"}) write(name, FileOf(*made, name));
  for (const CFile& file : *files) write(file.path, file.text);
  // Whatever the network made of it, recorded as another NaN.
  std::string data = (*files)[2].text;
  const std::string check = "make -C " + folder + " check > " + folder + "/log";
  EXPECT_EQ(std::system(check.c_str()), 0);
  const std::string nan = "0,0,192,255,";  // -NaN.
  ASSERT_THAT(data, HasSubstr(nan));
  write("check_data.h", absl::StrReplaceAll(data, {{nan, "1,0,192,127,"}}));
  EXPECT_EQ(std::system(check.c_str()), 0);
  write("check_data.h", absl::StrReplaceAll(data, {{nan, "0,0,128,127,"}}));
  EXPECT_NE(std::system((check + " 2>&1").c_str()), 0) << "infinity";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace edgekiln::compiler
