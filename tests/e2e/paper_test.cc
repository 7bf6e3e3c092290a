// The evaluation of the paper that the DLA comes from (arXiv 2104.04576): its
// 28 design points on MobileNetV1 1.0/224 in recipe `paper`, from the rows of
// one sweep, and what recipe `default` makes of them.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using Json = nlohmann::json;

constexpr char kMobileNet[] =
    "models/mobilenet_v1_1.0_224_embedding_uint8.tflite";

struct Kind {
  int64_t cycles = 0;
  int64_t compute_cycles = 0;
  int64_t layers = 0;
  int64_t tiles = 0;
};

// One row.
struct Point {
  int64_t busy_cycles = 0;
  int64_t engine_macs = 0;
  int64_t macs = 0;
  std::map<std::string, Kind> kinds;  // Of the DLA.
};

// "native", "swdw", "nodw".
struct Chip {
  int pes;
  std::string parallel;
  std::string sram;
  std::string depthwise = "native";
  std::string Name() const {
    return absl::StrCat("dla-", pes, "-", parallel, "-", sram,
                        depthwise == "native" ? "" : "-" + depthwise);
  }
};

std::vector<Chip> DesignPoints() {
  std::vector<Chip> points;
  for (const int pes : {64, 128}) {
    for (const char* parallel : {"i", "o"}) {
      for (const char* sram : {"512k", "1m", "256m"}) {
        points.push_back({pes, parallel, sram});
      }
      for (const char* depthwise : {"swdw", "nodw"}) {
        points.push_back({pes, parallel, "512k", depthwise});
        points.push_back({pes, parallel, "256m", depthwise});
      }
    }
  }
  return points;
}

// Numbers of JSON are texts where they have 64 bits.
int64_t Number(const Json& json, const char* key) {
  if (!json.contains(key)) return 0;
  const Json& value = json[key];
  return value.is_string() ? std::stoll(value.get<std::string>())
                           : value.get<int64_t>();
}

Point PointOf(const Json& report) {
  Point point;
  for (const Json& engine : report["engines"]) {
    if (engine["name"] == "dla") {
      point.busy_cycles = Number(engine, "busy_cycles");
    }
  }
  point.macs = Number(report["totals"], "macs");
  point.engine_macs = Number(report["totals"], "engine_macs");
  for (const Json& kind : report["kinds"]) {
    if (kind["engine"] != "dla") continue;
    point.kinds[kind["kind"]] = {Number(kind, "cycles"),
                                 Number(kind, "compute_cycles"),
                                 Number(kind, "layers"), Number(kind, "tiles")};
  }
  return point;
}

class PaperTest : public ClusterTest {
 protected:
  // By recipe and target.
  using Points = std::map<std::pair<std::string, std::string>, Point>;

