// Whole programs, as the compiler writes them for random networks: on chips
// whose engines the host drives, against the naive model of the chip's page;
// damaged, on every chip.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/graph.h"
#include "google/protobuf/message.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/program_case.h"
#include "simfarm/conformance/program_suite.h"
#include "simfarm/session/session.h"
#include "target/resolve.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/smallest_scratchpad.h"
#include "tests/pipeline/byte_damage.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

using namespace simfarm::conformance;  // NOLINT: the suites.

// Naive models have bytes of all memories.
constexpr int64_t kHostMemoryBytes = 1 << 17;

v1::ResolvedTarget WithLittleMemory(v1::ResolvedTarget target) {
  for (auto& memory : *target.mutable_machine()->mutable_memories()) {
    memory.set_capacity_bytes(
        std::min(memory.capacity_bytes(), kHostMemoryBytes));
  }
  return target;
}

bool HasHostOps(const v1::Program& program) {
  return std::any_of(program.steps().begin(), program.steps().end(),
                     [](const auto& step) { return step.has_host_op(); });
}

class ProgramsTest : public testing::TestWithParam<const ChipCase*> {
 protected:
  // Calls visit(program, rng) for two networks of each kind, on random chips:
  // as tight as a program of few steps allows, and roomier ones. Networks of
  // which the host does a part are left out, which are few. Other networks with
  // --gtest_shuffle and --gtest_repeat.
  template <typename Visit>
  void ForPrograms(const Visit& visit) {
    constexpr int kSeeds = 2;
    const int round = GTEST_FLAG_GET(shuffle)
                          ? testing::UnitTest::GetInstance()->random_seed()
                          : 0;
    int visited = 0;
    int kinds = 0;
    for (const GraphKind& kind : GetParam()->graphs) {
      if (kind.needs_host) continue;
      ++kinds;
      for (int seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
        SCOPED_TRACE(absl::StrCat(kind.name, " ", seed));
        QuantizedGraphBuilder builder = BuilderFor(
            *GetParam(),
            kind.first_seed + static_cast<uint64_t>(kSeeds * round + seed));
        const compiler::Graph graph = kind.make(builder);
        int64_t bytes = SmallestScratchpad(*GetParam(), graph) * (1 + 4 * seed);
        while (!Visited(graph, bytes, builder, visit, &visited)) bytes *= 2;
      }
    }
    EXPECT_GE(visited, kSeeds * (kinds - 1));
  }

  // False: the program has too many steps, or more than fit the flash.
  template <typename Visit>
  bool Visited(const compiler::Graph& graph, int64_t scratchpad_bytes,
               QuantizedGraphBuilder& builder, const Visit& visit,
               int* visited) {
    constexpr int kMaxSteps = 40;
    constexpr int64_t kRoomy = 1 << 20;
    const v1::ResolvedTarget target = WithLittleMemory(
        GetParam()->random_target(builder.rng(), scratchpad_bytes));
    const auto compiled = CompileQuantized(graph, target);
    const bool too_long =
        absl::IsResourceExhausted(compiled.status()) ||
        (compiled.ok() && compiled->program.steps_size() > kMaxSteps);
    if (too_long && scratchpad_bytes < kRoomy) return false;
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    if (!compiled.ok()) return true;
    if (HasHostOps(compiled->program)) return true;
    visit(CaseOf(graph, target, *compiled, builder.Sample()), builder.rng());
    ++*visited;
    return true;
  }

  static ProgramCase CaseOf(const compiler::Graph& graph,
                            const v1::ResolvedTarget& target,
                            const compiler::EmitResult& compiled,
                            std::string sample) {
    return {.program = compiled.program,
            .constants = compiled.constants,
            .machine = target.machine(),
            .options = OptionsOf(graph),
            .inputs = {std::move(sample)}};
  }
};

TEST_P(ProgramsTest, AgreeWithTheNaiveModel) {
  ForPrograms([](const ProgramCase& program, Rng&) {
    ExpectAgrees(program, GetParam()->naive_program);
  });
}

TEST_P(ProgramsTest, AgreeOnEveryBuiltinTarget) {
  for (const std::string& name : GetParam()->targets) {
    SCOPED_TRACE(name);
    const auto target =
        target::ResolveTarget(absl::StrCat("extends: \"", name, "\""));
    ASSERT_TRUE(target.ok()) << target.status();
    for (const GraphKind& kind : GetParam()->graphs) {
      SCOPED_TRACE(kind.name);
      QuantizedGraphBuilder builder =
          BuilderFor(*GetParam(), kind.first_seed + 20);
      const compiler::Graph graph = kind.make(builder);
      const v1::ResolvedTarget little = WithLittleMemory(*target);
      const auto compiled = CompileQuantized(graph, little);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      if (HasHostOps(compiled->program)) continue;
      ExpectAgrees(CaseOf(graph, little, *compiled, builder.Sample()),
                   GetParam()->naive_program);
    }
  }
}

