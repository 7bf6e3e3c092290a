#include "compiler/codegen/firmware/emit_firmware.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "compiler/codegen/firmware/check_files.h"
#include "compiler/ir/text.h"
#include "compiler/passes/integer_io.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
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

// A fully connected layer by a function of the target's own, which reads
// weights from the last to the first.
v1::Machine OwnMachine() {
  v1::Machine machine = MachineOf();
  v1::CKernel& row = *machine.mutable_firmware()->add_kernels();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        name: "my_dense"
        recipes: KERNELS_UNSPECIFIED
        ops: "fully_connected"
        in: INT8
        where: "weight_zeros * factors * (in_c == 8)"
        weight_layout {
          elements_expr: "in_c * out_c + 1"
          source_expr: "in_c * out_c - 1 - element"
        }
        call {
          function: "my_dense"
          header: "my_dense.h"
          arguments { value_expr: "out_w" }
          arguments { value_expr: "in_c" }
          arguments { value_expr: "out_c" }
          arguments { input { index: 0 } }
          arguments { input { index: 1 } }
          arguments {
            per_channel {
              type: INT32
              value_expr: "bias - in_zero * weight_sum"
            }
          }
          arguments { per_channel { type: INT32 value_expr: "multiplier" } }
          arguments { per_channel { type: UINT8 value_expr: "n" } }
          arguments { value_expr: "out_zero" }
          arguments { output: 0 }
        }
        cost { instructions_expr: "1" code_bytes_expr: "40" }
      )pb",
      &row));
  return machine;
}

constexpr char kDenseHeader[] = R"(
#include <stdint.h>
void my_dense(int32_t rows, int32_t depth, int32_t channels, const int8_t *x,
              const int8_t *w, const int32_t *sums, const int32_t *multipliers,
              const uint8_t *shifts, int32_t zero, int8_t *y);
)";
constexpr char kDense[] = R"(
#include "my_dense.h"
void my_dense(int32_t rows, int32_t depth, int32_t channels, const int8_t *x,
              const int8_t *w, const int32_t *sums, const int32_t *multipliers,
              const uint8_t *shifts, int32_t zero, int8_t *y) {
  int32_t unused;
  if (w[depth * channels] != 0) return; /* the padding */
  for (; rows > 0; --rows, x += depth) {
    for (int32_t c = 0; c < channels; ++c) {
      int32_t sum = sums[c];
      for (int32_t i = 0; i < depth; ++i) {
        sum += x[i] * w[depth * channels - 1 - (c * depth + i)];
      }
      int64_t value = (int64_t)sum * multipliers[c];
      value = ((value >> (shifts[c] - 1)) + 1) >> 1;
      value += zero;
      *y++ = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
    }
  }
}
)";

// The files of a bundle's folder c, and the exit code of `make arguments`.
int Make(const Graph& graph, const FirmwareSources& made,
         const std::string& folder, const std::string& arguments) {
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  std::vector<std::string> paths;
  const auto write = [&folder](const std::string& path,
                               const std::string& text) {
    fs::create_directories(fs::path(folder + "/" + path).parent_path());
    std::ofstream(folder + "/" + path) << text;
  };
  for (const v1::CSourceTree::File& file : made.sources.files()) {
    paths.push_back(file.path());
    write(file.path(), file.text());
  }
  const auto checks = CheckFiles(graph, v1::RV32IMC, paths);
  EXPECT_TRUE(checks.ok()) << checks.status();
  for (const CFile& file : *checks) write(file.path, file.text);
  return std::system(
      ("make -s -C " + folder + " " + arguments + " > " + folder + "/log 2>&1")
          .c_str());
}

