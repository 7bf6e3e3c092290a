#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/daemon/farm/dispatcher.h"
#include "target/firmware.h"

// Stages that need a compiler go to the workers that have it.

namespace edgekiln::server {
namespace {

// Debian's; the program itself if it is none that we know.
std::string PackageOf(const v1::Compiler& wanted) {
  for (const target::ProcessorInfo& processor : target::Processors()) {
    for (const target::CompilerUse& use : processor.compilers) {
      if (use.program == wanted.program()) return use.package;
    }
  }
  return SanitizeText(wanted.program(), 128);
}

// `other`: a worker has one of that name, of other files.
absl::Status NoCompiler(const v1::Compiler& wanted, absl::string_view stage,
                        const v1::Compiler* other) {
  constexpr size_t kShownDigits = 12;
  const std::string program = SanitizeText(wanted.program(), 128);
  if (other != nullptr) {
    return MakeError(
        absl::StatusCode::kUnavailable,
        {.fault = Fault::kInfra,
         .reason = "COMPILER_MISSING",
         .what = absl::StrCat("no worker has the very compiler ", program,
                              " any more"),
         .where = absl::StrCat("stage ", stage),
         .limit =
             absl::StrCat("workers have ", SanitizeText(other->version(), 64),
                          " (", other->digest().substr(0, kShownDigits), ")"),
         .need =
             absl::StrCat("digest ", wanted.digest().substr(0, kShownDigits)),
         .fix = "run the job again: it takes the compiler that is there"});
  }
  return MakeError(
      absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = "COMPILER_MISSING",
       .what = absl::StrCat("no worker has the compiler ", program),
       .where = absl::StrCat("stage ", stage),
       .fix = absl::StrCat("apt-get install ", PackageOf(wanted),
                           " on a worker's machine, and start the worker "
                           "again; or use --compiler none, which gives the C "
                           "code and estimates")});
}

}  // namespace

const v1::Compiler* CompilerOf(const v1::StageOptions& options) {
  return options.has_build_firmware() ? &options.build_firmware().compiler()
                                      : nullptr;
}

std::optional<v1::Compiler> Dispatcher::FindCompiler(
    v1::CompilerFamily family, const std::string& program) {
  v1::Compiler wanted;
  wanted.set_family(family);
  wanted.set_program(program);
  MutexLock lock(mutex_);
  if (const v1::Compiler* const found = workers_.FindCompiler(wanted)) {
    return *found;
  }
  const auto shown = std::find_if(
      shown_compilers_.begin(), shown_compilers_.end(),
      [&](const v1::Compiler& each) {
        return each.family() == family && each.program() == program;
      });
  if (shown == shown_compilers_.end()) return std::nullopt;
  return *shown;
}

void Dispatcher::RememberCompilers(const ConnectedWorker& worker) {
  for (const v1::Compiler& compiler : worker.compilers) {
    const auto shown =
        std::find_if(shown_compilers_.begin(), shown_compilers_.end(),
                     [&](const v1::Compiler& each) {
                       return each.family() == compiler.family() &&
                              each.program() == compiler.program();
                     });
    if (shown != shown_compilers_.end()) {
      *shown = compiler;
    } else if (shown_compilers_.size() < kMaxShownCompilers) {
      shown_compilers_.push_back(compiler);
    }
  }
}

void Dispatcher::FailWithoutCompiler(Actions& actions) {
  const absl::Duration now = clock_.Monotonic();
  std::vector<uint64_t> without;
  for (const auto& [id, lease] : leases_) {
    const v1::Compiler* const wanted = CompilerOf(lease.request.options);
    if (wanted == nullptr || !queue_.Contains(id)) continue;
    // Without any worker, that is what it waits for.
    if (workers_.Count(lease.request.role) == 0) continue;
    if (now - lease.queued < options_.waiting_grace) continue;
    if (workers_.FindCompiler(*wanted) == nullptr) without.push_back(id);
  }
  for (const uint64_t id : without) {
    const LeaseRequest& request = leases_.at(id).request;
    const v1::Compiler& wanted = *CompilerOf(request.options);
    v1::Compiler any_digest = wanted;
    any_digest.clear_digest();
    Complete(
        id,
        NoCompiler(wanted, request.stage, workers_.FindCompiler(any_digest)),
        actions);
  }
}

}  // namespace edgekiln::server
