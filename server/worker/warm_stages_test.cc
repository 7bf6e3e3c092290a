// What workers keep between leases changes no byte of any result, and spares
// them the inputs it was made of.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "gtest/gtest.h"
#include "server/stage_versions.h"
#include "server/worker/stage_table.h"
#include "target/builtin.h"
#include "tests/support/shared_data.h"

namespace edgekiln::server {
namespace {

constexpr size_t kChunks = 3;

using Blobs = std::vector<std::pair<std::string, std::string>>;

v1::StageOptions Stage(void (*choose)(v1::StageOptions&)) {
  v1::StageOptions options;
  choose(options);
  return options;
}

// Hands out blobs and notes the roles of those that were asked for.
class Source : public InputSource {
 public:
  explicit Source(const Blobs& blobs) : blobs_(blobs) {}
  absl::StatusOr<std::vector<absl::string_view>> Get(
      const std::vector<int>& positions) override {
    std::vector<absl::string_view> views;
    for (const int position : positions) {
      const auto& [role, bytes] = blobs_[static_cast<size_t>(position)];
      asked_.insert(role);
      views.emplace_back(bytes);
    }
    return views;
  }
  const std::set<std::string>& asked() const { return asked_; }

 private:
  const Blobs& blobs_;
  std::set<std::string> asked_;
};

// One stage of one chunk.
struct Lease {
  v1::StageOptions options;
  Blobs blobs;

  // All that the stage says, as text. `asked` gets the roles it read.
  std::string Run(WarmCache* warm, std::set<std::string>* asked) const {
    Source source(blobs);
    StageInputs inputs(&source, warm);
    for (const auto& [role, bytes] : blobs) inputs.Add(role, DigestOf(bytes));
    const auto output =
        RunStage(options, inputs, [](const v1::StageProgress&) {});
    EXPECT_TRUE(output.ok())
        << StageName(options.options_case()) << ": " << output.status();
    if (!output.ok()) return "";
    if (asked != nullptr) *asked = source.asked();
    std::string all = output->summary.DebugString();
    for (const auto& [role, bytes] : output->blobs) all += role + "=" + bytes;
    for (const std::string& warning : output->warnings) all += warning;
    return all;
  }
};

// A network on its way to a chip: blobs by role; chunks aside.
class Network {
 public:
  Network(const std::string& model, const std::string& data,
          const std::string& target) {
    blobs_["model"] = tests::ReadWholeFile(tests::SharedPath(model));
    blobs_["data"] = tests::ReadWholeFile(tests::SharedPath(data));
    for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
      if (builtin.name == target) blobs_["target"] = builtin.text;
    }
    Run(Stage([](auto& o) { o.mutable_import(); }), {"model"});
    Run(Stage([](auto& o) { o.mutable_simplify(); }), {"graph"});
    Run(Stage([](auto& o) {
          o.mutable_convert_data()->set_limit(16 * kChunks);
          o.mutable_convert_data()->set_chunk_samples(16);
        }),
        {"data", "graph"});
    Run(Stage([](auto& o) { o.mutable_resolve_target(); }), {"target"});
    Run(Stage([](auto& o) { o.mutable_partition(); }),
        {"graph", "capabilities"});
    Run(Stage([](auto& o) { o.mutable_tile(); }), {"partition", "machine"});
    Run(Stage([](auto& o) { o.mutable_emit(); }),
        {"partition", "tiling", "machine"});
  }

  // Everything that is done with one chunk, and the cycles.
  std::vector<Lease> Leases(size_t chunk) const {
    std::vector<Lease> leases;
    const auto add = [&](const v1::StageOptions& options,
                         const std::vector<std::string>& roles) {
      Lease& lease = leases.emplace_back(Lease{options, {}});
      for (const std::string& role : roles) {
        if (role == "chunk") {
          lease.blobs.emplace_back(role, chunks_.at(chunk));
        } else if (blobs_.count(role) > 0) {
          lease.blobs.emplace_back(role, blobs_.at(role));
        }
      }
    };
    add(Stage([](auto& o) { o.mutable_interpret(); }),
        {"graph", "chunk", "labels"});
    add(Stage([](auto& o) { o.mutable_simulate()->set_compare_layers(true); }),
        {"program", "constants", "machine", "graph", "chunk", "labels"});
    add(Stage([](auto& o) { o.mutable_simulate(); }),
        {"program", "constants", "machine", "graph", "chunk", "labels"});
    add(Stage([](auto& o) { o.mutable_count_cycles(); }),
        {"program", "constants", "machine"});
    add(Stage([](auto& o) { o.mutable_check_fit(); }),
        {"outline", "capabilities", "machine"});
    add(Stage([](auto& o) { o.mutable_check_fit()->set_offload(v1::PAYING); }),
        {"outline", "capabilities", "machine"});
    add(Stage([](auto& o) { o.mutable_tile(); }), {"partition", "machine"});
    add(Stage([](auto& o) { o.mutable_emit(); }),
        {"partition", "tiling", "machine"});
    add(Stage([](auto& o) { o.mutable_count_cycles()->set_timing_only(true); }),
        {"program", "machine"});
    return leases;
  }

 private:
  void Run(const v1::StageOptions& options,
           const std::vector<std::string>& roles) {
    StageInputs inputs;
    for (const std::string& role : roles) inputs.Add(role, blobs_[role]);
    const auto output =
        RunStage(options, inputs, [](const v1::StageProgress&) {});
    ASSERT_TRUE(output.ok())
        << StageName(options.options_case()) << ": " << output.status();
    for (const auto& [role, bytes] : output->blobs) {
      if (role == "chunk") {
        chunks_.push_back(bytes);
      } else {
        blobs_[role] = bytes;
      }
    }
  }