std::string LogOf(const std::string& folder) {
  std::ifstream file(folder + "/log");
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

TEST(EmitFirmwareTest, KernelsOfTheTargetAreCalledAndChecked) {
  const std::string folder = testing::TempDir() + "/own_kernels";
  std::filesystem::remove_all(folder);
  const Graph graph = GraphOf(kTwoLayers);
  v1::Machine machine = OwnMachine();
  v1::CSourceTree::File& header = *machine.mutable_firmware()->add_sources();
  header.set_path("inc/my_dense.h");
  header.set_text(kDenseHeader);
  v1::CSourceTree::File& source = *machine.mutable_firmware()->add_sources();
  source.set_path("src/my_dense.c");
  source.set_text(kDense);
  const auto made = EmitFirmware(graph, machine, {});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(FileOf(*made, "net.c"), HasSubstr("#include \"my_dense.h\""));
  EXPECT_EQ(FileOf(*made, "kernels/src/my_dense.c"), kDense);
  EXPECT_THAT(FileOf(*made, "KERNELS.txt"),
              testing::AllOf(HasSubstr("my_dense my_dense.h net_layer_0_a\n"),
                             testing::Not(HasSubstr("layer_1"))));
  for (const char* arguments : {"check", "check SANITIZE=1"}) {
    EXPECT_EQ(Make(graph, *made, folder, arguments), 0) << LogOf(folder);
  }
  // The check is one of the function as well.
  std::ofstream(folder + "/kernels/src/my_dense.c")
      << absl::StrReplaceAll(kDense, {{"sum = sums[c]", "sum = 1 + sums[c]"},
                                      {"= (int8_t)", "= 100 ^ (int8_t)"}});
  std::ofstream(folder + "/mine.o") << "kept";
  EXPECT_NE(std::system(("make -s -C " + folder + " clean check > " + folder +
                         "/log 2>&1")
                            .c_str()),
            0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/mine.o"));
  std::filesystem::remove(folder + "/check_network");
  EXPECT_EQ(Make(graph, *made, folder, "clean"), 0) << LogOf(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() == "mine.o") continue;
    EXPECT_NE(entry.path().extension(), ".o") << entry.path();
  }
  const auto checks = CheckFiles(
      graph, v1::RV32IMC, {"KERNELS.txt", "kernels/a.c", "kernels/b/a.h"});
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_THAT((*checks)[0].text,
              HasSubstr("firmware.ld kernels/a.c kernels/b/a.h\n"));
  EXPECT_THAT((*checks)[0].text,
              HasSubstr("$(PROGRAM)_0.o: kernels/a.c kernels/b/a.h\n"));
  // Other layers, other recipes: not a word of them.
  v1::CRecipe plain;
  plain.set_kernels(v1::CRecipe::PLAIN);
  const auto without = EmitFirmware(graph, machine, plain);
  ASSERT_TRUE(without.ok()) << without.status();
  for (const v1::CSourceTree::File& file : without->sources.files()) {
    EXPECT_THAT(file.path(), testing::Not(HasSubstr("ernel"))) << file.path();
    EXPECT_THAT(file.path(), testing::Not(HasSubstr("KERNELS")));
  }
}

TEST(EmitFirmwareTest, KernelsOfTheTargetCanBeLinkedLater) {
  const std::string folder = testing::TempDir() + "/linked_kernels";
  std::filesystem::remove_all(folder);
  const Graph graph = GraphOf(kTwoLayers);
  const auto made = EmitFirmware(graph, OwnMachine(), {});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto checks = CheckFiles(graph, v1::RV32IMC, {"KERNELS.txt"});
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_THAT((*checks)[0].text, HasSubstr("firmware.ld $(KERNELS)\n"));
  EXPECT_THAT(FileOf(*made, "KERNELS.txt"), HasSubstr("KERNELS=lib.a"));
  std::filesystem::create_directories(folder + "/mine");
  std::ofstream(folder + "/mine/my_dense.h") << kDenseHeader;
  std::ofstream(folder + "/mine/my_dense.c") << kDense;
  EXPECT_NE(Make(graph, *made, folder, "check"), 0);
  EXPECT_EQ(Make(graph, *made, folder,
                 "check KERNELS=mine/my_dense.c KERNEL_FLAGS=-Imine "
                 "CFLAGS=-O1"),
            0)
      << LogOf(folder);
}

TEST(EmitFirmwareTest, ValuesThatKernelsOfTheTargetCannotHaveAreNamed) {
  const struct {
    void (*change)(v1::CKernel&);
    const char* message;
  } kCases[] = {
      {[](v1::CKernel& row) {
         row.mutable_weight_layout()->set_source_expr("element * 100");
       },
       "source_expr gives 100 for element 1, but there are 16 weights"},
      {[](v1::CKernel& row) {
         row.mutable_weight_layout()->set_elements_expr("macs * 1000000000");
       },
       "elements_expr must be 1 to "},
      {[](v1::CKernel& row) { row.set_scratch_bytes_expr("1000000000000000"); },
       "scratch_bytes_expr"},
      {[](v1::CKernel& row) {
         row.mutable_call()->mutable_arguments(0)->set_value_expr(
             "floordiv(1, in_h - 1)");
       },
       "arguments[0]"},
      {[](v1::CKernel& row) {
         row.mutable_call()->mutable_arguments(9)->set_output(3);
       },
       "does not have that output"},
      {[](v1::CKernel& row) { row.set_name("block2x4"); },
       "a built-in kernel has that name"},
      {[](v1::CKernel& row) { row.set_name("alias"); },
       "a built-in kernel has that name"},
  };
  for (const auto& row : kCases) {
    v1::Machine machine = OwnMachine();
    row.change(*machine.mutable_firmware()->mutable_kernels(0));
    const auto made = EmitFirmware(GraphOf(kTwoLayers), machine, {});
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument)
        << made.status();
    EXPECT_THAT(std::string(made.status().message()), HasSubstr(row.message));
  }
  // An array by channel makes a row one of layers with channels; an order of
  // weights, one of layers with constant weights of a byte.
  v1::Machine machine = OwnMachine();
  v1::CKernel& row = *machine.mutable_firmware()->mutable_kernels(0);
  row.clear_ops();
  row.clear_in();
  row.clear_where();
  const auto made = EmitFirmware(GraphOf(kNet), machine, {});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(FileOf(*made, "net.c"), testing::Not(HasSubstr("my_dense")));
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

// Kernels of other recipes need more for this network than the fastest do.
TEST(EmitFirmwareTest, RamThatIsEnoughIsNamed) {
  const auto weights = [](int count) {
    std::string text = "1";
    for (int i = 1; i < count; ++i) absl::StrAppend(&text, ", ", i % 50 - 25);
    return text;
  };
  constexpr char kWindow[] =
      "dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1 pad_left 1 pad_right 1";
  const Graph graph = GraphOf(absl::StrCat(
      R"(graph "net"
%x : int8[1,28,28,1] scale 0.5 zero 3 = input
%v : int8[16,3,3,1] scale 0.01 zero 0 = constant [)",
      weights(144), R"(]
%w : int8[32,3,3,16] scale 0.01 zero 0 = constant [)",
      weights(32 * 144), R"(]
%u : int8[32,3,3,32] scale 0.01 zero 0 = constant [)",
      weights(64 * 144), R"(]
%a : int8[1,28,28,16] scale 0.5 zero 3 = conv2d(%x, %v) {window {stride_h 1 stride_w 1 )",
      kWindow, R"(}} id a
%b : int8[1,14,14,32] scale 0.5 zero 3 = conv2d(%a, %w) {window {stride_h 2 stride_w 2 )",
      kWindow, R"(}} id b
%c : int8[1,14,14,32] scale 0.5 zero 3 = conv2d(%b, %u) {window {stride_h 1 stride_w 1 )",
      kWindow, R"(}} id c
%d : int8[1,14,14,32] scale 0.5 zero 3 = add(%c, %b) id d
return %d
)"));
  const auto need_with = [&graph](int64_t ram_bytes, absl::string_view before) {
    const auto made = EmitFirmware(graph, MachineOf(65536, ram_bytes), {});
    const auto detail = GetErrorDetail(made.status());
    EXPECT_TRUE(detail.has_value()) << made.status();
    const std::string all = detail.value_or(ErrorDetail()).need;
    absl::string_view text = all;
    EXPECT_TRUE(absl::ConsumePrefix(&text, before)) << text;
    int64_t need = 0;
    EXPECT_TRUE(absl::SimpleAtoi(text.substr(0, text.find(' ')), &need))
        << text;
    return need;
  };
  // Few steps are taken.
  int64_t need = need_with(1040, "at most ");
  EXPECT_LT(need, 1024 + 12544 + 6272 + 1024);
  EXPECT_EQ(need % 16, 0);
  EXPECT_TRUE(EmitFirmware(graph, MachineOf(65536, need), {}).ok());
  // Near it, they are enough for the least.
  need = need_with(need - 1024, "");
  EXPECT_LT(need, 1024 + 12544 + 6272 + 512);
  EXPECT_TRUE(EmitFirmware(graph, MachineOf(65536, need), {}).ok());
  EXPECT_FALSE(EmitFirmware(graph, MachineOf(65536, need - 16), {}).ok());
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
