// A child whose stages misbehave in all the ways that children can. Stage names
// are only labels here.

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/worker/child_main.h"

namespace edgekiln::server {
namespace {

std::string OpenDescriptors() {
  std::string all;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    absl::StrAppend(&all, entry.path().filename().string(), " ");
  }
  return all;
}

void Exhaust() {
  std::vector<std::unique_ptr<std::string>> blocks;
  while (true) blocks.push_back(std::make_unique<std::string>(64 << 20, 'x'));
}

absl::StatusOr<StageOutput> Misbehave(const v1::StageOptions& options,
                                      const StageInputs& inputs,
                                      const ProgressSink& progress) {
  StageOutput output;
  switch (options.options_case()) {
    case v1::StageOptions::kImport: {
      const auto model = inputs.One("model");
      if (!model.ok()) return model.status();
      output.Add("graph", absl::StrCat("graph of ", *model));
      output.summary.mutable_import()->set_format("test");
      output.warnings.push_back("beware");
      return output;
    }
    case v1::StageOptions::kSimplify:
      return absl::InvalidArgumentError("the user did it");
    case v1::StageOptions::kQuantize:
      return absl::InternalError("we did it");
    case v1::StageOptions::kDescribe:
      abort();
    case v1::StageOptions::kEmit:
      raise(SIGKILL);
      return output;
    case v1::StageOptions::kBundle:
      _exit(7);
    case v1::StageOptions::kTile:
      Exhaust();
      return output;
    case v1::StageOptions::kPartition:
      while (true) pause();
    case v1::StageOptions::kCalibrate:
      for (int i = 1; i <= 3; ++i) {
        usleep(150 * 1000);
        v1::StageProgress state;
        state.set_done(i);
        progress(state);
      }
      return output;
    case v1::StageOptions::kResolveTarget:
      output.Add("pid", absl::StrCat(getpid()));
      output.Add("descriptors", OpenDescriptors());
      return output;
    default:
      return absl::InternalError("no such behaviour");
  }
}

}  // namespace
}  // namespace edgekiln::server

int main(int argc, char** argv) {
  return edgekiln::server::ServeChild({.memory_limit_bytes = int64_t{1} << 30,
                                       .crash_stage = argc > 1 ? argv[1] : ""},
                                      edgekiln::server::Misbehave);
}
