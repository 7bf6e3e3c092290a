// One flipped bit in a published network's program is noticed: the simulator
// refuses it, or a layer's values or the cycles are not what they were.

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/interpreter.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "tests/dla/stream_walk.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr int kMutants = 32;  // Of each part of each network.
constexpr int kSamples = 4;

constexpr char kOpConv = 0x10;  // docs/targets/dla.md, section 2.

enum class Part { kCommand, kAddress, kWeight, kMultiplier, kBias };

struct PartCase {
  const char* name;
  Part part;
  friend void PrintTo(const PartCase& c, std::ostream* out) { *out << c.name; }
};

void Flip(std::string& bytes, int64_t byte, int bit) {
  bytes.at(byte) = static_cast<char>(bytes.at(byte) ^ (1 << bit));
}

// Everything one run shows, sample by sample.
struct Observation {
  std::vector<std::string> values;  // Of taps in order, then of outputs.
  std::string report;
};

class Network {
 public:
  static absl::StatusOr<std::unique_ptr<Network>> Load(
      const std::string& model) {
    auto network = std::make_unique<Network>();
    EK_ASSIGN_OR_RETURN(network->graph_, SimplifiedGraph(model));
    network->target_ =
        TargetWithScratchpad("extends: \"dla-64-o-512k\"", 96 << 10);
    EK_ASSIGN_OR_RETURN(network->compiled_,
                        CompileQuantized(network->graph_, network->target_));
    const compiler::Tensor& input =
        network->graph_.tensors[network->graph_.inputs[0]];
    Rng rng(3);
    for (int i = 0; i < kSamples; ++i) {
      std::string sample;
      for (int64_t k = 0; k < input.num_elements(); ++k) {
        sample += static_cast<char>(rng.InRange(-128, 127));
      }
      network->samples_.push_back(std::move(sample));
    }
    EK_RETURN_IF_ERROR(network->Observe());
    return network;
  }

  const compiler::EmitResult& compiled() const { return compiled_; }
  const std::vector<ConstantUse>& uses() const { return uses_; }

  // Whether a run of `mutant` differs from one of the program in anything.
  bool IsNoticed(const compiler::EmitResult& mutant) const {
    const auto session = simfarm::LoadSession(
        mutant.program, mutant.constants, target_.machine(), OptionsOf(graph_));
    if (!session.ok()) return true;
    for (int i = 0; i < kSamples; ++i) {
      const absl::StatusOr<Observation> seen = RunOne(**session, i);
      if (!seen.ok() || seen->values != reference_[i].values ||
          seen->report != reference_[i].report) {
        return true;
      }
    }
    return false;
  }

  // Whether the interpreter notices the same bit in the same constant. Some
  // change nothing: a small step that is rounded away, a channel that is
  // clamped, an input that is zero.
  absl::StatusOr<bool> ReferenceNotices(const ConstantUse& use, Part part,
                                        int64_t index, int bit) const {
    const auto tap = TapOf(compiled_.program, use.stream, use.word);
    if (!tap.has_value()) return absl::InternalError("no tap");
    const int64_t first = FirstChannel(*tap);
    compiler::Graph graph = graph_;
    for (const compiler::Op& op : graph.ops) {
      if (op.outputs[0] != tap->tensor()) continue;
      compiler::Tensor& constant =
          graph.tensors[op.inputs[part == Part::kWeight ? 1 : 2]];
      std::string data(*constant.data);
      Flip(data,
           part == Part::kBias ? (first + index) * 4 + bit / 8
                               : WeightIndex(use, constant, first, index),
           bit % 8);
      constant.data = compiler::ConstantData(std::move(data));
    }
    EK_ASSIGN_OR_RETURN(const std::vector<std::string> values, ValuesOf(graph));
    return values != values_;
  }

  // Whether the channel takes values so different that another multiplier must
  // show.
  bool Moves(const ConstantUse& use, int64_t channel) const {
    const auto tap = TapOf(compiled_.program, use.stream, use.word);
    if (!tap.has_value()) return false;
    const auto [low, high] = Span(tap->tensor(), FirstChannel(*tap) + channel);
    return high - low >= 4;
  }

 private:
  // Channels are the last axis.
  static int64_t FirstChannel(const v1::Program::Tap& tap) {
    return *tap.box().begin().rbegin();
  }

