// A network with a state, chunk by chunk: what passes between chunks, and that
// their borders change nothing.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "compiler/ir/text.h"
#include "edgekiln/v1/graph.pb.h"
#include "gtest/gtest.h"
#include "server/stage_versions.h"
#include "server/worker/stage_table.h"
#include "target/builtin.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kSamples = 5;

// Sums of all inputs so far, and of the sample before.
constexpr char kSum[] = R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%h : int8[1,1,1,4] scale 0.5 zero 3 = input
%n : int8[1,1,1,4] scale 0.5 zero 3 = add(%x, %h) id n
%y : int8[1,1,1,4] scale 1 zero 0 = add(%n, %h) id y
return %y, %n states %h = %n
)";

std::string GraphBytes(const std::string& text) {
  const auto graph = compiler::ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? compiler::GraphToProto(*graph).SerializeAsString() : "";
}

v1::StageOptions Stage(void (*choose)(v1::StageOptions&)) {
  v1::StageOptions options;
  choose(options);
  return options;
}

using Blobs = std::map<std::string, std::string>;

// Blobs in their order.
class Source : public InputSource {
 public:
  explicit Source(const Blobs& blobs) {
    for (const auto& [role, bytes] : blobs) bytes_.emplace_back(bytes);
  }
  absl::StatusOr<std::vector<absl::string_view>> Get(
      const std::vector<int>& positions) override {
    std::vector<absl::string_view> views;
    for (const int position : positions) {
      views.push_back(bytes_[static_cast<size_t>(position)]);
    }
    return views;
  }

 private:
  std::vector<absl::string_view> bytes_;
};

// As a worker that did all that was done before: interpreters and sessions have
// run other samples.
absl::StatusOr<StageOutput> Try(const v1::StageOptions& options,
                                const Blobs& blobs) {
  static WarmCache& warm = *new WarmCache(int64_t{1} << 30);
  Source source(blobs);
  StageInputs inputs(&source, &warm);
  for (const auto& [role, bytes] : blobs) inputs.Add(role, DigestOf(bytes));
  return RunStage(options, inputs, [](const v1::StageProgress&) {});
}

StageOutput RunOne(const v1::StageOptions& options, const Blobs& blobs) {
  const auto output = Try(options, blobs);
  EXPECT_TRUE(output.ok()) << StageName(options.options_case()) << ": "
                           << output.status();
  return output.ok() ? *output : StageOutput();
}

Blobs Only(const Blobs& blobs, const std::set<std::string>& roles) {
  Blobs only;
  for (const std::string& role : roles) {
    if (const auto it = blobs.find(role); it != blobs.end()) only.insert(*it);
  }
  return only;
}

class SequenceStagesTest : public testing::Test {
 protected:
  SequenceStagesTest() {
    blobs_["graph"] = GraphBytes(kSum);
    blobs_["target"] = target::BuiltinTargets()[0].text;
    const auto make = [&](const v1::StageOptions& options,
                          const std::set<std::string>& roles) {
      const StageOutput output = RunOne(options, Only(blobs_, roles));
      for (const auto& [role, bytes] : output.blobs) blobs_[role] = bytes;
    };
    make(Stage([](auto& o) { o.mutable_resolve_target(); }), {"target"});
    make(Stage([](auto& o) { o.mutable_partition(); }),
         {"graph", "capabilities"});
    make(Stage([](auto& o) { o.mutable_tile(); }), {"partition", "machine"});
    make(Stage([](auto& o) { o.mutable_emit(); }),
         {"partition", "tiling", "machine"});
  }

  // Of all samples.
  std::vector<std::string> Chunks(int chunk_samples) const {
    v1::StageOptions options;
    options.mutable_synthesize_data()->set_seed(1);
    options.mutable_synthesize_data()->set_samples(kSamples);
    options.mutable_synthesize_data()->set_chunk_samples(chunk_samples);
    const StageOutput output = RunOne(options, Only(blobs_, {"graph"}));
    EXPECT_TRUE(output.summary.data().sequential());
    std::vector<std::string> chunks;
    for (const auto& [role, bytes] : output.blobs) chunks.push_back(bytes);
    return chunks;
  }

  struct Result {
    std::vector<std::string> outputs;
    std::vector<std::string> digests;  // By chunk.
    std::string last_states;
    int64_t mismatches = 0;
    std::string first_mismatch;
  };

  // A stage on every chunk, each with what the one before left; `digests` are
  // null or by chunk.
  Result RunAll(const v1::StageOptions& options, const Blobs& blobs,
                const std::vector<std::string>& chunks,
                const std::vector<std::string>* digests = nullptr) const {
    Result result;
    Blobs inputs = blobs;
    for (size_t i = 0; i < chunks.size(); ++i) {
      inputs["chunk"] = chunks[i];
      if (digests != nullptr) inputs["digests"] = (*digests)[i];
      const StageOutput output = RunOne(options, inputs);
      for (const auto& [role, bytes] : output.blobs) {
        if (role == "states") {
          inputs["states"] = result.last_states = bytes;
        } else if (role == "digests") {
          result.digests.push_back(bytes);
        } else {
          v1::Chunk chunk;
          EXPECT_TRUE(chunk.ParseFromString(bytes));
          result.outputs.resize(static_cast<size_t>(chunk.arrays_size()));
          for (int a = 0; a < chunk.arrays_size(); ++a) {
            result.outputs[static_cast<size_t>(a)] += chunk.arrays(a).data();
          }
        }
      }
      const auto& samples = output.summary.samples();
      result.mismatches += samples.mismatches();
      if (result.first_mismatch.empty()) {
        result.first_mismatch = samples.first_mismatch();
      }
    }
    return result;
  }

