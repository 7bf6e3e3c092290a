#ifndef EK_TESTS_BENCH_LABELLED_NETWORKS_H_
#define EK_TESTS_BENCH_LABELLED_NETWORKS_H_

// Float networks with samples to calibrate on and others to measure on, and
// how far a quantized network is from the float one.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/dataset/convert.h"
#include "compiler/ir/graph.h"
#include "tests/support/npz.h"

namespace edgekiln::bench {

struct LabelledNetwork {
  const char* name;
  const char* model;        // As the data: see Folders.
  const char* calibration;  // Its first `calibrated` samples.
  int64_t calibrated;
  const char* data;
  int64_t first;  // Of `data`, that is measured.
  double scale;   // Of the samples, before `offset` is added.
  double offset;
};

absl::Span<const LabelledNetwork> LabelledNetworks();

// Whether its samples are those of a file, not made by the bench.
bool HasFiles(const LabelledNetwork& network);

// Where the files are. Names that begin with "example/" lie in `example`,
// others in models/ or data/ of `shared`.
struct Folders {
  std::string shared = "../shared";
  std::string example = "docs/example";

  std::string PathOf(absl::string_view file, absl::string_view kind) const;
};

using Arrays = std::map<std::string, tests::NpyArray>;

// `count` samples from `first` on, as the bytes of an .npz; all the rest
// without `count`.
std::string Samples(const Arrays& arrays, int64_t first,
                    std::optional<int64_t> count = std::nullopt);

// 192 pictures: each of photos_4 48 times, changed.
std::string AugmentedPhotos(const Folders& folders);

struct LoadedNetwork {
  compiler::Graph graph;
  compiler::ConvertedData calibration;
  compiler::ConvertedData data;
};

// Aborts the program if a file is absent.
LoadedNetwork Load(const LabelledNetwork& network, const Folders& folders);

// The first outputs of all samples.
std::vector<std::vector<float>> Outputs(const compiler::Graph& graph,
                                        const compiler::ConvertedData& data);

// Median CPU seconds of each. Runs them in turns, so that others who have the
// processor, too, slow all of them down: five times, or three times if a turn
// takes long.
std::vector<double> MedianSeconds(
    const std::vector<std::function<void()>>& subjects);

struct Measured {
  double decibels = 0;  // Signal to noise of all outputs.
  int64_t samples = 0;
  int64_t agree = 0;  // Have the float network's best class.
  int64_t correct = 0;
  int64_t float_correct = 0;
  int64_t labelled = 0;

  double AgreePercent() const {
    return 100.0 * static_cast<double>(agree) / static_cast<double>(samples);
  }
};

Measured Compare(const std::vector<std::vector<float>>& real,
                 const std::vector<std::vector<float>>& quantized,
                 const std::optional<v1::Labels>& labels);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_LABELLED_NETWORKS_H_
