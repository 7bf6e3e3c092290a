#include "target/firmware.h"

#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

using testing::HasSubstr;

std::string TextOf(const std::string& name) {
  for (const BuiltinTarget& target : BuiltinTargets()) {
    if (target.name == name) return target.text;
  }
  ADD_FAILURE() << "no built-in " << name;
  return "";
}

// rv32imc with `from` replaced.
std::string Changed(const std::string& from, const std::string& to) {
  const std::string text = TextOf("rv32imc");
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return absl::StrReplaceAll(text, {{from, to}});
}

TEST(FirmwareTest, EveryProcessorHasABuiltInTarget) {
  for (const ProcessorInfo& info : Processors()) {
    const auto resolved = ResolveTarget(TextOf(info.name));
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    EXPECT_EQ(resolved->machine().firmware().processor(), info.processor);
    EXPECT_EQ(resolved->machine().host_name(), info.name);
    for (const v1::CompilerFamily family : {v1::GCC, v1::CLANG}) {
      EXPECT_NE(FindCompiler(info.processor, family), nullptr) << info.name;
    }
    EXPECT_EQ(FindCompiler(info.processor, v1::NO_COMPILER), nullptr);
  }
  EXPECT_EQ(FindProcessor(v1::PROCESSOR_UNSPECIFIED), nullptr);
}

TEST(FirmwareTest, NoLibraryIsLinked) {
  for (const ProcessorInfo& info : Processors()) {
    for (const CompilerUse& use : info.compilers) {
      const std::string flags = absl::StrJoin(LinkFlags(use), " ");
      EXPECT_THAT(flags, testing::Not(HasSubstr("-l"))) << use.program;
      EXPECT_THAT(flags, HasSubstr("--gc-sections")) << use.program;
      EXPECT_EQ(LinkProgram(use),
                use.family == v1::CLANG ? "ld.lld" : use.program);
      EXPECT_THAT(LengthFlags(use, 5, 6)[0],
                  testing::EndsWith("--defsym=ek_flash_bytes=5"));
    }
  }
}

TEST(FirmwareTest, CostsWaitsAndRecipesResolve) {
  const auto resolved = ResolveTarget(Changed(
      "    processor: RV32IMC\n",
      "    processor: RV32IMC\n"
      "    costs { instruction_class: \"multiply\" cycles_expr: \"1 + 2\" "
      "provenance: ASSUMED }\n"
      "    costs { instruction_class: \"divide\" cycles_expr: \"34\" "
      "provenance: ASSUMED }\n"));
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  const v1::Machine::Firmware& firmware = resolved->machine().firmware();
  ASSERT_EQ(firmware.costs_size(), 2);
  EXPECT_EQ(firmware.costs(0).name(), "divide");
  EXPECT_EQ(firmware.costs(1).value(), 3);
  EXPECT_EQ(firmware.stack_bytes(), 2048);
  const auto waits =
      ResolveTarget(Changed("\"flash_wait\"\n}", "\"flash_wait + 2\"\n}"));
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_EQ(waits->machine().memories(0).wait_cycles(), 2);
  EXPECT_EQ(waits->recipes(0).name(), "default");
  EXPECT_FALSE(waits->recipes(0).has_c());
  EXPECT_EQ(waits->recipes(1).c().kernels(), v1::CRecipe::SMALL);
}

TEST(FirmwareTest, WhatIsWrongIsNamed) {
  constexpr char kProcessor[] = "    processor: RV32IMC\n";
  const auto costs = [&](const std::string& cost) {
    return Changed(kProcessor,
                   kProcessor + std::string("    costs { ") + cost + " }\n");
  };
  const struct {
    std::string text;
    const char* said;
  } cases[] = {
      {Changed(kProcessor, ""), "processor is missing"},
      {Changed("    stack_bytes_expr: \"stack_bytes\"\n", ""),
       "stack_bytes_expr"},
      {Changed("stack_bytes_expr: \"stack_bytes\"", "stack_bytes_expr: \"8\""),
       "stack_bytes_expr"},
      {Changed("stack_bytes_expr: \"stack_bytes\"",
               "stack_bytes_expr: \"ram_bytes + 16\""),
       "stack_bytes_expr"},
      {Changed("base_address: 536870912", "base_address: 1048576"),
       "exit device"},
      {Changed("base_address: 2147483648", "base_address: 4227858432"),
       "end of the addresses"},
      {Changed("  holds: CODE\n", ""), "code and constants are not in one"},
      {Changed("max: 536870912\n", "max: 4000000000\n") +
           "set { name: \"flash_bytes\" value: 1200000000 }\n",
       "larger than firmware can use"},
      {Changed("wait_cycles_expr: \"flash_wait\"",
               "wait_cycles_expr: \"0 - 1\""),
       "wait_cycles_expr"},
      {Changed("c_kernels: SMALL", "c_kernels: HUGE"), "HUGE"},
      {costs("instruction_class: \"mul\" cycles_expr: \"1\" provenance: READ"),
       "no instruction class \"mul\""},
      {costs("instruction_class: \"load\" cycles_expr: \"0\" provenance: READ"),
       "out of range"},
      {costs("instruction_class: \"load\" cycles_expr: \"1\""), "provenance"},
      {Changed("default_value: 67108864", "default_value: 67108860"),
       "must be multiples of 16"},
      // Firmware's own descriptor is the example.
      {Changed("name: \"ram\"", "name: \"r m\""), "targets show rv32imc`"},
      {Changed("op: \"default\"", "op: \"frobnicate\""),
       "targets show rv32imc` for costs"},
  };
  for (const auto& test : cases) {
    const auto resolved = ResolveTarget(test.text);
    EXPECT_FALSE(resolved.ok()) << test.said;
    EXPECT_THAT(std::string(resolved.status().message()), HasSubstr(test.said));
  }
}

TEST(FirmwareTest, EnginesHaveNoFirmwareBeside) {
  const std::string text = absl::StrReplaceAll(
      TextOf("dla-64-o-512k"), {{"host {\n",
                                 "host {\n  firmware { processor: RV32IM "
                                 "stack_bytes_expr: \"1024\" }\n"}});
  const auto resolved = ResolveTarget(text);
  EXPECT_THAT(std::string(resolved.status().message()),
              HasSubstr("firmware has engines beside it"));
}

TEST(FirmwareTest, OnlyWhatRunsCHasKernels) {
  const std::string text =
      absl::StrReplaceAll(TextOf("dla-64-o-512k"),
                          {{"recipes {\n", "recipes {\n  c_kernels: PLAIN\n"}});
  const auto resolved = ResolveTarget(text);
  EXPECT_THAT(std::string(resolved.status().message()),
              HasSubstr("kernels of C code"));
}

}  // namespace
}  // namespace edgekiln::target
