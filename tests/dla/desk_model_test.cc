// The model in C that bundles have: on random command streams it computes what
// the simulator does, and refuses what that refuses.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/codegen/host/driver_text.h"
#include "compiler/engines/dla/model_in_c.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/chip_suite.h"
#include "simfarm/conformance/dla/dla_models.h"

namespace edgekiln::tests {
namespace {

namespace fs = std::filesystem;
using simfarm::conformance::ChipModels;
using simfarm::conformance::StreamOutcome;
using simfarm::conformance::StreamProgram;

// Reads programs from standard input, writes of each what came of it: the error
// or "", RAM, SRAM.
constexpr char kHarness[] = R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine_0.c"

static uint8_t *flash, *ram;
static uint64_t flash_bytes, ram_bytes;

uint8_t *desk_find(int32_t memory, uint64_t address, uint64_t bytes,
                   int is_write) {
  (void)memory;
  if (!is_write && address <= flash_bytes && bytes <= flash_bytes - address) {
    return flash + address;
  }
  if (address < 0x80000000u) return 0;
  address -= 0x80000000u;
  return address <= ram_bytes && bytes <= ram_bytes - address ? ram + address
                                                              : 0;
}

void desk_stop(const char *who, const char *what, uint64_t where) {
  printf("%s %s %d", who, what, (int)where);
  exit(1);
}

static uint64_t number(void) {
  uint64_t value = 0;
  if (fread(&value, 8, 1, stdin) != 1) exit(0);
  return value;
}

static uint8_t *bytes(uint64_t *size) {
  uint8_t *read_bytes;
  *size = number();
  read_bytes = malloc((size_t)*size + 1);
  if (fread(read_bytes, 1, (size_t)*size, stdin) != *size) exit(2);
  return read_bytes;
}

static void put(const void *from, uint64_t size) {
  fwrite(&size, 8, 1, stdout);
  fwrite(from, 1, (size_t)size, stdout);
}

int main(void) {
  while (1) {
    static struct dla_model model;
    uint64_t code_bytes;
    uint8_t *code;
    const char *error;
    model.encoding = &encoding;
    model.sram = sram;
    model.written = written;
    model.read = read;
    model.system = find_system;
    model.sram_bytes = number();
    memset(sram, 0, sizeof(sram));
    flash = bytes(&flash_bytes);
    ram = bytes(&ram_bytes);
    code = bytes(&code_bytes);
    dla_model_run(&model, code, code_bytes, 0, 0);
    error = model.error == 0 ? "" : model.error;
    put(error, strlen(error));
    put(ram, ram_bytes);
    put(sram, model.sram_bytes);
    free(flash);
    free(ram);
    free(code);
  }
}
)";

void Write(const fs::path& path, absl::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Put(absl::string_view bytes, std::string& out) {
  const uint64_t size = bytes.size();
  out.append(reinterpret_cast<const char*>(&size), 8);
  absl::StrAppend(&out, bytes);
}

std::string Take(absl::string_view& from) {
  uint64_t size = 0;
  if (from.size() < 8) return "";
  std::memcpy(&size, from.data(), 8);
  from.remove_prefix(8);
  std::string bytes(from.substr(0, size));
  from.remove_prefix(std::min<size_t>(size, from.size()));
  return bytes;
}

struct ModelRun {
  std::string error, ram, sram;
};

class DeskModelTest : public testing::Test {
 protected:
  static constexpr int64_t kMostSram = 1 << 20;

  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) / absl::StrCat("desk_model_", getpid());
    fs::create_directories(folder_);
    Rng rng(1);
    v1::Machine machine =
        simfarm::conformance::dla::NewRandomDlaModels(rng)->machine();
    for (v1::ResolvedMemory& memory : *machine.mutable_memories()) {
      if (!memory.host_reaches()) memory.set_capacity_bytes(kMostSram);
    }
    const auto files = compiler::dla::ModelInC(machine, 0);
    ASSERT_TRUE(files.ok()) << files.status();
    std::string sources;
    for (const auto& file : *files) {
      Write(folder_ / file.path, file.text);
      if (absl::EndsWith(file.path, ".c") && file.path != "engine_0.c") {
        absl::StrAppend(&sources, " ", file.path);
      }
    }
    Write(folder_ / "desk.h", compiler::DeskText());
    Write(folder_ / "harness.c", kHarness);
    ASSERT_TRUE(Runs(absl::StrCat(
        "gcc -std=c99 -O1 -g -Wall -Wextra -Werror -pedantic "
        "-fsanitize=address,undefined -fno-sanitize-recover=all harness.c",
        sources, " -o model")));
  }
  void TearDown() override { fs::remove_all(folder_); }