  absl::StatusOr<Observation> RunOne(simfarm::Session& session,
                                     int sample) const {
    Observation seen;
    const absl::string_view inputs[] = {samples_[sample]};
    const auto visit = [&](const v1::Program::Tap&, absl::string_view values) {
      seen.values.emplace_back(values);
      return absl::OkStatus();
    };
    std::vector<std::string> outputs;
    EK_ASSIGN_OR_RETURN(const v1::SimReport report,
                        session.RunChecked(inputs, visit, &outputs));
    seen.values.insert(seen.values.end(), outputs.begin(), outputs.end());
    seen.report = report.SerializeAsString();
    return seen;
  }

  // The unchanged program equals the interpreter; what it shows is recorded.
  absl::Status Observe() {
    EK_ASSIGN_OR_RETURN(
        const Comparison comparison,
        CompareWithInterpreter(graph_, target_, compiled_, samples_));
    if (comparison.mismatches != 0 || comparison.compared == 0) {
      return absl::InternalError(comparison.first_mismatch);
    }
    EK_ASSIGN_OR_RETURN(
        const auto session,
        simfarm::LoadSession(compiled_.program, compiled_.constants,
                             target_.machine(), OptionsOf(graph_)));
    for (int i = 0; i < kSamples; ++i) {
      EK_ASSIGN_OR_RETURN(Observation seen, RunOne(*session, i));
      reference_.push_back(std::move(seen));
    }
    EK_ASSIGN_OR_RETURN(values_, ValuesOf(graph_));
    uses_ = ConstantUses(compiled_.program);
    // Of a tile that is summed up by several commands, none shows its sums.
    std::erase_if(uses_, [&](const ConstantUse& use) {
      return !TapOf(compiled_.program, use.stream, use.word).has_value();
    });
    return absl::OkStatus();
  }

  // Of every activation, by tensor, all samples in a row.
  absl::StatusOr<std::vector<std::string>> ValuesOf(
      const compiler::Graph& graph) const {
    EK_ASSIGN_OR_RETURN(
        const auto interpreter,
        compiler::Interpreter::Create(
            graph, {.keep = compiler::InterpreterOptions::Keep::kAllTensors}));
    std::vector<std::string> values(graph.tensors.size());
    for (const std::string& sample : samples_) {
      const absl::string_view inputs[] = {sample};
      EK_RETURN_IF_ERROR(interpreter->Run(inputs));
      for (size_t t = 0; t < graph.tensors.size(); ++t) {
        if (graph.tensors[t].is_constant()) continue;
        values[t] += std::string(interpreter->value(static_cast<int>(t)));
      }
    }
    return values;
  }

  // A command's weight in the tensor that it is a part of.
  static int64_t WeightIndex(const ConstantUse& use,
                             const compiler::Tensor& weights,
                             int64_t first_channel, int64_t index) {
    if (!use.depthwise) {
      return first_channel * use.window * use.input_channels + index;
    }
    return index / use.channels * weights.shape.back() + first_channel +
           index % use.channels;
  }

  // Smallest and largest value of a channel of an int8 tensor.
  std::pair<int, int> Span(compiler::TensorId tensor, int64_t channel) const {
    const std::string& values = values_[tensor];
    const int64_t channels = graph_.tensors[tensor].shape.back();
    std::pair<int, int> span = {127, -128};
    for (int64_t i = channel; i < static_cast<int64_t>(values.size());
         i += channels) {
      const int value = static_cast<signed char>(values[i]);
      span = {std::min(span.first, value), std::max(span.second, value)};
    }
    return span;
  }

  compiler::Graph graph_;
  v1::ResolvedTarget target_;
  compiler::EmitResult compiled_;
  std::vector<std::string> samples_;
  std::vector<Observation> reference_;  // By sample.
  std::vector<std::string> values_;     // Of the interpreter; ValuesOf().
  std::vector<ConstantUse> uses_;
};

// Gives changed constants their own name again: the digest alone would notice
// every change of them, and this is about what remains without it.
void Rename(compiler::EmitResult& mutant) {
  const Digest digest = DigestOf(mutant.constants);
  for (v1::Program::Segment& segment : *mutant.program.mutable_segments()) {
    segment.mutable_digest()->set_hash(digest.hash);
  }
}

struct Mutation {
  std::string where;
  bool must_show = true;
};

