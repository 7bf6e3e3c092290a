// Published networks on every chip: on chips with room for them, and on chips
// with any numbers that the descriptor allows.

#include <stdlib.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "target/resolve.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"
#include "tests/support/user_error.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

// A chip and a file under shared models/.
struct NetworkCase {
  const ChipCase* chip;
  std::string file;
};

void PrintTo(const NetworkCase& c, std::ostream* out) {
  *out << c.chip->name << " " << c.file;
}

std::vector<NetworkCase> AllNetworks() {
  std::vector<NetworkCase> cases;
  for (const ChipCase* chip : AllChips()) {
    for (const std::string& file : chip->networks)
      cases.push_back({chip, file});
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<NetworkCase>& info) {
  std::string name = absl::StrCat(info.param.chip->name, "_", info.param.file);
  for (char& c : name) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return name;
}

std::vector<std::string> Samples(const Graph& graph, int count, Rng& rng) {
  const compiler::Tensor& input = graph.tensors[graph.inputs[0]];
  std::vector<std::string> samples(count);
  for (std::string& sample : samples) {
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      if (input.type == v1::FLOAT32) {
        const float value = static_cast<float>(rng.InRange(-2000, 2000)) / 256;
        sample.append(reinterpret_cast<const char*>(&value), sizeof(value));
      } else {
        sample += static_cast<char>(rng.InRange(-128, 127));
      }
    }
  }
  return samples;
}

class NetworkTest : public testing::TestWithParam<NetworkCase> {
 protected:
  static std::string Model() {
    return ReadWholeFile(SharedPath(absl::StrCat("models/", GetParam().file)));
  }
};

// As imported, if engines can take it like that, and simplified.
TEST_P(NetworkTest, EveryLayerIsBitExact) {
  EK_REQUIRE_SHARED(absl::StrCat("models/", GetParam().file));
  auto graph = compiler::ImportModel(Model());
  ASSERT_TRUE(graph.ok()) << graph.status();
  Rng rng(5);
  const std::vector<std::string> samples = Samples(*graph, 3, rng);
  for (const bool simplified : {false, true}) {
    if (simplified) {
      const absl::Status status = compiler::Simplify(*graph);
      ASSERT_TRUE(status.ok()) << status;
    } else if (absl::EndsWith(GetParam().file, ".onnx")) {
      continue;  // Quantized layers are made by simplifying.
    }
    for (const v1::ResolvedTarget& target : GetParam().chip->roomy_targets) {
      SCOPED_TRACE(target.name());
      ExpectBitExact(*graph, target, samples);
    }
  }
}

// Networks that quantize by powers of two: half of all ties differ if anything
// rounds them the other way.
TEST_P(NetworkTest, RoundsTiesAsItsFormatDoes) {
  EK_REQUIRE_SHARED(absl::StrCat("models/", GetParam().file));
  const auto graph = SimplifiedGraph(Model());
  ASSERT_TRUE(graph.ok()) << graph.status();
  int even = 0;
  for (const compiler::Op& op : graph->ops) {
    even += op.attributes.rounding() == v1::HALF_EVEN &&
            !op.attributes.has_quantize();
  }
  EXPECT_EQ(even > 0, absl::EndsWith(GetParam().file, ".onnx"));
}

// Either it fits, and then every value is right, or the error names a size. On
// all random chips with `tools/test --full`, else on the first ones, until both
// have happened.
TEST_P(NetworkTest, FitsExactlyOrNamesASize) {
  EK_REQUIRE_SHARED(absl::StrCat("models/", GetParam().file));
  const auto graph = SimplifiedGraph(Model());
  ASSERT_TRUE(graph.ok()) << graph.status();
  Rng rng(5);
  const std::vector<std::string> samples = Samples(*graph, 2, rng);
  int fitting = 0;
  int refused = 0;
  const bool all = getenv("EK_MORE_NETWORKS") != nullptr;
  for (int i = 0; i < GetParam().chip->random_chips; ++i) {
    if (!all && fitting >= 2 && refused >= 1) break;
    const std::string chip = GetParam().chip->random_descriptor(rng);
    SCOPED_TRACE(chip);
    const auto target = target::ResolveTarget(chip);
    ASSERT_TRUE(target.ok()) << target.status();
    const auto compiled = CompileQuantized(*graph, *target);
    if (!compiled.ok()) {
      const auto detail = GetErrorDetail(compiled.status());
      ASSERT_TRUE(detail.has_value()) << compiled.status();
      EXPECT_EQ(detail->fault, Fault::kUser);
      EXPECT_NE(detail->limit.find("bytes"), std::string::npos)
          << compiled.status();
      EXPECT_NE(detail->need.find("bytes"), std::string::npos)
          << compiled.status();
      ++refused;
      continue;
    }
    ExpectBitExact(*graph, *target, samples);
    ++fitting;
  }
  // Both happen, else this test has lost its point.
  EXPECT_GT(fitting, 0);
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(All, NetworkTest, testing::ValuesIn(AllNetworks()),
                         CaseName);

class ReshapesTest : public testing::TestWithParam<const ChipCase*> {};

// Networks of small layers between reshapes to any shape, on any chip.
TEST_P(ReshapesTest, FitExactlyOrNameASize) {
  Rng rng(6);
  int fitting = 0;
  int with_batch = 0;
  const int chips = GetParam()->random_chips;
  for (int i = 0; i < chips * 4; ++i) {
    QuantizedGraphBuilder builder =
        BuilderFor(*GetParam(), static_cast<uint64_t>(7000 + i));
    const Graph graph = RandomReshapeNet(builder);
    const std::string chip = GetParam()->random_descriptor(rng);
    SCOPED_TRACE(absl::StrCat("network ", i, " on ", chip));
    const auto target = target::ResolveTarget(chip);
    ASSERT_TRUE(target.ok()) << target.status();
    const auto compiled = CompileQuantized(graph, *target);
    if (!compiled.ok()) {
      ExpectUserError(compiled.status());
      continue;
    }
    ExpectBitExact(graph, *target, {builder.Sample()});
    ++fitting;
    for (const compiler::Tensor& tensor : graph.tensors) {
      if (tensor.shape.size() != 4 || tensor.shape[0] == 1) continue;
      ++with_batch;
      break;
    }
  }
  EXPECT_GT(fitting, chips);
  EXPECT_GT(with_batch, chips / 3);
}

INSTANTIATE_TEST_SUITE_P(Chips, ReshapesTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