  std::map<std::string, std::string> blobs_;
  std::vector<std::string> chunks_;
};

// Two networks, one of them on two chips.
std::vector<Network> Networks() {
  return {
      Network("models/resnet8_int8.tflite", "data/cifar10_ic_100.npz",
              "dla-64-o-512k"),
      Network("models/resnet8_int8.tflite", "data/cifar10_ic_100.npz",
              "dla-128-i-1m"),
      Network("models/dscnn_int8.tflite", "data/kws_500.npz", "dla-64-o-512k")};
}

class WarmStagesTest : public testing::TestWithParam<int64_t> {};

TEST_P(WarmStagesTest, GiveWhatColdOnesGive) {
  EK_REQUIRE_SHARED("models/resnet8_int8.tflite");
  EK_REQUIRE_SHARED("models/dscnn_int8.tflite");
  EK_REQUIRE_SHARED("data/cifar10_ic_100.npz");
  EK_REQUIRE_SHARED("data/kws_500.npz");
  const std::vector<Network> networks = Networks();
  WarmCache warm(GetParam());
  // In turns, so that everything kept is met by everything else; chunks of the
  // second round backwards.
  for (const bool again : {false, true}) {
    for (size_t i = 0; i < kChunks; ++i) {
      for (const Network& network : networks) {
        for (const Lease& lease : network.Leases(again ? kChunks - 1 - i : i)) {
          EXPECT_TRUE(lease.Run(&warm, nullptr) == lease.Run(nullptr, nullptr))
              << StageName(lease.options.options_case()) << " of chunk " << i;
          EXPECT_LE(warm.bytes(), GetParam());
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Limits, WarmStagesTest,
                         testing::Values(int64_t{0}, int64_t{700} << 10,
                                         int64_t{256} << 20),
                         [](const auto& info) {
                           return std::to_string(info.param >> 10) + "KiB";
                         });

TEST(WarmSimulationTest, ReadNothingButTheChunk) {
  EK_REQUIRE_SHARED("models/resnet8_int8.tflite");
  EK_REQUIRE_SHARED("data/cifar10_ic_100.npz");
  const Network network("models/resnet8_int8.tflite", "data/cifar10_ic_100.npz",
                        "dla-64-o-512k");
  WarmCache warm(int64_t{256} << 20);
  for (const Lease& lease : network.Leases(0)) lease.Run(&warm, nullptr);
  for (const Lease& lease : network.Leases(1)) {
    if (!lease.options.has_simulate() && !lease.options.has_interpret()) {
      continue;
    }
    std::set<std::string> asked;
    lease.Run(&warm, &asked);
    EXPECT_EQ(asked, std::set<std::string>{"chunk"})
        << StageName(lease.options.options_case());
  }
}

// As the variants of a chip in a sweep: what their stages share is read once.
TEST(WarmCompilingTest, ReadsNothingThatVariantsShare) {
  EK_REQUIRE_SHARED("models/resnet8_int8.tflite");
  EK_REQUIRE_SHARED("data/cifar10_ic_100.npz");
  const auto network = [](const std::string& target) {
    return Network("models/resnet8_int8.tflite", "data/cifar10_ic_100.npz",
                   target);
  };
  WarmCache warm(int64_t{256} << 20);
  for (const Lease& lease : network("dla-64-o-512k").Leases(0)) {
    lease.Run(&warm, nullptr);
  }
  const std::map<v1::StageOptions::OptionsCase, std::set<std::string>> want = {
      {v1::StageOptions::kCheckFit, {"machine"}},
      // It has just been read.
      {v1::StageOptions::kTile, {}},
      {v1::StageOptions::kEmit, {"tiling"}},
      {v1::StageOptions::kCountCycles, {"program"}}};
  bool is_first = true;
  for (const Lease& lease : network("dla-64-o-1m").Leases(0)) {
    const auto stage = want.find(lease.options.options_case());
    if (stage == want.end()) continue;
    if (lease.options.has_count_cycles() &&
        !lease.options.count_cycles().timing_only()) {
      continue;
    }
    std::set<std::string> asked;
    lease.Run(&warm, &asked);
    if (lease.options.has_check_fit() && !std::exchange(is_first, false)) {
      EXPECT_EQ(asked, std::set<std::string>());
    } else {
      EXPECT_EQ(asked, stage->second) << StageName(stage->first);
    }
  }
}

TEST(StageInputsTest, FetchAsksOnceForWhatIsNotThere) {
  class Questions : public InputSource {
   public:
    absl::StatusOr<std::vector<absl::string_view>> Get(
        const std::vector<int>& positions) override {
      asked.push_back(positions);
      return std::vector<absl::string_view>(positions.size(), "bytes");
    }
    std::vector<std::vector<int>> asked;
  } source;
  StageInputs inputs(&source, /*warm=*/nullptr);
  inputs.Add("machine", DigestOf("bytes"));
  inputs.Add("graph", DigestOf("bytes"));
  inputs.Add("tiling", absl::string_view("bytes"));
  inputs.Add("chunk", DigestOf("bytes"));
  inputs.Add("chunk", DigestOf("bytes"));
  EXPECT_TRUE(inputs.Fetch({"chunk", "machine", "tiling", "absent"}).ok());
  EXPECT_TRUE(inputs.Fetch({"tiling"}).ok());
  EXPECT_EQ(source.asked, (std::vector<std::vector<int>>{{0, 3, 4}}));
}

}  // namespace
}  // namespace edgekiln::server
