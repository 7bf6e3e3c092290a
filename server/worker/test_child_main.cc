// A child whose stages misbehave in all the ways that children can. Stage names
// are only labels here.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/worker/child_main.h"
#include "server/worker/child_process.h"
#include "server/worker/message_channel.h"
#include "server/worker/test_child.h"

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

void AllocateAtOnce() { std::string(size_t{8} << 30, 'x'); }
void AllocateUncaught() noexcept { AllocateAtOnce(); }

// Not tail recursive, in spite of optimization.
int64_t Recurse(volatile int64_t* depth) {
  volatile int64_t frame[64];
  frame[0] = *depth + 1;
  return frame[0] < 0 ? 0 : Recurse(frame) + frame[0];
}

void End(RunOut how) {
  switch (how) {
    case RunOut::kMachine: {
      // What the machine has is less than what the options promise.
      rlimit less = {};
      getrlimit(RLIMIT_AS, &less);
      less.rlim_cur = size_t{512} << 20;
      setrlimit(RLIMIT_AS, &less);
      return Exhaust();
    }
    case RunOut::kAtOnce:
      return AllocateAtOnce();
    case RunOut::kNoexcept:
      return AllocateUncaught();
    case RunOut::kLength:
      return std::vector<int64_t>().resize(~size_t{0});
    case RunOut::kStack: {
      volatile int64_t start = 0;
      Recurse(&start);
      return;
    }
    case RunOut::kNothing: {
      volatile int* volatile nowhere = nullptr;
      *nowhere = 1;
      return;
    }
  }
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
    case v1::StageOptions::kConvertData:
      End(static_cast<RunOut>(options.convert_data().limit()));
      return output;
    case v1::StageOptions::kCalibrate:
      for (int i = 1; i <= 3; ++i) {
        usleep(150 * 1000);
        v1::StageProgress state;
        state.set_done(i);
        progress(state);
      }
      return output;
    case v1::StageOptions::kInterpret: {
      // Remembers what it has made of its "graph".
      const auto prepared = inputs.Prepared<std::string>(
          {"graph"}, "", [&]() -> absl::StatusOr<std::shared_ptr<std::string>> {
            const auto graph = inputs.One("graph");
            if (!graph.ok()) return graph.status();
            return std::make_shared<std::string>(
                absl::StrCat("ready ", *graph));
          });
      if (!prepared.ok()) return prepared.status();
      const auto chunks = inputs.All("chunk");
      if (!chunks.ok()) return chunks.status();
      // Counts its uses, as nothing but a test may.
      **prepared += ".";
      output.Add("chunk", absl::StrCat(**prepared, absl::StrJoin(*chunks, "")));
      return output;
    }
    case v1::StageOptions::kPackOutputs: {
      static bool before = false;
      if (!std::exchange(before, true)) throw std::bad_alloc();
      return output;
    }
    case v1::StageOptions::kSynthesizeData: {
      v1::ChildReply reply;
      reply.mutable_need()->add_inputs(7);
      MessageChannel(dup(kChildChannelFd)).Send(reply, {}).IgnoreError();
      while (true) pause();
    }
    case v1::StageOptions::kCheckFit:
      output.warnings.push_back(std::string(1 << 20, 'w'));
      return output;
    case v1::StageOptions::kSetIo:
      for (int i = 0; i < 65; ++i) {
        output.warnings.push_back(std::string(1 << 20, 'w'));
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