  Points Sweep(const std::string& model) {
    const Outcome outcome =
        cluster().Cli({"sweep", SharedPath(model), "--target", "dla-64-*",
                       "--target", "dla-128-*", "--recipe", "paper", "--recipe",
                       "default", "--timing-only", "--json", "--quiet"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome;
    Points points;
    for (const absl::string_view line : absl::StrSplit(outcome.out, '\n')) {
      if (line.empty()) continue;
      const Json row = Json::parse(line);
      if (row.contains("summary")) continue;
      EXPECT_EQ(row["state"], "done") << line;
      points[{row["recipe"], row["target"]}] = PointOf(row["report"]);
    }
    return points;
  }
};

TEST_F(PaperTest, ItsClaimsHoldAndAreBeaten) {
  EK_REQUIRE_SHARED(kMobileNet);
  const Points points = Sweep(kMobileNet);
  ASSERT_EQ(points.size(), 56u);
  const auto paper = [&](const Chip& chip) -> const Point& {
    return points.at({"paper", chip.Name()});
  };
  const auto cycles = [&](const Chip& chip) { return paper(chip).busy_cycles; };

  for (const int pes : {64, 128}) {
    SCOPED_TRACE(absl::StrCat(pes, " PEs"));
    // F1: without tiling, early layers have few input channels.
    EXPECT_LT(cycles({pes, "o", "256m"}), cycles({pes, "i", "256m"}));
    // F2: tiles of few output channels starve the output-parallel array.
    EXPECT_LT(cycles({pes, "i", "512k"}), cycles({pes, "o", "512k"}));
    // F4: not linear in SRAM: twice as much saves more than 256 times as much.
    EXPECT_GT(cycles({pes, "o", "512k"}) - cycles({pes, "o", "1m"}),
              cycles({pes, "o", "1m"}) - cycles({pes, "o", "256m"}));
    // F7: of input-parallel convolutions only the fill depends on tiles.
    std::set<int64_t> without_fill;
    for (const char* sram : {"512k", "1m", "256m"}) {
      const Kind conv = paper({pes, "i", sram}).kinds.at("CONV");
      without_fill.insert(conv.compute_cycles - 8 * conv.tiles);
    }
    EXPECT_EQ(without_fill.size(), 1u);
  }
  for (const char* parallel : {"i", "o"}) {
    SCOPED_TRACE(parallel);
    // F3: more PEs are worth more than more SRAM.
    EXPECT_LT(cycles({128, parallel, "1m"}), cycles({64, parallel, "256m"}));
  }
  for (const Chip& chip : DesignPoints()) {
    SCOPED_TRACE(chip.Name());
    const Point& point = paper(chip);
    Chip native = chip;
    native.depthwise = "native";
    // F5: one filter at a time.
    if (chip.depthwise == "swdw") {
      EXPECT_GT(point.busy_cycles, paper(native).busy_cycles * 3 / 2);
      EXPECT_GT(point.kinds.at("DEPTH").compute_cycles,
                20 * paper(native).kinds.at("DEPTH").compute_cycles);
    }
    // F6 and F9: what is accelerated, and as which kinds.
    EXPECT_EQ(point.kinds.count("CONV"), 1u);
    EXPECT_EQ(point.kinds.count("REQUANT"), 1u);
    EXPECT_EQ(point.kinds.count("DEPTH"), chip.depthwise == "nodw" ? 0u : 1u);
    if (chip.depthwise == "nodw") {
      EXPECT_LT(point.engine_macs, paper(native).engine_macs);
    } else {
      EXPECT_EQ(point.engine_macs, point.macs);
    }
    // The largest memory never tiles.
    if (chip.sram == "256m") {
      for (const char* kind : {"CONV", "REQUANT", "DEPTH"}) {
        const auto found = point.kinds.find(kind);
        if (found == point.kinds.end()) continue;
        EXPECT_EQ(found->second.tiles, found->second.layers) << kind;
      }
    }
    // F8: more PEs never cost cycles, and gain less than their number.
    if (chip.pes == 64) {
      Chip twice = chip;
      twice.pes = 128;
      EXPECT_LE(cycles(twice), point.busy_cycles);
      EXPECT_GT(2 * cycles(twice), point.busy_cycles);
    }
    const Point& beaten = points.at({"default", chip.Name()});
    EXPECT_LT(beaten.busy_cycles, point.busy_cycles);
    EXPECT_EQ(beaten.engine_macs, point.engine_macs);
    RecordProperty(chip.Name(),
                   absl::StrCat(beaten.busy_cycles, "/", point.busy_cycles));
  }
  // What the paper's flow leaves to be had, docs/targets/dla.md section 8.
  const auto ratio = [&](const Chip& chip) {
    return static_cast<double>(
               points.at({"default", chip.Name()}).busy_cycles) /
           static_cast<double>(cycles(chip));
  };
  EXPECT_LE(ratio({64, "o", "512k"}), 0.28);
  EXPECT_LE(ratio({64, "o", "256m"}), 0.83);
}

// What the authors' flow cut into three: one subgraph, of which only the result
// goes back to memory.
TEST_F(PaperTest, NetworksOnDigitsStayOneSubgraph) {
  for (const char* model :
       {"models/mnist_cnn_fp32.onnx", "models/mnist_mlp_fp32.onnx"}) {
    SCOPED_TRACE(model);
    EK_REQUIRE_SHARED(model);
    const Outcome outcome =
        cluster().Cli({"profile", SharedPath(model), "--target",
                       "dla-64-o-512k", "--timing-only", "--json", "--quiet"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome;
    const Json report = Json::parse(outcome.out);
    std::set<int64_t> subgraphs;
    int layers = 0;
    int written = 0;
    for (const Json& layer : report["layers"]) {
      if (layer["engine"] != "dla") continue;
      ++layers;
      subgraphs.insert(Number(layer, "subgraph"));
      if (Number(layer, "dma_bytes_written") > 0) ++written;
    }
    EXPECT_GT(layers, 2);
    EXPECT_EQ(subgraphs.size(), 1u);
    EXPECT_EQ(written, 1);
  }
}

}  // namespace
}  // namespace edgekiln::tests
