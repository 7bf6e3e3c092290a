// Any bytes as a sweep's request and as a target's file give a plan or an
// error: the first byte says where the one ends and the other begins.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/sweep.pb.h"
#include "server/sweep/plan_sweep.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  absl::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t split = input.size() * data[0] / 255;
  edgekiln::v1::SweepRequest request;
  if (!request.ParseFromArray(input.data(), static_cast<int>(split))) return 0;
  // So that names of targets are reached without a file.
  const std::vector<absl::string_view> files(64, input.substr(split));
  constexpr int64_t kMaxCells = 500;
  // As if the models of the first group had come quantized.
  const edgekiln::v1::SweepGroup quantized =
      request.groups().empty() ? edgekiln::v1::SweepGroup() : request.groups(0);
  edgekiln::v1::SweepPlan kept;
  kept.add_cells();
  kept.add_variants()->set_name("dla-64-o-512k");
  (void)edgekiln::server::PlanSweep(request, files, kMaxCells, quantized, kept);
  return 0;
}
