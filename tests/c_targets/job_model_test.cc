// The model in C of register job engines that bundles have: on random jobs it
// computes what the simulator does, and refuses what that refuses.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/rng.h"
#include "compiler/codegen/host/driver_text.h"
#include "compiler/engines/register_job/model_in_c.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/register_job/job_case.h"
#include "simfarm/conformance/register_job/random_jobs.h"
#include "simfarm/conformance/register_job/simulated.h"
#include "target/resolve.h"
#include "tests/support/record_chip.h"

namespace edgekiln::tests {
namespace {

namespace fs = std::filesystem;
namespace jobs = simfarm::conformance::register_job;

// Reads programs from standard input, writes of each whether it was refused,
// and the memories. @bases@: of each memory.
constexpr char kHarness[] = R"(
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine_@engine@.c"

static const uint64_t bases[] = {@bases@};
enum { MEMORIES = sizeof(bases) / sizeof(bases[0]) };
static uint8_t *memories[MEMORIES];
static uint64_t sizes[MEMORIES];
static jmp_buf refused;

uint8_t *desk_find(int32_t memory, uint64_t address, uint64_t bytes,
                   int is_write) {
  (void)is_write;
  if (memory < 0 || memory >= MEMORIES || address < bases[memory]) return 0;
  address -= bases[memory];
  if (bytes > sizes[memory] || address > sizes[memory] - bytes) return 0;
  return memories[memory] + address;
}

void desk_stop(const char *who, const char *what, uint64_t where) {
  (void)who;
  (void)what;
  (void)where;
  longjmp(refused, 1);
}

static uint64_t number(void) {
  uint64_t value = 0;
  if (fread(&value, 8, 1, stdin) != 1) exit(0);
  return value;
}

static int run(uint64_t steps) {
  static uint64_t step[4];
  static uint32_t words[1024];
  static int is_refused;
  is_refused = 0;
  while (steps-- > 0) {
    if (fread(step, 8, 4, stdin) != 4) exit(2);
    if (step[0] == 0) {
      if (fread(words, 4, (size_t)step[3], stdin) != step[3]) exit(2);
      if (!is_refused) {
        uint8_t *to = desk_find((int32_t)step[1], step[2], 4 * step[3], 1);
        if (to == 0) is_refused = 1;
        else memcpy(to, words, 4 * (size_t)step[3]);
      }
    } else if (!is_refused) {
      if (setjmp(refused) != 0) {
        is_refused = 1;
        continue;
      }
      job_write(&engine, &state, (uint32_t)step[1], (uint32_t)step[2]);
      if (state.error != 0) is_refused = 1;
    }
  }
  return is_refused;
}

int main(void) {
  while (1) {
    const uint64_t steps = number();
    uint64_t m, failed;
    memset(&state, 0, sizeof(state));
    for (m = 0; m < MEMORIES; ++m) {
      sizes[m] = number();
      memories[m] = malloc((size_t)sizes[m] + 1);
      if (fread(memories[m], 1, (size_t)sizes[m], stdin) != sizes[m]) exit(2);
    }
    failed = (uint64_t)run(steps);
    fwrite(&failed, 8, 1, stdout);
    for (m = 0; m < MEMORIES; ++m) {
      fwrite(memories[m], 1, (size_t)sizes[m], stdout);
      free(memories[m]);
    }
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

void PutNumber(uint64_t value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string InputOf(const jobs::JobProgram& program) {
  std::string out;
  PutNumber(program.writes.size() + program.records.size(), out);
  for (const std::string& memory : program.memories) {
    PutNumber(memory.size(), out);
    absl::StrAppend(&out, memory);
  }
  auto record = program.records.begin();
  for (size_t w = 0; w < program.writes.size(); ++w) {
    for (; record != program.records.end() && record->before == w; ++record) {
      PutNumber(0, out);
      PutNumber(static_cast<uint64_t>(record->memory), out);
      PutNumber(record->address, out);
      PutNumber(record->words.size(), out);
      out.append(reinterpret_cast<const char*>(record->words.data()),
                 4 * record->words.size());
    }
    PutNumber(1, out);
    PutNumber(program.writes[w].offset, out);
    PutNumber(program.writes[w].value, out);
    PutNumber(0, out);
  }
  return out;
}

// The model of one engine, and programs for it.
class ModelRun {
 public:
  ModelRun(const v1::Machine& machine, int32_t engine)
      : machine_(machine), engine_(engine) {
    static int number = 0;
    folder_ = fs::path(testing::TempDir()) /
              absl::StrCat("job_model_", getpid(), "_", number++);
    fs::create_directories(folder_);
  }
  ~ModelRun() { fs::remove_all(folder_); }
  ModelRun(const ModelRun&) = delete;
  ModelRun& operator=(const ModelRun&) = delete;

  void Add(const jobs::JobProgram& program) {
    jobs::JobOutcome wanted = RunSimulator(machine_, engine_, program);
    if (wanted.too_long) return;
    absl::StrAppend(&input_, InputOf(program));
    sizes_.clear();
    for (const std::string& memory : program.memories) {
      sizes_.push_back(memory.size());
    }
    wanted_.push_back(std::move(wanted));
  }

  // Compares all with the simulator; counts programs that it refuses, and of
  // them those that the model does.
  void RunAll(int* wrong, int* refused) const {
    ASSERT_TRUE(Builds());
    Write(folder_ / "input", input_);
    ASSERT_TRUE(Runs("timeout 120 ./model < input > output"));
    const std::string output = Read(folder_ / "output");
    size_t at = 0;
    for (size_t i = 0; i < wanted_.size(); ++i) {
      uint64_t failed = 0;
      ASSERT_LE(at + sizeof(failed), output.size());
      std::memcpy(&failed, output.data() + at, sizeof(failed));
      at += sizeof(failed);
      *wrong += wanted_[i].error.empty() ? 0 : 1;
      *refused += !wanted_[i].error.empty() && failed != 0 ? 1 : 0;
      for (size_t m = 0; m < sizes_.size(); ++m) {
        const std::string got = output.substr(at, sizes_[m]);
        at += sizes_[m];
        if (!wanted_[i].error.empty()) continue;
        ASSERT_EQ(failed, 0u) << "program " << i;
        ASSERT_TRUE(got == wanted_[i].memories[m])
            << "program " << i << ", memory " << m;
      }
    }
    EXPECT_EQ(at, output.size());
  }

 private:
  bool Builds() const {
    const auto files = compiler::register_job::ModelInC(machine_, engine_);
    EXPECT_TRUE(files.ok()) << files.status();
    if (!files.ok()) return false;
    const std::string engine = absl::StrCat("engine_", engine_, ".c");
    std::string sources;
    for (const auto& file : *files) {
      Write(folder_ / file.path, file.text);
      if (absl::EndsWith(file.path, ".c") && file.path != engine) {
        absl::StrAppend(&sources, " ", file.path);
      }
    }
    std::string bases;
    for (const v1::ResolvedMemory& memory : machine_.memories()) {
      absl::StrAppendFormat(&bases, "0x%xu, ", memory.base_address());
    }
    Write(folder_ / "desk.h", compiler::DeskText());
    Write(folder_ / "harness.c",
          absl::StrReplaceAll(kHarness, {{"@bases@", bases},
                                         {"@engine@", absl::StrCat(engine_)}}));
    return Runs(absl::StrCat(
        "gcc -std=c99 -O1 -Wall -Wextra -Werror -pedantic "
        "-fsanitize=address,undefined -fno-sanitize-recover=all harness.c",
        sources, " -o model"));
  }

  bool Runs(const std::string& command) const {
    const int status = std::system(
        absl::StrCat("cd '", folder_.string(), "' && ", command).c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  const v1::Machine& machine_;
  const int32_t engine_;
  fs::path folder_;
  std::string input_;
  std::vector<jobs::JobOutcome> wanted_;
  std::vector<size_t> sizes_;  // Of memories.
};

v1::Machine MachineOf(absl::string_view text) {
  const auto target = target::ResolveTarget(text);
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? target->machine() : v1::Machine();
}

// Of the chip with records, shifts, biases and reversed bytes; of one with
// tables and all kernels; of one with a converter.
std::vector<v1::Machine> Machines() {
  return {MachineOf(RecordChipText({{"l1_bytes", jobs::kRandomMemoryBytes},
                                    {"l2_bytes", jobs::kRandomMemoryBytes},
                                    {"weight_bytes", 4096}})),
          MachineOf("extends: \"toy-array\" set { name: \"block\" value: 3 }"),
          MachineOf("extends: \"toy-ternary\"")};
}

// Flips a bit of a value or of a word of a record.
void FlipOne(jobs::JobProgram& program, Rng& rng) {
  const auto bit = uint32_t{1} << rng.Below(rng.Below(2) == 0 ? 32 : 8);
  if (!program.records.empty() && rng.Below(4) != 0) {
    auto& words = program.records[rng.Below(program.records.size())].words;
    words[rng.Below(words.size())] ^= bit;
    return;
  }
  jobs::RegisterWrite& write = program.writes[rng.Below(program.writes.size())];
  (rng.Below(8) == 0 ? write.offset : write.value) ^= bit;
}

TEST(JobModelTest, ComputesAndRefusesWhatTheSimulatorDoes) {
  Rng rng(7);
  int wrong = 0;
  int refused = 0;
  for (const v1::Machine& machine : Machines()) {
    SCOPED_TRACE(machine.engines(0).name());
    ModelRun run(machine, 0);
    for (int i = 0; i < 60; ++i) {
      const auto program = jobs::RandomProgram(machine, 0, 2, rng);
      run.Add(program);
      for (int k = 0; k < 6; ++k) {
        jobs::JobProgram mutant = program;
        FlipOne(mutant, rng);
        run.Add(mutant);
      }
    }
    run.RunAll(&wrong, &refused);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(wrong, 200);
  EXPECT_GE(refused * 100, wrong * 97) << refused << " of " << wrong;
}

}  // namespace
}  // namespace edgekiln::tests