  bool Runs(const std::string& command) const {
    const int status = std::system(
        absl::StrCat("cd '", folder_.string(), "' && ", command).c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  void Add(const ChipModels& chip, const StreamProgram& program) {
    int64_t sram = 0;
    for (const v1::ResolvedMemory& memory : chip.machine().memories()) {
      if (!memory.host_reaches()) sram = memory.capacity_bytes();
    }
    ASSERT_LE(sram, kMostSram);
    input_.append(reinterpret_cast<const char*>(&sram), 8);
    Put(program.flash, input_);
    Put(program.ram, input_);
    Put(program.code, input_);
    wanted_.push_back(chip.RunSimulator(program, simfarm::CpuPath::kBest));
  }

  std::vector<ModelRun> RunAll() {
    Write(folder_ / "input", input_);
    EXPECT_TRUE(Runs("./model < input > output"));
    const std::string output = Read(folder_ / "output");
    absl::string_view rest = output;
    std::vector<ModelRun> runs;
    while (!rest.empty()) {
      ModelRun& run = runs.emplace_back();
      run.error = Take(rest);
      run.ram = Take(rest);
      run.sram = Take(rest);
    }
    EXPECT_EQ(runs.size(), wanted_.size());
    runs.resize(wanted_.size());
    return runs;
  }

  fs::path folder_;
  std::string input_;
  std::vector<StreamOutcome> wanted_;
};

TEST_F(DeskModelTest, ComputesWhatTheSimulatorDoes) {
  Rng rng(5);
  for (int c = 0; c < 8; ++c) {
    const auto chip = simfarm::conformance::dla::NewRandomDlaModels(rng);
    for (int i = 0; i < 100; ++i) Add(*chip, chip->RandomProgram(6, rng));
  }
  const std::vector<ModelRun> runs = RunAll();
  for (size_t i = 0; i < runs.size(); ++i) {
    ASSERT_EQ(wanted_[i].error, "") << i;
    ASSERT_EQ(runs[i].error, "") << i;
    ASSERT_TRUE(runs[i].ram == wanted_[i].ram) << i;
    ASSERT_TRUE(runs[i].sram == wanted_[i].scratchpad) << i;
  }
}

// Flipped bits. The model has no time, so it does not see races; and it looks
// at rows of a transfer one by one, where the simulator wants all in one
// memory.
TEST_F(DeskModelTest, RefusesWhatTheSimulatorRefuses) {
  Rng rng(6);
  for (int c = 0; c < 4; ++c) {
    const auto chip = simfarm::conformance::dla::NewRandomDlaModels(rng);
    for (int i = 0; i < 200; ++i) {
      StreamProgram program = chip->RandomProgram(3, rng);
      const auto at =
          static_cast<size_t>(rng.InRange(0, std::ssize(program.code) - 1));
      program.code[at] =
          static_cast<char>(program.code[at] ^ (1 << rng.InRange(0, 7)));
      Add(*chip, program);
    }
  }
  const std::vector<ModelRun> runs = RunAll();
  int wrong = 0;
  int refused = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (absl::StrContains(wanted_[i].error, "race")) continue;
    if (!wanted_[i].error.empty()) {
      ++wrong;
      refused += runs[i].error.empty() ? 0 : 1;
      continue;
    }
    ASSERT_EQ(runs[i].error, "") << i;
    ASSERT_TRUE(runs[i].ram == wanted_[i].ram) << i;
  }
  EXPECT_GE(wrong, 100);
  EXPECT_GE(refused * 100, wrong * 95) << refused << " of " << wrong;
}

}  // namespace
}  // namespace edgekiln::tests