// One bit anywhere in the opcode, the register index or the reserved bits of a
// word, or in an immediate that is an address.
Mutation MutateStream(Part part, Rng& rng, v1::Program& program) {
  const int stream =
      static_cast<int>(rng.InRange(0, program.streams_size() - 1));
  std::string& code = *program.mutable_streams(stream)->mutable_code();
  const int bit = static_cast<int>(rng.InRange(0, 31));
  int64_t word =
      rng.InRange(0, static_cast<int64_t>(code.size()) / kWordBytes - 1);
  if (part == Part::kAddress) {
    const std::vector<int32_t> words = AddressWrites(code);
    word = words.at(rng.InRange(0, static_cast<int64_t>(words.size()) - 1));
  }
  // A command of one row does not care for the pitch between rows, and OP_CONV
  // does what OP_CONV_RELU does with a clamp of all of int8.
  const auto may_stay_the_same = [&](int64_t w) {
    return WritesRowPitch(code, w) || (part == Part::kCommand && bit == 0 &&
                                       code[w * kWordBytes] == kOpConv);
  };
  while (may_stay_the_same(word)) ++word;
  Flip(code, word * kWordBytes + (part == Part::kAddress ? 4 : 0) + bit / 8,
       bit % 8);
  return {absl::StrCat("stream ", stream, " word ", word, " bit ", bit)};
}

absl::StatusOr<Mutation> MutateConstant(const Network& network, Part part,
                                        Rng& rng, std::string& constants) {
  const ConstantUse& use = network.uses().at(
      rng.InRange(0, static_cast<int64_t>(network.uses().size()) - 1));
  Mutation mutation;
  int64_t index = rng.InRange(0, use.channels - 1);
  const int64_t entry = use.table_at + index * kTableEntryBytes;
  int bit = 0;
  if (part == Part::kWeight) {
    index = rng.InRange(0, use.weight_bytes() - 1);
    bit = static_cast<int>(rng.InRange(0, 7));
    Flip(constants, use.weights_at + index, bit);
  } else if (part == Part::kBias) {
    bit = static_cast<int>(rng.InRange(0, 31));
    Flip(constants, entry + bit / 8, bit % 8);
  } else {
    // The reference knows scales instead. At least a quarter of the multiplier
    // cannot vanish in the rounding of a channel that moves.
    bit = static_cast<int>(rng.InRange(29, 30));
    Flip(constants, entry + 4 + bit / 8, bit % 8);
  }
  mutation.where = absl::StrCat("stream ", use.stream, " word ", use.word,
                                " index ", index, " bit ", bit);
  if (part == Part::kMultiplier) {
    mutation.must_show = network.Moves(use, index);
    return mutation;
  }
  EK_ASSIGN_OR_RETURN(mutation.must_show,
                      network.ReferenceNotices(use, part, index, bit));
  return mutation;
}

class MutationTest
    : public testing::TestWithParam<std::tuple<const char*, PartCase>> {};

TEST_P(MutationTest, IsNoticed) {
  const auto& [name, part] = GetParam();
  const std::string file = absl::StrCat("models/", name, ".tflite");
  EK_REQUIRE_SHARED(file);
  const auto network = Network::Load(ReadWholeFile(SharedPath(file)));
  ASSERT_TRUE(network.ok()) << network.status();
  ASSERT_FALSE((*network)->uses().empty());
  ASSERT_FALSE((*network)->IsNoticed((*network)->compiled()));
  Rng rng(11);
  int shown = 0;
  for (int attempt = 0; attempt < 4 * kMutants && shown < kMutants; ++attempt) {
    compiler::EmitResult mutant = (*network)->compiled();
    Mutation mutation;
    if (part.part == Part::kCommand || part.part == Part::kAddress) {
      mutation = MutateStream(part.part, rng, mutant.program);
    } else {
      const auto made =
          MutateConstant(**network, part.part, rng, mutant.constants);
      ASSERT_TRUE(made.ok()) << made.status();
      mutation = *made;
      Rename(mutant);
    }
    const bool noticed = (*network)->IsNoticed(mutant);
    if (mutation.must_show) {
      EXPECT_TRUE(noticed) << mutation.where;
      ++shown;
    } else if (part.part != Part::kMultiplier) {
      // What the reference does not notice the chip must not, either.
      EXPECT_FALSE(noticed) << mutation.where;
    }
  }
  EXPECT_EQ(shown, kMutants);
}

INSTANTIATE_TEST_SUITE_P(
    All, MutationTest,
    testing::Combine(testing::Values("resnet8_int8", "dscnn_int8", "ad_int8",
                                     "person_detect_int8"),
                     testing::Values(PartCase{"command", Part::kCommand},
                                     PartCase{"address", Part::kAddress},
                                     PartCase{"weight", Part::kWeight},
                                     PartCase{"multiplier", Part::kMultiplier},
                                     PartCase{"bias", Part::kBias})),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param), "_",
                          std::get<1>(info.param).name);
    });

}  // namespace
}  // namespace edgekiln::tests