  Blobs ChipInputs() const {
    return Only(blobs_, {"program", "constants", "machine", "graph"});
  }

  const v1::StageOptions interpret_ =
      Stage([](auto& o) { o.mutable_interpret()->set_digest_tensors(true); });
  const v1::StageOptions simulate_ =
      Stage([](auto& o) { o.mutable_simulate()->set_compare_layers(true); });
  Blobs blobs_;
};

TEST_F(SequenceStagesTest, BordersOfChunksChangeNothing) {
  const Result whole =
      RunAll(interpret_, Only(blobs_, {"graph"}), Chunks(kSamples));
  ASSERT_EQ(whole.outputs.size(), 2u);
  EXPECT_EQ(whole.outputs[1].size(), 4u * kSamples);
  v1::Chunk given;
  ASSERT_TRUE(given.ParseFromString(Chunks(kSamples)[0]));
  EXPECT_EQ(whole.outputs[1].substr(0, 4), given.arrays(0).data().substr(0, 4));
  EXPECT_NE(whole.outputs[1].substr(4, 4), given.arrays(0).data().substr(4, 4));
  for (const int size : {1, 2, 5}) {
    const std::vector<std::string> chunks = Chunks(size);
    const Result interpreted =
        RunAll(interpret_, Only(blobs_, {"graph"}), chunks);
    EXPECT_EQ(interpreted.outputs, whole.outputs);
    EXPECT_EQ(interpreted.last_states, whole.last_states);
    const Result by_value = RunAll(simulate_, ChipInputs(), chunks);
    const Result by_digest =
        RunAll(simulate_, ChipInputs(), chunks, &interpreted.digests);
    for (const Result& simulated : {by_value, by_digest}) {
      EXPECT_EQ(simulated.outputs, whole.outputs);
      EXPECT_EQ(simulated.mismatches, 0) << simulated.first_mismatch;
    }
    EXPECT_EQ(by_value.last_states, by_digest.last_states);
  }
}

// The reference goes on with its own states, the chip with the chip's.
TEST_F(SequenceStagesTest, AWrongChipIsToldTheSameWithDigestsAndWithout) {
  blobs_["graph"] = GraphBytes(
      absl::StrReplaceAll(kSum, {{"add(%x, %h) id n", "add(%h, %h) id n"}}));
  const std::vector<std::string> whole = Chunks(kSamples);
  const Result at_once = RunAll(simulate_, ChipInputs(), whole);
  EXPECT_GT(at_once.mismatches, 0);
  for (const int size : {1, 2}) {
    const std::vector<std::string> chunks = Chunks(size);
    const Result interpreted =
        RunAll(interpret_, Only(blobs_, {"graph"}), chunks);
    const Result by_value = RunAll(simulate_, ChipInputs(), chunks);
    const Result by_digest =
        RunAll(simulate_, ChipInputs(), chunks, &interpreted.digests);
    for (const Result& simulated : {by_value, by_digest}) {
      EXPECT_EQ(simulated.outputs, at_once.outputs);
      EXPECT_EQ(simulated.mismatches, at_once.mismatches);
      EXPECT_EQ(simulated.first_mismatch, at_once.first_mismatch);
      EXPECT_EQ(simulated.last_states, at_once.last_states);
    }
  }
}

// Arrays for the state: every sample begins with its own.
TEST_F(SequenceStagesTest, SamplesThatGiveTheStateStandAlone) {
  v1::Chunk chunk;
  ASSERT_TRUE(chunk.ParseFromString(Chunks(kSamples)[0]));
  v1::Chunk::Array& state = *chunk.mutable_arrays(1);
  ASSERT_TRUE(state.carried());
  state.set_carried(false);
  state.set_data(std::string(4 * kSamples, '\3'));
  const std::vector<std::string> chunks = {chunk.SerializeAsString()};
  const Result interpreted =
      RunAll(interpret_, Only(blobs_, {"graph"}), chunks);
  const Result simulated =
      RunAll(simulate_, ChipInputs(), chunks, &interpreted.digests);
  EXPECT_EQ(interpreted.outputs[1], chunk.arrays(0).data());
  EXPECT_EQ(simulated.outputs, interpreted.outputs);
  EXPECT_EQ(simulated.mismatches, 0);
  EXPECT_EQ(simulated.last_states, "");
}

TEST_F(SequenceStagesTest, StatesOfAnotherChunkAreABug) {
  const std::vector<std::string> chunks = Chunks(2);
  Blobs interpret = Only(blobs_, {"graph"});
  const Result first = RunAll(interpret_, interpret, {chunks[0]});
  for (const bool chip : {false, true}) {
    const v1::StageOptions& stage = chip ? simulate_ : interpret_;
    Blobs inputs = chip ? ChipInputs() : interpret;
    inputs["chunk"] = chunks[1];
    EXPECT_EQ(Try(stage, inputs).status().code(), absl::StatusCode::kInternal);
    // The chip's are not among those of the interpreter.
    inputs["states"] = first.last_states;
    EXPECT_EQ(Try(stage, inputs).ok(), !chip);
    inputs["chunk"] = chunks[2];
    EXPECT_EQ(Try(stage, inputs).status().code(), absl::StatusCode::kInternal);
    v1::ChunkStates cut;
    ASSERT_TRUE(cut.ParseFromString(first.last_states));
    cut.mutable_reference(0)->pop_back();
    inputs["chunk"] = chunks[1];
    inputs["states"] = cut.SerializeAsString();
    EXPECT_EQ(Try(stage, inputs).status().code(), absl::StatusCode::kInternal);
  }
}

}  // namespace
}  // namespace edgekiln::server
