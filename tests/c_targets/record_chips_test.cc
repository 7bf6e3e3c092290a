// Bundles of chips whose engines read records, weights and biases from the
// host's memory: `make check` on models of these engines.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/unquantize.h"
#include "gtest/gtest.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"
#include "tests/c_targets/host_bundle.h"
#include "tests/chips/chip_cases.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/pipeline/graph_builder.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

const ChipCase* ChipNamed(absl::string_view name) {
  for (const ChipCase* chip : AllChips()) {
    if (chip->name == name) return chip;
  }
  ADD_FAILURE() << name;
  return nullptr;
}

v1::TileRecipe RecipeOf(const v1::ResolvedTarget& target,
                        absl::string_view name) {
  for (const v1::ResolvedRecipe& recipe : target.recipes()) {
    if (recipe.name() == name) return recipe.tile();
  }
  ADD_FAILURE() << name;
  return {};
}

// Of bundles the parts that are there once `make check` is.
bool HasModels(const HostBundle& bundle, const Graph& graph) {
  for (const v1::Program::Step& step : bundle.compiled().program.steps()) {
    if (!step.has_register_writes()) continue;
    return !bundle
                .Read(absl::StrCat("c/desk/engine_",
                                   step.register_writes().engine(), ".c"))
                .empty();
  }
  ADD_FAILURE() << graph.name << ": no engine has a job";
  return false;
}

// The network of the first of a few seeds that fits the chip.
absl::StatusOr<HostBundle> BundleOf(const ChipCase& chip, const GraphKind& kind,
                                    const char* recipe, Graph* graph) {
  const v1::ResolvedTarget target = chip.target(256 << 10);
  absl::Status refused;
  for (uint64_t seed = 77; seed < 82; ++seed) {
    QuantizedGraphBuilder builder = BuilderFor(chip, kind.first_seed + seed);
    *graph = kind.make(builder);
    auto bundle = HostBundle::Create(*graph, target, RecipeOf(target, recipe));
    if (bundle.ok()) return bundle;
    refused = bundle.status();
  }
  return refused;
}

TEST(RecordChipsTest, RandomNetworksEqualTheInterpreter) {
  int turn = 0;
  for (const char* name : {"diana", "diana_analog"}) {
    const ChipCase* const chip = ChipNamed(name);
    ASSERT_NE(chip, nullptr);
    for (const GraphKind& kind : chip->graphs) {
      const char* const recipe = turn++ % 2 == 0 ? "default" : "htvm";
      SCOPED_TRACE(absl::StrCat(name, " ", kind.name, " ", recipe));
      Graph graph;
      auto bundle = BundleOf(*chip, kind, recipe, &graph);
      ASSERT_TRUE(bundle.ok()) << bundle.status();
      ASSERT_TRUE(HasModels(*bundle, graph));
      const absl::Status same = bundle->CompareWithInterpreter(2, "-O1");
      EXPECT_TRUE(same.ok()) << same;
    }
  }
}

// A network that came with another rounding, as the daemon gives it to a chip.
absl::StatusOr<Graph> QuantizedFor(const v1::ResolvedTarget& target,
                                   absl::string_view model) {
  EK_ASSIGN_OR_RETURN(const Graph graph, SimplifiedGraph(model));
  EK_ASSIGN_OR_RETURN(const auto form, compiler::Unquantize(graph));
  v1::QuantizeOptions options;
  *options.mutable_needs() = target::QuantizationNeedsOf(target.capabilities());
  EK_ASSIGN_OR_RETURN(
      auto quantized,
      compiler::Quantize(form.graph, options, {.statistics = *form.ranges}));
  return std::move(quantized.graph);
}

struct NetworkRow {
  const char* model;
  const char* recipe;
  const char* variables;  // Of make.
};

TEST(RecordChipsTest, MakeCheckPassesForPublishedNetworks) {
  const v1::ResolvedTarget target =
      *target::ResolveTarget("extends: \"diana\"");
  for (const NetworkRow& row :
       {NetworkRow{"models/htvm_resnet8_digital.onnx", "default", "CC=clang"},
        NetworkRow{"models/htvm_ad_digital.onnx", "htvm",
                   "CC=gcc SANITIZE=1"}}) {
    EK_REQUIRE_SHARED(row.model);
    const auto graph =
        QuantizedFor(target, ReadWholeFile(SharedPath(row.model)));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto bundle =
        HostBundle::Create(*graph, target, RecipeOf(target, row.recipe));
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    EXPECT_TRUE(bundle->Checks(row.variables)) << bundle->Read("log");
    EXPECT_TRUE(absl::StrContains(bundle->Read("log"),
                                  "samples equal what was recorded"))
        << bundle->Read("log");
  }
}

// A layer of each array; that of the analog one fills its rows.
Graph SmallNet() {
  QuantizedGraphBuilder builder(5);
  builder.UseShifts(v1::FLOOR);
  builder.ShareScale();
  builder.UseConverters(100);
  builder.LeaveOutConvertedBiases();
  WindowCase three;
  three.kernel[0] = three.kernel[1] = 3;
  for (int32_t& pad : three.pad) pad = 1;
  compiler::TensorId x = builder.Input({1, 3, 4, 128});
  x = builder.Conv(x, 20, three, false);
  Graph graph = builder.Finish({builder.Depthwise(x, 1, three, false)});
  graph.name = "net";
  return graph;
}

// `make check` step by step, so that a changed file alone is compiled anew.
class Desk {
 public:
  explicit Desk(const HostBundle& bundle) : bundle_(bundle) {}