TEST_P(ProgramsTest, FlippedBitsAreNoticed) {
  MutationCounts counts;
  ForPrograms([&](const ProgramCase& program, Rng& rng) {
    ExpectNoticesMutations(program, GetParam()->naive_program, 15, rng,
                           &counts);
  });
  // All of it happens, else this test has lost its point.
  EXPECT_GT(counts.refused, counts.mutants / 8);
  // Engines with few weights refuse most flipped ones.
  EXPECT_GT(counts.changed, counts.mutants / 16);
  EXPECT_LT(counts.too_long, counts.mutants / 8);
}

TEST_P(ProgramsTest, LegalOrdersOfStepsAgreeAndOthersAreRaces) {
  OrderCounts counts;
  ForPrograms([&](const ProgramCase& program, Rng& rng) {
    ExpectOrdersAgree(program, GetParam()->naive_program, 6, rng, &counts);
  });
  RecordProperty("legal", counts.legal);
  RecordProperty("refused", counts.refused);
  RecordProperty("changed", counts.changed);
  RecordProperty("the_same", counts.the_same);
  EXPECT_GT(counts.refused, counts.legal / 4);
  EXPECT_GT(counts.the_same, 0);
}

TEST_P(ProgramsTest, TakeTheCyclesCountedByHand) {
  EXPECT_FALSE(GetParam()->hand_counted_programs.empty());
  for (const HandCountedProgram& counted : GetParam()->hand_counted_programs) {
    SCOPED_TRACE(counted.name);
    ExpectHandCounted(counted, GetParam()->naive_program);
  }
}

std::string ChipName(const testing::TestParamInfo<const ChipCase*>& info) {
  return info.param->name;
}

INSTANTIATE_TEST_SUITE_P(Chips, ProgramsTest,
                         testing::ValuesIn(ChipsDrivenByTheHost()), ChipName);

class DamagedProgramsTest : public testing::TestWithParam<const ChipCase*> {};

// Changes bytes of one part. False: no such message comes of it.
bool Damage(Rng& rng, google::protobuf::Message& part) {
  const std::string good = part.SerializeAsString();
  if (good.empty()) return false;
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::string bytes = good;
    DamageBytes(rng, bytes);
    if (part.ParseFromString(bytes)) return true;
  }
  return false;
}

template <typename Parts>
bool DamageOne(Rng& rng, Parts& parts) {
  if (parts.empty()) return false;
  return Damage(rng, *parts.Mutable(static_cast<int>(
                         rng.Below(static_cast<uint64_t>(parts.size())))));
}

bool DamageProgram(Rng& rng, v1::Program& program) {
  switch (rng.Below(8)) {
    case 0:
      return DamageOne(rng, *program.mutable_layouts());
    case 1:
      return DamageOne(rng, *program.mutable_taps());
    case 2:
      return DamageOne(rng, *program.mutable_streams());
    case 3:
      return DamageOne(rng, *program.mutable_outputs());
    case 4:
      return DamageOne(rng, *program.mutable_segments());
    default:
      return DamageOne(rng, *program.mutable_steps());
  }
}

// What still loads runs without leaving memory.
TEST_P(DamagedProgramsTest, AreRefusedOrRun) {
  constexpr int64_t kManyCycles = 10'000'000;
  const google::protobuf::LogSilencer no_complaints;  // Of broken strings.
  int refused = 0;
  int ran = 0;
  Rng rng(9);
  for (const GraphKind& kind : GetParam()->graphs) {
    SCOPED_TRACE(kind.name);
    QuantizedGraphBuilder builder =
        BuilderFor(*GetParam(), kind.first_seed + 30);
    const compiler::Graph graph = kind.make(builder);
    const v1::ResolvedTarget target =
        GetParam()->target(2 * SmallestScratchpad(*GetParam(), graph));
    const auto compiled = CompileQuantized(graph, target);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const std::string sample = builder.Sample();
    simfarm::SessionOptions options = OptionsOf(graph);
    options.max_memory_bytes = 16 << 20;
    for (int round = 0; round < 100; ++round) {
      v1::Program program = compiled->program;
      if (!DamageProgram(rng, program)) continue;
      const auto session = simfarm::LoadSession(program, compiled->constants,
                                                target.machine(), options);
      if (!session.ok()) {
        EXPECT_FALSE(session.status().message().empty());
        ++refused;
        continue;
      }
      if ((*session)->report().cycles() > kManyCycles) continue;
      ++ran;
      const std::vector<absl::string_view> inputs(
          static_cast<size_t>(program.inputs_size()), sample);
      std::vector<std::string> outputs;
      const auto checked = (*session)->RunChecked(inputs, nullptr, &outputs);
      const absl::Status fast = (*session)->Run(inputs, nullptr, &outputs);
      if (checked.ok()) {
        EXPECT_TRUE(fast.ok()) << fast;
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(ran, 30);
}

INSTANTIATE_TEST_SUITE_P(Chips, DamagedProgramsTest,
                         testing::ValuesIn(AllChips()), ChipName);

}  // namespace
}  // namespace edgekiln::tests
