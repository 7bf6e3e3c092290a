// The early check against the whole compiler: what compiles is never refused,
// not with a byte of memory to spare less, and what misses by much is.

#include "compiler/codegen/check_fit.h"

#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

struct ModelCase {
  const char* file;
  bool quantized;
  friend void PrintTo(const ModelCase& c, std::ostream* out) { *out << c.file; }
};

void SetCapacity(v1::ResolvedTarget& target, const std::string& name,
                 int64_t bytes) {
  for (auto& memory : *target.mutable_machine()->mutable_memories()) {
    if (memory.name() == name) memory.set_capacity_bytes(bytes);
  }
}

// Ranges of -1 .. 1, but for every `mask_every`th tensor, which gets one that
// no scale holds; 0: for none.
v1::CalibrationStatistics Ranges(const compiler::Graph& graph,
                                 size_t mask_every) {
  v1::CalibrationStatistics statistics;
  statistics.set_samples(1);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const compiler::Tensor& tensor = graph.tensors[i];
    if (tensor.is_constant()) continue;
    const float bound = mask_every > 0 && i % mask_every == 0 ? 2e30f : 1;
    auto& range = *statistics.add_ranges();
    range.set_tensor(tensor.name);
    range.set_min(-bound);
    range.set_max(bound);
  }
  return statistics;
}

ErrorDetail DetailOf(const absl::Status& status) {
  return GetErrorDetail(status).value_or(ErrorDetail());
}

class CheckFitPipelineTest : public testing::TestWithParam<ModelCase> {
 protected:
  // `form` is what is known of `deployed` before it exists. With `tight` the
  // check also must come near to the truth.
  static void Check(const compiler::Graph& form,
                    const compiler::Graph& deployed, bool tight) {
    for (const int64_t sram : {20'000, 1 << 19}) {
      SCOPED_TRACE(sram);
      v1::ResolvedTarget target =
          TargetWithScratchpad("extends: \"dla-64-o-512k\"", sram);
      const auto fits = [&] {
        return compiler::CheckFits(form, target.capabilities(),
                                   target.machine(), v1::ALL);
      };
      SetCapacity(target, "flash", int64_t{1} << 31);
      SetCapacity(target, "ram", int64_t{1} << 31);
      const auto compiled = CompileQuantized(deployed, target);
      if (!compiled.ok()) {
        EXPECT_EQ(DetailOf(compiled.status()).reason, "SRAM_TOO_SMALL");
        if (!tight) continue;
        EXPECT_EQ(DetailOf(fits()).where, DetailOf(compiled.status()).where);
        EXPECT_EQ(DetailOf(fits()).need, DetailOf(compiled.status()).need);
        continue;
      }
      const auto flash = static_cast<int64_t>(compiled->constants.size());
      const int64_t ram = compiled->program.ram_bytes();
      SetCapacity(target, "flash", flash);
      SetCapacity(target, "ram", ram);
      EXPECT_TRUE(fits().ok()) << fits();
      if (!tight) continue;
      // All but alignment and copies of shared constants.
      SetCapacity(target, "flash", 0);
      const int64_t least_flash =
          std::strtoll(DetailOf(fits()).need.c_str(), nullptr, 10);
      EXPECT_GE(least_flash, flash * 8 / 10) << flash;
      SetCapacity(target, "flash", flash);
      // Values at ports count as int8, and what is between engine layers may be
      // in SRAM.
      SetCapacity(target, "ram", 0);
      const int64_t least_ram =
          std::strtoll(DetailOf(fits()).need.c_str(), nullptr, 10);
      EXPECT_GE(least_ram, ram / 20) << ram;
    }
  }
};

TEST_P(CheckFitPipelineTest, NeverRefusesWhatCompiles) {
  const std::string file = absl::StrCat("models/", GetParam().file);
  EK_REQUIRE_SHARED(file);
  const auto graph = SimplifiedGraph(ReadWholeFile(SharedPath(file)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  if (GetParam().quantized) {
    Check(*graph, *graph, /*tight=*/true);
    return;
  }
  const auto form = compiler::QuantizedForm(*graph);
  ASSERT_TRUE(form.ok()) << form.status();
  for (const size_t mask_every : {0, 2, 5}) {
    SCOPED_TRACE(mask_every);
    const auto deployed =
        compiler::QuantizeGraph(*graph, Ranges(*graph, mask_every));
    ASSERT_TRUE(deployed.ok()) << deployed.status();
    Check(*form, *deployed, /*tight=*/mask_every == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, CheckFitPipelineTest,
    testing::Values(ModelCase{"resnet8_int8.tflite", true},
                    ModelCase{"dscnn_int8_qdq.onnx", true},
                    ModelCase{"person_detect_int8.tflite", true},
                    ModelCase{"ad_int8.tflite", true},
                    ModelCase{"resnet8_fp32.onnx", false},
                    ModelCase{"lenet_fp32.onnx", false},
                    ModelCase{"cct_1_32_32_32_fp32.onnx", false},
                    ModelCase{"yunet_s_fp32.onnx", false}),
    [](const auto& info) {
      std::string name = info.param.file;
      return name.substr(0, name.find('.'));
    });

}  // namespace
}  // namespace edgekiln::tests