  bool Builds() const {
    return bundle_.Runs(
        "mkdir obj && cd c && for f in *.c desk/*.c; do gcc "
        "-std=c99 -O1 -I. -c \\$f -o ../obj/\\$(basename "
        "\\$f .c).o || exit 1; done");
  }
  bool Checks() const {
    return bundle_.Runs("gcc obj/*.o -o c/net && cd c && ./net > ../log 2>&1");
  }
  // With this text in place of a file of c/. Values out of range are told by
  // the compiler already.
  bool ChecksWith(const std::string& file, const std::string& text) const {
    const std::string right = bundle_.Read("c/" + file);
    const std::string compile =
        absl::StrCat("cd c && gcc -std=c99 -O1 -w -I. -c ", file,
                     " -o ../obj/\\$(basename ", file, " .c).o");
    bundle_.Write("c/" + file, text);
    const bool checks = bundle_.Runs(compile) && Checks();
    bundle_.Write("c/" + file, right);
    EXPECT_TRUE(bundle_.Runs(compile));
    return checks;
  }

 private:
  const HostBundle& bundle_;
};

struct Number {
  size_t at = 0;
  size_t size = 0;
  uint32_t value = 0;
};

// Those in the text behind `begin`, up to the next "};".
std::vector<Number> NumbersBehind(const std::string& text,
                                  const std::string& begin) {
  std::vector<Number> numbers;
  size_t at = text.find(begin);
  EXPECT_NE(at, std::string::npos) << begin;
  at = text.find('{', at);
  const size_t end = text.find("};", at);
  while ((at = text.find_first_of("0123456789", at)) < end) {
    Number number = {.at = at};
    const size_t behind = text.find_first_of("u,}", at);
    number.size = behind - at;
    const std::string digits = text.substr(at, number.size);
    EXPECT_TRUE(absl::StartsWith(digits, "0x")
                    ? absl::SimpleHexAtoi(digits, &number.value)
                    : absl::SimpleAtoi(digits, &number.value))
        << digits;
    numbers.push_back(number);
    at = behind;
  }
  return numbers;
}

std::string Flipped(std::string text, const Number& number, int bit) {
  return text.replace(number.at, number.size,
                      absl::StrCat(number.value ^ (uint32_t{1} << bit)));
}

class FlippedBitsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto target = target::ResolveTarget("extends: \"diana\"");
    ASSERT_TRUE(target.ok()) << target.status();
    auto bundle = HostBundle::Create(SmallNet(), *target);
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    bundle_.emplace(*std::move(bundle));
    desk_.emplace(*bundle_);
    ASSERT_TRUE(desk_->Builds());
    ASSERT_TRUE(desk_->Checks()) << bundle_->Read("log");
  }

  std::optional<HostBundle> bundle_;
  std::optional<Desk> desk_;
};

// Registers 0xa0 to 0xac of the window that transfers share with jobs.
TEST_F(FlippedBitsTest, OfTransfers) {
  const std::string text = bundle_->Read("c/net.c");
  EXPECT_TRUE(absl::StrContains(text, "net_transfer_registers_0[4] = {0xa0u"))
      << text;
  // Four values, then counters.
  const std::vector<Number> numbers = NumbersBehind(text, "net_transfers_0[");
  ASSERT_GE(numbers.size(), 6u);
  ASSERT_EQ(numbers.size() % 6, 0u);
  Rng rng(17);
  int noticed = 0;
  for (int i = 0; i < 16; ++i) {
    const size_t entry = rng.Below(numbers.size() / 6);
    const Number& number = numbers[6 * entry + rng.Below(4)];
    const auto bit = static_cast<int>(rng.Below(32));
    noticed += desk_->ChecksWith("net.c", Flipped(text, number, bit)) ? 0 : 1;
  }
  EXPECT_EQ(noticed, 16);
}

TEST_F(FlippedBitsTest, OfRecordsAndRegisters) {
  const std::string text = bundle_->Read("c/net.c");
  const std::vector<Number> numbers = NumbersBehind(text, "net_values[");
  ASSERT_GE(numbers.size(), 60u);
  Rng rng(11);
  int noticed = 0;
  for (int i = 0; i < 16; ++i) {
    const Number& number = numbers[rng.Below(numbers.size())];
    const auto bit = static_cast<int>(rng.Below(32));
    noticed += desk_->ChecksWith("net.c", Flipped(text, number, bit)) ? 0 : 1;
  }
  EXPECT_GE(noticed, 14);
}

TEST_F(FlippedBitsTest, OfSignMasks) {
  const std::string file = "desk/engine_1.c";
  const std::string text = bundle_->Read("c/" + file);
  const std::vector<Number> numbers = NumbersBehind(text, "masks_0[]");
  ASSERT_EQ(numbers.size(), 18u);
  for (size_t i = 0; i < numbers.size(); i += 3) {
    EXPECT_FALSE(desk_->ChecksWith(
        file, Flipped(text, numbers[i], static_cast<int>(i % 2))))
        << i;
  }
}

// Some bits change no output: those below what is shifted away, or of cells
// whose sum leaves the range of codes.
TEST_F(FlippedBitsTest, OfWeightsBiasesAndFactors) {
  const std::string right = bundle_->compiled().constants;
  Rng rng(12);
  int noticed = 0;
  for (int i = 0; i < 100; ++i) {
    std::string wrong = right;
    char& byte = wrong.at(rng.Below(right.size()));
    byte = static_cast<char>(byte ^ (1 << rng.Below(8)));
    bundle_->Write("constants.bin", wrong);
    noticed += bundle_->Runs("cd c && ./net > ../log 2>&1") ? 0 : 1;
  }
  EXPECT_GE(noticed, 60);
}

}  // namespace
}  // namespace edgekiln::tests
