#include "server/daemon/farm/worker_hello.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxSlots = 1024;
// Of a build digest, enough to tell two apart.
constexpr size_t kShownDigits = 12;

// "COMPILE" of COMPILE_ROLE.
std::string RoleName(v1::WorkerRole role) {
  std::string name = v1::WorkerRole_Name(role);
  constexpr absl::string_view kSuffix = "_ROLE";
  if (name.size() > kSuffix.size()) name.resize(name.size() - kSuffix.size());
  return name;
}

}  // namespace

absl::Status CheckHello(const v1::WorkerMessage::Hello& hello,
                        const std::string& own_build) {
  if (hello.build_digest() != own_build) {
    return MakeError(
        absl::StatusCode::kFailedPrecondition,
        {.fault = Fault::kInfra,
         .reason = "BUILD_MISMATCH",
         .what = "this worker is of another build than the daemon",
         .where = absl::StrCat("worker ", hello.name()),
         .limit = absl::StrCat("worker has build ", hello.build_digest()),
         .need = absl::StrCat("daemon has build ", own_build),
         .fix = "install the same edgekiln on both"});
  }
  if (hello.roles().empty() || hello.slots() < 1 || hello.slots() > kMaxSlots) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "BAD_HELLO",
                      .what = "a worker needs a role and a slot",
                      .where = absl::StrCat("worker ", hello.name()),
                      .limit = absl::StrCat("1 to ", kMaxSlots, " slots"),
                      .need = absl::StrCat(hello.slots(), " slots, ",
                                           hello.roles_size(), " roles")});
  }
  return absl::OkStatus();
}

absl::Status CheckWorkerCount(int connected, int limit) {
  if (connected < limit) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kQuota,
       .reason = "TOO_MANY_WORKERS",
       .what = "this daemon takes no more workers",
       .limit = absl::StrCat(limit, " workers"),
       .need = "room for one more",
       .fix = "end one, or raise max_workers (and max_connections) "
              "in the daemon's config"});
}

std::string MissingConfinement(const v1::WorkerMessage::Hello& hello) {
  if (!hello.has_confinement()) return "; its confinement is not known";
  if (hello.confinement().missing().empty()) return "";
  return SanitizeText(
      absl::StrCat("; its confinement lacks: ",
                   absl::StrJoin(hello.confinement().missing(), ", ")),
      1024);
}

void WorkerShortage::Refused(const v1::WorkerMessage::Hello& hello) {
  const Stranger stranger{
      SanitizeText(hello.name(), 256),
      SanitizeText(hello.build_digest().substr(0, kShownDigits), 256)};
  for (const int role : hello.roles()) {
    if (v1::WorkerRole_IsValid(role)) strangers_[role] = stranger;
  }
}

void WorkerShortage::Taken(const v1::WorkerMessage::Hello& hello) {
  for (const int role : hello.roles()) strangers_.erase(role);
}

v1::JobEvent::Waiting WorkerShortage::NoWorker(
    v1::WorkerRole role, const std::string& own_build,
    const std::string& workers_address) const {
  v1::JobEvent::Waiting why;
  const auto stranger = strangers_.find(role);
  if (stranger == strangers_.end()) {
    why.set_cause(v1::JobEvent::Waiting::NO_WORKER);
    why.set_reason(
        absl::StrCat("no worker with role ", RoleName(role),
                     " is connected; start one with edgekiln-worker --connect ",
                     workers_address));
    return why;
  }
  why.set_cause(v1::JobEvent::Waiting::OTHER_BUILD);
  why.set_reason(absl::StrCat("the only worker with role ", RoleName(role),
                              ", ", stranger->second.name, ", is of build ",
                              stranger->second.build, ", this daemon of build ",
                              own_build.substr(0, kShownDigits),
                              "; install the same edgekiln on both"));
  return why;
}

v1::JobEvent::Waiting AllBusy(v1::WorkerRole role, int64_t position) {
  v1::JobEvent::Waiting why;
  why.set_cause(v1::JobEvent::Waiting::ALL_BUSY);
  why.set_position(position);
  why.set_reason(
      absl::StrCat("all workers with role ", RoleName(role), " are busy"));
  return why;
}

}  // namespace edgekiln::server
